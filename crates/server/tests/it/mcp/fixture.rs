//! The server that the public conformance suite wants to see: tools, resources and prompts with given names and
//! contents, over Warren's own transport, Host and Origin rule.

#![expect(deprecated, reason = "the suite still tests logging and subscriptions in the older revision")]

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, CompleteRequestParams, CompleteResult,
    ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, InputRequiredResult,
    InputResponses, JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, Tool, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use warren_model::Limits;
use warren_server::Guard;
use warren_server::mcp::{Transport, TransportCaller};

/// One red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A header and no sound.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

struct Served {
    transport: Transport,
    guard: Guard,
}

/// Serves until the test ends; answers with the address.
pub(super) async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served =
        Served { transport: Transport::new(&Limits::default()), guard: Guard::new(address, &[], &[]) };
    let router = Router::new().route("/mcp", axum::routing::post(post)).with_state(Arc::new(served));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/mcp")
}

async fn post(State(served): State<Arc<Served>>, request: Request) -> Response {
    if served.guard.check(request.method(), request.uri(), request.headers()).is_err() {
        return StatusCode::FORBIDDEN.into_response();
    }
    let caller = TransportCaller { token: "none".to_owned(), request_id: "label".to_owned() };
    served.transport.serve(caller, request, |_| Fixture).await
}

#[derive(Debug, Clone)]
struct Fixture;

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is written as the protocol has it")
}

/// A result that is no question.
fn complete<T: DeserializeOwned>(mut result: Value) -> T {
    result["resultType"] = json!("complete");
    read(result)
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "text": text } })
}

/// Tools that always answer the same.
fn canned(tool: &str) -> Option<Value> {
    Some(match tool {
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        "test_image_content" => json!([image()]),
        "test_audio_content" => json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]),
        "test_embedded_resource" => {
            json!([resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content."
            )])
        }
        "test_multiple_content_types" => {
            let data = r#"{"test":"data","value":123}"#;
            let embedded = resource("test://mixed-content-resource", "application/json", data);
            json!([text("Multiple content types test:"), image(), embedded])
        }
        "json_schema_2020_12_tool" | "test_headers" | "test_streaming_elicitation" | "test_logging_tool" => {
            json!([text("done")])
        }
        _ => return None,
    })
}

fn elicit(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn sample(question: &str) -> Value {
    let messages = json!([{ "role": "user", "content": text(question) }]);
    json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 100 } })
}

/// What a tool asks of the client, round by round; with a state where the suite wants one.
fn rounds(name: &str) -> Option<(Vec<Value>, bool)> {
    let roots = json!({ "method": "roots/list", "params": {} });
    let who = elicit("What is your name?", "name", "string");
    Some(match name {
        "test_input_required_result_elicitation" => (vec![json!({ "user_name": who })], false),
        "test_input_required_result_sampling" => {
            (vec![json!({ "capital_question": sample("What is the capital of France?") })], false)
        }
        "test_input_required_result_list_roots" => (vec![json!({ "client_roots": roots })], false),
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            (vec![json!({ "confirm": elicit("Please confirm", "ok", "boolean") })], true)
        }
        "test_input_required_result_multiple_inputs" => {
            let greeting = sample("Generate a greeting");
            (vec![json!({ "user_name": who, "greeting": greeting, "client_roots": roots })], true)
        }
        "test_input_required_result_multi_round" => {
            let first = elicit("Step 1: What is your name?", "name", "string");
            let second = elicit("Step 2: What is your favorite color?", "color", "string");
            (vec![json!({ "step1": first }), json!({ "step2": second })], true)
        }
        "test_input_required_result_capabilities" => {
            (vec![json!({ "capital_question": sample("What is the capital of France?") })], false)
        }
        "test_input_required_result_prompt" => {
            let context = elicit("What context should the prompt use?", "context", "string");
            (vec![json!({ "user_context": context })], false)
        }
        _ => return None,
    })
}

const TOOLS: [&str; 21] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "json_schema_2020_12_tool",
    "test_headers",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
];

fn schema(tool: &str) -> Arc<JsonObject> {
    let schema = match tool {
        "json_schema_2020_12_tool" => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef", "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                },
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        }),
        "test_headers" => json!({
            "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        }),
        _ => json!({ "type": "object", "properties": {} }),
    };
    Arc::new(read(schema))
}

fn tool(name: &'static str) -> Tool {
    Tool::new(name, format!("The suite's {name}."), schema(name))
}

/// The next round's requests, or nothing once all were answered. A state that is not ours is refused.
fn ask(
    name: &str,
    answers: Option<&InputResponses>,
    state: Option<&str>,
) -> Result<Option<InputRequiredResult>, ErrorData> {
    let Some((rounds, has_state)) = rounds(name) else { return Ok(None) };
    let sealed = |round: usize| format!("{name}/{round}/sealed");
    let round = match state {
        Some(state) => (0..rounds.len())
            .find(|round| state == sealed(*round))
            .ok_or_else(|| ErrorData::invalid_params("the state is not ours", None))?,
        None => 0,
    };
    let wanted = rounds[round].as_object().unwrap();
    let is_answered = answers.is_some_and(|answers| {
        wanted.keys().all(|key| answers.get(key).is_some_and(Value::is_object))
            && state.is_some() == has_state
    });
    let next = if is_answered { round + 1 } else { round };
    let Some(requests) = rounds.get(next) else { return Ok(None) };
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if has_state {
        result["requestState"] = json!(sealed(next));
    }
    Ok(Some(read(result)))
}

/// The first text within what the client answered.
fn first_text(answers: Option<&InputResponses>) -> String {
    json!(answers).to_string()
}

impl Fixture {
    async fn log(&self, context: &RequestContext<RoleServer>, words: &str) {
        let note = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(words));
        context.peer.notify_logging_message(note).await.unwrap();
    }

    async fn tell_progress(&self, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return };
        for done in [0.0, 50.0, 100.0] {
            let progress = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
            context.peer.notify_progress(progress).await.unwrap();
        }
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("fixture", "1"))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.into_iter().find(|one| *one == name).map(tool)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answers = request.input_responses.as_ref();
        if let Some(asked) = ask(&request.name, answers, request.request_state.as_deref())? {
            return Ok(asked.into());
        }
        let content = match &*request.name {
            "test_error_handling" => {
                let told = text("This tool intentionally returns an error for testing");
                return Ok(CallToolResponse::Complete(complete(
                    json!({ "content": [told], "isError": true }),
                )));
            }
            "test_missing_capability" => {
                let can = context.client_capabilities().is_some_and(|can| can.sampling.is_some());
                if !can {
                    let needed = ClientCapabilities::builder().enable_sampling().build();
                    return Err(ErrorData::missing_required_client_capability(needed));
                }
                json!([text("done")])
            }
            "test_tool_with_logging" => {
                for words in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                    self.log(&context, words).await;
                }
                json!([text("done")])
            }
            "test_tool_with_progress" => {
                self.tell_progress(&context).await;
                json!([text("done")])
            }
            name if rounds(name).is_some() => json!([text(&format!("state-ok {}", first_text(answers)))]),
            name => canned(name).ok_or_else(|| ErrorData::invalid_params("there is no such tool", None))?,
        };
        Ok(CallToolResponse::Complete(complete(json!({ "content": content }))))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let one = |uri: &str, mime_type: &str| json!({ "uri": uri, "name": uri, "description": "The suite's.", "mimeType": mime_type });
        let all = [one("test://static-text", "text/plain"), one("test://static-binary", "image/png")];
        Ok(complete(json!({ "resources": all })))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let one = json!({ "uriTemplate": "test://template/{id}/data", "name": "data", "description": "The suite's." });
        Ok(complete(json!({ "resourceTemplates": [one] })))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (uri, id) {
            ("test://static-text", _) => {
                let words = "This is the content of the static text resource.";
                json!({ "uri": uri, "mimeType": "text/plain", "text": words })
            }
            ("test://static-binary", _) => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
            (_, Some(id)) => {
                let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
            }
            _ => {
                let data = Some(json!({ "uri": uri }));
                return Err(ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, "there is no such resource", data));
            }
        };
        Ok(ReadResourceResponse::Complete(complete(json!({ "contents": [contents] }))))
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let one = |name: &str, arguments: &[&str]| {
            let arguments: Vec<Value> = arguments
                .iter()
                .map(|argument| json!({ "name": argument, "description": "The suite's.", "required": true }))
                .collect();
            json!({ "name": name, "description": "The suite's.", "arguments": arguments })
        };
        let all = [
            one("test_simple_prompt", &[]),
            one("test_prompt_with_arguments", &["arg1", "arg2"]),
            one("test_prompt_with_embedded_resource", &["resourceUri"]),
            one("test_prompt_with_image", &[]),
            one("test_input_required_result_prompt", &[]),
        ];
        Ok(complete(json!({ "prompts": all })))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let answers = request.input_responses.as_ref();
        if let Some(asked) = ask(&request.name, answers, request.request_state.as_deref())? {
            return Ok(asked.into());
        }
        let arguments = json!(request.arguments);
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                let (one, two) = (argument("arg1"), argument("arg2"));
                vec![text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
            }
            "test_prompt_with_embedded_resource" => {
                let words = "Embedded resource content for testing.";
                let embedded = resource(&argument("resourceUri"), "text/plain", words);
                vec![embedded, text("Please process the embedded resource above.")]
            }
            "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
            "test_input_required_result_prompt" => vec![text(&first_text(answers))],
            _ => return Err(ErrorData::invalid_params("there is no such prompt", None)),
        };
        let messages: Vec<Value> =
            contents.iter().map(|content| json!({ "role": "user", "content": content })).collect();
        Ok(GetPromptResponse::Complete(complete(json!({ "messages": messages }))))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

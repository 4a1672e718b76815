//! The platform: a small set of operations of the API as tools, no more than the caller's token allows.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};

use super::door::Door;
use super::operations::Offered;
use super::transport::Cancelled;
use super::{answer, patience};
use crate::VERSION;
use crate::problem::Failure;

const INSTRUCTIONS: &str = "Warren gives agents workspaces: isolated places with files and commands. List or create \
    workspaces, then use one by its id: exec runs a command, list_workspace_tools and call_workspace_tool give the \
    tools of that workspace, such as those for its files.";

/// The server of one request to `/mcp`.
#[derive(Debug, Clone)]
pub(super) struct Platform {
    pub(super) door: Door,
    pub(super) operations: Offered,
    pub(super) cancelled: Cancelled,
}

impl ServerHandler for Platform {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("warren", VERSION))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.operations.find(name).map(|operation| operation.tool.clone())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.operations.tools().cloned().collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let work = call(&self.door, &self.operations, &request.name, request.arguments.unwrap_or_default());
        let Some(outcome) = patience::wait(work, &context, &self.cancelled).await? else {
            return Err(answer::unknown_tool(&request.name));
        };
        Ok(outcome
            .map_or_else(|failure| answer::of_failure(&failure, self.door.request_id()), answer::of_value)
            .into())
    }
}

/// Calls an operation, if it is one of those offered.
pub(super) async fn call(
    door: &Door,
    operations: &Offered,
    name: &str,
    arguments: Map<String, Value>,
) -> Option<Result<Value, Failure>> {
    let operation = operations.find(name)?;
    Some(
        async {
            let request = operation.bind(arguments)?;
            let answer = door.ask(request.method, &request.path, request.body.as_ref()).await?;
            if answer.bytes.is_empty() { Ok(Value::Null) } else { answer.json() }
        }
        .await,
    )
}

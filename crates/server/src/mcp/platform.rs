//! The platform: a small set of operations of the API as tools, no more than the caller's token allows.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};

use super::local_router::LocalRouter;
use super::route_tools::Offered;
use super::transport::Cancelled;
use super::{answer, waiting};
use crate::VERSION;
use crate::problem::Failure;

const INSTRUCTIONS: &str = "Warren gives agents workspaces: isolated places with files and commands. List or create \
    workspaces, then use one by its id: exec runs a command, list_workspace_tools and call_workspace_tool give the \
    tools of that workspace, such as those for its files.";

/// The server of one request to `/mcp`.
#[derive(Debug, Clone)]
pub(super) struct Platform {
    pub(super) router: LocalRouter,
    pub(super) tools: Offered,
    pub(super) cancelled: Cancelled,
}

impl ServerHandler for Platform {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("warren", VERSION))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.find(name).map(|found| found.tool.clone())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.tools().cloned().collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let work = call(&self.router, &self.tools, &request.name, request.arguments.unwrap_or_default());
        let Some(outcome) = waiting::wait(work, &context, &self.cancelled).await? else {
            return Err(answer::unknown_tool(&request.name));
        };
        Ok(outcome
            .map_or_else(|failure| answer::of_failure(&failure, self.router.request_id()), answer::of_value)
            .into())
    }
}

/// Calls a tool, if it is one of those offered.
pub(super) async fn call(
    router: &LocalRouter,
    tools: &Offered,
    name: &str,
    arguments: Map<String, Value>,
) -> Option<Result<Value, Failure>> {
    let tool = tools.find(name)?;
    Some(
        async {
            let request = tool.bind(arguments)?;
            let answer = router.ask(request.method, &request.path, request.body.as_ref()).await?;
            if answer.bytes.is_empty() { Ok(Value::Null) } else { answer.json() }
        }
        .await,
    )
}

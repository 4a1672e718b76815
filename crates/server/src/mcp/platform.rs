//! The platform: a small set of operations of the API as tools, no more than the caller's token allows.
//!
//! It declares tools and nothing else. The library would answer requests for the rest with empty lists, and a server must
//! not answer what it does not declare.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams, CompleteResult,
    Implementation, ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::call_context::CallContext;
use super::platform_tools::OfferedTools;
use super::transport::Cancelled;
use super::{answer, platform_tools, waiting};
use crate::VERSION;

const INSTRUCTIONS: &str = "Warren gives agents workspaces: isolated places with files and commands. List or create \
    workspaces, then use one by its id: exec runs a command, list_workspace_tools and call_workspace_tool give the \
    tools of that workspace, such as those for its files.";

/// The server of one request to `/mcp`.
#[derive(Debug, Clone)]
pub(super) struct Platform {
    pub(super) context: CallContext,
    pub(super) tools: OfferedTools,
    pub(super) cancelled: Cancelled,
}

impl ServerHandler for Platform {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("warren", VERSION))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.definition(name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.definitions().cloned().collect()))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let work = Box::pin(platform_tools::call(&self.context, &self.tools, &request.name, arguments));
        let Some(outcome) = waiting::wait(work, &context, &self.cancelled).await? else {
            return Err(answer::unknown_tool(&request.name));
        };
        Ok(outcome
            .map_or_else(|failure| answer::of_failure(&failure, &self.context.request_id), answer::of_value)
            .into())
    }
}

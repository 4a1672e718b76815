//! One workspace: its tools, exactly as `GET …/tools` lists them, and its files as resources.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, Implementation, JsonObject, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestMethod,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use warren_model::{Capability, WorkspaceId};
use warren_operations::{ToolCatalog, ToolOutcome};
use warren_workspace::tools::ToolDefinition;

use super::call_context::CallContext;
use super::peer_tools::PeerTools;
use super::transport::Cancelled;
use super::{answer, files, waiting};
use crate::VERSION;
use crate::problem::Failure;

/// The server of one request to `/mcp/workspaces/{id}`.
#[derive(Debug, Clone)]
pub(super) struct Workspace {
    pub(super) context: CallContext,
    pub(super) id: WorkspaceId,
    pub(super) catalog: ToolCatalog,
    /// For its own agent.
    pub(super) peers: Option<PeerTools>,
    pub(super) cancelled: Cancelled,
}

impl Workspace {
    fn has_files(&self) -> bool {
        self.catalog.capabilities.contains(Capability::Fs)
    }

    fn tools(&self) -> impl Iterator<Item = Tool> {
        let of_peers = self.peers.into_iter().flat_map(PeerTools::tools);
        self.catalog.tools.iter().map(tool).chain(of_peers)
    }

    async fn call(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, Failure> {
        if !self.catalog.tools.iter().any(|tool| tool.name == name)
            && let Some(peers) = self.peers
            && let Some(tool) = peers.named(name)
        {
            let work = Box::pin(peers.call(&self.context, tool, arguments));
            return self.context.carry_out(work).await.map(answer::of_value);
        }
        let arguments = Value::Object(arguments);
        let CallContext { app, who, .. } = &self.context;
        let work = async { Ok(app.operations.tools.call(who, self.id, name, arguments).await?) };
        Ok(match self.context.carry_out(work).await? {
            ToolOutcome::Answered(answer) => answer::of_value(answer),
            ToolOutcome::Refused(refusal) => answer::of_refusal(refusal),
        })
    }

    fn error(&self, failure: &Failure) -> ErrorData {
        answer::error_of(failure, &self.context.request_id)
    }
}

impl ServerHandler for Workspace {
    fn get_info(&self) -> ServerConfig {
        let capabilities = if self.has_files() {
            ServerCapabilities::builder().enable_tools().enable_resources().build()
        } else {
            ServerCapabilities::builder().enable_tools().build()
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("warren", VERSION))
            .with_instructions(self.catalog.system_prompt.clone())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_none() {
            return Err(answer::unknown_tool(&request.name));
        }
        let work = Box::pin(self.call(&request.name, request.arguments.unwrap_or_default()));
        let outcome = waiting::wait(work, &context, &self.cancelled).await?;
        Ok(outcome.unwrap_or_else(|failure| answer::of_failure(&failure, &self.context.request_id)).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.has_files() {
            return Err(ErrorData::method_not_found::<ListResourcesRequestMethod>());
        }
        let cursor = request.and_then(|request| request.cursor);
        let files = &self.context.app.operations.files;
        let work = self.context.carry_out(files::list(files, &self.context.who, self.id, cursor));
        waiting::wait(work, &context, &self.cancelled).await?.map_err(|failure| self.error(&failure))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if !self.has_files() {
            return Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>());
        }
        Ok(ListResourceTemplatesResult::with_all_items(vec![files::template(self.id)]))
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

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if !self.has_files() {
            return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
        }
        let files = &self.context.app.operations.files;
        let work = self.context.carry_out(files::read(files, &self.context.who, self.id, &request.uri));
        let read = waiting::wait(work, &context, &self.cancelled).await?;
        read.map(Into::into).map_err(|failure| self.error(&failure))
    }
}

fn tool(tool: &ToolDefinition) -> Tool {
    let schema = tool.input_schema.as_object().cloned().unwrap_or_default();
    Tool::new(tool.name, tool.description, Arc::new(schema))
}

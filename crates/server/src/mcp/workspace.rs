//! One workspace: its tools, exactly as `GET …/tools` lists them, and its files as resources.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use warren_api::{ToolAnswer, ToolCatalog};
use warren_model::WorkspaceId;

use super::door::{Door, encoded};
use super::peer_tools::PeerTools;
use super::transport::Cancelled;
use super::{answer, files, patience};
use crate::VERSION;
use crate::problem::Failure;

/// The server of one request to `/mcp/workspaces/{id}`.
#[derive(Debug, Clone)]
pub(super) struct Workspace {
    pub(super) door: Door,
    pub(super) id: WorkspaceId,
    pub(super) catalog: ToolCatalog,
    /// For its own agent.
    pub(super) peers: Option<PeerTools>,
    pub(super) cancelled: Cancelled,
}

pub(super) async fn catalog(door: &Door, id: WorkspaceId) -> Result<ToolCatalog, Failure> {
    door.get(&format!("/api/v1/workspaces/{id}/tools")).await?.json()
}

impl Workspace {
    fn has_files(&self) -> bool {
        self.catalog.tools.iter().any(|tool| tool.name == "workspace_read_file")
    }

    fn tools(&self) -> impl Iterator<Item = Tool> {
        let of_peers = self.peers.into_iter().flat_map(PeerTools::tools);
        self.catalog.tools.iter().map(tool).chain(of_peers)
    }

    async fn call(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, Failure> {
        if !self.catalog.tools.iter().any(|tool| tool.name == name)
            && let Some(peers) = self.peers
            && let Some(outcome) = peers.call(&self.door, name, arguments.clone()).await
        {
            return outcome.map(answer::of_value);
        }
        let path = format!("/api/v1/workspaces/{}/tools/{}", self.id, encoded(name));
        let answered: ToolAnswer = self.door.post(&path, &Value::Object(arguments)).await?.json()?;
        Ok(answer::of_tool(answered))
    }

    fn error(&self, failure: &Failure) -> ErrorData {
        answer::error_of(failure, self.door.request_id())
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
        let work = self.call(&request.name, request.arguments.unwrap_or_default());
        let outcome = patience::wait(work, &context, &self.cancelled).await?;
        Ok(outcome.unwrap_or_else(|failure| answer::of_failure(&failure, self.door.request_id())).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.has_files() {
            return Ok(ListResourcesResult::default());
        }
        let cursor = request.and_then(|request| request.cursor);
        let work = files::list(&self.door, self.id, cursor.as_deref());
        patience::wait(work, &context, &self.cancelled).await?.map_err(|failure| self.error(&failure))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = if self.has_files() { vec![files::template(self.id)] } else { Vec::new() };
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let work = files::read(&self.door, self.id, &request.uri);
        let read = patience::wait(work, &context, &self.cancelled).await?;
        read.map(Into::into).map_err(|failure| self.error(&failure))
    }
}

fn tool(tool: &warren_api::Tool) -> Tool {
    let schema = tool.input_schema.as_object().cloned().unwrap_or_default();
    Tool::new(tool.name.clone(), tool.description.clone(), Arc::new(schema))
}

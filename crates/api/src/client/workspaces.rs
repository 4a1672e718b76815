//! Routes of workspaces and their tools.

use reqwest::Method;
use reqwest::header::IF_MATCH;
use serde::Serialize;

use super::{Client, Error};
use crate::{
    Budget, CreateWorkspace, PatchWorkspace, RemovedWorkspace, SetBudget, Status, ToolAnswer, ToolCatalog,
    Workspace, WorkspaceHealth, WorkspacePage,
};

/// Which workspaces to list. The default is all that are not removed, from the first page.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkspaceQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    #[serde(rename = "include_removed", skip_serializing_if = "std::ops::Not::not")]
    pub includes_removed: bool,
}

impl Client {
    pub async fn create_workspace(&self, workspace: &CreateWorkspace) -> Result<Workspace, Error> {
        let request = self.request(Method::POST, &["workspaces"]).json(workspace);
        self.answer(request).await
    }

    /// One page.
    pub async fn workspaces(&self, query: &WorkspaceQuery) -> Result<WorkspacePage, Error> {
        let request = self.request(Method::GET, &["workspaces"]).query(query);
        self.answer(request).await
    }

    pub async fn workspace(&self, id: &str) -> Result<Workspace, Error> {
        self.answer(self.request(Method::GET, &["workspaces", id])).await
    }

    /// With `if_match`, only if the workspace still has that version.
    pub async fn patch_workspace(
        &self,
        id: &str,
        patch: &PatchWorkspace,
        if_match: Option<u64>,
    ) -> Result<Workspace, Error> {
        let request = self.request(Method::PATCH, &["workspaces", id]).json(patch);
        self.answer(with_version(request, if_match)).await
    }

    /// Removing twice is no error.
    pub async fn remove_workspace(
        &self,
        id: &str,
        if_match: Option<u64>,
        purge: bool,
    ) -> Result<RemovedWorkspace, Error> {
        let request = self.request(Method::DELETE, &["workspaces", id]).query(&[("purge", purge)]);
        self.answer(with_version(request, if_match)).await
    }

    /// With all below it.
    pub async fn pause_workspace(&self, id: &str) -> Result<Workspace, Error> {
        self.answer(self.request(Method::POST, &["workspaces", id, "pause"])).await
    }

    /// With all below it.
    pub async fn resume_workspace(&self, id: &str) -> Result<Workspace, Error> {
        self.answer(self.request(Method::POST, &["workspaces", id, "resume"])).await
    }

    /// With tasks in flight, only by force.
    pub async fn hibernate_workspace(&self, id: &str, force: bool) -> Result<Workspace, Error> {
        let request = self.request(Method::POST, &["workspaces", id, "hibernate"]);
        self.answer(request.query(&[("force", force)])).await
    }

    pub async fn wake_workspace(&self, id: &str) -> Result<Workspace, Error> {
        self.answer(self.request(Method::POST, &["workspaces", id, "wake"])).await
    }

    pub async fn restart_workspace(&self, id: &str) -> Result<Workspace, Error> {
        self.answer(self.request(Method::POST, &["workspaces", id, "restart"])).await
    }

    /// Tries a failed workspace again.
    pub async fn reset_workspace(&self, id: &str) -> Result<Workspace, Error> {
        self.answer(self.request(Method::POST, &["workspaces", id, "reset"])).await
    }

    pub async fn budget(&self, id: &str) -> Result<Budget, Error> {
        self.answer(self.request(Method::GET, &["workspaces", id, "budget"])).await
    }

    pub async fn set_budget(&self, id: &str, budget: &SetBudget) -> Result<Budget, Error> {
        self.answer(self.request(Method::PUT, &["workspaces", id, "budget"]).json(budget)).await
    }

    pub async fn workspace_health(&self, id: &str) -> Result<WorkspaceHealth, Error> {
        self.answer(self.request(Method::GET, &["workspaces", id, "health"])).await
    }

    pub async fn tools(&self, id: &str) -> Result<ToolCatalog, Error> {
        self.answer(self.request(Method::GET, &["workspaces", id, "tools"])).await
    }

    /// `arguments` is a JSON object. A refusal by policy is an answer, not an error.
    pub async fn call_tool(
        &self,
        id: &str,
        tool: &str,
        arguments: &serde_json::Value,
    ) -> Result<ToolAnswer, Error> {
        let request = self.request(Method::POST, &["workspaces", id, "tools", tool]).json(arguments);
        // A tool may run a command for longer than other answers take.
        super::read_json(self.send(request).await?).await
    }
}

fn with_version(request: reqwest::RequestBuilder, version: Option<u64>) -> reqwest::RequestBuilder {
    match version {
        Some(version) => request.header(IF_MATCH, format!("\"{version}\"")),
        None => request,
    }
}

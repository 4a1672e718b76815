//! Routes of memory.

use reqwest::Method;

use super::{Client, Error};
use crate::{FoundMemories, Memory, MemoryPage, Remember};

impl Client {
    pub async fn remember(
        &self,
        workspace_id: &str,
        scope: &str,
        key: &str,
        memory: &Remember,
    ) -> Result<Memory, Error> {
        let request = self.request(Method::PUT, &["workspaces", workspace_id, "memory", scope, key]);
        self.answer(request.json(memory)).await
    }

    pub async fn recall(&self, workspace_id: &str, scope: &str, key: &str) -> Result<Memory, Error> {
        self.answer(self.request(Method::GET, &["workspaces", workspace_id, "memory", scope, key])).await
    }

    pub async fn forget(&self, workspace_id: &str, scope: &str, key: &str) -> Result<(), Error> {
        self.no_answer(self.request(Method::DELETE, &["workspaces", workspace_id, "memory", scope, key]))
            .await
    }

    /// One page of all that the workspace can read.
    pub async fn memories(
        &self,
        workspace_id: &str,
        scope: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<MemoryPage, Error> {
        let request = self.request(Method::GET, &["workspaces", workspace_id, "memory"]);
        let request = request.query(&scope.map(|scope| [("scope", scope)]));
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    /// The best first.
    pub async fn search_memories(
        &self,
        workspace_id: &str,
        scope: Option<&str>,
        query: &str,
    ) -> Result<FoundMemories, Error> {
        let request = self.request(Method::GET, &["workspaces", workspace_id, "memory", "search"]);
        self.answer(request.query(&[("q", query)]).query(&scope.map(|scope| [("scope", scope)]))).await
    }
}

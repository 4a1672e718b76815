//! Routes of messages, tasks, queues, delegations and peers.

use reqwest::Method;

use super::{Client, Error};
use crate::{
    AcceptedMessage, AnswerMessage, Claim, ClaimMessage, ClearedQueue, Delegate, Delegation, DelegationPage,
    DeliveryState, PeerList, PeerPolicy, ProgressTaken, QueuePage, QueuedMessage, ReportProgress,
    SendMessage, Task, TaskPage, TaskState,
};

impl Client {
    /// The same key is the same message, however often it is sent.
    pub async fn send_message(
        &self,
        workspace: &str,
        message: &SendMessage,
        idempotency_key: Option<&str>,
    ) -> Result<AcceptedMessage, Error> {
        let mut request = self.request(Method::POST, &["workspaces", workspace, "messages"]).json(message);
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        self.answer(request).await
    }

    /// One page, the youngest first.
    pub async fn tasks(
        &self,
        workspace: &str,
        state: Option<TaskState>,
        cursor: Option<&str>,
    ) -> Result<TaskPage, Error> {
        let request = self.request(Method::GET, &["workspaces", workspace, "tasks"]);
        let request = request.query(&state.map(|state| [("state", state)]));
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    /// Waits so long for it to end, or to stop for input.
    pub async fn task(&self, workspace: &str, task: &str, wait_ms: u64) -> Result<Task, Error> {
        let request = self.request(Method::GET, &["workspaces", workspace, "tasks", task]);
        self.answer(request.query(&[("wait_ms", wait_ms)])).await
    }

    pub async fn cancel_task(&self, workspace: &str, task: &str) -> Result<Task, Error> {
        self.answer(self.request(Method::POST, &["workspaces", workspace, "tasks", task, "cancel"])).await
    }

    /// One page, the oldest first.
    pub async fn queue(
        &self,
        workspace: &str,
        state: DeliveryState,
        cursor: Option<&str>,
    ) -> Result<QueuePage, Error> {
        let request = self.request(Method::GET, &["workspaces", workspace, "queue"]);
        let request = request.query(&[("state", state)]);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    pub async fn queued_message(&self, workspace: &str, id: &str) -> Result<QueuedMessage, Error> {
        self.answer(self.request(Method::GET, &["workspaces", workspace, "queue", id])).await
    }

    pub async fn drop_queued_message(&self, workspace: &str, id: &str) -> Result<QueuedMessage, Error> {
        self.answer(self.request(Method::DELETE, &["workspaces", workspace, "queue", id])).await
    }

    pub async fn clear_queue(&self, workspace: &str) -> Result<ClearedQueue, Error> {
        self.answer(self.request(Method::DELETE, &["workspaces", workspace, "queue"])).await
    }

    /// For a client that holds a runtime's credential.
    pub async fn claim_message(&self, workspace: &str, claim: &ClaimMessage) -> Result<Claim, Error> {
        self.answer(self.request(Method::POST, &["workspaces", workspace, "queue", "claim"]).json(claim))
            .await
    }

    /// For a client that holds a runtime's credential.
    pub async fn report_progress(
        &self,
        workspace: &str,
        id: &str,
        progress: &ReportProgress,
    ) -> Result<ProgressTaken, Error> {
        let segments = ["workspaces", workspace, "queue", id, "progress"];
        self.answer(self.request(Method::POST, &segments).json(progress)).await
    }

    /// For a client that holds a runtime's credential.
    pub async fn answer_message(
        &self,
        workspace: &str,
        id: &str,
        answer: &AnswerMessage,
    ) -> Result<Task, Error> {
        let segments = ["workspaces", workspace, "queue", id, "answer"];
        self.answer(self.request(Method::POST, &segments).json(answer)).await
    }

    pub async fn delegate(&self, from: &str, work: &Delegate) -> Result<Delegation, Error> {
        self.answer(self.request(Method::POST, &["workspaces", from, "delegations"]).json(work)).await
    }

    /// One page, the youngest first.
    pub async fn delegations(&self, from: &str, cursor: Option<&str>) -> Result<DelegationPage, Error> {
        let request = self.request(Method::GET, &["workspaces", from, "delegations"]);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    /// Waits so long for it to end.
    pub async fn delegation(&self, from: &str, id: &str, wait_ms: u64) -> Result<Delegation, Error> {
        let request = self.request(Method::GET, &["workspaces", from, "delegations", id]);
        self.answer(request.query(&[("wait_ms", wait_ms)])).await
    }

    pub async fn cancel_delegation(&self, from: &str, id: &str) -> Result<Delegation, Error> {
        self.answer(self.request(Method::POST, &["workspaces", from, "delegations", id, "cancel"])).await
    }

    /// Those that a workspace may talk to; `query` looks for names and roles.
    pub async fn peers(&self, workspace: &str, query: &str) -> Result<PeerList, Error> {
        let request = self.request(Method::GET, &["workspaces", workspace, "peers"]);
        self.answer(request.query(&[("q", query)])).await
    }

    pub async fn peer_policy(&self, workspace: &str) -> Result<PeerPolicy, Error> {
        self.answer(self.request(Method::GET, &["workspaces", workspace, "peer-policy"])).await
    }

    pub async fn set_peer_policy(&self, workspace: &str, policy: &PeerPolicy) -> Result<PeerPolicy, Error> {
        self.answer(self.request(Method::PUT, &["workspaces", workspace, "peer-policy"]).json(policy)).await
    }
}

//! Routes of approvals.

use reqwest::Method;

use super::{Client, Error};
use crate::{Approval, ApprovalPage, DecideApproval, RequestApproval, WithdrawApproval};

impl Client {
    pub async fn request_approval(
        &self,
        workspace_id: &str,
        request: &RequestApproval,
    ) -> Result<Approval, Error> {
        self.answer(self.request(Method::POST, &["workspaces", workspace_id, "approvals"]).json(request))
            .await
    }

    /// One page of those of a workspace, or of all; the newest first.
    pub async fn approvals(
        &self,
        workspace_id: Option<&str>,
        state: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<ApprovalPage, Error> {
        let path = match workspace_id {
            Some(id) => vec!["workspaces", id, "approvals"],
            None => vec!["approvals"],
        };
        let request = self.request(Method::GET, &path).query(&state.map(|state| [("state", state)]));
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    /// As it is, or once it is decided if that is within `wait_ms`.
    pub async fn approval(&self, id: &str, wait_ms: Option<u64>) -> Result<Approval, Error> {
        let request = self.request(Method::GET, &["approvals", id]);
        self.answer(request.query(&wait_ms.map(|wait_ms| [("wait_ms", wait_ms)]))).await
    }

    pub async fn approve(&self, id: &str, decision: &DecideApproval) -> Result<Approval, Error> {
        self.answer(self.request(Method::POST, &["approvals", id, "approve"]).json(decision)).await
    }

    pub async fn deny(&self, id: &str, decision: &DecideApproval) -> Result<Approval, Error> {
        self.answer(self.request(Method::POST, &["approvals", id, "deny"]).json(decision)).await
    }

    /// Takes back a question of one's own: it is void.
    pub async fn withdraw_approval(
        &self,
        id: &str,
        withdrawal: &WithdrawApproval,
    ) -> Result<Approval, Error> {
        self.answer(self.request(Method::POST, &["approvals", id, "withdraw"]).json(withdrawal)).await
    }
}

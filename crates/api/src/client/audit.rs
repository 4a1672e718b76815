//! Routes of the audit log.

use reqwest::Method;
use serde::Serialize;

use super::{Client, Error};
use crate::{AuditHead, AuditPage};

/// Which entries to list. The default is all, from the first page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AuditQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_id: Option<String>,
    /// `kind:id`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Client {
    /// One page.
    pub async fn audit(&self, query: &AuditQuery) -> Result<AuditPage, Error> {
        self.answer(self.request(Method::GET, &["audit"]).query(query)).await
    }

    pub async fn audit_head(&self) -> Result<AuditHead, Error> {
        self.answer(self.request(Method::GET, &["audit", "head"])).await
    }
}

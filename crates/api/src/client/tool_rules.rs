//! Routes of rules about tool calls.

use reqwest::Method;

use super::{Client, Error};
use crate::{CreateToolRule, ToolRule, ToolRulePage};

impl Client {
    pub async fn create_tool_rule(&self, rule: &CreateToolRule) -> Result<ToolRule, Error> {
        self.answer(self.request(Method::POST, &["tool-rules"]).json(rule)).await
    }

    /// One page of the org's rules, the newest first, also those that count no more.
    pub async fn tool_rules(&self, cursor: Option<&str>) -> Result<ToolRulePage, Error> {
        let request = self.request(Method::GET, &["tool-rules"]);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    pub async fn tool_rule(&self, id: &str) -> Result<ToolRule, Error> {
        self.answer(self.request(Method::GET, &["tool-rules", id])).await
    }

    /// Takes a rule back; it stays in the list.
    pub async fn revoke_tool_rule(&self, id: &str) -> Result<ToolRule, Error> {
        self.answer(self.request(Method::DELETE, &["tool-rules", id])).await
    }
}

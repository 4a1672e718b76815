//! Routes of webhooks and channels.

use reqwest::Method;

use super::{Client, Error};
use crate::{
    ChannelList, CreateChannel, CreateWebhook, CreatedChannel, CreatedWebhook, PatchWebhook, Webhook,
    WebhookCall, WebhookCallPage, WebhookPage,
};

impl Client {
    pub async fn create_webhook(&self, webhook: &CreateWebhook) -> Result<CreatedWebhook, Error> {
        self.answer(self.request(Method::POST, &["webhooks"]).json(webhook)).await
    }

    /// One page.
    pub async fn webhooks(&self, cursor: Option<&str>) -> Result<WebhookPage, Error> {
        let mut request = self.request(Method::GET, &["webhooks"]);
        if let Some(cursor) = cursor {
            request = request.query(&[("cursor", cursor)]);
        }
        self.answer(request).await
    }

    pub async fn webhook(&self, id: &str) -> Result<Webhook, Error> {
        self.answer(self.request(Method::GET, &["webhooks", id])).await
    }

    pub async fn patch_webhook(&self, id: &str, patch: &PatchWebhook) -> Result<Webhook, Error> {
        self.answer(self.request(Method::PATCH, &["webhooks", id]).json(patch)).await
    }

    pub async fn remove_webhook(&self, id: &str) -> Result<(), Error> {
        self.no_answer(self.request(Method::DELETE, &["webhooks", id])).await
    }

    /// One page, the youngest first; `state` is `queued`, `delivered` or `dead`.
    pub async fn webhook_calls(
        &self,
        id: &str,
        state: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<WebhookCallPage, Error> {
        let mut request = self.request(Method::GET, &["webhooks", id, "calls"]);
        for (name, value) in [("state", state), ("cursor", cursor)] {
            if let Some(value) = value {
                request = request.query(&[(name, value)]);
            }
        }
        self.answer(request).await
    }

    pub async fn redeliver(&self, id: &str, call: &str) -> Result<WebhookCall, Error> {
        self.answer(self.request(Method::POST, &["webhooks", id, "calls", call, "redeliver"])).await
    }

    pub async fn create_channel(
        &self,
        workspace: &str,
        channel: &CreateChannel,
    ) -> Result<CreatedChannel, Error> {
        self.answer(self.request(Method::POST, &["workspaces", workspace, "channels"]).json(channel)).await
    }

    pub async fn channels(&self, workspace: &str) -> Result<ChannelList, Error> {
        self.answer(self.request(Method::GET, &["workspaces", workspace, "channels"])).await
    }

    pub async fn remove_channel(&self, workspace: &str, channel: &str) -> Result<(), Error> {
        self.no_answer(self.request(Method::DELETE, &["workspaces", workspace, "channels", channel])).await
    }
}

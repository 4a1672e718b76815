//! Routes about the server itself.

use reqwest::Method;

use super::{ANSWER_TIMEOUT, Client, Error, FileBytes};
use crate::{Health, ServerInfo, SigningKeys};

impl Client {
    pub async fn info(&self) -> Result<ServerInfo, Error> {
        self.answer(self.request(Method::GET, &["info"])).await
    }

    pub async fn openapi(&self) -> Result<serde_json::Value, Error> {
        self.answer(self.request(Method::GET, &["openapi.json"])).await
    }

    /// The keys that verify what the server signs. Needs no token.
    pub async fn signing_keys(&self) -> Result<SigningKeys, Error> {
        self.answer(self.request(Method::GET, &["keys"])).await
    }

    /// Whether the process lives. Needs no token.
    pub async fn healthz(&self) -> Result<Health, Error> {
        self.answer(self.outside("healthz")).await
    }

    /// Whether it can do its work. Needs no token.
    pub async fn readyz(&self) -> Result<Health, Error> {
        self.answer(self.outside("readyz")).await
    }

    /// In Prometheus' text format.
    pub async fn metrics(&self) -> Result<String, Error> {
        let response = self.send(self.outside("metrics").timeout(ANSWER_TIMEOUT)).await?;
        response.text().await.map_err(Error::from_body)
    }

    /// A backup of everything as it is made (operators). Its last entry says that it is whole.
    pub async fn backup(&self, files_only: bool) -> Result<FileBytes, Error> {
        let request = self.request(Method::GET, &["admin", "backup"]).query(&[("files_only", files_only)]);
        Ok(FileBytes::of(self.send(request).await?))
    }

    fn outside(&self, path: &str) -> reqwest::RequestBuilder {
        self.request_to(Method::GET, &[], &[path])
    }
}

//! Routes of secrets.

use reqwest::Method;

use super::{Client, Error};
use crate::{KeyRotation, Secret, SecretPage, SetSecret};

/// The path of the secrets of an org, or of a workspace.
fn path<'a>(workspace_id: Option<&'a str>, rest: &[&'a str]) -> Vec<&'a str> {
    let head = workspace_id.map_or_else(Vec::new, |id| vec!["workspaces", id]);
    [head.as_slice(), &["secrets"], rest].concat()
}

impl Client {
    /// Sets a secret of the workspace, or of the org. The answer does not hold the value.
    pub async fn set_secret(
        &self,
        workspace_id: Option<&str>,
        name: &str,
        secret: &SetSecret,
    ) -> Result<Secret, Error> {
        let request = self.request(Method::PUT, &path(workspace_id, &[name])).json(secret);
        self.answer(request).await
    }

    /// One page.
    pub async fn secrets(
        &self,
        workspace_id: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<SecretPage, Error> {
        let mut request = self.request(Method::GET, &path(workspace_id, &[]));
        if let Some(cursor) = cursor {
            request = request.query(&[("cursor", cursor)]);
        }
        self.answer(request).await
    }

    pub async fn remove_secret(&self, workspace_id: Option<&str>, name: &str) -> Result<(), Error> {
        self.no_answer(self.request(Method::DELETE, &path(workspace_id, &[name]))).await
    }

    /// Seals all secrets anew, under a new key where the server can make one.
    pub async fn rotate_secret_key(&self) -> Result<KeyRotation, Error> {
        self.answer(self.request(Method::POST, &["secrets", "rotate-key"])).await
    }
}

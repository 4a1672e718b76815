//! Routes of tokens and of who is asking.

use reqwest::Method;

use super::{Client, Error};
use crate::{CreateToken, CreatedToken, SignIn, SignInLink, TokenPage};

impl Client {
    pub async fn create_token(&self, token: &CreateToken) -> Result<CreatedToken, Error> {
        self.answer(self.request(Method::POST, &["tokens"]).json(token)).await
    }

    /// One page.
    pub async fn tokens(&self, cursor: Option<&str>) -> Result<TokenPage, Error> {
        let mut request = self.request(Method::GET, &["tokens"]);
        if let Some(cursor) = cursor {
            request = request.query(&[("cursor", cursor)]);
        }
        self.answer(request).await
    }

    pub async fn revoke_token(&self, id: &str) -> Result<(), Error> {
        self.no_answer(self.request(Method::DELETE, &["tokens", id])).await
    }

    /// Who this client speaks as.
    pub async fn sign_in(&self) -> Result<SignIn, Error> {
        self.answer(self.request(Method::GET, &["sign-in"])).await
    }

    /// A link that signs a browser in as the owner of this client's token, once.
    pub async fn create_sign_in_link(&self) -> Result<SignInLink, Error> {
        self.answer(self.request(Method::POST, &["sign-in", "links"])).await
    }
}

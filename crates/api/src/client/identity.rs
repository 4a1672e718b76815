//! Routes of tokens and of who is asking.

use reqwest::Method;

use super::{Client, Error};
use crate::{CreateToken, CreatedToken, MadeWithTokenList, RevokedToken, SignIn, SignInLink, TokenPage};

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

    /// What was made with a token and is still active.
    pub async fn made_with_token(&self, id: &str) -> Result<MadeWithTokenList, Error> {
        self.answer(self.request(Method::GET, &["tokens", id, "made"])).await
    }

    /// Ends a token, and what was made with it unless it is kept.
    pub async fn revoke_token(&self, id: &str, keeps_made: bool) -> Result<RevokedToken, Error> {
        let request = self.request(Method::DELETE, &["tokens", id]);
        self.answer(request.query(&[("keep", keeps_made)])).await
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

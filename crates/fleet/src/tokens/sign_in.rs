//! How a browser signs in: a link that works once becomes the token of that browser.

use warren_model::event::SignedIn;
use warren_model::{
    AuditAction, ErrorCode, MadeWithToken, OrgId, Principal, ScopeSet, Token, TokenKind, TokenSecret, UserId,
};
use warren_rules::access;
use warren_service::{Actor, Error, Identity};

use super::{MintToken, Minted, Minter, Tokens, revoked, token_entry, token_event};

/// How long a sign-in link works.
const LINK_LIFETIME_MS: i64 = 10 * 60 * 1_000;
/// How long a browser stays signed in.
const SIGN_IN_LIFETIME_MS: i64 = 7 * 24 * 3_600 * 1_000;

impl Tokens {
    /// Makes a sign-in link's secret. Only the binary itself, and operators through it, call this.
    #[tracing::instrument(name = "fleet.tokens.mint_sign_in_link", skip_all)]
    pub async fn mint_sign_in_link(&self, who: Option<&Identity>) -> Result<Minted, Error> {
        let request = MintToken {
            kind: TokenKind::Login,
            name: "sign-in link".to_owned(),
            scopes: ScopeSet::EMPTY,
            workspace_id: None,
            expires_in_ms: Some(LINK_LIFETIME_MS),
        };
        let operator = Principal::user(UserId::OPERATOR);
        let actor = who.map_or_else(|| Actor::system("server", OrgId::DEFAULT), Actor::of);
        let by = Minter { principal: operator.clone(), expires_at: None, actor };
        self.mint_for(operator, OrgId::DEFAULT, by, request).await
    }

    /// Exchanges a sign-in link for the token of a browser; of two that try the same link, one succeeds.
    #[tracing::instrument(name = "fleet.tokens.sign_in", skip_all)]
    pub async fn sign_in(&self, secret: &str, request_id: Option<String>) -> Result<Minted, Error> {
        let hash = TokenSecret::parse(secret).map_err(|_| Error::new(ErrorCode::Unauthenticated))?.hash();
        let now = self.context.now();
        let browser_secret = TokenSecret::new(TokenKind::SignIn, self.context.entropy().secret());
        let browser_id = self.context.entropy().id(now);
        let for_row = browser_secret.clone();
        let token = self
            .context
            .store()
            .write(move |tx| {
                let link = tx.token_by_hash(&hash)?.ok_or_else(|| Error::new(ErrorCode::Unauthenticated))?;
                if link.kind != TokenKind::Login {
                    return Err(Error::new(ErrorCode::Unauthenticated));
                }
                if access::has_ended(&link, now) || !tx.use_up_token(link.id, now)? {
                    return Err(Error::new(ErrorCode::TokenExpired));
                }
                let link_id = link.id;
                let browser = Token {
                    id: browser_id,
                    kind: TokenKind::SignIn,
                    hash: for_row.hash(),
                    prefix: for_row.display_prefix(),
                    name: "browser".to_owned(),
                    created_at: now,
                    expires_at: Some(now.plus_ms(SIGN_IN_LIFETIME_MS)),
                    ..link
                };
                tx.insert_token(&browser)?;
                tx.note_made_with(link_id, MadeWithToken::Token(browser.id))?;
                let data = SignedIn { token_id: browser.id, kind: browser.kind, name: browser.name.clone() };
                tx.append_event(&token_event(&browser, data, &browser.owner, now))?;
                let identity = Identity { request_id: request_id.clone(), ..Identity::new(browser.clone()) };
                let actor = Actor::of(&identity);
                tx.append_audit(&token_entry(&browser, AuditAction::SignedIn, &actor, now))?;
                Ok(browser)
            })
            .await?;
        Ok(Minted { token, secret: browser_secret })
    }

    /// Signs a browser out. Other tokens are not signed out of, they are revoked.
    #[tracing::instrument(name = "fleet.tokens.sign_out", skip_all)]
    pub async fn sign_out(&self, who: &Identity) -> Result<(), Error> {
        if who.token.kind != TokenKind::SignIn {
            let detail = "this is no browser session; revoke the token with DELETE /api/v1/tokens/{id}";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let (token, now, actor) = (who.token.clone(), self.context.now(), Actor::of(who));
        self.context
            .store()
            .write(move |tx| {
                if tx.revoke_token(token.id, now)? {
                    tx.append_event(&token_event(&token, revoked(&token), &token.owner, now))?;
                    tx.append_audit(&token_entry(&token, AuditAction::SignedOut, &actor, now))?;
                }
                Ok(())
            })
            .await
    }
}

//! How a browser signs in: a link that works once becomes the token of that browser, which is somebody's.

use warren_model::event::SignedIn;
use warren_model::{
    AuditAction, ErrorCode, MadeWithToken, OrgId, Principal, ScopeSet, Timestamp, Token, TokenId, TokenKind,
    TokenSecret, UserId,
};
use warren_rules::access;
use warren_service::{Actor, Context, Error, Identity};
use warren_store::WriteTx;

use super::{MintToken, Minted, Minter, Tokens, revoked, token_entry, token_event};

/// How long a sign-in link works.
const LINK_LIFETIME_MS: i64 = 10 * 60 * 1_000;
/// How long a browser stays signed in.
const SIGN_IN_LIFETIME_MS: i64 = 7 * 24 * 3_600 * 1_000;

/// What the token of a browser is made of.
#[derive(Debug, Clone)]
pub(crate) struct SignInInputs {
    pub(crate) id: TokenId,
    pub(crate) secret: TokenSecret,
    pub(crate) now: Timestamp,
    pub(crate) request_id: Option<String>,
}

impl SignInInputs {
    pub(crate) fn new(context: &Context, request_id: Option<String>) -> Self {
        let now = context.now();
        let secret = TokenSecret::new(TokenKind::SignIn, context.entropy().secret());
        Self { id: context.entropy().id(now), secret, now, request_id }
    }
}

/// The token of somebody's browser.
pub(crate) fn browser_token(owner: Principal, org_id: OrgId, inputs: &SignInInputs) -> Token {
    Token {
        id: inputs.id,
        kind: TokenKind::SignIn,
        hash: inputs.secret.hash(),
        prefix: inputs.secret.display_prefix(),
        name: "browser".to_owned(),
        owner,
        org_id,
        workspace_id: None,
        scopes: ScopeSet::EMPTY,
        created_at: inputs.now,
        expires_at: Some(inputs.now.plus_ms(SIGN_IN_LIFETIME_MS)),
        last_used_at: None,
        revoked_at: None,
        used_at: None,
    }
}

/// Lets somebody's browser in, with the event and the entry that tell of it.
pub(crate) fn insert_browser(
    tx: &mut dyn WriteTx,
    browser: &Token,
    inputs: &SignInInputs,
) -> Result<(), Error> {
    tx.insert_token(browser)?;
    let data = SignedIn { token_id: browser.id, kind: browser.kind, name: browser.name.clone() };
    tx.append_event(&token_event(browser, data, &browser.owner, inputs.now))?;
    let holder = tx.held_token(browser.id)?.and_then(|(_, holder)| holder);
    let identity =
        Identity { request_id: inputs.request_id.clone(), ..Identity::of_holder(browser.clone(), holder) };
    tx.append_audit(&token_entry(browser, AuditAction::SignedIn, &Actor::of(&identity), inputs.now))?;
    Ok(())
}

impl Tokens {
    /// Makes a sign-in link's secret for whoever asks; for the binary itself, the person who started this Warren. Whether
    /// they may, the caller has asked.
    #[tracing::instrument(name = "fleet.tokens.mint_sign_in_link", skip_all)]
    pub async fn mint_sign_in_link(&self, who: Option<&Identity>) -> Result<Minted, Error> {
        let operator = Principal::user(UserId::OPERATOR);
        match who {
            Some(who) => self.mint_link_for(who.principal.clone(), who.token.org_id, who).await,
            None => {
                let actor = Actor::system("server", OrgId::DEFAULT);
                let by = Minter { principal: operator.clone(), expires_at: None, actor };
                self.mint_for(operator, OrgId::DEFAULT, by, link()).await
            }
        }
    }

    /// The same for somebody else, in this org.
    pub(crate) async fn mint_link_for(
        &self,
        owner: Principal,
        org_id: OrgId,
        who: &Identity,
    ) -> Result<Minted, Error> {
        let by = Minter { principal: who.principal.clone(), expires_at: None, actor: Actor::of(who) };
        self.mint_for(owner, org_id, by, link()).await
    }

    /// Exchanges a sign-in link for the token of a browser; of two that try the same link, one succeeds.
    #[tracing::instrument(name = "fleet.tokens.sign_in", skip_all)]
    pub async fn sign_in(&self, secret: &str, request_id: Option<String>) -> Result<Minted, Error> {
        let hash = TokenSecret::parse(secret).map_err(|_| Error::new(ErrorCode::Unauthenticated))?.hash();
        let inputs = SignInInputs::new(&self.context, request_id);
        let browser_secret = inputs.secret.clone();
        let token = self
            .context
            .store()
            .write(move |tx| {
                let held = tx.held_token_by_hash(&hash)?;
                let (link, holder) = held.ok_or_else(|| Error::new(ErrorCode::Unauthenticated))?;
                if link.kind != TokenKind::Login {
                    return Err(Error::new(ErrorCode::Unauthenticated));
                }
                let is_good =
                    !access::has_ended(&link, inputs.now) && access::is_holder_in(&link, holder.as_ref());
                if !is_good || !tx.use_up_token(link.id, inputs.now)? {
                    return Err(Error::new(ErrorCode::TokenExpired));
                }
                let browser = browser_token(link.owner.clone(), link.org_id, &inputs);
                insert_browser(tx, &browser, &inputs)?;
                tx.note_made_with(link.id, MadeWithToken::Token(browser.id))?;
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

fn link() -> MintToken {
    MintToken {
        kind: TokenKind::Login,
        name: "sign-in link".to_owned(),
        scopes: ScopeSet::EMPTY,
        workspace_id: None,
        expires_in_ms: Some(LINK_LIFETIME_MS),
    }
}

//! Tokens: making, checking and revoking them (F30, F31). How a browser signs in is in `sign_in`.

mod made_with;
mod sign_in;
mod throttle;

pub(crate) use made_with::{Ending, active_things, end, thing};
pub use made_with::{Made, MadeThing, count_kinds};
pub(crate) use sign_in::{SignInInputs, browser_token, insert_browser};
pub use throttle::{Throttle, TooFast};

use warren_model::event::{TokenCreated, TokenRevoked};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, EventData, Holder, MadeWithToken, NewAuditEntry,
    NewEvent, OrgId, Principal, ScopeSet, Status, Timestamp, Token, TokenId, TokenKind, TokenSecret, UserId,
    WorkspaceId,
};
use warren_rules::access::{self, MintRefusal, MintRequest};
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{Page, ReadTx, TokenQuery};

use crate::access::WorkspaceAccess;

/// How long a join token waits for its runtime, unless told.
const JOIN_LIFETIME_MS: i64 = 3_600 * 1_000;
const MAX_NAME_CHARACTERS: usize = 100;

/// A token somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MintToken {
    pub kind: TokenKind,
    pub name: String,
    pub scopes: ScopeSet,
    pub workspace_id: Option<WorkspaceId>,
    pub expires_in_ms: Option<i64>,
}

/// A new token with its secret, which is known only now.
#[derive(Debug, Clone, PartialEq)]
pub struct Minted {
    pub token: Token,
    pub secret: TokenSecret,
}

/// Makes, checks and revokes tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokens {
    context: Context,
    access: WorkspaceAccess,
}

impl Tokens {
    pub(crate) fn new(context: Context, access: WorkspaceAccess) -> Self {
        Self { context, access }
    }

    /// Proves who is asking. The secret is looked up by its hash.
    #[tracing::instrument(name = "fleet.tokens.identify", level = "debug", skip_all)]
    pub async fn identify(&self, secret: &str) -> Result<Identity, Error> {
        let hash = TokenSecret::parse(secret).map_err(|_| Error::new(ErrorCode::Unauthenticated))?.hash();
        let now = self.context.now();
        let identity = self
            .context
            .store()
            .read_few(move |tx| {
                let held = tx.held_token_by_hash(&hash)?;
                let (token, holder) = held.ok_or_else(|| Error::new(ErrorCode::Unauthenticated))?;
                if !is_good(tx, &token, holder.as_ref(), now)? {
                    return Err(Error::new(ErrorCode::TokenExpired));
                }
                Ok(Identity::of_holder(token, holder))
            })
            .await?;
        self.note_use(&identity.token, now);
        Ok(identity)
    }

    /// Whether somebody who was let in a while ago still may what they were let in for; for streams that stay open
    /// (sec/U05). Whoever may less now, or works in another org, comes in anew.
    pub async fn is_still_valid(&self, who: &Identity) -> Result<bool, Error> {
        let (now, id, before) = (self.context.now(), who.token.id, who.caller());
        self.context
            .store()
            .read(move |tx| {
                let Some((token, holder)) = tx.held_token(id)? else { return Ok(false) };
                let is_good = is_good(tx, &token, holder.as_ref(), now)?;
                let after = Identity::of_holder(token, holder).caller();
                Ok(is_good && access::may_still(&before, &after))
            })
            .await
    }

    fn note_use(&self, token: &Token, now: Timestamp) {
        if !access::is_use_noted(token, now) {
            return;
        }
        let (context, id) = (self.context.clone(), token.id);
        self.context.spawn(tracing::info_span!("fleet.tokens.note_use", token.id = %id), async move {
            let touched = context.store().write(move |tx| tx.touch_token(id, now).map_err(Error::from)).await;
            if let Err(error) = touched {
                tracing::warn!(token.id = %id, %error, "the last use of a token could not be recorded");
            }
        });
    }

    /// Makes a token for somebody who asks for it.
    #[tracing::instrument(name = "fleet.tokens.mint", skip_all)]
    pub async fn mint(&self, who: &Identity, mut request: MintToken) -> Result<Minted, Error> {
        if request.kind == TokenKind::Join {
            request.expires_in_ms = request.expires_in_ms.or(Some(JOIN_LIFETIME_MS));
        }
        who.may_in_own_org(Action::WriteTokens)?;
        let asked =
            MintRequest { kind: request.kind, scopes: request.scopes, workspace_id: request.workspace_id };
        access::decide_mint(&who.caller(), &asked).map_err(|refusal| {
            let code = match refusal {
                MintRefusal::WiderThanOwn => ErrorCode::Forbidden,
                _ => ErrorCode::InvalidRequest,
            };
            Error::with_detail(code, refusal.sentence())
        })?;
        if let Some(id) = request.workspace_id {
            let row = self.access.get(who, Action::UseWorkspace, id).await?;
            if row.status == Status::Removed {
                return Err(Error::new(ErrorCode::WorkspaceNotFound));
            }
        }
        let owner = match request.workspace_id {
            Some(id) => Principal::workspace(id),
            None => who.principal.clone(),
        };
        let minted_by = Minter {
            principal: who.principal.clone(),
            expires_at: who.token.expires_at,
            actor: Actor::of(who),
        };
        self.mint_for(owner, who.token.org_id, minted_by, request).await
    }

    /// Makes the admin token of the person who runs this Warren. Only the binary itself calls this.
    #[tracing::instrument(name = "fleet.tokens.mint_operator", skip_all)]
    pub async fn mint_operator(&self, name: &str) -> Result<Minted, Error> {
        let operator = Principal::user(UserId::OPERATOR);
        let request = MintToken {
            kind: TokenKind::Admin,
            name: name.to_owned(),
            scopes: ScopeSet::EMPTY,
            workspace_id: None,
            expires_in_ms: None,
        };
        let actor = Actor::system("server", OrgId::DEFAULT);
        let by = Minter { principal: Principal::system("server"), expires_at: None, actor };
        self.mint_for(operator, OrgId::DEFAULT, by, request).await
    }

    pub(crate) async fn mint_for(
        &self,
        owner: Principal,
        org_id: OrgId,
        by: Minter,
        request: MintToken,
    ) -> Result<Minted, Error> {
        let length = request.name.chars().count();
        if !(1..=MAX_NAME_CHARACTERS).contains(&length) || request.name.chars().any(char::is_control) {
            let detail = "name: 1 to 100 characters without control characters";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let now = self.context.now();
        let secret = TokenSecret::new(request.kind, self.context.entropy().secret());
        let token = Token {
            id: self.context.entropy().id(now),
            kind: request.kind,
            hash: secret.hash(),
            prefix: secret.display_prefix(),
            name: request.name,
            owner,
            org_id,
            workspace_id: request.workspace_id,
            scopes: request.scopes,
            created_at: now,
            expires_at: access::expiry_of_mint(
                by.expires_at,
                request.expires_in_ms.map(|ms| now.plus_ms(ms)),
            ),
            last_used_at: None,
            revoked_at: None,
            used_at: None,
        };
        let max = u64::from(self.context.limits().max_tokens_per_owner);
        let row = token.clone();
        self.context
            .store()
            .write(move |tx| {
                let is_counted = !matches!(row.kind, TokenKind::Login | TokenKind::SignIn);
                if is_counted && tx.count_tokens(&row.owner, now)? >= max {
                    return Err(Error::new(ErrorCode::TokenLimit));
                }
                tx.insert_token(&row)?;
                by.actor.note_made(tx, MadeWithToken::Token(row.id))?;
                let data = TokenCreated { token_id: row.id, kind: row.kind, name: row.name.clone() };
                tx.append_event(&token_event(&row, data, &by.principal, now))?;
                tx.append_audit(&token_entry(&row, AuditAction::TokenCreated, &by.actor, now))?;
                Ok(())
            })
            .await?;
        Ok(Minted { token, secret })
    }

    /// Revokes a token, and ends what acts in its name unless that is to stay; returns what there was of it. Doing it
    /// twice is fine. A `user` sees its own org's tokens only.
    #[tracing::instrument(name = "fleet.tokens.revoke", skip_all, fields(token.id = %id))]
    pub async fn revoke(&self, who: &Identity, id: TokenId, made: Made) -> Result<Vec<MadeThing>, Error> {
        who.may_in_own_org(Action::WriteTokens)?;
        let (sight, by, caller) = (Sight::of(who), who.principal.clone(), who.caller());
        let actor = Actor::of(who);
        let now = self.context.now();
        self.context
            .store()
            .write(move |tx| {
                let token = visible_token(tx, &sight, id)?;
                let could =
                    MintRequest { kind: token.kind, scopes: token.scopes, workspace_id: token.workspace_id };
                if !access::may_revoke(&caller, &could, token.owner == by) {
                    let detail = "a token cannot end one that may do more than itself";
                    return Err(Error::with_detail(ErrorCode::Forbidden, detail));
                }
                if tx.revoke_token(id, now)? {
                    tx.append_event(&token_event(&token, revoked(&token), &by, now))?;
                    tx.append_audit(&token_entry(&token, AuditAction::TokenRevoked, &actor, now))?;
                }
                let things = made_with::active_things(tx, id, now)?;
                if made == Made::Ends {
                    let ending = Ending { by: &by, actor: &actor, now };
                    things.iter().try_for_each(|thing| made_with::end(tx, thing, &ending))?;
                }
                Ok(things)
            })
            .await
    }

    #[tracing::instrument(name = "fleet.tokens.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        after: Option<TokenId>,
        limit: u32,
    ) -> Result<Page<Token, TokenId>, Error> {
        who.may_in_own_org(Action::ReadTokens)?;
        let limit = limit.min(self.context.limits().max_page_size);
        let sight = Sight::of(who);
        let only_of = (!sight.sees_all).then_some(sight.principal);
        let query =
            TokenQuery { org_id: sight.org_id, owner: None, only_of, includes_ended: false, after, limit };
        let page = self.context.store().read(move |tx| tx.tokens(&query).map_err(Error::from)).await?;
        Ok(self.context.listed(page))
    }
}

/// Who makes a token, and until when they themselves are let in.
#[derive(Debug, Clone)]
pub(crate) struct Minter {
    pub(crate) principal: Principal,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) actor: Actor,
}

/// Whether a token lets its holder in now.
fn is_good(
    tx: &mut dyn ReadTx,
    token: &Token,
    holder: Option<&Holder>,
    now: Timestamp,
) -> Result<bool, Error> {
    let is_good = !access::has_ended(token, now) && access::is_holder_in(token, holder);
    Ok(is_good && speaks_for_a_living_workspace(tx, token)?)
}

/// What a caller does not see is not there: tokens of other orgs, and of other people unless they run the org.
fn visible_token(tx: &mut dyn ReadTx, who: &Sight, id: TokenId) -> Result<Token, Error> {
    let found = tx.token(id)?.filter(|token| {
        let is_of_org = who.org_id.is_none_or(|org| org == token.org_id);
        let is_ours = token.workspace_id.is_some() || token.owner == who.principal;
        is_of_org && (who.sees_all || is_ours)
    });
    found.ok_or_else(|| Error::new(ErrorCode::TokenNotFound))
}

/// Whose tokens somebody sees.
#[derive(Debug, Clone)]
struct Sight {
    org_id: Option<OrgId>,
    principal: Principal,
    sees_all: bool,
}

impl Sight {
    fn of(who: &Identity) -> Self {
        let sees_all = access::sees_all_tokens(&who.caller());
        Self { org_id: who.visible_org(), principal: who.principal.clone(), sees_all }
    }
}

/// A workspace's tokens end with it.
fn speaks_for_a_living_workspace(tx: &mut dyn ReadTx, token: &Token) -> Result<bool, Error> {
    let Some(id) = token.workspace_id else { return Ok(true) };
    Ok(tx.workspace(id)?.is_some_and(|row| row.status != Status::Removed))
}

fn token_entry(token: &Token, action: AuditAction, by: &Actor, at: Timestamp) -> NewAuditEntry {
    let details = AuditDetails::Token {
        kind: token.kind,
        name: token.name.clone(),
        owner: token.owner.clone(),
        prefix: token.prefix.clone(),
        scopes: token.scopes,
    };
    by.did(at, action, AuditTargetKind::Token, &token.id.to_string(), &details)
}

fn revoked(token: &Token) -> TokenRevoked {
    TokenRevoked { token_id: token.id, kind: token.kind, name: token.name.clone() }
}

fn token_event(token: &Token, data: impl Into<EventData>, by: &Principal, at: Timestamp) -> NewEvent {
    NewEvent {
        at,
        org_id: token.org_id,
        workspace_id: token.workspace_id,
        principal: by.clone(),
        data: data.into(),
    }
}

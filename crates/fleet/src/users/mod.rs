//! People: who is in an org, what they may do there, and how they leave (F9, F30).
//!
//! ```text
//!   add ──────────────┐
//!   invitation ───────┼──▶ a user and a member of the org ──▶ leave: tokens, links, invitations and
//!   sign-in provider ─┘                                       what acts in their name end with it
//! ```

mod leaving;
mod provider;

pub use leaving::Departure;
pub use provider::{NewPeople, ProviderPerson};

use std::collections::HashMap;

use warren_model::event::{UserChanged, UserJoined};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, EventData, Member, NewEvent, Org, OrgId, OrgRole,
    Principal, PrincipalKind, ShortName, Timestamp, TokenKind, User, UserId,
};
use warren_rules::access::people::{self, Person};
use warren_service::{Action, Actor, Context, Error, Identity};
use warren_store::{MemberQuery, Page, ReadTx, WriteTx};

use crate::orgs::{find_org, require_room_for_member};
use crate::tokens::{Minted, Tokens};

/// Orgs that an answer names at most.
const MAX_ORGS: u32 = 100;

/// A person as an org knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgPerson {
    pub user: User,
    /// Absent: they are not in the org, and were not.
    pub member: Option<Member>,
    /// Whether the caller may see their address.
    pub shows_email: bool,
    /// When they last used a token or a browser in the org, where the caller may see that.
    pub last_seen_at: Option<Timestamp>,
}

/// A person who is to be in an org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddUser {
    pub name: String,
    pub display_name: Option<String>,
    pub email: Option<String>,
    pub role: OrgRole,
}

/// What is to change about a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeUser {
    pub name: Option<String>,
    pub display_name: Option<String>,
    pub email: Option<String>,
    pub role: Option<OrgRole>,
    pub is_admin: Option<bool>,
}

/// People and how they sign in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Users {
    context: Context,
    tokens: Tokens,
}

impl Users {
    pub(crate) fn new(context: Context, tokens: Tokens) -> Self {
        Self { context, tokens }
    }

    /// The people of an org: one's own, or for who runs this Warren the one that is named.
    #[tracing::instrument(name = "fleet.users.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        org: Option<String>,
        includes_past: bool,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Page<OrgPerson, UserId>, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let (who, limit) = (who.clone(), limit.clamp(1, self.context.limits().max_page_size));
        let page = self
            .context
            .store()
            .read(move |tx| {
                let org_id = org_of(tx, &who, org.as_deref())?;
                let query = MemberQuery { org_id, includes_past, after, limit };
                let page = tx.members(&query)?;
                let people: Vec<_> = page.rows.iter().map(|(user, _)| user.principal()).collect();
                let seen = last_seen(tx, &who, org_id, &people)?;
                let shown = |(user, member): (User, Member)| OrgPerson {
                    last_seen_at: seen.get(&user.principal()).copied(),
                    ..shown_to(&who, user, Some(member))
                };
                Ok::<_, Error>(page.map(shown))
            })
            .await?;
        Ok(self.context.listed(page))
    }

    /// By name or id.
    #[tracing::instrument(name = "fleet.users.get", skip_all)]
    pub async fn get(&self, who: &Identity, org: Option<String>, user: &str) -> Result<OrgPerson, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let (who, user) = (who.clone(), user.to_owned());
        self.context
            .store()
            .read(move |tx| {
                let org_id = org_of(tx, &who, org.as_deref())?;
                let (user, member) = find_user(tx, &who, org_id, &user)?;
                let last_seen_at =
                    last_seen(tx, &who, org_id, &[user.principal()])?.remove(&user.principal());
                Ok(OrgPerson { last_seen_at, ..shown_to(&who, user, member) })
            })
            .await
    }

    /// What people are called, also those who left.
    pub async fn names(&self, ids: Vec<UserId>) -> Result<HashMap<UserId, String>, Error> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let users = self.context.store().read(move |tx| tx.users_by_ids(&ids).map_err(Error::from)).await?;
        Ok(users.into_iter().map(|user| (user.id, user.display_name)).collect())
    }

    /// Takes a person into an org. Who runs this Warren may name somebody who is in another one.
    #[tracing::instrument(name = "fleet.users.add", skip_all)]
    pub async fn add(&self, who: &Identity, org: Option<String>, add: AddUser) -> Result<OrgPerson, Error> {
        who.may_in_own_org(Action::OperateOrg)?;
        let (who, now) = (who.clone(), self.context.now());
        let new_id = self.context.new_id();
        self.context
            .store()
            .write(move |tx| {
                let org_id = org_of(tx, &who, org.as_deref())?;
                let known = parse_name(&add.name)?;
                let known = tx.user_by_name(&known)?.filter(|_| who.runs_warren());
                let user = match known {
                    Some(user) => user,
                    None => {
                        let display_name = add.display_name.as_deref().unwrap_or(&add.name);
                        let new = NewPerson {
                            id: new_id,
                            name: &add.name,
                            display_name,
                            email: add.email.as_deref(),
                        };
                        insert_person(tx, &new, now, Some(&who))?
                    }
                };
                let joining =
                    Joining { org_id, role: add.role, now, by: &who.principal, actor: &Actor::of(&who) };
                let member = join(tx, &user, &joining)?;
                Ok(shown_to(&who, user, Some(member)))
            })
            .await
    }

    /// Changes what a person is called, or what they may do. One's own name to be shown is one's own.
    #[tracing::instrument(name = "fleet.users.change", skip_all)]
    pub async fn change(
        &self,
        who: &Identity,
        org: Option<String>,
        user: &str,
        change: ChangeUser,
    ) -> Result<OrgPerson, Error> {
        require_person(who)?;
        let (who, user, now) = (who.clone(), user.to_owned(), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                let org_id = org_of(tx, &who, org.as_deref())?;
                let (mut user, member) = find_user(tx, &who, org_id, &user)?;
                if user.removed_at.is_some() {
                    return Err(Error::new(ErrorCode::UserNotFound));
                }
                may_change(tx, &who, &user, &change)?;
                let member = change_role(tx, &who, org_id, &user, member, change.role)?;
                change_person(tx, &who, &mut user, &change)?;
                let role =
                    member.as_ref().filter(|member| member.left_at.is_none()).map(|member| member.role);
                let data = UserChanged { user_id: user.id, name: user.name.to_string(), role };
                tx.append_event(&event(org_id, &who.principal, now, data))?;
                let details = details_of(&user, role);
                let (action, kind) = (AuditAction::UserChanged, AuditTargetKind::User);
                let actor = Actor::of(&who).in_org(org_id);
                tx.append_audit(&actor.did(now, action, kind, &user.id.to_string(), &details))?;
                Ok(shown_to(&who, user, member))
            })
            .await
    }

    /// Makes a link by which a person signs in: for oneself, or by those who run the orgs that the person is in.
    #[tracing::instrument(name = "fleet.users.make_link", skip_all)]
    pub async fn make_link(&self, who: &Identity, user: &str) -> Result<Minted, Error> {
        require_person(who)?;
        let (asker, user) = (who.clone(), user.to_owned());
        let (user, org_id) = self
            .context
            .store()
            .read(move |tx| {
                let org_id = asker.token.org_id;
                let (user, member) = find_user(tx, &asker, org_id, &user)?;
                let is_own = user.principal() == asker.principal;
                // A program with a narrow token does not become its whole person.
                let is_oneself = is_own && matches!(asker.token.kind, TokenKind::SignIn | TokenKind::Admin);
                if !is_oneself && !asker.runs_warren() {
                    asker.may_in_own_org(Action::OperateOrg)?;
                    require_reach(tx, &asker, &user)?;
                }
                let is_here = member.is_some_and(|member| member.left_at.is_none());
                let elsewhere = tx.orgs_of(user.id)?.first().map(|(org, _)| org.id);
                let place = if is_here || is_own { Some(org_id) } else { elsewhere };
                let place = place.or(user.is_admin.then_some(org_id));
                let place = place.ok_or_else(|| Error::new(ErrorCode::UserNotFound))?;
                Ok::<_, Error>((user, place))
            })
            .await?;
        let minted = self.tokens.mint_link_for(user.principal(), org_id, who).await?;
        let (actor, now) = (Actor::of(who).in_org(org_id), self.context.now());
        self.context
            .store()
            .write(move |tx| {
                let (action, kind) = (AuditAction::SignInLinkMade, AuditTargetKind::User);
                let details = details_of(&user, None);
                Ok::<_, Error>(tx.append_audit(&actor.did(
                    now,
                    action,
                    kind,
                    &user.id.to_string(),
                    &details,
                ))?)
            })
            .await?;
        Ok(minted)
    }

    /// Where the caller may work: their orgs; for who runs this Warren, all, with the role that they have there.
    #[tracing::instrument(name = "fleet.users.orgs", skip_all)]
    pub async fn orgs(&self, who: &Identity) -> Result<Vec<(Org, Option<OrgRole>)>, Error> {
        let who = who.clone();
        self.context.store().read(move |tx| orgs_of(tx, &who)).await
    }

    /// Has a browser, or an admin's token, work in another org from now on. What it has open in the old one ends.
    #[tracing::instrument(name = "fleet.users.switch_org", skip_all)]
    pub async fn switch_org(&self, who: &Identity, org: &str) -> Result<Identity, Error> {
        if !matches!(who.token.kind, TokenKind::SignIn | TokenKind::Admin) {
            let detail = "a token stays in the org in which it was made; make one in the other org";
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let (asker, org) = (who.clone(), org.to_owned());
        self.context
            .store()
            .write(move |tx| {
                let org = find_org(tx, &org)?;
                let is_in = orgs_of_person(tx, &asker.principal)?.iter().any(|(one, _)| one.id == org.id);
                if !is_in && !asker.runs_warren() {
                    return Err(Error::new(ErrorCode::OrgNotFound));
                }
                tx.move_token(asker.token.id, org.id)?;
                let held = tx.held_token(asker.token.id)?;
                let (token, holder) = held.ok_or_else(|| Error::new(ErrorCode::TokenExpired))?;
                Ok(Identity { request_id: asker.request_id.clone(), ..Identity::of_holder(token, holder) })
            })
            .await
    }
}

/// Agents have no say about people.
fn require_person(who: &Identity) -> Result<(), Error> {
    who.may_in_own_org(Action::KnowOneself)?;
    if who.is_person() { Ok(()) } else { Err(Error::new(ErrorCode::Forbidden)) }
}

/// The id of a person, if it is one.
pub(crate) fn user_id(principal: &Principal) -> Option<UserId> {
    (principal.kind == PrincipalKind::User).then(|| principal.id.parse().ok()).flatten()
}

/// The org that somebody asks about: their own, or for who runs this Warren the one that they name.
fn org_of(tx: &mut (impl ReadTx + ?Sized), who: &Identity, asked: Option<&str>) -> Result<OrgId, Error> {
    let Some(asked) = asked else { return Ok(who.token.org_id) };
    let org = find_org(tx, asked)?;
    if org.id == who.token.org_id || who.runs_warren() {
        return Ok(org.id);
    }
    Err(Error::new(ErrorCode::OrgNotFound))
}

fn orgs_of_person(
    tx: &mut (impl ReadTx + ?Sized),
    principal: &Principal,
) -> Result<Vec<(Org, OrgRole)>, Error> {
    user_id(principal).map_or(Ok(Vec::new()), |id| Ok(tx.orgs_of(id)?))
}

fn orgs_of(tx: &mut dyn ReadTx, who: &Identity) -> Result<Vec<(Org, Option<OrgRole>)>, Error> {
    let own = orgs_of_person(tx, &who.principal)?;
    if !who.runs_warren() {
        return Ok(own.into_iter().map(|(org, role)| (org, Some(role))).collect());
    }
    let role_in = |org: &Org| own.iter().find(|(one, _)| one.id == org.id).map(|(_, role)| *role);
    Ok(tx.orgs(None, MAX_ORGS)?.rows.into_iter().map(|org| (org.clone(), role_in(&org))).collect())
}

/// Somebody by name or id, as far as the caller may see them: those of the org, also the past ones, and oneself; for who runs
/// this Warren, everybody.
fn find_user(
    tx: &mut (impl ReadTx + ?Sized),
    who: &Identity,
    org_id: OrgId,
    text: &str,
) -> Result<(User, Option<Member>), Error> {
    let not_found = || Error::new(ErrorCode::UserNotFound);
    let found = match text.parse::<UserId>() {
        Ok(id) => tx.user(id)?,
        Err(_) => tx.user_by_name(&text.parse().map_err(|_| not_found())?)?,
    };
    let user = found.ok_or_else(not_found)?;
    let member = tx.member(org_id, user.id)?;
    let is_seen = member.is_some() || who.runs_warren() || user.principal() == who.principal;
    if is_seen { Ok((user, member)) } else { Err(not_found()) }
}

fn shown_to(who: &Identity, user: User, member: Option<Member>) -> OrgPerson {
    let shows_email = who.runs_org() || user.principal() == who.principal;
    OrgPerson { user, member, shows_email, last_seen_at: None }
}

/// When people were last there, for those who run the org.
fn last_seen(
    tx: &mut (impl ReadTx + ?Sized),
    who: &Identity,
    org_id: OrgId,
    people: &[Principal],
) -> Result<HashMap<Principal, Timestamp>, Error> {
    if !who.runs_org() {
        return Ok(HashMap::new());
    }
    Ok(tx.last_uses(org_id, people)?.into_iter().collect())
}

/// Whether the caller may change what they want to change.
fn may_change(
    tx: &mut (impl ReadTx + ?Sized),
    who: &Identity,
    user: &User,
    change: &ChangeUser,
) -> Result<(), Error> {
    if change.is_admin.is_some() {
        who.may_in_own_org(Action::OperateWarren)?;
    }
    if who.runs_warren() {
        return Ok(());
    }
    let is_oneself = user.principal() == who.principal && who.token.kind == TokenKind::SignIn;
    let only_shown_name = change.role.is_none() && change.name.is_none() && change.email.is_none();
    if is_oneself && only_shown_name {
        return Ok(());
    }
    who.may_in_own_org(Action::OperateOrg)?;
    let is_about_person = change.name.is_some() || change.display_name.is_some() || change.email.is_some();
    if is_about_person && !is_oneself { require_reach(tx, who, user) } else { Ok(()) }
}

/// Only for those who are nowhere else than where the caller runs things.
fn require_reach(tx: &mut (impl ReadTx + ?Sized), who: &Identity, user: &User) -> Result<(), Error> {
    let own = orgs_of_person(tx, &who.principal)?;
    let roles: Vec<_> = tx
        .orgs_of(user.id)?
        .iter()
        .map(|(org, _)| own.iter().find(|(one, _)| one.id == org.id).map(|(_, role)| *role))
        .collect();
    if people::is_in_reach(&Person { is_admin: user.is_admin, roles_of_asker: &roles }) {
        return Ok(());
    }
    let detail =
        "this person runs this Warren, or is in an org that you do not run; ask who runs this Warren";
    Err(Error::with_detail(ErrorCode::Forbidden, detail))
}

fn change_role(
    tx: &mut dyn WriteTx,
    who: &Identity,
    org_id: OrgId,
    user: &User,
    member: Option<Member>,
    role: Option<OrgRole>,
) -> Result<Option<Member>, Error> {
    let Some(role) = role else { return Ok(member) };
    let is_in = member.filter(|member| member.left_at.is_none());
    let member = is_in.ok_or_else(|| Error::new(ErrorCode::UserNotFound))?;
    tx.hold_org(org_id)?;
    let operators = tx.count_members(org_id, Some(OrgRole::Operator))?;
    if people::leaves_no_operator(member.role, Some(role), operators, who.runs_warren()) {
        return Err(Error::new(ErrorCode::LastOperator));
    }
    let member = Member { role, user_id: user.id, ..member };
    tx.put_member(&member)?;
    Ok(Some(member))
}

fn change_person(
    tx: &mut dyn WriteTx,
    who: &Identity,
    user: &mut User,
    change: &ChangeUser,
) -> Result<(), Error> {
    let before = user.clone();
    if let Some(name) = &change.name {
        user.name = parse_name(name)?;
    }
    if let Some(name) = &change.display_name {
        user.display_name = parse_display_name(name)?;
    }
    if let Some(email) = &change.email {
        user.email = parse_email(Some(email))?;
    }
    if let Some(is_admin) = change.is_admin {
        if user.is_admin && !is_admin {
            require_another_admin(tx, user)?;
        }
        user.is_admin = is_admin;
    }
    if before.name != user.name || before.display_name != user.display_name {
        claim(tx, user, Some(who))?;
    }
    tx.update_user(user)?;
    Ok(())
}

/// The person who started this Warren is who its own link signs in, and stays.
fn require_another_admin(tx: &mut (impl ReadTx + ?Sized), user: &User) -> Result<(), Error> {
    if user.id == UserId::OPERATOR {
        let detail = "this is who the link that `warren up` prints signs in";
        return Err(Error::with_detail(ErrorCode::LastAdmin, detail));
    }
    if tx.count_admins()? <= 1 { Err(Error::new(ErrorCode::LastAdmin)) } else { Ok(()) }
}

fn parse_name(text: &str) -> Result<ShortName, Error> {
    let wrong = |error| Error::with_detail(ErrorCode::InvalidRequest, format!("name: {error}"));
    text.parse().map_err(wrong)
}

fn parse_display_name(text: &str) -> Result<String, Error> {
    people::check_display_name(text)
        .map_err(|problem| Error::with_detail(ErrorCode::InvalidRequest, problem.sentence()))
}

pub(crate) fn parse_email(text: Option<&str>) -> Result<Option<String>, Error> {
    let one = |text: &str| {
        let detail = "email: expected an address such as anna@example.org";
        people::check_email(text).ok_or_else(|| Error::with_detail(ErrorCode::InvalidRequest, detail))
    };
    text.map(one).transpose()
}

/// A person who is not known yet.
#[derive(Debug, Clone)]
pub(crate) struct NewPerson<'a> {
    pub(crate) id: UserId,
    pub(crate) name: &'a str,
    pub(crate) display_name: &'a str,
    pub(crate) email: Option<&'a str>,
}

/// Writes a person whose names nobody has and nobody takes for somebody else's.
pub(crate) fn insert_person(
    tx: &mut dyn WriteTx,
    new: &NewPerson<'_>,
    now: Timestamp,
    asker: Option<&Identity>,
) -> Result<User, Error> {
    let user = User {
        id: new.id,
        name: parse_name(new.name)?,
        display_name: parse_display_name(new.display_name)?,
        email: parse_email(new.email)?,
        is_admin: false,
        created_at: now,
        removed_at: None,
    };
    let looks = people::looks_of(user.name.as_str(), &user.display_name);
    if let Some(other) = tx.look_holder(&looks)? {
        return Err(taken(tx, other, asker));
    }
    match tx.insert_user(&user) {
        Err(warren_store::Error::AlreadyExists) => return Err(Error::new(ErrorCode::NameTaken)),
        written => written?,
    }
    claim(tx, &user, asker)?;
    Ok(user)
}

fn claim(tx: &mut dyn WriteTx, user: &User, asker: Option<&Identity>) -> Result<(), Error> {
    let looks = people::looks_of(user.name.as_str(), &user.display_name);
    match tx.claim_looks(user.id, &looks)? {
        None => Ok(()),
        Some(other) => Err(taken(tx, other, asker)),
    }
}

/// Says who has the name to those who may see them.
fn taken(tx: &mut dyn WriteTx, holder: UserId, asker: Option<&Identity>) -> Error {
    let seen = asker.and_then(|asker| {
        let member = tx.member(asker.token.org_id, holder).ok().flatten();
        let is_seen = asker.runs_warren() || member.is_some_and(|member| member.left_at.is_none());
        is_seen.then(|| tx.user(holder).ok().flatten()).flatten()
    });
    match seen {
        Some(user) => {
            let detail = format!("it is, or looks like, that of {} ({})", user.display_name, user.name);
            Error::with_detail(ErrorCode::NameTaken, detail)
        }
        None => Error::new(ErrorCode::NameTaken),
    }
}

/// How somebody comes into an org.
#[derive(Debug)]
pub(crate) struct Joining<'a> {
    pub(crate) org_id: OrgId,
    pub(crate) role: OrgRole,
    pub(crate) now: Timestamp,
    pub(crate) by: &'a Principal,
    pub(crate) actor: &'a Actor,
}

/// Takes a person into an org, with the event and the entry that tell of it.
pub(crate) fn join(tx: &mut dyn WriteTx, user: &User, joining: &Joining<'_>) -> Result<Member, Error> {
    let Joining { org_id, role, now, by, actor } = *joining;
    if tx.member(org_id, user.id)?.is_some_and(|member| member.left_at.is_none()) {
        return Err(Error::new(ErrorCode::AlreadyMember));
    }
    require_room_for_member(tx, org_id)?;
    let member = Member { org_id, user_id: user.id, role, since: now, left_at: None };
    tx.put_member(&member)?;
    let data = UserJoined { user_id: user.id, name: user.name.to_string(), role };
    tx.append_event(&event(org_id, by, now, data))?;
    let (action, kind) = (AuditAction::UserJoined, AuditTargetKind::User);
    let (details, actor) = (details_of(user, Some(role)), actor.clone().in_org(org_id));
    tx.append_audit(&actor.did(now, action, kind, &user.id.to_string(), &details))?;
    Ok(member)
}

fn details_of(user: &User, role: Option<OrgRole>) -> AuditDetails {
    AuditDetails::User {
        name: user.name.to_string(),
        display_name: user.display_name.clone(),
        is_admin: user.is_admin,
        role,
    }
}

pub(crate) fn event(org_id: OrgId, by: &Principal, at: Timestamp, data: impl Into<EventData>) -> NewEvent {
    NewEvent { at, org_id, workspace_id: None, principal: by.clone(), data: data.into() }
}

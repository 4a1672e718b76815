//! People whom a sign-in provider vouches for (F31).

use warren_model::{
    ErrorCode, Invitation, InvitationSecret, OrgId, OrgRole, Principal, ShortName, User, UserId,
};
use warren_rules::access::people::{self, Taker};
use warren_service::{Actor, Error};
use warren_store::WriteTx;

use super::{Joining, NewPerson, Users, insert_person, join};
use crate::invitations::{refused, take};
use crate::tokens::{Minted, SignInInputs, browser_token, insert_browser};

/// Names that are tried for a person before they are asked to have one made for them.
const MAX_NAMES: u32 = 50;

/// Who a provider says it is, after all that it signed was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPerson {
    pub issuer: String,
    pub subject: String,
    pub email: Option<String>,
    /// Whether the provider itself has proven that the address is theirs.
    pub email_verified: bool,
    /// What the provider calls them, such as `preferred_username`.
    pub name: Option<String>,
    pub display_name: Option<String>,
}

impl ProviderPerson {
    fn vouched_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified)
    }
}

/// Who comes in without an invitation: nobody, unless the config names domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPeople {
    /// Domains of addresses, whole: `example.org` is not `sub.example.org`.
    pub domains: Vec<String>,
    pub org_id: OrgId,
    pub role: OrgRole,
}

impl Default for NewPeople {
    fn default() -> Self {
        Self { domains: Vec::new(), org_id: OrgId::DEFAULT, role: OrgRole::Viewer }
    }
}

impl Users {
    /// Signs in whom a provider vouches for, and returns the token of their browser.
    ///
    /// `users.sign_in_by_provider(person, invitation, &new_people, request_id).await -> Result<Minted, Error>`
    ///
    /// They are found by issuer and subject, never by address or name. Who is not known yet takes an invitation (one that was
    /// made for an address only with that address, proven), or comes from a domain that the config names; all others get
    /// `not_invited`. Who is known and brings an invitation joins that org as who they are.
    #[tracing::instrument(name = "fleet.users.sign_in_by_provider", skip_all)]
    pub async fn sign_in_by_provider(
        &self,
        person: ProviderPerson,
        invitation: Option<String>,
        new_people: &NewPeople,
        request_id: Option<String>,
    ) -> Result<Minted, Error> {
        let invited = |text: String| InvitationSecret::parse(&text).map(|secret| secret.hash());
        let not_found = |_| Error::new(ErrorCode::InvitationNotFound);
        let invitation = invitation.map(invited).transpose().map_err(not_found)?;
        let inputs = SignInInputs::new(&self.context, request_id);
        let (secret, new_id, new_people) = (inputs.secret.clone(), self.context.new_id(), new_people.clone());
        let token = self
            .context
            .store()
            .write(move |tx| {
                let invitation = match invitation {
                    None => None,
                    Some(hash) => {
                        let found = tx.invitation_by_hash(&hash)?;
                        Some(found.ok_or_else(|| Error::new(ErrorCode::InvitationNotFound))?)
                    }
                };
                let known = tx.user_by_identity(&person.issuer, &person.subject)?;
                let (user, org_id) = match known {
                    Some(user) => known_person(tx, user, &person, invitation.as_ref(), &inputs)?,
                    None => new_person(tx, new_id, &person, invitation.as_ref(), &new_people, &inputs)?,
                };
                let browser = browser_token(user.principal(), org_id, &inputs);
                insert_browser(tx, &browser, &inputs)?;
                Ok::<_, Error>(browser)
            })
            .await?;
        Ok(Minted { token, secret })
    }
}

/// Where somebody who is known works: in the org of their invitation, or in the first of theirs.
fn known_person(
    tx: &mut dyn WriteTx,
    mut user: User,
    person: &ProviderPerson,
    invitation: Option<&Invitation>,
    inputs: &SignInInputs,
) -> Result<(User, OrgId), Error> {
    let not_invited = || Error::new(ErrorCode::NotInvited);
    if user.removed_at.is_some() {
        return Err(not_invited());
    }
    if let Some(email) = person.vouched_email().and_then(people::check_email)
        && user.email.as_ref() != Some(&email)
    {
        user.email = Some(email);
        tx.update_user(&user)?;
    }
    let orgs = tx.orgs_of(user.id)?;
    if let Some(invitation) = invitation
        && orgs.iter().all(|(org, _)| org.id != invitation.org_id)
    {
        people::may_take(invitation, taker(person), inputs.now).map_err(refused)?;
        take(tx, invitation, &user, inputs)?;
        return Ok((user, invitation.org_id));
    }
    let first = orgs.first().map(|(org, _)| org.id);
    let place = first.or(user.is_admin.then_some(OrgId::DEFAULT)).ok_or_else(not_invited)?;
    Ok((user, place))
}

fn new_person(
    tx: &mut dyn WriteTx,
    id: UserId,
    person: &ProviderPerson,
    invitation: Option<&Invitation>,
    new_people: &NewPeople,
    inputs: &SignInInputs,
) -> Result<(User, OrgId), Error> {
    if let Some(invitation) = invitation {
        people::may_take(invitation, taker(person), inputs.now).map_err(refused)?;
        let user = insert_provided(tx, id, person, inputs)?;
        take(tx, invitation, &user, inputs)?;
        return Ok((user, invitation.org_id));
    }
    let is_of_domain =
        person.vouched_email().is_some_and(|email| people::is_of_domain(email, &new_people.domains));
    if !is_of_domain {
        return Err(Error::new(ErrorCode::NotInvited));
    }
    let user = insert_provided(tx, id, person, inputs)?;
    let NewPeople { org_id, role, .. } = *new_people;
    let by = Principal::system("sign-in provider");
    let actor = Actor::system("sign-in provider", org_id);
    join(tx, &user, &Joining { org_id, role, now: inputs.now, by: &by, actor: &actor })?;
    Ok((user, org_id))
}

fn taker(person: &ProviderPerson) -> Taker<'_> {
    person.vouched_email().map_or(Taker::Bearer, |email| Taker::Vouched { email })
}

/// Writes a person under a name that nobody has: what the provider calls them, with a number if it must be.
fn insert_provided(
    tx: &mut dyn WriteTx,
    id: UserId,
    person: &ProviderPerson,
    inputs: &SignInInputs,
) -> Result<User, Error> {
    let given = [person.name.as_deref(), person.email.as_deref(), person.display_name.as_deref()];
    let base = given.into_iter().flatten().find_map(people::short_name_from);
    let base = base.map_or_else(|| "user".to_owned(), String::from);
    let shown = person.display_name.as_deref().and_then(|name| people::check_display_name(name).ok());
    for number in 1..=MAX_NAMES {
        let name = if number == 1 { base.clone() } else { format!("{base}{number}") };
        if name.parse::<ShortName>().is_err() {
            continue;
        }
        // A name to be shown that somebody has is left out rather than the person.
        let shown = shown.iter().map(String::as_str).chain([name.as_str()]);
        for display_name in shown {
            if tx.look_holder(&people::looks_of(&name, display_name))?.is_some() {
                continue;
            }
            let new = NewPerson { id, name: &name, display_name, email: person.vouched_email() };
            let user = insert_person(tx, &new, inputs.now, None)?;
            tx.link_identity(user.id, &person.issuer, &person.subject)?;
            return Ok(user);
        }
    }
    Err(Error::new(ErrorCode::NameTaken))
}

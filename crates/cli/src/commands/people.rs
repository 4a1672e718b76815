//! `warren user`, `warren org` and `warren whoami`: who is where, and what they may.

use warren_api::client::{Client, RemoveUser};
use warren_api::{
    CreateInvitation, CreateOrg, CreateUser, Invitation, Org, OrgQuotas, OrgRole, PatchOrg, PatchUser, Tier,
    User,
};
use warren_doors::{Clock as _, SystemClock};
use warren_model::Timestamp;

use super::cursors::all_pages;
use super::template;
use super::token::{counted, made_table, whole_seconds};
use super::workspace::age;
use crate::arguments::{
    AddUserArguments, OrgCommand, Quota, QuotaArguments, RoleName, TierName, UserCommand,
};
use crate::confirmation::is_confirmed;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;

pub(crate) async fn run_user(context: &Context, command: UserCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        UserCommand::Ls { org, past } => list_users(context, &client, org.as_deref(), past).await?,
        UserCommand::Show { user, org } => show_user(context, &client.user(org.as_deref(), &user).await?)?,
        UserCommand::Add(arguments) => add(context, &client, arguments).await?,
        UserCommand::Invite { role, email, expires_in } => {
            let expires_in_seconds = expires_in.map(whole_seconds);
            let invite = CreateInvitation { role: wire_role(role), email, expires_in_seconds };
            let made = client.create_invitation(&invite).await?;
            let url = url_of(&client, &made.path);
            if context.output.is_json {
                let document = serde_json::json!({ "link": url, "invitation": made.invitation });
                context.output.json(&document)?;
            } else {
                let until = until(&made.invitation.expires_at);
                context.output.note(&format!("It takes one person in, once, within {until}:"));
                context.output.line(&url)?;
            }
        }
        UserCommand::Invitations => list_invitations(context, &client).await?,
        UserCommand::Uninvite { id } => {
            client.revoke_invitation(&id).await?;
            context.output.note("The invitation is taken back.");
        }
        UserCommand::Role { user, role, org } => {
            let patch = PatchUser { role: Some(wire_role(role)), ..PatchUser::default() };
            let changed = client.change_user(org.as_deref(), &user, &patch).await?;
            tell_user(context, &changed, "is now")?;
        }
        UserCommand::Link { user } => {
            let link = client.create_user_link(&user).await?;
            let url = url_of(&client, &link.path);
            if context.output.is_json {
                context.output.json(&serde_json::json!({ "link": url, "expires_at": link.expires_at }))?;
            } else {
                let until = until(&link.expires_at);
                context.output.note(&format!("Whoever opens it is {user}. It works once, within {until}:"));
                context.output.line(&url)?;
            }
        }
        UserCommand::Rm { user, org, everywhere, keep, yes } => {
            let from = match (&org, everywhere) {
                (_, true) => "every org".to_owned(),
                (Some(org), _) => format!("the org {org}"),
                (None, _) => "this org".to_owned(),
            };
            let ends = if keep { "" } else { ", and end what acts in their name" };
            if !yes && !is_confirmed(context, &format!("Take {user} out of {from}{ends}?")) {
                context.output.note("Nobody was taken out.");
                return Ok(Exit::FAILURE);
            }
            let how = RemoveUser { org: org.as_deref(), everywhere, keeps_made: keep };
            remove(context, &client, &user, how).await?;
        }
    }
    Ok(Exit::OK)
}

async fn list_users(context: &Context, client: &Client, org: Option<&str>, past: bool) -> Outcome<()> {
    let found = all_pages(None, async |cursor| {
        let page = client.users(org, past, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    let now = SystemClock.now();
    let row = |user: &User| {
        let role = user.role.map_or("left", role_word).to_owned();
        let admin = if user.is_admin { "yes" } else { "-" };
        let since = user.since.as_deref().map_or_else(|| "-".to_owned(), |since| age(since, now));
        vec![user.name.clone(), user.display_name.clone(), role, admin.to_owned(), since]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["name", "called", "role", "runs Warren", "since"], &rows)
}

fn show_user(context: &Context, user: &User) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(user);
    }
    let email = user.email.clone().unwrap_or_else(|| "-".into());
    let rows = [
        ("name", user.name.clone()),
        ("called", user.display_name.clone()),
        ("id", user.id.clone()),
        ("role", user.role.map_or("none here", role_word).to_owned()),
        ("runs Warren", if user.is_admin { "yes" } else { "no" }.to_owned()),
        ("e-mail", email),
        ("since", user.since.clone().unwrap_or_else(|| "-".into())),
        ("left", user.left_at.clone().unwrap_or_else(|| "-".into())),
    ];
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    context.output.table(&["", ""], &rows)
}

async fn add(context: &Context, client: &Client, arguments: AddUserArguments) -> Outcome<()> {
    let AddUserArguments { name, role, display_name, email, org } = arguments;
    let user = CreateUser { name, display_name, email, role: wire_role(role) };
    let made = client.create_user(org.as_deref(), &user).await?;
    tell_user(context, &made, "was added as")?;
    if !context.output.is_json {
        context.output.note(&format!("A link that lets them in: warren user link {}", made.name));
    }
    Ok(())
}

fn tell_user(context: &Context, user: &User, verb: &str) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(user);
    }
    let role = user.role.map_or("nobody", role_word);
    context.output.note(&format!("{} ({}) {verb} {role}.", user.display_name, user.name));
    Ok(())
}

async fn remove(context: &Context, client: &Client, user: &str, how: RemoveUser<'_>) -> Outcome<()> {
    let gone = client.remove_user(user, how).await?;
    if context.output.is_json {
        return context.output.json(&gone);
    }
    let from = if how.everywhere { "comes in nowhere any more" } else { "is out of the org" };
    context.output.note(&format!("{} {from}, and what they have open ends within seconds.", gone.name));
    if let Some(counted) = counted(&gone.made.counts) {
        let what = if gone.ended { "Ended with them" } else { "Theirs, and left as they are" };
        context.output.note(&format!("{what}: {counted}."));
    }
    made_table(context, &gone.made)
}

async fn list_invitations(context: &Context, client: &Client) -> Outcome<()> {
    let found = all_pages(None, async |cursor| {
        let page = client.invitations(cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    let now = SystemClock.now();
    let row = |one: &Invitation| {
        let state = serde_json::json!(one.state).as_str().unwrap_or_default().to_owned();
        let name = |principal: &warren_api::Principal| {
            principal.name.clone().unwrap_or_else(|| principal.id.clone())
        };
        let email = one.email.clone().unwrap_or_else(|| "-".into());
        let by = one.used_by.as_ref().map_or_else(|| "-".into(), name);
        let age = age(&one.created_at, now);
        vec![one.id.clone(), role_word(one.role).to_owned(), state, email, name(&one.invited_by), by, age]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["id", "role", "state", "for", "made by", "taken by", "age"], &rows)
}

pub(crate) async fn run_org(context: &Context, command: OrgCommand) -> Outcome<Exit> {
    let command = match command {
        OrgCommand::Import(arguments) => return template::import(context, arguments).await,
        other => other,
    };
    let client = context.client()?;
    match command {
        OrgCommand::Ls => list_orgs(context, &client).await?,
        OrgCommand::Create { name, quotas } => {
            let quotas = (quotas != QuotaArguments::default()).then(|| {
                let of_new = OrgQuotas { max_tier: Some(Tier::Basic), ..OrgQuotas::default() };
                with_quotas(of_new, &quotas)
            });
            show_org(context, &client.create_org(&CreateOrg { name, quotas }).await?)?;
        }
        OrgCommand::Set { org, rename, quotas } => {
            let known = client.org(&org).await?;
            let is_asked = quotas != QuotaArguments::default();
            let quotas = is_asked.then(|| with_quotas(known.quotas.clone().unwrap_or_default(), &quotas));
            if rename.is_none() && quotas.is_none() {
                show_org(context, &known)?;
            } else {
                show_org(context, &client.change_org(&org, &PatchOrg { name: rename, quotas }).await?)?;
            }
        }
        OrgCommand::Rm { org, yes } => {
            if !yes && !is_confirmed(context, &format!("Remove the org {org}? Nobody gets into it any more."))
            {
                context.output.note("Nothing was removed.");
                return Ok(Exit::FAILURE);
            }
            client.remove_org(&org).await?;
            context.output.note(&format!("The org {org} is removed."));
        }
        OrgCommand::Use { org } => {
            let now = client.switch_org(&org).await?;
            if context.output.is_json {
                context.output.json(&now)?;
            } else {
                context.output.note(&format!("This token works in the org {} from now on.", now.org.name));
            }
        }
        OrgCommand::Import(_) => {}
    }
    Ok(Exit::OK)
}

async fn list_orgs(context: &Context, client: &Client) -> Outcome<()> {
    let found = all_pages(None, async |cursor| {
        let page = client.orgs(cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    let now = SystemClock.now();
    let row = |org: &Org| {
        let count = |pick: fn(&warren_api::OrgUsage) -> u64| {
            org.usage.as_ref().map_or_else(|| "-".to_owned(), |usage| pick(usage).to_string())
        };
        let role = org.role.map_or("-", role_word).to_owned();
        let (people, places) = (count(|usage| usage.members), count(|usage| usage.workspaces));
        vec![org.name.clone(), role, people, places, age(&org.created_at, now)]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["name", "your role", "people", "workspaces", "age"], &rows)
}

fn show_org(context: &Context, org: &Org) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(org);
    }
    let mut rows = vec![vec!["name".to_owned(), org.name.clone(), String::new()]];
    if let (Some(quotas), Some(usage)) = (&org.quotas, &org.usage) {
        let of = |max: Option<u64>| max.map_or_else(|| "no quota".to_owned(), |max| format!("of {max}"));
        let tier =
            quotas.max_tier.map(|tier| serde_json::json!(tier).as_str().unwrap_or_default().to_owned());
        let mut line = |name: &str, has: String, may: String| rows.push(vec![name.to_owned(), has, may]);
        line("workspaces", usage.workspaces.to_string(), of(quotas.max_workspaces.map(u64::from)));
        line("people", usage.members.to_string(), of(quotas.max_members.map(u64::from)));
        let running = usage.sessions_running.to_string();
        line("sessions at work", running, of(quotas.max_sessions_running.map(u64::from)));
        let spent = format!("spent in {} (micros)", usage.month);
        line(&spent, usage.spent_micros.to_string(), of(quotas.monthly_spend_micros));
        line("highest tier", tier.unwrap_or_else(|| "any".to_owned()), String::new());
    }
    context.output.table(&["", "", ""], &rows)
}

fn with_quotas(mut quotas: OrgQuotas, asked: &QuotaArguments) -> OrgQuotas {
    if let Some(quota) = asked.max_workspaces {
        quotas.max_workspaces = quota.value();
    }
    if let Some(quota) = asked.max_members {
        quotas.max_members = quota.value();
    }
    if let Some(quota) = asked.max_sessions_running {
        quotas.max_sessions_running = quota.value();
    }
    if let Some(quota) = asked.monthly_spend_micros {
        quotas.monthly_spend_micros = quota.value();
    }
    if let Some(quota) = asked.max_tier {
        quotas.max_tier = match quota {
            Quota::None => None,
            Quota::At(TierName::Basic) => Some(Tier::Basic),
            Quota::At(TierName::Extended) => Some(Tier::Extended),
            Quota::At(TierName::Privileged) => Some(Tier::Privileged),
        };
    }
    quotas
}

pub(crate) async fn whoami(context: &Context) -> Outcome<Exit> {
    let me = context.client()?.sign_in().await?;
    if context.output.is_json {
        context.output.json(&me)?;
        return Ok(Exit::OK);
    }
    let kind = serde_json::json!(me.token_kind).as_str().unwrap_or_default().to_owned();
    let name = me.user.as_ref().map_or_else(
        || me.principal.id.clone(),
        |user| {
            if user.name == user.display_name {
                user.name.clone()
            } else {
                format!("{} ({})", user.name, user.display_name)
            }
        },
    );
    let role = me.org.role.map_or("-", role_word);
    let elsewhere: Vec<_> =
        me.orgs.iter().filter(|org| org.id != me.org.id).map(|org| org.name.clone()).collect();
    let rows = [
        ("you are", name),
        ("with a token of the kind", kind),
        ("in the org", format!("{} ({role})", me.org.name)),
        ("you run this Warren", if me.is_admin { "yes" } else { "no" }.to_owned()),
        ("and may", me.scopes.join(" ")),
        ("other orgs", if elsewhere.is_empty() { "-".to_owned() } else { elsewhere.join(" ") }),
        ("until", me.expires_at.clone().unwrap_or_else(|| "it is revoked".to_owned())),
    ];
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    context.output.table(&["", ""], &rows)?;
    Ok(Exit::OK)
}

fn url_of(client: &Client, path: &str) -> String {
    format!("{}{path}", client.url().as_str().trim_end_matches('/'))
}

/// Such as `7 days`.
fn until(at: &str) -> String {
    let Ok(at) = at.parse::<Timestamp>() else { return at.to_owned() };
    // Rounded to the nearest, since a moment has passed since it was made.
    let minutes = (at.ms_since(SystemClock.now()).max(0) + 30_000) / 60_000;
    match minutes {
        0..120 => format!("{minutes} minutes"),
        120..2_880 => format!("{} hours", (minutes + 30) / 60),
        _ => format!("{} days", (minutes + 720) / 1_440),
    }
}

const fn role_word(role: OrgRole) -> &'static str {
    match role {
        OrgRole::Viewer => "viewer",
        OrgRole::Member => "member",
        OrgRole::Operator => "operator",
    }
}

const fn wire_role(role: RoleName) -> OrgRole {
    match role {
        RoleName::Viewer => OrgRole::Viewer,
        RoleName::Member => OrgRole::Member,
        RoleName::Operator => OrgRole::Operator,
    }
}

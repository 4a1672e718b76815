//! People, orgs and invitations against both stores.

use warren_fleet::{AddUser, ChangeOrg, ChangeUser, Invite, MintToken};
use warren_model::{ErrorCode, OrgId, OrgQuotas, OrgRole, Scope, ScopeSet, Tier, TokenKind, UserId};
use warren_service::{Action, Error, Identity};
use warren_testkit::Bed;

pub(crate) fn add(name: &str, role: OrgRole) -> AddUser {
    AddUser { name: name.into(), display_name: None, email: None, role }
}

/// A browser of somebody new, who is in the default org, or in the one that is named.
pub(crate) async fn person_in(bed: &Bed, org: Option<&str>, name: &str, role: OrgRole) -> Identity {
    bed.fleet.users.add(&bed.operator, org.map(str::to_owned), add(name, role)).await.unwrap();
    sign_in(bed, name).await
}

pub(crate) async fn person(bed: &Bed, name: &str, role: OrgRole) -> Identity {
    person_in(bed, None, name, role).await
}

/// One more browser of theirs.
pub(crate) async fn sign_in(bed: &Bed, name: &str) -> Identity {
    let link = bed.fleet.users.make_link(&bed.operator, name).await.unwrap();
    let browser = bed.fleet.tokens.sign_in(link.secret.reveal(), None).await.unwrap();
    bed.identify(&browser).await
}

/// As they stand now.
pub(crate) async fn again(bed: &Bed, who: &Identity) -> Result<Identity, ErrorCode> {
    let id = who.token.id;
    let held =
        bed.fleet.context.store().read(move |tx| tx.held_token(id).map_err(Error::from)).await.unwrap();
    let (token, holder) = held.unwrap();
    let now = Identity::of_holder(token, holder);
    if bed.is_valid(&now).await { Ok(now) } else { Err(ErrorCode::TokenExpired) }
}

pub(crate) async fn org(bed: &Bed, name: &str) -> OrgId {
    bed.fleet.orgs.create(&bed.operator, name, None).await.unwrap().org.id
}

pub(crate) fn change_role(role: OrgRole) -> ChangeUser {
    ChangeUser { role: Some(role), ..ChangeUser::default() }
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorCode {
    result.unwrap_err().code
}

pub(crate) fn invite(role: OrgRole) -> Invite {
    Invite { role, email: None, expires_in_seconds: None }
}

// F9, F31: what was there before goes on
#[tokio::test]
async fn the_link_that_warren_prints_signs_in_the_operator_who_runs_it() {
    for bed in Bed::on_each_store().await {
        let link = bed.fleet.tokens.mint_sign_in_link(None).await.unwrap();
        let browser = bed.fleet.tokens.sign_in(link.secret.reveal(), None).await.unwrap();
        let who = bed.identify(&browser).await;
        assert!(who.runs_warren() && who.runs_org());
        assert_eq!((who.name(), who.role()), (Some("operator"), Some(OrgRole::Operator)));
        who.may_in_own_org(Action::OperateWarren).unwrap();
        let people = bed.fleet.users.list(&who, None, false, None, 10).await.unwrap().rows;
        assert_eq!(people.iter().map(|one| one.user.id).collect::<Vec<_>>(), [UserId::OPERATOR]);
    }
}

// F9
#[tokio::test]
async fn operators_see_when_somebody_was_last_there_and_others_do_not() {
    for bed in Bed::on_each_store().await {
        let member = person(&bed, "mem", OrgRole::Member).await;
        bed.fleet.users.add(&bed.operator, None, add("new", OrgRole::Viewer)).await.unwrap();
        let at = bed.fleet.context.now();
        let id = member.token.id;
        bed.store.write(move |tx| tx.touch_token(id, at).map_err(Error::from)).await.unwrap();
        let seen = async |who: &Identity, name: &str| {
            let listed = bed.fleet.users.list(who, None, false, None, 10).await.unwrap().rows;
            let listed = listed.into_iter().find(|one| one.user.name.as_str() == name).unwrap().last_seen_at;
            let alone = bed.fleet.users.get(who, None, name).await.unwrap().last_seen_at;
            assert_eq!(listed, alone, "{name}");
            alone
        };
        assert_eq!(seen(&bed.operator, "mem").await, Some(at));
        assert_eq!(seen(&bed.operator, "new").await, None);
        assert_eq!(seen(&member, "mem").await, None);
    }
}

// F9, F30
#[tokio::test]
async fn a_browser_has_its_users_rights_and_loses_them_with_the_role() {
    for bed in Bed::on_each_store().await {
        let member = person(&bed, "mem", OrgRole::Member).await;
        let viewer = person(&bed, "vie", OrgRole::Viewer).await;
        let operator = person(&bed, "ope", OrgRole::Operator).await;
        assert!(member.may_in_own_org(Action::WriteWorkspaces).is_ok());
        assert_eq!(code(viewer.may_in_own_org(Action::DecideApprovals)), ErrorCode::Forbidden);
        assert_eq!(code(operator.may_in_own_org(Action::OperateWarren)), ErrorCode::Forbidden);
        for who in [&member, &viewer] {
            assert_eq!(
                code(bed.fleet.users.add(who, None, add("x", OrgRole::Viewer)).await),
                ErrorCode::Forbidden
            );
            let refused = bed.fleet.users.change(who, None, "vie", change_role(OrgRole::Operator)).await;
            assert_eq!(code(refused), ErrorCode::Forbidden);
        }
        // What is open ends when less is allowed, and goes on when more is.
        assert!(bed.is_valid(&member).await && bed.is_valid(&viewer).await);
        bed.fleet.users.change(&operator, None, "mem", change_role(OrgRole::Viewer)).await.unwrap();
        bed.fleet.users.change(&operator, None, "vie", change_role(OrgRole::Member)).await.unwrap();
        assert!(!bed.is_valid(&member).await && bed.is_valid(&viewer).await);
        let now = again(&bed, &member).await.unwrap();
        assert_eq!(code(now.may_in_own_org(Action::WriteWorkspaces)), ErrorCode::Forbidden);
        assert!(again(&bed, &viewer).await.unwrap().may_in_own_org(Action::DecideApprovals).is_ok());
    }
}

// F30: a member's token wider than their role
#[tokio::test]
async fn a_members_token_is_never_wider_than_their_role() {
    for bed in Bed::on_each_store().await {
        let member = person(&bed, "mem", OrgRole::Member).await;
        let token = |kind, scopes: &[Scope]| MintToken {
            kind,
            name: "t".into(),
            scopes: scopes.iter().copied().collect(),
            workspace_id: None,
            expires_in_ms: None,
        };
        for wide in [Scope::SecretsWrite, Scope::OrgOperate] {
            let refused = bed.fleet.tokens.mint(&member, token(TokenKind::User, &[wide])).await;
            assert_eq!(code(refused), ErrorCode::Forbidden);
        }
        assert_eq!(
            code(bed.fleet.tokens.mint(&member, token(TokenKind::Admin, &[])).await),
            ErrorCode::Forbidden
        );
        let made =
            bed.fleet.tokens.mint(&member, token(TokenKind::User, &[Scope::WorkspacesWrite])).await.unwrap();
        let program = bed.identify(&made).await;
        assert!(program.may_in_own_org(Action::WriteWorkspaces).is_ok());
        bed.fleet.users.change(&bed.operator, None, "mem", change_role(OrgRole::Viewer)).await.unwrap();
        let program = bed.identify(&made).await;
        assert_eq!(code(program.may_in_own_org(Action::WriteWorkspaces)), ErrorCode::Forbidden);
        // Others' tokens are not theirs to see or to end.
        let viewer = again(&bed, &member).await.unwrap();
        assert_eq!(code(bed.fleet.tokens.list(&viewer, None, 10).await), ErrorCode::Forbidden);
        let second = person(&bed, "sec", OrgRole::Member).await;
        let listed = bed.fleet.tokens.list(&second, None, 100).await.unwrap().rows;
        assert!(listed.iter().all(|token| token.owner == second.principal), "{listed:?}");
        let refused = bed.fleet.tokens.revoke(&second, made.token.id, warren_fleet::Made::Ends).await;
        assert_eq!(code(refused), ErrorCode::TokenNotFound);
    }
}

// F9: bad input: names that differ only in case or look alike
#[tokio::test]
async fn two_people_do_not_have_names_that_look_alike() {
    for bed in Bed::on_each_store().await {
        let users = &bed.fleet.users;
        let named = |name: &str, shown: &str| AddUser {
            display_name: Some(shown.into()),
            ..add(name, OrgRole::Member)
        };
        users.add(&bed.operator, None, named("laura", "Laura Palmer")).await.unwrap();
        for (name, shown) in [
            ("laura2", "LAURA PALMER"),
            ("laura2", "Lаura Pаlmer"),
            ("1aura", "Somebody"),
            ("iaura", "Iaura"),
            ("other", "laura"),
            ("operat0r", "Somebody"),
            ("other", "OPERATOR"),
        ] {
            let refused = users.add(&bed.operator, None, named(name, shown)).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::NameTaken, "{name} {shown}");
            assert!(refused.detail.is_some(), "who runs Warren is told who has it");
        }
        for (name, shown) in [("Laura", "x"), ("a b", "x"), ("ok", "a\u{202e}b"), ("ok", ""), ("", "x")] {
            let refused = users.add(&bed.operator, None, named(name, shown)).await;
            assert_eq!(code(refused), ErrorCode::InvalidRequest, "{name:?} {shown:?}");
        }
        users.add(&bed.operator, None, named("lauri", "Lauri")).await.unwrap();
        // Renaming is held to the same, and frees what was.
        let rename = |name: &str| ChangeUser { name: Some(name.into()), ..ChangeUser::default() };
        assert_eq!(
            code(users.change(&bed.operator, None, "lauri", rename("1aura")).await),
            ErrorCode::NameTaken
        );
        let shown = ChangeUser { display_name: Some("L. Palmer".into()), ..rename("palmer") };
        users.change(&bed.operator, None, "laura", shown).await.unwrap();
        users.add(&bed.operator, None, named("laura", "Laura")).await.unwrap();
        // One's own name to be shown is one's own.
        let own = sign_in(&bed, "lauri").await;
        let shown = |name: &str| ChangeUser { display_name: Some(name.into()), ..ChangeUser::default() };
        assert_eq!(
            users.change(&own, None, "lauri", shown("Lauri A")).await.unwrap().user.display_name,
            "Lauri A"
        );
        assert_eq!(code(users.change(&own, None, "palmer", shown("Me")).await), ErrorCode::Forbidden);
        assert_eq!(code(users.change(&own, None, "lauri", rename("root")).await), ErrorCode::Forbidden);
    }
}

// F9, F30: demoting oneself as last operator
#[tokio::test]
async fn the_last_operator_of_an_org_and_the_last_admin_stay() {
    for bed in Bed::on_each_store().await {
        org(&bed, "lab").await;
        let boss = person_in(&bed, Some("lab"), "boss", OrgRole::Operator).await;
        let users = &bed.fleet.users;
        for role in [OrgRole::Member, OrgRole::Viewer] {
            let refused = users.change(&boss, None, "boss", change_role(role)).await;
            assert_eq!(code(refused), ErrorCode::LastOperator);
        }
        let ends = warren_fleet::Made::Ends;
        assert_eq!(code(users.remove(&boss, None, "boss", ends).await), ErrorCode::LastOperator);
        users.add(&boss, None, add("second", OrgRole::Operator)).await.unwrap();
        users.change(&boss, None, "boss", change_role(OrgRole::Member)).await.unwrap();
        // Who runs this Warren may leave an org without anybody; Warren itself keeps somebody.
        users.remove(&bed.operator, Some("lab".into()), "second", ends).await.unwrap();
        let admin = |is_admin| ChangeUser { is_admin: Some(is_admin), ..ChangeUser::default() };
        assert_eq!(
            code(users.change(&bed.operator, None, "operator", admin(false)).await),
            ErrorCode::LastAdmin
        );
        assert_eq!(
            code(users.remove_everywhere(&bed.operator, "operator", ends).await),
            ErrorCode::LastAdmin
        );
        let member = again(&bed, &boss).await.unwrap();
        assert_eq!(code(users.change(&member, None, "boss", admin(true)).await), ErrorCode::Forbidden);
    }
}

// F9: switching to an org one is not in
#[tokio::test]
async fn one_works_in_the_orgs_that_one_is_in_and_sees_no_other() {
    for bed in Bed::on_each_store().await {
        let lab = org(&bed, "lab").await;
        let worker = person(&bed, "worker", OrgRole::Operator).await;
        let users = &bed.fleet.users;
        let elsewhere = person_in(&bed, Some("lab"), "elsewhere", OrgRole::Operator).await;
        assert_eq!(code(users.switch_org(&worker, "lab").await), ErrorCode::OrgNotFound);
        assert_eq!(code(users.switch_org(&worker, &lab.to_string()).await), ErrorCode::OrgNotFound);
        assert_eq!(code(users.switch_org(&worker, "nowhere").await), ErrorCode::OrgNotFound);
        assert_eq!(
            code(users.list(&worker, Some("lab".into()), false, None, 10).await),
            ErrorCode::OrgNotFound
        );
        assert_eq!(code(users.get(&worker, None, "elsewhere").await), ErrorCode::UserNotFound);
        assert_eq!(code(users.get(&worker, None, &elsewhere.principal.id).await), ErrorCode::UserNotFound);
        assert_eq!(code(users.make_link(&worker, "elsewhere").await), ErrorCode::UserNotFound);
        assert_eq!(code(bed.fleet.orgs.get(&worker, "lab").await), ErrorCode::OrgNotFound);
        let seen = bed.fleet.orgs.list(&worker, None, 10).await.unwrap().rows;
        assert_eq!(seen.iter().map(|one| one.org.name.as_str()).collect::<Vec<_>>(), ["default"]);
        // In both: it is one person, with another role in each.
        users.add(&bed.operator, Some("lab".into()), add("worker", OrgRole::Viewer)).await.unwrap();
        let moved = users.switch_org(&worker, "lab").await.unwrap();
        assert_eq!((moved.token.org_id, moved.role()), (lab, Some(OrgRole::Viewer)));
        assert!(!bed.is_valid(&worker).await, "what was open in the old org ends");
        assert_eq!(code(moved.may_in_own_org(Action::WriteWorkspaces)), ErrorCode::Forbidden);
        // An operator of one of a person's orgs does not become them in the other.
        let refused = users.make_link(&elsewhere, "worker").await;
        assert_eq!(code(refused), ErrorCode::Forbidden);
        let renamed = ChangeUser { name: Some("mine".into()), ..ChangeUser::default() };
        assert_eq!(code(users.change(&elsewhere, None, "worker", renamed).await), ErrorCode::Forbidden);
        // A program's token stays where it is.
        let program = bed.user(ScopeSet::all()).await;
        assert_eq!(code(users.switch_org(&program, "lab").await), ErrorCode::InvalidRequest);
    }
}

// F36: quotas per org
#[tokio::test]
async fn an_org_has_no_more_than_its_quotas_say() {
    for bed in Bed::on_each_store().await {
        org(&bed, "lab").await;
        let boss = person_in(&bed, Some("lab"), "boss", OrgRole::Operator).await;
        let quotas = OrgQuotas {
            max_workspaces: Some(1),
            max_members: Some(2),
            max_tier: Some(Tier::Basic),
            ..OrgQuotas::default()
        };
        let change = ChangeOrg { quotas: Some(quotas.clone()), name: None };
        assert_eq!(code(bed.fleet.orgs.change(&boss, "lab", change.clone()).await), ErrorCode::Forbidden);
        bed.fleet.orgs.change(&bed.operator, "lab", change).await.unwrap();
        let request = || Bed::request("one");
        bed.fleet.workspaces.create(&boss, request()).await.unwrap();
        let refused = bed.fleet.workspaces.create(&boss, request()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::QuotaExceeded);
        let refused = bed.fleet.workspaces.create(&boss, Bed::local_request("host")).await;
        assert_eq!(code(refused), ErrorCode::Forbidden, "nothing above basic");
        bed.fleet.users.add(&boss, None, add("two", OrgRole::Member)).await.unwrap();
        assert_eq!(
            code(bed.fleet.users.add(&boss, None, add("three", OrgRole::Member)).await),
            ErrorCode::QuotaExceeded
        );
        let seen = bed.fleet.orgs.get(&boss, "lab").await.unwrap();
        let usage = seen.usage.unwrap();
        assert_eq!((usage.workspaces, usage.members, seen.org.quotas), (1, 2, quotas));
        let member = sign_in(&bed, "two").await;
        assert_eq!(bed.fleet.orgs.get(&member, "lab").await.unwrap().usage, None, "operators see it");
        // With a higher tier, the operators give it, and members do not.
        let higher = OrgQuotas { max_tier: Some(Tier::Privileged), ..OrgQuotas::default() };
        let change = ChangeOrg { quotas: Some(higher), name: None };
        bed.fleet.orgs.change(&bed.operator, "lab", change).await.unwrap();
        assert_eq!(
            code(bed.fleet.workspaces.create(&member, Bed::local_request("host")).await),
            ErrorCode::Forbidden
        );
        bed.fleet.workspaces.create(&boss, Bed::local_request("host")).await.unwrap();
    }
}

// F36
#[tokio::test]
async fn an_org_that_spent_its_quota_begins_no_work() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        bed.fleet.budgets.check(&row).await.unwrap();
        let quotas = OrgQuotas { monthly_spend_micros: Some(10), ..OrgQuotas::default() };
        let change = ChangeOrg { quotas: Some(quotas), name: None };
        bed.fleet.orgs.change(&bed.operator, "default", change).await.unwrap();
        bed.fleet.budgets.charge(row.id, 9).await.unwrap();
        bed.fleet.budgets.check(&row).await.unwrap();
        bed.fleet.budgets.charge(row.id, 1).await.unwrap();
        assert_eq!(code(bed.fleet.budgets.check(&row).await), ErrorCode::BudgetExhausted);
        let other = bed.workspace().await;
        assert_eq!(
            code(bed.fleet.budgets.check(&other).await),
            ErrorCode::BudgetExhausted,
            "it is the org's"
        );
    }
}

// F9
#[tokio::test]
async fn an_org_is_removed_when_it_is_empty_and_lets_nobody_in_after() {
    for bed in Bed::on_each_store().await {
        org(&bed, "lab").await;
        let orgs = &bed.fleet.orgs;
        let boss = person_in(&bed, Some("lab"), "boss", OrgRole::Operator).await;
        assert_eq!(code(orgs.create(&boss, "mine", None).await), ErrorCode::Forbidden);
        assert_eq!(code(orgs.create(&bed.operator, "lab", None).await), ErrorCode::NameTaken);
        assert_eq!(code(orgs.create(&bed.operator, "Lab", None).await), ErrorCode::InvalidRequest);
        assert_eq!(code(orgs.remove(&boss, "lab").await), ErrorCode::Forbidden);
        assert_eq!(code(orgs.remove(&bed.operator, "default").await), ErrorCode::OrgProtected);
        let made = bed.fleet.workspaces.create(&boss, Bed::request("one")).await.unwrap();
        assert_eq!(code(orgs.remove(&bed.operator, "lab").await), ErrorCode::OrgNotEmpty);
        bed.remove(made.id).await;
        orgs.remove(&bed.operator, "lab").await.unwrap();
        assert_eq!(again(&bed, &boss).await, Err(ErrorCode::TokenExpired));
        assert_eq!(code(orgs.get(&bed.operator, "lab").await), ErrorCode::OrgNotFound);
        orgs.create(&bed.operator, "lab", None).await.unwrap();
    }
}

// F9: bad input: an invitation used twice (also at the same moment), expired, revoked, forged, of another org
#[tokio::test]
async fn an_invitation_takes_one_person_in_once_and_in_time() {
    for bed in Bed::on_each_store().await {
        let invitations = &bed.fleet.invitations;
        let boss = person(&bed, "boss", OrgRole::Operator).await;
        let member = person(&bed, "mem", OrgRole::Member).await;
        assert_eq!(code(invitations.create(&member, invite(OrgRole::Viewer)).await), ErrorCode::Forbidden);
        let (row, secret) = invitations.create(&boss, invite(OrgRole::Member)).await.unwrap();
        let seen = invitations.preview(secret.reveal()).await.unwrap();
        assert_eq!((seen.org.as_str(), seen.invited_by.as_str()), ("default", "boss"));
        let (one, other) = tokio::join!(
            invitations.accept(secret.reveal(), "anna", Some("Anna"), None),
            invitations.accept(secret.reveal(), "bert", Some("Bert"), None),
        );
        let (winner, loser) = if one.is_ok() { (one, other) } else { (other, one) };
        let who = bed.identify(&winner.unwrap()).await;
        assert_eq!((who.role(), who.token.org_id), (Some(OrgRole::Member), OrgId::DEFAULT));
        assert_eq!(code(loser), ErrorCode::InvitationUsed);
        assert_eq!(
            code(invitations.accept(secret.reveal(), "carl", None, None).await),
            ErrorCode::InvitationUsed
        );
        assert_eq!(
            code(bed.fleet.users.get(&boss, None, "carl").await),
            ErrorCode::UserNotFound,
            "nothing is left of it"
        );
        assert_eq!(code(invitations.preview(secret.reveal()).await), ErrorCode::InvitationUsed);
        assert_eq!(code(invitations.revoke(&boss, row.id).await), ErrorCode::InvitationUsed);
        // Taken back.
        let (row, secret) = invitations.create(&boss, invite(OrgRole::Member)).await.unwrap();
        for _ in 0..2 {
            invitations.revoke(&boss, row.id).await.unwrap();
        }
        assert_eq!(
            code(invitations.accept(secret.reveal(), "dora", None, None).await),
            ErrorCode::InvitationRevoked
        );
        // Too late.
        let brief = Invite { expires_in_seconds: Some(60), ..invite(OrgRole::Member) };
        let (_, secret) = invitations.create(&boss, brief).await.unwrap();
        bed.clock.advance_ms(60_000);
        assert_eq!(
            code(invitations.accept(secret.reveal(), "dora", None, None).await),
            ErrorCode::InvitationExpired
        );
        // Forged.
        let forged = warren_model::InvitationSecret::new([8; 32]);
        for secret in [forged.reveal(), "", "wrn_invitation_x", &secret.reveal()[1..]] {
            assert_eq!(code(invitations.preview(secret).await), ErrorCode::InvitationNotFound);
            assert_eq!(
                code(invitations.accept(secret, "dora", None, None).await),
                ErrorCode::InvitationNotFound
            );
        }
        for seconds in [0, 31 * 24 * 3_600] {
            let bad = Invite { expires_in_seconds: Some(seconds), ..invite(OrgRole::Member) };
            assert_eq!(code(invitations.create(&boss, bad).await), ErrorCode::InvalidRequest);
        }
        // A name that is taken does not use it up.
        let (_, secret) = invitations.create(&boss, invite(OrgRole::Viewer)).await.unwrap();
        assert_eq!(code(invitations.accept(secret.reveal(), "boss", None, None).await), ErrorCode::NameTaken);
        invitations.accept(secret.reveal(), "dora", None, None).await.unwrap();
        // Another org's is not there.
        org(&bed, "lab").await;
        let stranger = person_in(&bed, Some("lab"), "stranger", OrgRole::Operator).await;
        let (row, _) = invitations.create(&boss, invite(OrgRole::Viewer)).await.unwrap();
        assert_eq!(code(invitations.revoke(&stranger, row.id).await), ErrorCode::InvitationNotFound);
        assert_eq!(invitations.list(&stranger, None, 10).await.unwrap().rows, []);
    }
}

// F9: whoever is signed in joins as who they are
#[tokio::test]
async fn who_is_signed_in_joins_another_org_as_oneself() {
    for bed in Bed::on_each_store().await {
        let lab = org(&bed, "lab").await;
        let boss = person_in(&bed, Some("lab"), "boss", OrgRole::Operator).await;
        let worker = person(&bed, "worker", OrgRole::Viewer).await;
        let invitations = &bed.fleet.invitations;
        let (_, secret) = invitations.create(&boss, invite(OrgRole::Member)).await.unwrap();
        let joined = invitations.join(&worker, secret.reveal()).await.unwrap();
        assert_eq!((joined.token.org_id, joined.role()), (lab, Some(OrgRole::Member)));
        assert_eq!(joined.principal, worker.principal);
        let (_, secret) = invitations.create(&boss, invite(OrgRole::Operator)).await.unwrap();
        assert_eq!(code(invitations.join(&joined, secret.reveal()).await), ErrorCode::AlreadyMember);
        let program = bed.user(ScopeSet::all()).await;
        assert_eq!(code(invitations.join(&program, secret.reveal()).await), ErrorCode::Forbidden);
        let (_, meant) = invitations
            .create(&boss, Invite { email: Some("new@example.org".into()), ..invite(OrgRole::Viewer) })
            .await
            .unwrap();
        assert_eq!(
            code(invitations.accept(meant.reveal(), "fred", None, None).await),
            ErrorCode::InvitationForAnother
        );
        assert_eq!(code(invitations.join(&worker, meant.reveal()).await), ErrorCode::InvitationForAnother);
    }
}

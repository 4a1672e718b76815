//! How people leave: what lets them in ends, and what acts in their name.

use warren_fleet::{Made, MintToken};
use warren_model::{
    AuditAction, ErrorCode, Network, OrgId, OrgRole, Principal, Scope, ScopeSet, TokenKind, Webhook,
};
use warren_service::{Error, Identity};
use warren_store::AuditQuery;
use warren_testkit::Bed;

use crate::people::{again, invite, org, person, person_in, sign_in};

async fn program(bed: &Bed, who: &Identity) -> Identity {
    let request = MintToken {
        kind: TokenKind::User,
        name: "program".into(),
        scopes: [Scope::WorkspacesRead, Scope::TokensWrite].into_iter().collect(),
        workspace_id: None,
        expires_in_ms: None,
    };
    bed.identify(&bed.fleet.tokens.mint(who, request).await.unwrap()).await
}

/// Something that acts in somebody's name, and was made with a token that is long gone.
async fn webhook_of(bed: &Bed, by: &Principal) -> warren_model::WebhookId {
    let webhook = Webhook {
        id: bed.fleet.context.new_id(),
        org_id: OrgId::DEFAULT,
        name: "tell".into(),
        network: Network::Webhook,
        url: "https://receiver.example/".into(),
        kinds: Vec::new(),
        workspace_id: None,
        since: 0,
        is_active: true,
        created_at: bed.fleet.context.now(),
        created_by: by.clone(),
    };
    let id = webhook.id;
    bed.fleet
        .context
        .store()
        .write(move |tx| tx.insert_webhook(&webhook).map_err(Error::from))
        .await
        .unwrap();
    id
}

async fn is_active(bed: &Bed, id: warren_model::WebhookId) -> bool {
    let found = bed.fleet.context.store().read(move |tx| tx.webhook(id).map_err(Error::from)).await.unwrap();
    found.unwrap().is_active
}

// F9, F30, sec/U05: a user removed in the middle of something
#[tokio::test]
async fn whoever_is_taken_out_is_out_with_all_that_lets_them_in() {
    for bed in Bed::on_each_store().await {
        let boss = person(&bed, "boss", OrgRole::Operator).await;
        let gone = person(&bed, "gone", OrgRole::Operator).await;
        let stays = person(&bed, "stays", OrgRole::Member).await;
        let second = sign_in(&bed, "gone").await;
        let program = program(&bed, &gone).await;
        let own_link = bed.fleet.users.make_link(&gone, "gone").await.unwrap();
        let (_, kept) = bed.fleet.invitations.create(&gone, invite(OrgRole::Operator)).await.unwrap();
        let (hook, others) =
            (webhook_of(&bed, &gone.principal).await, webhook_of(&bed, &stays.principal).await);
        for who in [&gone, &second, &program] {
            assert!(bed.is_valid(who).await);
        }
        let left = bed.fleet.users.remove(&boss, None, "gone", Made::Ends).await.unwrap();
        assert_eq!(
            left.made.iter().filter(|thing| thing.made.kind() == "webhook").count(),
            1,
            "{:?}",
            left.made
        );
        for who in [&gone, &second, &program] {
            assert!(!bed.is_valid(who).await, "{:?}", who.token.kind);
        }
        let refused = bed.fleet.tokens.sign_in(own_link.secret.reveal(), None).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TokenExpired, "a link that they kept");
        let refused = bed.fleet.invitations.accept(kept.reveal(), "back", None, None).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvitationRevoked, "an invitation that they kept");
        assert!(!is_active(&bed, hook).await && is_active(&bed, others).await);
        assert!(bed.is_valid(&stays).await && bed.is_valid(&boss).await, "the others stay");
        // They are known by name still, and not listed.
        let past = bed.fleet.users.get(&boss, None, &gone.principal.id).await.unwrap();
        assert!(past.member.unwrap().left_at.is_some());
        let listed = bed.fleet.users.list(&boss, None, false, None, 10).await.unwrap().rows;
        assert!(listed.iter().all(|one| one.user.name.as_str() != "gone"));
        let again = bed.fleet.users.remove(&boss, None, "gone", Made::Ends).await.unwrap_err();
        assert_eq!(again.code, ErrorCode::UserNotFound);
        let query =
            AuditQuery { action: Some(AuditAction::UserLeft.as_str().into()), ..AuditQuery::all(0, 100) };
        let told = bed.fleet.audit.list(&bed.operator, query).await.unwrap().rows;
        assert_eq!(told.len(), 1);
        assert!(told[0].details.contains(r#""by":"boss""#), "{}", told[0].details);
    }
}

// F30: what acts in their name goes on where that is wanted, and they do not
#[tokio::test]
async fn what_acts_in_their_name_is_kept_where_it_is_wanted() {
    for bed in Bed::on_each_store().await {
        let gone = person(&bed, "gone", OrgRole::Member).await;
        let hook = webhook_of(&bed, &gone.principal).await;
        bed.fleet.users.remove(&bed.operator, None, "gone", Made::Stays).await.unwrap();
        assert!(!bed.is_valid(&gone).await && is_active(&bed, hook).await);
    }
}

// F35: who runs Warren changes the people of an org that they do not work in; its own operators read who did it
#[tokio::test]
async fn what_an_admin_does_in_another_org_stands_in_that_orgs_log() {
    for bed in Bed::on_each_store().await {
        org(&bed, "lab").await;
        let boss = person_in(&bed, Some("lab"), "boss", OrgRole::Operator).await;
        let lab = || Some("lab".to_owned());
        bed.fleet
            .users
            .add(&bed.operator, lab(), crate::people::add("guest", OrgRole::Viewer))
            .await
            .unwrap();
        let change = warren_fleet::ChangeUser { role: Some(OrgRole::Member), ..Default::default() };
        bed.fleet.users.change(&bed.operator, lab(), "guest", change).await.unwrap();
        bed.fleet.users.remove(&bed.operator, lab(), "guest", Made::Ends).await.unwrap();
        let read = bed.fleet.audit.list(&boss, AuditQuery::all(0, 100)).await.unwrap().rows;
        let told: Vec<_> = read.iter().map(|entry| entry.action.as_str()).collect();
        for action in [
            AuditAction::OrgCreated,
            AuditAction::UserJoined,
            AuditAction::UserChanged,
            AuditAction::UserLeft,
        ] {
            assert!(told.contains(&action.as_str()), "{action:?} is not in {told:?}");
        }
        let elsewhere = AuditQuery { org_id: Some(bed.operator.token.org_id), ..AuditQuery::all(0, 100) };
        let own = bed.fleet.audit.list(&bed.operator, elsewhere).await.unwrap().rows;
        assert!(own.iter().all(|entry| entry.action != AuditAction::UserLeft.as_str()), "{own:?}");
    }
}

// F9: one org is not the other
#[tokio::test]
async fn whoever_leaves_one_org_stays_in_the_others() {
    for bed in Bed::on_each_store().await {
        org(&bed, "lab").await;
        let boss = person_in(&bed, Some("lab"), "boss", OrgRole::Operator).await;
        let both = person(&bed, "both", OrgRole::Member).await;
        let add = crate::people::add("both", OrgRole::Member);
        bed.fleet.users.add(&bed.operator, Some("lab".into()), add).await.unwrap();
        let in_lab = bed.fleet.users.switch_org(&sign_in(&bed, "both").await, "lab").await.unwrap();
        bed.fleet.users.remove(&boss, None, "both", Made::Ends).await.unwrap();
        assert!(bed.is_valid(&both).await && !bed.is_valid(&in_lab).await);
        // Anybody may leave.
        bed.fleet.users.remove(&both, None, "both", Made::Ends).await.unwrap();
        assert!(!bed.is_valid(&both).await);
        // And come back, with nothing of what they had.
        let add = crate::people::add("both", OrgRole::Viewer);
        bed.fleet.users.add(&bed.operator, None, add).await.unwrap();
        assert_eq!(again(&bed, &both).await, Err(ErrorCode::TokenExpired));
        assert_eq!(sign_in(&bed, "both").await.role(), Some(OrgRole::Viewer));
    }
}

// F9, F30
#[tokio::test]
async fn whoever_is_removed_everywhere_leaves_the_name_to_others() {
    for bed in Bed::on_each_store().await {
        let admin = person(&bed, "admin2", OrgRole::Operator).await;
        let is_admin = warren_fleet::ChangeUser { is_admin: Some(true), ..Default::default() };
        bed.fleet.users.change(&bed.operator, None, "admin2", is_admin).await.unwrap();
        let admin = again(&bed, &admin).await.unwrap();
        let token = MintToken {
            kind: TokenKind::Admin,
            name: "mine".into(),
            scopes: ScopeSet::EMPTY,
            workspace_id: None,
            expires_in_ms: None,
        };
        let token = bed.identify(&bed.fleet.tokens.mint(&admin, token).await.unwrap()).await;
        assert!(token.runs_warren() && bed.is_valid(&token).await);
        let demoted = warren_fleet::ChangeUser { is_admin: Some(false), ..Default::default() };
        bed.fleet.users.change(&bed.operator, None, "admin2", demoted).await.unwrap();
        assert!(!bed.is_valid(&token).await, "an admin's token is good while they are one");
        bed.fleet.users.remove_everywhere(&bed.operator, "admin2", Made::Ends).await.unwrap();
        assert_eq!(again(&bed, &admin).await, Err(ErrorCode::TokenExpired));
        person(&bed, "admin2", OrgRole::Viewer).await;
        let names = bed.fleet.users.names(vec![admin.principal.id.parse().unwrap()]).await.unwrap();
        assert_eq!(names.len(), 1, "what they said keeps its name");
    }
}

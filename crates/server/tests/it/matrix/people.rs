//! Somebody of every role, in the org of the path's workspace and in another.

use serde_json::json;
use warren_model::{Org, OrgQuotas, OrgRole};

use super::{Place, Stage, Who, other_org, unique};

impl Stage {
    /// The other org, and somebody of every role in each of the two.
    pub(super) async fn people(&self) {
        let now = warren_doors::Clock::now(&*self.clock);
        let org = Org {
            id: other_org(),
            name: "elsewhere".parse().unwrap(),
            quotas: OrgQuotas::default(),
            created_at: now,
            removed_at: None,
        };
        let done: Result<(), warren_store::Error> =
            self.warren.store.write(move |tx| tx.insert_org(&org)).await;
        done.unwrap();
        self.new_person(Place::Here, OrgRole::Member, "somebody").await;
        for place in [Place::Here, Place::Elsewhere] {
            for role in OrgRole::ALL {
                self.new_person(place, *role, &name_of(*role, place)).await;
            }
        }
    }

    pub(super) async fn new_person(&self, place: Place, role: OrgRole, name: &str) {
        let query = if place == Place::Here { "" } else { "?org=elsewhere" };
        let body = json!({ "name": name, "role": role.as_str() });
        let made = self.warren.post(&format!("/api/v1/users{query}"), &body).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }

    /// The secret of a new browser of somebody.
    pub(super) async fn browser_of(&self, who: Who) -> String {
        let fleet = &self.warren.fleet;
        let admin = fleet.tokens.identify(&self.warren.token).await.unwrap();
        let link = match who {
            Who::Person(role, place) => fleet.users.make_link(&admin, &name_of(role, place)).await.unwrap(),
            _ => fleet.tokens.mint_sign_in_link(None).await.unwrap(),
        };
        let browser = fleet.tokens.sign_in(link.secret.reveal(), None).await.unwrap();
        if who == Who::AdminElsewhere {
            let identity = fleet.tokens.identify(browser.secret.reveal()).await.unwrap();
            fleet.users.switch_org(&identity, "elsewhere").await.unwrap();
        }
        browser.secret.reveal().to_owned()
    }

    /// (path and secret, id) of a new invitation into the target's org.
    pub(super) async fn new_invitation(&self) -> (String, String) {
        let made = self.warren.post("/api/v1/invitations", &json!({ "role": "viewer" })).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let made = made.json();
        let secret = made["path"].as_str().unwrap().strip_prefix("/#invitation=").unwrap().to_owned();
        (secret, made["invitation"]["id"].as_str().unwrap().to_owned())
    }

    /// Somebody of the target's org, and an org: new ones where they are changed.
    pub(super) async fn person_and_org(&self, operation: &str) -> (String, String) {
        let mut user = "somebody".to_owned();
        if matches!(operation, "change_user" | "remove_user") {
            user = format!("victim{}x", unique());
            self.new_person(Place::Here, OrgRole::Member, &user).await;
        }
        let mut org = "default".to_owned();
        if matches!(operation, "change_org" | "remove_org") {
            org = format!("spare{}", unique());
            let made = self.warren.post("/api/v1/orgs", &json!({ "name": org })).await;
            assert_eq!(made.status, 201, "{}", made.text());
        }
        (user, org)
    }
}

fn name_of(role: OrgRole, place: Place) -> String {
    let place = if place == Place::Here { "here" } else { "elsewhere" };
    format!("the-{role}-{place}")
}

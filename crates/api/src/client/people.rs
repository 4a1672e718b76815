//! Routes of people, orgs and invitations.

use reqwest::Method;

use super::{Client, Error};
use crate::{
    CreateInvitation, CreateOrg, CreateUser, CreatedInvitation, InvitationPage, Org, OrgPage, PatchOrg,
    PatchUser, RemovedUser, SignIn, SignInLink, SwitchOrg, User, UserPage,
};

/// How a person is taken out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoveUser<'a> {
    /// Absent: the org in which the caller works.
    pub org: Option<&'a str>,
    /// Out of all orgs.
    pub everywhere: bool,
    /// Whether what acts in their name goes on.
    pub keeps_made: bool,
}

impl Client {
    /// One page; `past` adds those who left.
    pub async fn users(
        &self,
        org: Option<&str>,
        past: bool,
        cursor: Option<&str>,
    ) -> Result<UserPage, Error> {
        let request = self.request(Method::GET, &["users"]).query(&[("past", past)]);
        self.answer(request.query(&[("org", org), ("cursor", cursor)])).await
    }

    pub async fn user(&self, org: Option<&str>, user: &str) -> Result<User, Error> {
        self.answer(self.request(Method::GET, &["users", user]).query(&[("org", org)])).await
    }

    pub async fn create_user(&self, org: Option<&str>, user: &CreateUser) -> Result<User, Error> {
        self.answer(self.request(Method::POST, &["users"]).query(&[("org", org)]).json(user)).await
    }

    pub async fn change_user(&self, org: Option<&str>, user: &str, patch: &PatchUser) -> Result<User, Error> {
        self.answer(self.request(Method::PATCH, &["users", user]).query(&[("org", org)]).json(patch)).await
    }

    pub async fn remove_user(&self, user: &str, how: RemoveUser<'_>) -> Result<RemovedUser, Error> {
        let request = self.request(Method::DELETE, &["users", user]).query(&[("org", how.org)]);
        let flags = [("everywhere", how.everywhere), ("keep", how.keeps_made)];
        self.answer(request.query(&flags)).await
    }

    /// A link that signs a browser in as this person, once.
    pub async fn create_user_link(&self, user: &str) -> Result<SignInLink, Error> {
        self.answer(self.request(Method::POST, &["users", user, "sign-in-links"])).await
    }

    pub async fn create_invitation(&self, invite: &CreateInvitation) -> Result<CreatedInvitation, Error> {
        self.answer(self.request(Method::POST, &["invitations"]).json(invite)).await
    }

    /// One page.
    pub async fn invitations(&self, cursor: Option<&str>) -> Result<InvitationPage, Error> {
        self.answer(self.request(Method::GET, &["invitations"]).query(&[("cursor", cursor)])).await
    }

    pub async fn revoke_invitation(&self, id: &str) -> Result<(), Error> {
        self.send(self.request(Method::DELETE, &["invitations", id])).await.map(drop)
    }

    /// One page.
    pub async fn orgs(&self, cursor: Option<&str>) -> Result<OrgPage, Error> {
        self.answer(self.request(Method::GET, &["orgs"]).query(&[("cursor", cursor)])).await
    }

    pub async fn org(&self, org: &str) -> Result<Org, Error> {
        self.answer(self.request(Method::GET, &["orgs", org])).await
    }

    pub async fn create_org(&self, org: &CreateOrg) -> Result<Org, Error> {
        self.answer(self.request(Method::POST, &["orgs"]).json(org)).await
    }

    pub async fn change_org(&self, org: &str, patch: &PatchOrg) -> Result<Org, Error> {
        self.answer(self.request(Method::PATCH, &["orgs", org]).json(patch)).await
    }

    pub async fn remove_org(&self, org: &str) -> Result<(), Error> {
        self.send(self.request(Method::DELETE, &["orgs", org])).await.map(drop)
    }

    /// Has this client's token work in another org from now on.
    pub async fn switch_org(&self, org: &str) -> Result<SignIn, Error> {
        let body = SwitchOrg { org: org.to_owned() };
        self.answer(self.request(Method::PUT, &["sign-in", "org"]).json(&body)).await
    }
}

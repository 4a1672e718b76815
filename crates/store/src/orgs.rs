//! Orgs and who is in them.

use warren_model::{Member, Org, OrgId, OrgRole, ShortName, User, UserId};

use crate::{Error, Page};

/// The people of an org, by the order in which they came to this Warren.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberQuery {
    pub org_id: OrgId,
    /// Also those who left.
    pub includes_past: bool,
    pub after: Option<UserId>,
    pub limit: u32,
}

pub trait OrgReads {
    fn org(&mut self, id: OrgId) -> Result<Option<Org>, Error>;
    /// Of those that are not removed, one has the name.
    fn org_by_name(&mut self, name: &ShortName) -> Result<Option<Org>, Error>;
    /// Those that are not removed, oldest first.
    fn orgs(&mut self, after: Option<OrgId>, limit: u32) -> Result<Page<Org, OrgId>, Error>;
    /// As they are or were in it.
    fn member(&mut self, org_id: OrgId, user_id: UserId) -> Result<Option<Member>, Error>;
    fn members(&mut self, query: &MemberQuery) -> Result<Page<(User, Member), UserId>, Error>;
    /// Where a person is, and what they may do there; without orgs that are removed.
    fn orgs_of(&mut self, user_id: UserId) -> Result<Vec<(Org, OrgRole)>, Error>;
    /// How many are in it; with a role, those who have it.
    fn count_members(&mut self, org_id: OrgId, role: Option<OrgRole>) -> Result<u64, Error>;
    /// What its workspaces spent in a month, also those that are removed or erased.
    fn spent_by_org(&mut self, org_id: OrgId, month: &str) -> Result<u64, Error>;
    /// How many of its sessions do something now.
    fn count_running_sessions(&mut self, org_id: OrgId) -> Result<u64, Error>;
}

pub trait OrgWrites {
    /// `AlreadyExists` where the name or the id is taken.
    fn insert_org(&mut self, org: &Org) -> Result<(), Error>;
    /// Writes all but the id and the time of creation. Returns whether there is such an org.
    fn update_org(&mut self, org: &Org) -> Result<bool, Error>;
    /// Reads it and keeps others from holding it until the commit: whoever counts its people and then changes them counts right.
    fn hold_org(&mut self, id: OrgId) -> Result<Option<Org>, Error>;
    /// Writes it over what was known of this person in this org.
    fn put_member(&mut self, member: &Member) -> Result<(), Error>;
}

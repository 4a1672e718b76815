//! People, and how sign-in providers know them.

use warren_model::{ShortName, User, UserId};

use crate::Error;

pub trait UserReads {
    fn user(&mut self, id: UserId) -> Result<Option<User>, Error>;
    /// Of those who are not removed, one has the name.
    fn user_by_name(&mut self, name: &ShortName) -> Result<Option<User>, Error>;
    /// Who a sign-in provider says it is.
    fn user_by_identity(&mut self, issuer: &str, subject: &str) -> Result<Option<User>, Error>;
    /// Those of these who are known, also the removed, in no order.
    fn users_by_ids(&mut self, ids: &[UserId]) -> Result<Vec<User>, Error>;
    /// Somebody whose name has one of these looks.
    fn look_holder(&mut self, looks: &[String]) -> Result<Option<UserId>, Error>;
    /// How many run this Warren, and are not removed.
    fn count_admins(&mut self) -> Result<u64, Error>;
}

pub trait UserWrites {
    /// `AlreadyExists` where the name or the id is taken.
    fn insert_user(&mut self, user: &User) -> Result<(), Error>;
    /// Writes all but the id and the time of creation. Returns whether there is such a user.
    fn update_user(&mut self, user: &User) -> Result<bool, Error>;
    /// A provider's person is one user's; `AlreadyExists` where it is another's.
    fn link_identity(&mut self, user_id: UserId, issuer: &str, subject: &str) -> Result<(), Error>;
    /// No provider knows them any more.
    fn unlink_identities(&mut self, user_id: UserId) -> Result<u64, Error>;
    /// Takes the looks of names for a user, in place of those that they had. Answers with somebody else who has one of
    /// them; what was taken is then to be undone by rolling back.
    fn claim_looks(&mut self, user_id: UserId, looks: &[String]) -> Result<Option<UserId>, Error>;
}

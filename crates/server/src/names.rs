//! What people are called: answers that name somebody by id tell the name with it.

use std::collections::{BTreeSet, HashMap};

use warren_api as api;
use warren_model as model;
use warren_model::{PrincipalKind, UserId};

use crate::App;
use crate::convert;
use crate::problem::Failure;

/// Names of some people, also of those who left.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<UserId, String>);

impl Names {
    /// Those of these who are people.
    pub(crate) async fn of<'a>(
        app: &App,
        principals: impl IntoIterator<Item = &'a model::Principal>,
    ) -> Result<Self, Failure> {
        let people = principals.into_iter().filter(|principal| principal.kind == PrincipalKind::User);
        let ids: BTreeSet<UserId> = people.filter_map(|principal| principal.id.parse().ok()).collect();
        Ok(Self(app.fleet.users.names(ids.into_iter().collect()).await?))
    }

    pub(crate) fn name_of(&self, principal: &model::Principal) -> Option<String> {
        let id = (principal.kind == PrincipalKind::User).then(|| principal.id.parse().ok()).flatten();
        id.and_then(|id: UserId| self.0.get(&id).cloned())
    }

    pub(crate) fn principal(&self, principal: &model::Principal) -> api::Principal {
        api::Principal { name: self.name_of(principal), ..convert::principal(principal) }
    }
}

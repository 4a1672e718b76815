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

    /// Questions to people, with the names of who asked and who decided.
    pub(crate) async fn in_approvals(
        app: &App,
        rows: &[model::Approval],
    ) -> Result<Vec<api::Approval>, Failure> {
        let asked = rows.iter().map(|row| &row.asked_by);
        let names = Self::of(app, asked.chain(rows.iter().filter_map(|row| row.decided_by.as_ref()))).await?;
        let one = |row: &model::Approval| api::Approval {
            asked_by: names.principal(&row.asked_by),
            decided_by: row.decided_by.as_ref().map(|who| names.principal(who)),
            ..convert::approval(row)
        };
        Ok(rows.iter().map(one).collect())
    }

    /// The same for one.
    pub(crate) async fn in_approval(app: &App, row: &model::Approval) -> Result<api::Approval, Failure> {
        let mut named = Self::in_approvals(app, std::slice::from_ref(row)).await?;
        Ok(named.pop().unwrap_or_else(|| convert::approval(row)))
    }

    /// Messages of a chat, with the names of who wrote them.
    pub(crate) async fn in_messages(
        app: &App,
        rows: &[model::ChatMessage],
    ) -> Result<Vec<api::ChatMessage>, Failure> {
        let names = Self::of(app, rows.iter().map(|row| &row.author)).await?;
        let one = |row: &model::ChatMessage| {
            let mut message = convert::chat::chat_message(row);
            message.author.name = names.name_of(&row.author);
            message
        };
        Ok(rows.iter().map(one).collect())
    }

    fn name_of(&self, principal: &model::Principal) -> Option<String> {
        let id = (principal.kind == PrincipalKind::User).then(|| principal.id.parse().ok()).flatten();
        id.and_then(|id: UserId| self.0.get(&id).cloned())
    }

    pub(crate) fn principal(&self, principal: &model::Principal) -> api::Principal {
        api::Principal { name: self.name_of(principal), ..convert::principal(principal) }
    }
}

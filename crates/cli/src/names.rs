//! What workspaces and people are called, for people who read tables; programs read ids in `--json`.

use std::collections::BTreeMap;

use warren_api::client::{Client, WorkspaceQuery};
use warren_api::{Author, Event, Principal};

/// Names are looked up in so many pages at most; what is not among them is told by its id.
const MAX_PAGES: usize = 20;

/// Names by id.
#[derive(Debug, Default)]
pub(crate) struct Names {
    workspaces: BTreeMap<String, String>,
    people: BTreeMap<String, String>,
}

impl Names {
    /// What can be found out. A name is a courtesy: where it cannot be had, there is the id.
    pub(crate) async fn load(client: &Client) -> Self {
        let mut names = Self::of_workspaces(client).await;
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let Ok(page) = client.users(None, true, cursor.as_deref()).await else { break };
            names.people.extend(page.items.into_iter().map(|one| (one.id, one.name)));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        names
    }

    /// The same without people.
    pub(crate) async fn of_workspaces(client: &Client) -> Self {
        let mut names = Self::default();
        let mut query = WorkspaceQuery { includes_removed: true, ..WorkspaceQuery::default() };
        for _ in 0..MAX_PAGES {
            let Ok(page) = client.workspaces(&query).await else { break };
            names.workspaces.extend(page.items.into_iter().map(|one| (one.id, one.name)));
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        names
    }

    /// From an event that tells a workspace's name, so that those that come later are called by it.
    pub(crate) fn learn(&mut self, event: &Event) {
        let name = event.data.get("name").and_then(serde_json::Value::as_str);
        if let (Some(id), Some(name), "workspace.lifecycle.created") =
            (&event.workspace_id, name, event.kind.as_str())
        {
            self.workspaces.insert(id.clone(), name.to_owned());
        }
    }

    pub(crate) fn workspace(&self, id: &str) -> String {
        self.workspaces.get(id).map_or_else(|| id.to_owned(), Clone::clone)
    }

    pub(crate) fn author(&self, author: &Author) -> String {
        match &author.name {
            Some(name) => name.clone(),
            None => self.who(&author.kind, &author.id),
        }
    }

    pub(crate) fn principal(&self, principal: &Principal) -> String {
        self.who(serde_json::json!(principal.kind).as_str().unwrap_or_default(), &principal.id)
    }

    /// As the log writes it: `user:ID`, `workspace:ID`.
    pub(crate) fn written(&self, text: &str) -> String {
        text.split_once(':').map_or_else(|| text.to_owned(), |(kind, id)| self.who(kind, id))
    }

    /// A kind is told where the name alone would not say what it is.
    pub(crate) fn who(&self, kind: &str, id: &str) -> String {
        let known = match kind {
            "workspace" => self.workspaces.get(id),
            "user" => self.people.get(id),
            _ => None,
        };
        known.map_or_else(|| format!("{kind}:{id}"), Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S11
    #[test]
    fn who_is_known_is_called_by_name_and_others_by_id() {
        let one = |id: &str, name: &str| BTreeMap::from([(id.to_owned(), name.to_owned())]);
        let names = Names { workspaces: one("1", "demo"), people: one("2", "anna") };
        assert_eq!(names.workspace("1"), "demo");
        assert_eq!(names.workspace("9"), "9");
        assert_eq!(names.written("user:2"), "anna");
        assert_eq!(names.written("workspace:1"), "demo");
        assert_eq!(names.written("user:1"), "user:1", "a workspace's id is no person's");
        assert_eq!(names.written("system:sweep"), "system:sweep");
    }
}

//! Routes of templates, of trees made from them, and of bundles.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

use super::{Client, Error};
use crate::{
    Bundle, CollapsedWorkspace, ExpandWorkspace, ImportBundle, ImportReport, ImportTree, Position, Template,
    TemplatePage, Workspace,
};

impl Client {
    /// One page, by name.
    pub async fn templates(&self, cursor: Option<&str>) -> Result<TemplatePage, Error> {
        let request = self.request(Method::GET, &["templates"]);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    pub async fn template(&self, name: &str) -> Result<Template, Error> {
        self.answer(self.request(Method::GET, &["templates", name])).await
    }

    /// Stores a document under this name; `media_type` is [`YAML`](crate::YAML) or `application/json`.
    pub async fn put_template(
        &self,
        name: &str,
        media_type: &str,
        document: String,
    ) -> Result<Template, Error> {
        let request = self.request(Method::PUT, &["templates", name]).header(CONTENT_TYPE, media_type);
        self.answer(request.body(document)).await
    }

    pub async fn remove_template(&self, name: &str) -> Result<(), Error> {
        self.no_answer(self.request(Method::DELETE, &["templates", name])).await
    }

    /// A report in which some could not be created is an answer, not an error.
    pub async fn import_tree(&self, import: &ImportTree) -> Result<ImportReport, Error> {
        self.answer(self.request(Method::POST, &["orgs", "import"]).json(import)).await
    }

    pub async fn expand_workspace(&self, id: &str, expand: &ExpandWorkspace) -> Result<ImportReport, Error> {
        self.answer(self.request(Method::POST, &["workspaces", id, "expand"]).json(expand)).await
    }

    pub async fn collapse_workspace(&self, id: &str, purge: bool) -> Result<CollapsedWorkspace, Error> {
        let request = self.request(Method::POST, &["workspaces", id, "collapse"]);
        self.answer(request.query(&[("purge", purge)])).await
    }

    /// On the caller's own map.
    pub async fn put_position(&self, id: &str, position: &Position) -> Result<Workspace, Error> {
        self.answer(self.request(Method::PUT, &["workspaces", id, "position"]).json(position)).await
    }

    pub async fn remove_position(&self, id: &str) -> Result<Workspace, Error> {
        self.answer(self.request(Method::DELETE, &["workspaces", id, "position"])).await
    }

    /// With all below it, if `tree` is set.
    pub async fn export_bundle(&self, id: &str, tree: bool, files: bool) -> Result<Bundle, Error> {
        let request = self.request(Method::GET, &["workspaces", id, "bundle"]);
        self.slow_answer(request.query(&[("tree", tree), ("files", files)])).await
    }

    pub async fn import_bundle(&self, import: &ImportBundle) -> Result<ImportReport, Error> {
        self.slow_answer(self.request(Method::POST, &["bundles"]).json(import)).await
    }
}

//! Templates.

use warren_model::{OrgId, Runtime, Template, TemplateName};

use crate::{Error, Page};

pub trait TemplateReads {
    fn template(&mut self, org_id: OrgId, name: &TemplateName) -> Result<Option<Template>, Error>;
    /// By name, after the one that is named.
    fn templates(
        &mut self,
        org_id: OrgId,
        after: Option<&TemplateName>,
        limit: u32,
    ) -> Result<Page<Template, TemplateName>, Error>;
    fn count_templates(&mut self, org_id: OrgId) -> Result<u64, Error>;
    /// The longest time that a template of the org gives this runtime (F5); absent: none says anything.
    fn longest_provision_timeout(&mut self, org_id: OrgId, runtime: Runtime) -> Result<Option<u32>, Error>;
}

pub trait TemplateWrites {
    /// `Error::AlreadyExists` where the name is taken.
    fn insert_template(&mut self, template: &Template) -> Result<(), Error>;
    /// Compare-and-set, as for workspaces: only if the row still has `expected_version`. Returns the new version.
    fn update_template(&mut self, template: &Template, expected_version: u64) -> Result<u64, Error>;
    /// Returns whether there was one.
    fn delete_template(&mut self, org_id: OrgId, name: &TemplateName) -> Result<bool, Error>;
}

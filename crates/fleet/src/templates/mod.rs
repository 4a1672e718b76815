//! Templates in the database (F50): storing, listing, removing, and finding all that one leads to.

mod bundled;
mod bundles;
mod imports;
mod positions;

pub use bundles::{Bundles, ExportedBundle};
pub use imports::{Import, ImportReport, ImportedNode, Imports};
pub use positions::Positions;

use std::collections::BTreeSet;

use warren_model::event::{TemplateRemoved, TemplateStored};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, Blueprint, Ceilings, ErrorCode, EventData, NewEvent, OrgId,
    Template, TemplateName, Tier,
};
use warren_rules::boxes::ceilings;
use warren_rules::lifecycle::template_tiers::{self, AllTemplates, TemplateFacts};
use warren_rules::lifecycle::templates::{self, Entry, Library, MAX_TEMPLATES, Problem};
use warren_service::{Action, Actor, Context, Error, Identity, TxInputs};
use warren_store::{Page, ReadTx};

use crate::Config;
use crate::orgs::grant_of;

/// Templates in one page of a list: each may be a megabyte, and a list reads them whole.
pub const MAX_TEMPLATE_PAGE: u32 = 50;

/// A template that somebody wants stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PutTemplate {
    pub name: TemplateName,
    pub blueprint: Blueprint,
    /// As it was written.
    pub source: String,
    /// Only if this is still the hash of what is stored.
    pub expected_hash: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StoredTemplate {
    pub template: Template,
    /// Whether the name is new.
    pub is_new: bool,
}

/// Stores templates. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Templates {
    context: Context,
    config: Config,
}

impl Templates {
    pub(crate) fn new(context: Context, config: Config) -> Self {
        Self { context, config }
    }

    #[tracing::instrument(name = "fleet.templates.get", skip_all)]
    pub async fn get(&self, who: &Identity, name: &TemplateName) -> Result<Template, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let (org_id, name) = (who.token.org_id, name.clone());
        let found =
            self.context.store().read(move |tx| tx.template(org_id, &name).map_err(Error::from)).await?;
        found.ok_or_else(|| Error::new(ErrorCode::TemplateNotFound))
    }

    #[tracing::instrument(name = "fleet.templates.list", skip_all)]
    pub async fn list(
        &self,
        who: &Identity,
        after: Option<TemplateName>,
        limit: u32,
    ) -> Result<Page<Template, TemplateName>, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let org_id = who.token.org_id;
        let limit = limit.clamp(1, MAX_TEMPLATE_PAGE);
        let page = self
            .context
            .store()
            .read(move |tx| tx.templates(org_id, after.as_ref(), limit).map_err(Error::from))
            .await?;
        Ok(self.context.listed(page))
    }

    /// Whether this caller may write this template: what leads above the tier `basic`, or beyond its ceilings, is
    /// operators' (F9).
    async fn check_tiers(
        &self,
        who: &Identity,
        name: &TemplateName,
        written: Option<&Blueprint>,
    ) -> Result<(), Error> {
        let grant = grant_of(&self.context, who).await?;
        if grant.is_unlimited {
            return Ok(());
        }
        written.map_or(Ok(()), |written| check_ceilings(written, &self.config.ceilings))?;
        if grant.highest_tier == Tier::Privileged {
            return Ok(());
        }
        let org_id = who.token.org_id;
        let all = self.context.store().read(move |tx| tier_facts(tx, org_id)).await?;
        template_tiers::check_write(name, written, &all)
            .map_err(|refusal| Error::with_detail(ErrorCode::Forbidden, refusal.sentence()))
    }

    /// Stores a template, in place of what has its name. The same content again changes nothing.
    #[tracing::instrument(name = "fleet.templates.put", skip_all)]
    pub async fn put(&self, who: &Identity, put: PutTemplate) -> Result<StoredTemplate, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        self.check_tiers(who, &put.name, Some(&put.blueprint)).await?;
        let (org_id, inputs) = (who.token.org_id, self.context.inputs(&who.principal, ()));
        let actor = Actor::of(who);
        let max = u64::from(self.context.limits().max_templates_per_org);
        self.context
            .write_with_retries(put.expected_hash.is_none(), move |tx| {
                let stored = tx.template(org_id, &put.name)?;
                check_hash(stored.as_ref(), put.expected_hash.as_deref())?;
                // Those that it names may come later; what they lead to now must not lead back.
                let library = load(tx, org_id, std::slice::from_ref(&put.blueprint))?;
                if let Some(way) = templates::find_cycle(&put.name, &put.blueprint, &library) {
                    return Err(Problem::Cycle(way).into());
                }
                let mut template = Template {
                    org_id,
                    name: put.name.clone(),
                    hash: put.blueprint.hash(),
                    blueprint: put.blueprint.clone(),
                    source: put.source.clone(),
                    version: 1,
                    created_at: stored.as_ref().map_or(inputs.now, |stored| stored.created_at),
                    updated_at: inputs.now,
                };
                match &stored {
                    Some(stored) if stored.hash == template.hash && stored.source == template.source => {
                        return Ok(StoredTemplate { template: stored.clone(), is_new: false });
                    }
                    Some(stored) => template.version = tx.update_template(&template, stored.version)?,
                    None if tx.count_templates(org_id)? >= max => {
                        return Err(Error::new(ErrorCode::TemplateLimit));
                    }
                    None => tx.insert_template(&template)?,
                }
                let data = TemplateStored { name: template.name.clone(), hash: template.hash.clone() };
                let event = template_event(&template, data, &inputs);
                tx.append_event(&event)?;
                let (action, kind) = (AuditAction::TemplateStored, AuditTargetKind::Template);
                let details = AuditDetails::Event(event.data);
                tx.append_audit(&actor.did(inputs.now, action, kind, template.name.as_str(), &details))?;
                Ok(StoredTemplate { template, is_new: stored.is_none() })
            })
            .await
    }

    /// Workspaces that were made from it stay, and so do templates that name it.
    #[tracing::instrument(name = "fleet.templates.remove", skip_all)]
    pub async fn remove(&self, who: &Identity, name: &TemplateName) -> Result<(), Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        self.check_tiers(who, name, None).await?;
        let (org_id, name, inputs) =
            (who.token.org_id, name.clone(), self.context.inputs(&who.principal, ()));
        let actor = Actor::of(who);
        self.context
            .store()
            .write(move |tx| {
                let stored =
                    tx.template(org_id, &name)?.ok_or_else(|| Error::new(ErrorCode::TemplateNotFound))?;
                tx.delete_template(org_id, &name)?;
                let data = TemplateRemoved { name: stored.name.clone(), hash: stored.hash.clone() };
                let event = template_event(&stored, data, &inputs);
                tx.append_event(&event)?;
                let (action, kind) = (AuditAction::TemplateRemoved, AuditTargetKind::Template);
                let details = AuditDetails::Event(event.data);
                tx.append_audit(&actor.did(inputs.now, action, kind, stored.name.as_str(), &details))?;
                Ok(())
            })
            .await
    }
}

/// The templates that blueprints lead to, as far as they are stored.
pub(crate) fn load(tx: &mut dyn ReadTx, org_id: OrgId, roots: &[Blueprint]) -> Result<Library, Error> {
    let mut library = Library::new();
    let mut asked = BTreeSet::new();
    let mut open: Vec<TemplateName> = roots.iter().flat_map(Blueprint::references).collect();
    while let Some(name) = open.pop() {
        if !asked.insert(name.clone()) {
            continue;
        }
        if asked.len() > MAX_TEMPLATES {
            return Err(Problem::TooMany.into());
        }
        if let Some(stored) = tx.template(org_id, &name)? {
            open.extend(stored.blueprint.references());
            library.insert(name, Entry { hash: stored.hash, blueprint: stored.blueprint });
        }
    }
    Ok(library)
}

/// An operator who makes a workspace from a template is not held to the ceilings: its writer is.
fn check_ceilings(blueprint: &Blueprint, ceilings: &Ceilings) -> Result<(), Error> {
    if let Some(provider) = &blueprint.provider {
        ceilings::check(provider, Tier::Basic, ceilings, false)
            .map_err(|refusal| Error::with_detail(ErrorCode::Forbidden, refusal.sentence()))?;
    }
    blueprint.children.iter().try_for_each(|child| check_ceilings(child, ceilings))
}

/// What every template of an org has to do with tiers.
fn tier_facts(tx: &mut dyn ReadTx, org_id: OrgId) -> Result<AllTemplates, Error> {
    let (mut all, mut after) = (AllTemplates::new(), None);
    loop {
        let page = tx.templates(org_id, after.as_ref(), MAX_TEMPLATE_PAGE)?;
        all.extend(page.rows.into_iter().map(|row| (row.name, TemplateFacts::of(&row.blueprint))));
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

fn check_hash(stored: Option<&Template>, expected: Option<&str>) -> Result<(), Error> {
    let Some(expected) = expected else { return Ok(()) };
    match stored {
        Some(stored) if stored.hash == expected => Ok(()),
        Some(stored) => {
            let detail = format!("the current hash is {}", stored.hash);
            Err(Error::with_detail(ErrorCode::PreconditionFailed, detail))
        }
        None => Err(Error::with_detail(ErrorCode::PreconditionFailed, "there is no such template")),
    }
}

fn template_event(template: &Template, data: impl Into<EventData>, inputs: &TxInputs<()>) -> NewEvent {
    NewEvent {
        at: inputs.now,
        org_id: template.org_id,
        workspace_id: None,
        principal: inputs.by.clone(),
        data: data.into(),
    }
}

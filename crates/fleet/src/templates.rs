//! Templates in the database (F50): storing, listing, removing, and finding all that one leads to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use warren_model::{
    Blueprint, ErrorCode, EventKind, NewEvent, OrgId, Position, Template, TemplateName, Workspace,
    WorkspaceId,
};
use warren_rules::access::Action;
use warren_rules::lifecycle::templates::{self, Entry, Library, MAX_TEMPLATES, Problem};
use warren_store::{Page, ReadTx};

use crate::lifecycle::Moment;
use crate::workspaces::live_row;
use crate::{Error, Fleet, Identity};

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

impl Fleet {
    pub async fn template(&self, who: &Identity, name: &TemplateName) -> Result<Template, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let (org_id, name) = (who.token.org_id, name.clone());
        let found = self.store().read(move |tx| tx.template(org_id, &name).map_err(Error::from)).await?;
        found.ok_or_else(|| Error::new(ErrorCode::TemplateNotFound))
    }

    pub async fn templates(
        &self,
        who: &Identity,
        after: Option<TemplateName>,
        limit: u32,
    ) -> Result<Page<Template, TemplateName>, Error> {
        who.may_in_own_org(Action::ReadWorkspaces)?;
        let org_id = who.token.org_id;
        let limit = limit.clamp(1, MAX_TEMPLATE_PAGE);
        let page = self
            .store()
            .read(move |tx| tx.templates(org_id, after.as_ref(), limit).map_err(Error::from))
            .await?;
        Ok(self.context().listed(page))
    }

    /// Stores a template, in place of what has its name. The same content again changes nothing.
    pub async fn put_template(&self, who: &Identity, put: PutTemplate) -> Result<StoredTemplate, Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let (org_id, moment) = (who.token.org_id, self.moment(&who.principal));
        let max = u64::from(self.limits().max_templates_per_org);
        self.write_with_retries(put.expected_hash.is_none(), move |tx| {
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
                created_at: stored.as_ref().map_or(moment.now, |stored| stored.created_at),
                updated_at: moment.now,
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
            tx.append_event(&template_event(&template, EventKind::TemplateStored, &moment))?;
            Ok(StoredTemplate { template, is_new: stored.is_none() })
        })
        .await
    }

    /// Workspaces that were made from it stay, and so do templates that name it.
    pub async fn remove_template(&self, who: &Identity, name: &TemplateName) -> Result<(), Error> {
        who.may_in_own_org(Action::WriteWorkspaces)?;
        let (org_id, name, moment) = (who.token.org_id, name.clone(), self.moment(&who.principal));
        self.store()
            .write(move |tx| {
                let stored =
                    tx.template(org_id, &name)?.ok_or_else(|| Error::new(ErrorCode::TemplateNotFound))?;
                tx.delete_template(org_id, &name)?;
                tx.append_event(&template_event(&stored, EventKind::TemplateRemoved, &moment))?;
                Ok(())
            })
            .await
    }

    /// Where the caller has put these workspaces on their map (F9).
    pub async fn positions_of(
        &self,
        who: &Identity,
        workspaces: &[Workspace],
    ) -> Result<BTreeMap<WorkspaceId, Position>, Error> {
        let ids: Vec<_> = workspaces.iter().map(|row| row.id).collect();
        let principal = who.principal.clone();
        self.store().read(move |tx| tx.positions_of(&principal, &ids).map_err(Error::from)).await
    }

    /// Puts a workspace somewhere on the caller's own map; `None` takes it off. A token that only reads may not: its owner
    /// may have other tokens, and one map.
    pub async fn put_position(
        &self,
        who: &Identity,
        id: WorkspaceId,
        position: Option<Position>,
    ) -> Result<Workspace, Error> {
        if position.is_some_and(|position| !position.is_valid()) {
            let detail = format!("x, y: expected numbers from -{max} to {max}", max = Position::MAX);
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        self.workspace(who, Action::UseWorkspace, id).await?;
        let principal = who.principal.clone();
        self.store()
            .write(move |tx| {
                let row = live_row(tx, id)?;
                tx.put_position(&principal, id, position)?;
                Ok(row)
            })
            .await
    }
}

/// The templates that blueprints lead to, as far as they are stored.
pub(crate) fn load(tx: &mut dyn ReadTx, org_id: OrgId, roots: &[Blueprint]) -> Result<Library, Error> {
    let mut library = Library::new();
    let mut asked = BTreeSet::new();
    let mut open: Vec<TemplateName> = roots.iter().flat_map(templates::references).collect();
    while let Some(name) = open.pop() {
        if !asked.insert(name.clone()) {
            continue;
        }
        if asked.len() > MAX_TEMPLATES {
            return Err(Problem::TooMany.into());
        }
        if let Some(stored) = tx.template(org_id, &name)? {
            open.extend(templates::references(&stored.blueprint));
            library.insert(name, Entry { hash: stored.hash, blueprint: stored.blueprint });
        }
    }
    Ok(library)
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

fn template_event(template: &Template, kind: EventKind, moment: &Moment) -> NewEvent {
    NewEvent {
        at: moment.now,
        kind,
        org_id: template.org_id,
        workspace_id: None,
        principal: moment.by.clone(),
        data: json!({ "name": template.name.as_str(), "hash": template.hash }),
    }
}

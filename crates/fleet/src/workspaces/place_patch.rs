//! Changing what a workspace is given: its provider's config, its capabilities and its tier (F3). Judged as if it were made
//! now, except that nobody is held to what it has already.

use warren_model::{Ceilings, ErrorCode, ProviderConfig, ProviderKind, Workspace};
use warren_rules::boxes::config_change::ConfigChangeRefusal;
use warren_rules::boxes::{ceilings, config_change, tier};
use warren_service::Error;
use warren_workspace::Registry;

use super::patch::put;
use super::{PatchWorkspace, check_agent, check_run_policy, refused_tier};
use crate::orgs::Grant;

/// What a change is judged by.
#[derive(Debug, Clone)]
pub(super) struct PlaceJudge {
    pub(super) grant: Grant,
    pub(super) registry: Registry,
}

impl PlaceJudge {
    /// Puts what the patch says into the row, and the names of what changed into `fields`. Returns whether the box has to be
    /// opened anew for it.
    pub(super) fn apply(
        &self,
        row: &mut Workspace,
        patch: &PatchWorkspace,
        allowed: &Ceilings,
        fields: &mut Vec<&'static str>,
    ) -> Result<bool, Error> {
        let known = row.spec.clone();
        let provider = match &patch.provider {
            Some(changes) => changed_config(&known.provider, changes)?,
            None => known.provider.clone(),
        };
        let capabilities = match patch.capabilities {
            Some(Some(asked)) => asked,
            Some(None) => self.registry.offered(provider.kind())?,
            None => known.capabilities,
        };
        let is_same = provider == known.provider && capabilities == known.capabilities;
        if is_same && patch.tier.is_none_or(|tier| tier == known.tier) {
            return Ok(false);
        }
        self.registry.check(&provider, capabilities)?;
        if provider.run_policy() != known.provider.run_policy() {
            check_run_policy(&provider)?;
        }
        let before = (known.tier, &known.provider);
        let tier = tier::decide_change(before, patch.tier, &provider, self.grant.highest_tier)
            .map_err(refused_tier)?;
        ceilings::check_change(before, tier, &provider, allowed, self.grant.is_unlimited)
            .map_err(|refusal| Error::with_detail(ErrorCode::Forbidden, refusal.sentence()))?;
        let needs_new_box =
            config_change::needs_new_box(&known.provider, &provider) || capabilities != known.capabilities;
        put(&mut row.spec.provider, Some(&provider), "provider", fields);
        put(&mut row.spec.capabilities, Some(&capabilities), "capabilities", fields);
        put(&mut row.spec.tier, Some(&tier), "tier", fields);
        check_agent(&row.spec)?;
        Ok(needs_new_box)
    }
}

fn changed_config(known: &ProviderConfig, changes: &serde_json::Value) -> Result<ProviderConfig, Error> {
    let refused =
        |refusal: ConfigChangeRefusal| Error::with_detail(ErrorCode::InvalidConfig, refusal.sentence());
    // Before the fields of one provider are read as those of another.
    let kind = changes.get("kind").and_then(serde_json::Value::as_str).and_then(ProviderKind::parse);
    if kind.is_some_and(|kind| kind != known.kind()) {
        return Err(refused(ConfigChangeRefusal::OtherKind));
    }
    let at = if changes.is_object() { "provider." } else { "provider: " };
    let wanted = known
        .changed(changes)
        .map_err(|problem| Error::with_detail(ErrorCode::InvalidConfig, format!("{at}{problem}")))?;
    config_change::check(known, &wanted).map_err(refused)?;
    Ok(wanted)
}

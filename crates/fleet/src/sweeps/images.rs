//! Fetches images anew, and has boxes made anew that were made from older ones (F52).
//!
//! Every process looks after the boxes that are open here. What a box was made from is asked of the box itself, so that
//! nothing has to be remembered for it; the watcher's memory only says which digests it has seen. It is lost with the
//! process, and so are the boxes: the next ones are made from what is here then.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use serde_json::json;
use warren_model::{EventKind, Principal, WorkspaceId};
use warren_rules::lifecycle::Signal;
use warren_rules::lifecycle::images::{Action, Look, Memory, is_outdated, plan, plan_asked, remember};
use warren_workspace::registry::OpenImage;

use super::{Occasion, Tally};
use crate::lifecycle::{Particulars, apply_signal, event_of};
use crate::workspaces::live_row;
use crate::{Error, Fleet};

impl Fleet {
    pub(super) async fn sweep_images(&self, occasion: Occasion, tally: &mut Tally) {
        let open = self.registry().open_images().await;
        let looks = self.look_at_images(&open).await;
        let memory: Memory = self.0.images.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let actions = match occasion {
            Occasion::Asked => plan_asked(&looks),
            Occasion::Interval => plan(&memory, &looks),
        };
        tally.looked_at = looks.len() as u64;
        tally.failed = looks.values().filter(|look| **look == Look::Failed).count() as u64;
        let mut failed = Vec::new();
        for (one, action) in open.iter().filter_map(|one| Some((one, actions.get(&one.name)?))) {
            if !is_outdated(one.made_from.as_deref(), action) {
                continue;
            }
            match self.make_anew(one, action).await {
                Ok(()) => tally.acted_on += 1,
                Err(error) => {
                    tracing::warn!(workspace.id = %one.id, image = one.name, %error, "a box could not be made anew; it is tried again");
                    failed.push(one.name.clone());
                    tally.failed += 1;
                }
            }
        }
        *self.0.images.lock().unwrap_or_else(PoisonError::into_inner) = remember(&memory, &actions, &failed);
    }

    /// One look for each name; that one fails says nothing of the others.
    async fn look_at_images(&self, open: &[OpenImage]) -> BTreeMap<String, Look> {
        let mut looks = BTreeMap::new();
        for one in open {
            if looks.contains_key(&one.name) || self.context().is_stopping() {
                continue;
            }
            let look = match self.registry().refresh_image(&one.config).await {
                Ok(Some(digest)) => Look::Digest(digest),
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(image = one.name, %error, "an image could not be fetched anew");
                    Look::Failed
                }
            };
            looks.insert(one.name.clone(), look);
        }
        looks
    }

    async fn make_anew(&self, one: &OpenImage, action: &Action) -> Result<(), Error> {
        let Action::Refresh { digest } = action else { return Ok(()) };
        let data = json!({ "image": one.name, "from": one.made_from, "to": digest });
        let (id, moment): (WorkspaceId, _) = (one.id, self.moment(&Principal::system("images")));
        self.write_with_retries(true, move |tx| {
            let mut row = live_row(tx, id)?;
            row.raise_generation();
            let kind = EventKind::WorkspaceImageRefreshed;
            tx.append_event(&event_of(&row, kind, &moment.by, moment.now, data.clone()))?;
            apply_signal(tx, &mut row, Signal::Restart, &moment, &Particulars::default())?;
            tx.update_workspace(&row, row.version)?;
            Ok(())
        })
        .await?;
        self.reconcile_in_background(id);
        Ok(())
    }
}

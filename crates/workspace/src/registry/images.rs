//! What open workspaces were made from, and what the names of their images stand for now (F52).

use warren_model::{ProviderConfig, WorkspaceId};

use super::Registry;
use super::slot::SlotState;
use crate::Error;

/// An open workspace whose box was made from an image.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenImage {
    pub id: WorkspaceId,
    pub config: ProviderConfig,
    /// As the config names it.
    pub name: String,
    /// The digest of what its box was made from; absent: it could not be asked.
    pub made_from: Option<String>,
}

impl Registry {
    /// All that are open here and made from an image.
    pub async fn open_images(&self) -> Vec<OpenImage> {
        let mut found = Vec::new();
        for slot in self.inner.slots() {
            let open = {
                let cell = slot.lock();
                match (&cell.life, cell.config.image()) {
                    (SlotState::Open(lease), Some(name)) => {
                        Some((lease.clone(), name.to_owned(), cell.config.clone()))
                    }
                    _ => None,
                }
            };
            if let Some((lease, name, config)) = open {
                let made_from = lease.workspace.image().await;
                found.push(OpenImage { id: slot.id, config, name, made_from });
            }
        }
        found
    }

    /// Fetches the image of this config anew; answers with its digest.
    pub async fn refresh_image(&self, config: &ProviderConfig) -> Result<Option<String>, Error> {
        self.inner.provider(config.kind())?.refresh_image(config).await
    }
}

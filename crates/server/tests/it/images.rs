//! Images that are fetched anew, and boxes that are made anew from them (F52).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use warren_model::{CapabilitySet, ErrorCode, ProviderConfig, ProviderKind, Ref, WorkspaceId};
use warren_testkit::Warren;
use warren_workspace::fs::Fs;
use warren_workspace::shell::Shell;
use warren_workspace::{Error, OpenRequest, Opened, Provider, ReapReport, Workspace};

use crate::fleet::{create, events, eventually, status, sweep};

/// A provider whose boxes know what they were made from. A name that stands for nothing cannot be fetched.
#[derive(Debug, Default)]
struct Shelf {
    images: Mutex<HashMap<String, String>>,
    made: Mutex<Vec<(WorkspaceId, String)>>,
}

impl Shelf {
    fn put(&self, image: &str, digest: &str) {
        self.images.lock().unwrap().insert(image.to_owned(), digest.to_owned());
    }

    fn take_away(&self, image: &str) {
        self.images.lock().unwrap().remove(image);
    }

    /// What the boxes of this workspace were made from, in order.
    fn made(&self, id: WorkspaceId) -> Vec<String> {
        let made = self.made.lock().unwrap();
        made.iter().filter(|(of, _)| *of == id).map(|(_, digest)| digest.clone()).collect()
    }

    fn make(&self, id: WorkspaceId, config: &ProviderConfig) -> Arc<dyn Workspace> {
        let name = config.image().unwrap();
        let made_from = self.images.lock().unwrap().get(name).cloned().unwrap_or_default();
        self.made.lock().unwrap().push((id, made_from.clone()));
        Arc::new(Made { id, made_from })
    }
}

#[derive(Debug)]
struct Made {
    id: WorkspaceId,
    made_from: String,
}

#[async_trait]
impl Workspace for Made {
    fn id(&self) -> WorkspaceId {
        self.id
    }

    fn fs(&self) -> Option<&dyn Fs> {
        None
    }

    fn shell(&self) -> Option<&dyn Shell> {
        None
    }

    fn limits(&self) -> Value {
        json!({})
    }

    async fn image(&self) -> Option<String> {
        Some(self.made_from.clone())
    }

    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

#[async_trait]
impl Provider for Shelf {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Docker
    }

    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::EMPTY
    }

    fn check(&self, _config: &ProviderConfig) -> Result<(), Error> {
        Ok(())
    }

    async fn open(&self, request: OpenRequest) -> Result<Opened, Error> {
        let reference = Ref {
            provider: "docker".into(),
            schema_version: 1,
            capabilities: request.declared,
            payload: json!({}),
        };
        Ok(Opened { workspace: self.make(request.workspace_id, &request.config), reference })
    }

    async fn resolve(
        &self,
        id: WorkspaceId,
        config: &ProviderConfig,
        _reference: &Ref,
    ) -> Result<Arc<dyn Workspace>, Error> {
        Ok(self.make(id, config))
    }

    async fn destroy(&self, _id: WorkspaceId, _reference: &Ref) -> Result<(), Error> {
        Ok(())
    }

    async fn refresh_image(&self, config: &ProviderConfig) -> Result<Option<String>, Error> {
        let current = self.images.lock().unwrap().get(config.image().unwrap()).cloned();
        let failed = || Error::transient(ErrorCode::ProviderUnavailable, "no registry answers");
        current.map(Some).ok_or_else(failed)
    }

    async fn reap(&self, _live: &BTreeSet<WorkspaceId>) -> Result<ReapReport, Error> {
        Ok(ReapReport::default())
    }
}

async fn boxed(warren: &Warren, image: &str) -> WorkspaceId {
    let body = json!({
        "name": "boxed", "provider": { "kind": "docker", "image": image }, "capabilities": [],
    });
    let id = create(warren, &body).await;
    warren.wait_for_status(id, warren_model::Status::Online).await;
    id
}

// F52
#[tokio::test]
async fn a_box_is_made_anew_from_what_its_tag_stands_for_and_one_that_fails_blocks_no_other() {
    let shelf = Arc::new(Shelf::default());
    for image in ["a:1", "b:1", "c:1"] {
        shelf.put(image, "old");
    }
    let warren = Warren::builder().provider(Arc::clone(&shelf) as Arc<dyn Provider>).start().await;
    let (a, b, c) = (boxed(&warren, "a:1").await, boxed(&warren, "b:1").await, boxed(&warren, "c:1").await);
    let outcome = async || sweep(&warren, "images").await["last_run"]["outcome"].clone();
    let told = outcome().await;
    assert_eq!((&told["looked_at"], &told["acted_on"]), (&json!(3), &json!(0)), "nothing is older");
    shelf.take_away("a:1");
    shelf.put("b:1", "new");
    let told = outcome().await;
    assert_eq!((&told["acted_on"], &told["failed"]), (&json!(1), &json!(1)), "{told}");
    eventually("b is made anew", async || {
        shelf.made(b) == ["old", "new"] && status(&warren, b).await == "online"
    })
    .await;
    assert_eq!((shelf.made(a).len(), shelf.made(c).len()), (1, 1), "the others are left alone");
    let refreshed = events(&warren, Some(b)).await;
    let refreshed = refreshed.iter().find(|event| event["kind"] == "workspace.image.refreshed").unwrap();
    assert_eq!(refreshed["data"], json!({ "image": "b:1", "from": "old", "to": "new" }));
    assert_eq!(outcome().await["acted_on"], 0, "once is enough");
    // What failed is tried again when it is asked for again.
    shelf.put("a:1", "newer");
    assert_eq!(outcome().await["acted_on"], 1);
    eventually("a is made anew", async || shelf.made(a).last().unwrap() == "newer").await;
}

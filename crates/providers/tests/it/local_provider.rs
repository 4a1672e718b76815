//! What is particular to `local`: sharing, destroying, reaping, links, modes and evictions.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use warren_doors::Environment;
use warren_model::{ErrorCode, LocalConfig, ProviderConfig, Ref, Sharing};
use warren_workspace::fs::{Change, CpOptions, Edit, EntryKind};
use warren_workspace::{Error, OpenRequest, Opened, Provider};

use crate::fixture::{Local, assert_code, new_id, path, provider, tree};

async fn open_shared(local: &Local, id: &str, allowed: bool) -> Result<Opened, Error> {
    let config = LocalConfig {
        share: Some(Sharing { id: id.into(), share_across_sessions: allowed }),
        ..LocalConfig::default()
    };
    let request = OpenRequest {
        workspace_id: new_id(),
        config: ProviderConfig::Local(config),
        declared: local.provider.capabilities(),
    };
    local.provider.open(request).await
}

// W5
#[tokio::test]
async fn files_are_shared_only_where_the_config_says_so_twice() {
    let local = Local::open().await;
    let refused = open_shared(&local, "team", false).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::SharingRefused);
    assert!(!refused.is_transient());
    let one = open_shared(&local, "team", true).await.unwrap();
    let other = open_shared(&local, "team", true).await.unwrap();
    let put = crate::fixture::contents("both");
    one.workspace.fs().unwrap().write(&path("f"), put, Default::default()).await.unwrap();
    let seen = crate::fixture::read(other.workspace.fs().unwrap(), &path("f")).await;
    assert_eq!(seen.unwrap(), b"both");
    // Destroying one of those who share does not take the files from the other.
    local.provider.destroy(one.workspace.id(), &one.reference).await.unwrap();
    crate::fixture::read(other.workspace.fs().unwrap(), &path("f")).await.unwrap();
}

// W5, F07 (security)
#[tokio::test]
async fn a_share_id_is_never_a_path() {
    let local = Local::open().await;
    for id in ["", "..", "a/b", "../x", "A", "a.b", "a\0", "é", &"a".repeat(65), ".", " "] {
        assert_code(open_shared(&local, id, true).await, ErrorCode::InvalidConfig);
    }
    let own = Ref {
        payload: serde_json::json!({"place": "shared", "share": "../../outside"}),
        ..local.reference.clone()
    };
    let config = ProviderConfig::Local(LocalConfig::default());
    assert!(local.provider.resolve(local.id, &config, &own).await.is_err());
    let foreign = Ref {
        payload: serde_json::json!({"place": "own", "workspace": new_id()}),
        ..local.reference.clone()
    };
    assert_code(local.provider.resolve(local.id, &config, &foreign).await, ErrorCode::RefUnreadable);
}

// W16, W82
#[tokio::test]
async fn a_destroy_that_was_cut_short_is_finished_by_the_reaper() {
    let local = Local::open().await;
    local.put("a/b", "x").await;
    // As a crash after the rename leaves it.
    let trash = local.base().join(".trash/left-behind");
    std::fs::create_dir_all(trash.join("deep")).unwrap();
    std::fs::write(trash.join("deep/f"), "x").unwrap();
    let report = local.provider.reap(&BTreeSet::new()).await.unwrap();
    assert_eq!((report.removed, report.problems), (1, vec![]));
    assert!(!trash.exists());
    assert_eq!(local.get("a/b").await.unwrap(), b"x", "a workspace is never taken for garbage");
    local.provider.destroy(local.id, &local.reference).await.unwrap();
    assert!(!local.root().exists());
    assert!(tree(&local.base().join(".trash")).is_empty());
}

// W82: the lease of another living process holds, and what a killed one left is swept.
#[tokio::test]
async fn two_providers_on_one_base_respect_each_others_temp_files() {
    let local = Local::open().await;
    let second = provider(&local.base(), Environment::default());
    let shelf = || std::fs::read_dir(local.base().join(".staging")).unwrap().count();
    assert_eq!(shelf(), 4);
    second.reap(&BTreeSet::new()).await.unwrap();
    local.provider.reap(&BTreeSet::new()).await.unwrap();
    assert_eq!(shelf(), 4);
    local.put("still", "works").await;
    drop(second);
    assert_eq!(shelf(), 2);
}

// W13
#[tokio::test]
async fn a_directory_taken_away_is_an_eviction() {
    let local = Local::open().await;
    local.put("f", "x").await;
    std::fs::remove_dir_all(local.root()).unwrap();
    let error = local.get("f").await.unwrap_err();
    assert!(error.is_evicted(), "{error:?}");
    let config = ProviderConfig::Local(LocalConfig::default());
    let gone = local.provider.resolve(local.id, &config, &local.reference).await;
    assert!(matches!(gone, Err(Error::Failed { transient: false, .. })));
}

// W20
#[tokio::test]
async fn replacing_a_file_keeps_its_mode_and_edits_go_through_inner_links() {
    let local = Local::open().await;
    local.put("script", "#!/bin/sh\n").await;
    let mode = |name: &str| std::fs::metadata(local.root().join(name)).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(local.root().join("script"), std::fs::Permissions::from_mode(0o751)).unwrap();
    local.put("script", "#!/bin/sh\necho hi\n").await;
    assert_eq!(mode("script"), 0o751);
    local.fs().cp(&path("script"), &path("copy"), CpOptions::default()).await.unwrap();
    assert_eq!(mode("copy"), 0o751);
    symlink("script", local.root().join("link")).unwrap();
    let edit = Edit { old: "hi".into(), new: "ho".into(), all: false };
    local.fs().edit(&path("link"), &edit).await.unwrap();
    assert_eq!(local.get("script").await.unwrap(), b"#!/bin/sh\necho ho\n");
    let entry = local.fs().stat(&path("link")).await.unwrap();
    assert_eq!((entry.kind, entry.link_target.as_deref()), (EntryKind::Symlink, Some("script")));
    local.fs().rm(&path("link"), false).await.unwrap();
    assert!(local.root().join("script").exists());
}

// W20: more changes than are kept for a reader that does not look.
#[tokio::test]
async fn a_watcher_that_is_too_slow_is_told_so_and_goes_on() {
    use futures_util::StreamExt;
    let local = Local::open().await;
    let mut changes = local.fs().watch(&path("/")).await.unwrap();
    // Turn by turn, since changes of one file in a row are told as one.
    let mut files = ["a", "b"].map(|name| std::fs::File::create(local.root().join(name)).unwrap());
    for turn in 0..20_000 {
        files[turn % 2].write_all(b"x").unwrap();
    }
    let mut has_lagged = false;
    loop {
        match tokio::time::timeout(std::time::Duration::from_secs(2), changes.next()).await {
            Ok(Some(Ok(Change::Lagged))) => has_lagged = true,
            Ok(Some(Ok(_))) => {}
            Ok(other) => panic!("{other:?}"),
            Err(_) => break,
        }
    }
    assert!(has_lagged, "20,000 changes are more than are kept");
    drop(files);
    while tokio::time::timeout(std::time::Duration::from_millis(500), changes.next()).await.is_ok() {}
    std::fs::write(local.root().join("late"), "x").unwrap();
    let late = tokio::time::timeout(std::time::Duration::from_secs(5), changes.next()).await;
    assert_eq!(late.unwrap().unwrap().unwrap(), Change::Created("late".into()));
}

// W71
#[tokio::test]
async fn limits_say_that_commands_are_not_isolated() {
    let local = Local::open().await;
    let limits = local.workspace.limits();
    assert!(limits["isolation"].as_str().unwrap().starts_with("none"));
    assert!(limits["path_resolution"].as_str().unwrap().contains("openat2"));
    assert_eq!(limits["max_file_mb"], 10);
}

// W32
#[tokio::test]
async fn a_config_with_which_no_command_could_run_is_refused() {
    let local = Local::open().await;
    let config = ProviderConfig::Local(LocalConfig { max_timeout_ms: 0, ..LocalConfig::default() });
    let request = OpenRequest {
        workspace_id: new_id(),
        config: config.clone(),
        declared: local.provider.capabilities(),
    };
    for error in [local.provider.check(&config).unwrap_err(), local.provider.open(request).await.unwrap_err()]
    {
        assert_eq!(error.code(), ErrorCode::InvalidConfig);
        assert!(error.to_string().contains("max_timeout_ms"), "{error}");
    }
}

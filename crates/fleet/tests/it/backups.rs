//! Backups, on each store (O6).

use futures_util::StreamExt as _;
use warren_fleet::{AuditQuery, LastBackup};
use warren_model::{AuditAction, ErrorCode};
use warren_testkit::{Bed, BedOptions};

const VERSION: &str = "0.1.0";

async fn audited(bed: &Bed) -> Vec<String> {
    let action = Some(AuditAction::BackupTaken.as_str().to_owned());
    let page = bed.fleet.audit.list(&bed.operator, audit_query(action));
    page.await.unwrap().rows.into_iter().map(|entry| entry.target_id).collect()
}

fn audit_query(action: Option<String>) -> AuditQuery {
    AuditQuery {
        after: 0,
        is_newest_first: false,
        org_id: None,
        target_kind: None,
        target_id: None,
        principal: None,
        action,
        since: None,
        until: None,
        limit: 10,
    }
}

// O6: a shared database is its operator's; half a backup is not made without being asked for
#[tokio::test]
async fn a_backup_has_the_database_or_says_that_it_has_not() {
    for bed in Bed::on_each_store().await {
        let begun = bed.fleet.backups.begin(&bed.operator, VERSION, false).await;
        if bed.store.is_shared() {
            assert_eq!(begun.err().unwrap().code, ErrorCode::BackupNeedsDump);
            assert!(audited(&bed).await.is_empty());
        } else {
            let archive = collect(begun.unwrap()).await.unwrap();
            assert!(warren_backup::verify(&*archive).unwrap().has_database());
        }
        let files = collect(bed.fleet.backups.begin(&bed.operator, VERSION, true).await.unwrap()).await;
        let manifest = warren_backup::verify(&*files.unwrap()).unwrap();
        assert!(!manifest.has_database() && manifest.cut.newest_event > 0);
        assert!(audited(&bed).await.contains(&"files".to_owned()));
    }
}

// O6
#[tokio::test]
async fn one_backup_is_made_at_a_time_and_who_hangs_up_gives_its_turn_back() {
    let bed = Bed::on_sqlite(BedOptions { is_real_time: true, ..BedOptions::default() }).await;
    assert_eq!(LastBackup::read(bed.folder()), None);
    // More than waits in the channel, so that the first is still under way.
    std::fs::create_dir_all(bed.folder().join("workspaces/shared/big")).unwrap();
    std::fs::write(bed.folder().join("workspaces/shared/big/file"), vec![7; 8 << 20]).unwrap();
    let first = bed.fleet.backups.begin(&bed.operator, VERSION, false).await.unwrap();
    let second = bed.fleet.backups.begin(&bed.operator, VERSION, false).await;
    assert_eq!(second.err().unwrap().code, ErrorCode::BackupRunning);
    drop(first);
    let third = loop {
        match bed.fleet.backups.begin(&bed.operator, VERSION, false).await {
            Ok(third) => break third,
            Err(error) => assert_eq!(error.code, ErrorCode::BackupRunning),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(LastBackup::read(bed.folder()), None, "the first was not taken to its end");
    let archive = collect(third).await.unwrap();
    warren_backup::verify(&*archive).unwrap();
    while LastBackup::read(bed.folder()).is_none() {
        tokio::task::yield_now().await;
    }
    let left = std::fs::read_dir(bed.folder()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".backup-")), "{left:?}");
}

async fn collect(mut stream: warren_fleet::BackupStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

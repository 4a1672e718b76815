use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;
use warren_fleet::CreateWorkspace;
use warren_model::{BundleFile, BundleFiles, Desired, ErrorCode, Limits, WorkspaceId};
use warren_operations::{ExportOptions, Operations};
use warren_testkit::{Bed, BedOptions};

const WITH_FILES: ExportOptions = ExportOptions { is_tree: true, has_files: true };

fn options() -> BedOptions {
    BedOptions { is_real_time: true, ..BedOptions::default() }
}

async fn local(bed: &Bed, name: &str, parent_id: Option<WorkspaceId>) -> WorkspaceId {
    let provider = serde_json::from_value(json!({ "kind": "local" })).unwrap();
    bed.online(CreateWorkspace { provider, parent_id, ..Bed::request(name) }).await.id
}

/// Two workspaces with every kind of file.
async fn planted(bed: &Bed) -> WorkspaceId {
    let lead = local(bed, "lead", None).await;
    let below = local(bed, "below", Some(lead)).await;
    let place = bed.place(lead);
    std::fs::create_dir_all(place.join("src/deep")).unwrap();
    std::fs::create_dir_all(place.join("empty/inside")).unwrap();
    std::fs::write(place.join("src/deep/main.rs"), "fn main() {\n\tprintln!(\"grüezi\");\n}\n").unwrap();
    std::fs::write(place.join("src/data.bin"), [0, 159, 146, 150, 10]).unwrap();
    std::fs::write(place.join("nothing"), "").unwrap();
    std::fs::write(place.join("run.sh"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(place.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(bed.place(below).join("note.txt"), "below").unwrap();
    lead
}

// F51
#[tokio::test]
async fn files_come_back_exactly_and_what_cannot_is_told() {
    for bed in Bed::with(options()).await {
        let lead = planted(&bed).await;
        let place = bed.place(lead);
        symlink("/etc/passwd", place.join("link")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(place.join("socket")).unwrap();
        let operations = Operations::new(bed.fleet.clone());
        let bundle = operations.bundles.export(&bed.operator, lead, WITH_FILES).await.unwrap();
        drop(socket);
        assert_eq!(bundle.warnings.len(), 2, "{:?}", bundle.warnings);
        assert_eq!(
            bundle.warnings.iter().filter(|told| told.starts_with("lead: link is left out")).count(),
            1
        );
        let files = bundle.root.files.as_ref().unwrap();
        let paths: Vec<_> = files.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["nothing", "run.sh", "src/data.bin", "src/deep/main.rs"]);
        assert_eq!(files.empty_directories, ["empty/inside"]);
        let without = ExportOptions { has_files: false, ..WITH_FILES };
        let without = operations.bundles.export(&bed.operator, lead, without).await.unwrap();
        assert_eq!(without.root.files, None, "only on request");

        let other = Bed::on_sqlite(options()).await;
        let elsewhere = Operations::new(other.fleet.clone());
        let told = elsewhere.bundles.import(&other.operator, bundle.clone(), None, Vec::new()).await.unwrap();
        assert!(told.report.is_complete());
        let of_lead = told.files[0].as_ref().unwrap();
        assert_eq!((of_lead.written, of_lead.failed), (4, 0), "{of_lead:?}");
        assert_eq!(of_lead.executable, ["run.sh"], "that it could be run is told");
        let copy = told.report.nodes[0].outcome.as_ref().unwrap().id;
        let main = std::fs::read(other.place(copy).join("src/deep/main.rs")).unwrap();
        assert_eq!(main, std::fs::read(place.join("src/deep/main.rs")).unwrap());
        let mut again = elsewhere.bundles.export(&other.operator, copy, WITH_FILES).await.unwrap();
        let runnable = |file: &mut BundleFile| file.executable = file.path == "run.sh" || file.executable;
        again.root.files.as_mut().unwrap().files.iter_mut().for_each(runnable);
        assert_eq!(again.root, bundle.root);
        assert!(again.warnings.is_empty());
    }
}

// F51: limits
#[tokio::test]
async fn a_bundle_that_is_too_large_is_refused_by_the_name_of_its_workspace() {
    let limits = Limits { max_bundle_bytes: 100_000, ..Limits::default() };
    for bed in Bed::with(BedOptions { limits, ..options() }).await {
        let lead = planted(&bed).await;
        let operations = Operations::new(bed.fleet.clone());
        operations.bundles.export(&bed.operator, lead, WITH_FILES).await.unwrap();
        let below = local(&bed, "last", Some(lead)).await;
        // As text it would fit, but not as what JSON makes of it.
        std::fs::write(bed.place(below).join("long"), "\n".repeat(60_000)).unwrap();
        let refused = operations.bundles.export(&bed.operator, lead, WITH_FILES).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BundleTooLarge);
        assert!(refused.detail.as_ref().unwrap().starts_with("`last`: "), "{refused}");
        std::fs::write(bed.place(below).join("long"), vec![0; 300_000]).unwrap();
        let refused = operations.bundles.export(&bed.operator, lead, WITH_FILES).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BundleTooLarge);
        // Nor is one read that rests: it says which.
        std::fs::remove_file(bed.place(below).join("long")).unwrap();
        bed.fleet.lifecycle.pause(&bed.operator, below).await.unwrap();
        let refused = operations.bundles.export(&bed.operator, lead, WITH_FILES).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::WorkspaceNotReady);
        assert!(refused.detail.as_ref().unwrap().starts_with("`last`: the workspace is paused"), "{refused}");
    }
}

// F51: bad input
#[tokio::test]
async fn paths_that_lead_elsewhere_are_refused_before_anything_is_made() {
    for bed in Bed::with(options()).await {
        let id = local(&bed, "first", None).await;
        let operations = Operations::new(bed.fleet.clone());
        let mut bundle = operations.bundles.export(&bed.operator, id, WITH_FILES).await.unwrap();
        bundle.root.name = "copy".to_owned();
        let file = |path: &str, text: Option<&str>, base64: Option<&str>| BundleFile {
            path: path.to_owned(),
            text: text.map(str::to_owned),
            base64: base64.map(str::to_owned),
            executable: false,
        };
        let good = file("a.txt", Some("a"), None);
        for (wrong, start) in [
            (file("../up", Some("x"), None), "`copy`: files.files[1].path: "),
            (file("", Some("x"), None), "`copy`: files.files[1].path: "),
            (file("./a.txt", Some("x"), None), "`copy`: files.files[1].path: it is there twice"),
            (file("b", None, Some("*")), "`copy`: files.files[1].base64: "),
        ] {
            let mut wrong_bundle = bundle.clone();
            wrong_bundle.root.files =
                Some(BundleFiles { files: vec![good.clone(), wrong], ..BundleFiles::default() });
            let refused = operations.bundles.import(&bed.operator, wrong_bundle, None, Vec::new()).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidBundle);
            assert!(refused.detail.as_ref().unwrap().starts_with(start), "{refused}");
        }
        // Files of one that is to rest, and one in the way of another, are told; the workspace is there.
        let clash = vec![good.clone(), file("a.txt/b", Some("b"), None)];
        bundle.root.files = Some(BundleFiles { files: clash, ..BundleFiles::default() });
        let told = operations.bundles.import(&bed.operator, bundle.clone(), None, Vec::new()).await.unwrap();
        let files = told.files[0].as_ref().unwrap();
        assert_eq!((files.written, files.failed), (1, 1), "{files:?}");
        assert!(files.problems[0].starts_with("a.txt/b: "), "{files:?}");
        bundle.root.name = "resting".to_owned();
        bundle.root.spec.desired = Desired::Paused;
        let told = operations.bundles.import(&bed.operator, bundle, None, Vec::new()).await.unwrap();
        assert!(told.report.is_complete());
        let files = told.files[0].as_ref().unwrap();
        assert_eq!((files.written, files.failed), (0, 2), "{files:?}");
        assert!(files.problems[0].contains("the workspace is paused"), "{files:?}");
    }
}

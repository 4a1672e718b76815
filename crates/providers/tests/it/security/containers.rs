//! Images and requests that are made to break a container's runtime. What is asked of the daemon is tested next to the
//! request itself (`docker::spec`, sec/S23).

use warren_model::{DockerConfig, ErrorCode, ProviderConfig};
use warren_workspace::shell::Command;

use super::case::Case;
use crate::docker::daemon;
use crate::fixture::new_id;

const LINKS: &str = "warren-test:links";

fn settings_of_the_host() -> Vec<String> {
    let paths =
        ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory"];
    paths.map(|path| std::fs::read_to_string(path).unwrap()).to_vec()
}

// sec/S25: CVE-2025-31133 and CVE-2025-52565 write through such links when a container starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_with_links_for_devices_is_refused_or_harmless() {
    let case = Case::docker();
    let before = settings_of_the_host();
    let config = DockerConfig { image: LINKS.into(), ..daemon::config() };
    match case.open_as(new_id(), ProviderConfig::Docker(config)).await {
        Ok(boxed) => {
            let missing = boxed.shell().run(Command::argv(["true"])).await.unwrap_err();
            assert_eq!(missing.code(), ErrorCode::ProgramNotFound);
            boxed.close().await;
        }
        Err(error) => {
            assert!(
                [ErrorCode::WorkspaceFailed, ErrorCode::ProviderUnavailable].contains(&error.code()),
                "{error}"
            );
        }
    }
    assert_eq!(settings_of_the_host(), before);
    case.outside.assert_untouched();
}

// control: sec/S25
#[test]
fn the_image_has_the_links_that_the_attack_needs() {
    let saved = daemon::docker(daemon::shared(), &["image", "save", LINKS]).stdout;
    let archive = String::from_utf8_lossy(&saved);
    assert!(archive.contains("/proc/sys/kernel/core_pattern") && archive.contains("/proc/sysrq-trigger"));
}

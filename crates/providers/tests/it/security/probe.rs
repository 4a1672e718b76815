//! The hostile program: a static build of `crates/probe`, made once per build folder.
//!
//! Cargo within a test, as the provider's build script does it for process 1: neither must depend on what the image or
//! the host has, so that it is linked statically, in a target folder of its own.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::outside::program;

/// Where the program is in a box.
pub(crate) const IN_BOX: &str = "/probe";

/// Where it is on the host.
pub(crate) fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(build)
}

fn build() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probe/Cargo.toml");
    // <target>/<profile>/deps/it-…
    let own = std::env::current_exe().unwrap();
    let folder = own.ancestors().nth(2).unwrap().join("probe");
    let target = host();
    let status = program(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--profile", "init", "--target", &target, "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&folder)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static")
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "crates/probe cannot be built");
    folder.join(target).join("init/warren-probe").canonicalize().unwrap()
}

fn host() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// The lines `name result` of an answer, by name.
pub(crate) fn results(text: &str) -> std::collections::BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, result)| (name.to_owned(), result.to_owned())).collect()
}

/// Whether a result says that the kernel would not even look at the request.
pub(crate) fn is_refused(result: &str) -> bool {
    matches!(result, "EPERM" | "EACCES" | "ENOSYS" | "EAFNOSUPPORT" | "EROFS") || result.starts_with("signal")
}

//! Builds the programs of a box, process 1 (`warren-init`) and the runner of resident agents (`warren-runner`), as static
//! programs, and tells the crate where they are: they are embedded, so that one binary is all there is to install.
//!
//! Surprise: this is cargo within cargo. It has a target folder of its own, so that neither waits for the other's lock,
//! and none of the outer build's flags: a static program must not get what a test or a lint run wants.

#![expect(clippy::disallowed_methods, reason = "a build script starts cargo and reads what cargo tells it")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let crates = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("..");
    for watched in ["init", "confined-fs", "runner", "api", "doors", "line"] {
        println!("cargo::rerun-if-changed={}", crates.join(watched).join("src").display());
        println!("cargo::rerun-if-changed={}", crates.join(watched).join("Cargo.toml").display());
    }
    // The runner compiles this one file of the model.
    println!("cargo::rerun-if-changed={}", crates.join("model/src/backoff.rs").display());
    println!("cargo::rerun-if-changed={}", crates.join("../Cargo.toml").display());
    println!("cargo::rerun-if-changed=build.rs");
    if variable("CARGO_CFG_TARGET_OS") == "linux" {
        let folder = build(&crates.join("../Cargo.toml"));
        for (name, variable) in
            [("warren-init", "WARREN_INIT_PROGRAM"), ("warren-runner", "WARREN_RUNNER_PROGRAM")]
        {
            println!("cargo::rustc-env={variable}={}", folder.join(name).display());
        }
    }
}

/// Builds both programs with one cargo, so that they share what they have in common, and returns the folder they are in.
fn build(manifest: &Path) -> PathBuf {
    let (target, profile) = (variable("TARGET"), profile());
    let folder = target_folder().join("init");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["build", "--quiet", "--locked", "--profile", profile, "--target", &target])
        .args(["--package", "warren-init", "--package", "warren-runner", "--bins", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&folder);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        let is_of_outer_build =
            ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"];
        if is_of_outer_build.contains(&name.as_ref()) || name.starts_with("CARGO_PROFILE_") {
            cargo.env_remove(name.as_ref());
        }
    }
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static");
    match cargo.status() {
        Ok(status) if status.success() => folder.join(target).join(profile),
        Ok(status) => panic!("building the programs of a box failed: {status}"),
        Err(error) => panic!("cargo could not be started to build the programs of a box: {error}"),
    }
}

/// What is released is small; everybody else waits for this build.
fn profile() -> &'static str {
    match target_profile().as_deref() {
        Some("release" | "profiling") => "init",
        _ => "init-quick",
    }
}

/// The name of the profile's folder. `PROFILE` says `release` for every profile that inherits from it.
fn target_profile() -> Option<String> {
    let out = PathBuf::from(variable("OUT_DIR"));
    Some(out.ancestors().nth(3)?.file_name()?.to_str()?.to_owned())
}

/// `<target>/<profile>/build/<package>/out` is where this script writes.
fn target_folder() -> PathBuf {
    let out = PathBuf::from(variable("OUT_DIR"));
    out.ancestors().nth(4).map_or_else(|| out.clone(), Path::to_path_buf)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

//! What a container is made with: a pure function from the workspace's config and a few facts to the request (W74).
//!
//! ```text
//!   /.warren/init    process 1, read-only         /workspace   the workspace's files
//!   /.warren/runner  of an agent, read-only       /tmp         memory, sized
//!   /.warren/bin     `warren`, which is the same program
//!   /.warren/run     where the socket is
//!   everything else  the image, read-only         mounts       what the config grants (W73)
//! ```
//!
//! With a daemon elsewhere (W83), `/.warren` and `/workspace` are volumes of that daemon, and process 1 is spoken to by its
//! input and output; all else is the same.
//!
//! What the image says about entry point, user, health checks and volumes is overruled: a health check would start
//! programs that process 1 does not know of, and a volume would be a writable place without a limit.

use std::collections::HashMap;
use std::path::Path;

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountTmpfsOptions, MountType, MountVolumeOptions,
    ResourcesUlimits, RestartPolicy, RestartPolicyNameEnum,
};
use warren_confined_fs::Owner;
use warren_init::WORKSPACE_ROOT;
use warren_model::{DockerConfig, MIB, Reuse};

use super::identity::Identity;
use super::image::Image;
use super::relax;

const FOLDER: &str = "/.warren";
pub(super) const INIT: &str = "/.warren/init";
pub(super) const RUNNER: &str = "/.warren/runner";
/// Where programs of the box find `warren`, and the file itself.
pub(super) const PROGRAMS: &str = "/.warren/bin";
pub(super) const TOOL: &str = "/.warren/bin/warren";
pub(super) const RUN: &str = "/.warren/run";
pub(super) const SOCKET: &str = "init.sock";

/// How long a box that may outlive Warren waits for it.
const LINGER_MS: u64 = 24 * 60 * 60 * 1_000;
/// Between asking a container to end and ending it; process 1 has nothing to put in order.
const STOP_SECONDS: i64 = 1;
/// Soft and hard. A daemon without CAP_SYS_RESOURCE cannot give more than it has, which is seldom less than this.
const OPEN_FILES: (i64, i64) = (1_024, 4_096);
const NANO: f64 = 1e9;

/// What the config does not say.
#[derive(Debug, Clone)]
pub(super) struct Facts<'a> {
    pub(super) identity: &'a Identity,
    pub(super) image: &'a Image,
    /// Declared by the image; each would become a writable directory of the host.
    pub(super) image_volumes: &'a [String],
    pub(super) owner: Owner,
    pub(super) seccomp: &'a str,
    pub(super) source: BoxSource<'a>,
    pub(super) grants: &'a [CheckedMount],
}

/// Where the box's files and process 1 come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum BoxSource<'a> {
    /// Of the daemon's host, which is ours too.
    Folders { files: &'a Path, run: &'a Path, init: &'a Path, runner: &'a Path },
    /// Of the daemon itself, by name.
    Volumes { files: &'a str, program: &'a str },
}

impl BoxSource<'_> {
    /// Whether process 1 is spoken to by its input and output, which then end with whoever speaks.
    const fn is_by_stdio(&self) -> bool {
        matches!(self, Self::Volumes { .. })
    }
}

/// A host path that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckedMount {
    pub(super) source: String,
    pub(super) target: String,
    pub(super) is_writable: bool,
}

pub(super) fn request(config: &DockerConfig, facts: &Facts<'_>) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(facts.image.to_string()),
        hostname: Some("box".into()),
        user: Some(user(config, facts.owner)),
        working_dir: Some(WORKSPACE_ROOT.into()),
        entrypoint: Some(vec![INIT.into()]),
        cmd: Some(arguments(config, facts)),
        // `NONE`: whatever the image wants to have run every now and then is not.
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..HealthConfig::default() }),
        labels: Some(facts.identity.labels()),
        stop_signal: Some("SIGTERM".into()),
        stop_timeout: Some(STOP_SECONDS),
        attach_stdin: Some(false),
        attach_stdout: Some(false),
        attach_stderr: Some(false),
        open_stdin: Some(facts.source.is_by_stdio()),
        stdin_once: Some(facts.source.is_by_stdio()),
        tty: Some(false),
        host_config: Some(host_config(config, facts)),
        ..ContainerCreateBody::default()
    }
}

/// The container through which volumes are filled. It is never started, and takes nothing from the image but its place.
pub(super) fn filler(facts: &Facts<'_>, files: &str, program: &str) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(facts.image.to_string()),
        entrypoint: Some(vec![INIT.into()]),
        labels: Some(facts.identity.labels()),
        host_config: Some(HostConfig {
            cap_drop: Some(vec!["ALL".into()]),
            security_opt: Some(vec!["no-new-privileges".into(), format!("seccomp={}", facts.seccomp)]),
            network_mode: Some("none".into()),
            mounts: Some(vec![volume(files, WORKSPACE_ROOT, true), volume(program, FOLDER, true)]),
            log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: Some(HashMap::new()) }),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}

fn user(config: &DockerConfig, owner: Owner) -> String {
    let relaxed = config.relax.user.as_deref().and_then(relax::parse_user);
    let (uid, gid) = relaxed.unwrap_or((owner.uid, owner.gid));
    format!("{uid}:{gid}")
}

fn arguments(config: &DockerConfig, facts: &Facts<'_>) -> Vec<String> {
    let linger = match config.reuse {
        Reuse::Recreate => 0,
        Reuse::Reconnect => LINGER_MS,
    };
    let channel = match facts.source {
        BoxSource::Folders { .. } => format!("listen:{RUN}/{SOCKET}"),
        BoxSource::Volumes { .. } => "stdio".to_owned(),
    };
    let mut words = vec![
        "--channel".to_owned(),
        channel,
        "--root".to_owned(),
        WORKSPACE_ROOT.to_owned(),
        "--landlock".to_owned(),
        "try".to_owned(),
        "--ipc".to_owned(),
        "own".to_owned(),
        "--linger-ms".to_owned(),
        linger.to_string(),
    ];
    let granted = facts.grants.iter().filter(|grant| grant.is_writable).map(|grant| &grant.target);
    let memory = config.relax.tmpfs.iter().map(|mount| &mount.target);
    for target in granted.chain(memory).chain(facts.image_volumes) {
        words.extend(["--writable".to_owned(), target.clone()]);
    }
    words
}

fn host_config(config: &DockerConfig, facts: &Facts<'_>) -> HostConfig {
    let limits = &config.limits;
    let memory = bytes(limits.memory_mb);
    HostConfig {
        // Who it is.
        cap_drop: Some(vec!["ALL".into()]),
        cap_add: some(config.relax.cap_add.iter().map(|name| relax::plain_capability(name)).collect()),
        security_opt: Some(vec!["no-new-privileges".into(), format!("seccomp={}", facts.seccomp)]),
        privileged: Some(false),
        // What it sees.
        readonly_rootfs: Some(true),
        network_mode: Some("none".into()),
        ipc_mode: Some("private".into()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        mounts: Some(mounts(limits.tmp_mb, facts)),
        tmpfs: Some(tmpfs(config)),
        shm_size: Some(bytes(limits.tmp_mb)),
        // What it may use.
        memory: Some(memory),
        memory_swap: Some(config.relax.memory_swap_mb.map_or(memory, bytes)),
        #[expect(clippy::cast_possible_truncation, reason = "at most 4,096 processors are accepted")]
        nano_cpus: Some((limits.cpus * NANO).round() as i64),
        pids_limit: Some(i64::from(limits.pids)),
        ulimits: Some(ulimits(config)),
        // How it ends: with its process 1, and without a trace in a log.
        init: Some(false),
        auto_remove: Some(false),
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: Some(0),
        }),
        log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: Some(HashMap::new()) }),
        ..HostConfig::default()
    }
}

fn mounts(tmp_mb: u32, facts: &Facts<'_>) -> Vec<Mount> {
    let own = match facts.source {
        BoxSource::Folders { files, run, init, runner } => vec![
            bind(&files.to_string_lossy(), WORKSPACE_ROOT, true),
            bind(&init.to_string_lossy(), INIT, false),
            bind(&runner.to_string_lossy(), RUNNER, false),
            bind(&runner.to_string_lossy(), TOOL, false),
            bind(&run.to_string_lossy(), RUN, true),
        ],
        BoxSource::Volumes { files, program } => {
            vec![volume(files, WORKSPACE_ROOT, true), volume(program, FOLDER, false)]
        }
    };
    let granted = facts.grants.iter().map(|grant| bind(&grant.source, &grant.target, grant.is_writable));
    let in_memory = facts.image_volumes.iter().map(|target| Mount {
        target: Some(target.clone()),
        typ: Some(MountType::TMPFS),
        read_only: Some(false),
        tmpfs_options: Some(MountTmpfsOptions {
            size_bytes: Some(bytes(tmp_mb)),
            mode: Some(0o1777),
            options: None,
        }),
        ..Mount::default()
    });
    own.into_iter().chain(granted).chain(in_memory).collect()
}

/// Without what is mounted below the source, then or later (sec/S22). A missing source is an error, and is not made.
fn bind(source: &str, target: &str, is_writable: bool) -> Mount {
    Mount {
        target: Some(target.to_owned()),
        source: Some(source.to_owned()),
        typ: Some(MountType::BIND),
        read_only: Some(!is_writable),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            non_recursive: Some(true),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    }
}

/// What the image has in that place is not copied to it.
fn volume(name: &str, target: &str, is_writable: bool) -> Mount {
    Mount {
        target: Some(target.to_owned()),
        source: Some(name.to_owned()),
        typ: Some(MountType::VOLUME),
        read_only: Some(!is_writable),
        volume_options: Some(MountVolumeOptions { no_copy: Some(true), ..MountVolumeOptions::default() }),
        ..Mount::default()
    }
}

fn tmpfs(config: &DockerConfig) -> HashMap<String, String> {
    let options = |size_mb: u32| format!("rw,noexec,nosuid,nodev,mode=1777,size={}", bytes(size_mb));
    let further = config.relax.tmpfs.iter().map(|mount| (mount.target.clone(), options(mount.size_mb)));
    std::iter::once(("/tmp".to_owned(), options(config.limits.tmp_mb))).chain(further).collect()
}

fn ulimits(config: &DockerConfig) -> Vec<ResourcesUlimits> {
    let one = |name: &str, soft: i64, hard: i64| ResourcesUlimits {
        name: Some(name.to_owned()),
        soft: Some(soft),
        hard: Some(hard),
    };
    let relaxed = &config.relax.ulimits;
    let is_relaxed = |name: &str| relaxed.iter().any(|ulimit| ulimit.name == name);
    // 1 rather than 0, which would let the host's handler for core dumps run: process 1 says more.
    let hardened = [("nofile", OPEN_FILES), ("core", (1, 1))];
    hardened
        .into_iter()
        .filter(|(name, _)| !is_relaxed(name))
        .map(|(name, (soft, hard))| one(name, soft, hard))
        .chain(relaxed.iter().map(|ulimit| one(&ulimit.name, ulimit.soft, ulimit.hard)))
        .collect()
}

fn bytes(megabytes: u32) -> i64 {
    i64::try_from(u64::from(megabytes) * MIB).unwrap_or(i64::MAX)
}

fn some<T>(entries: Vec<T>) -> Option<Vec<T>> {
    (!entries.is_empty()).then_some(entries)
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;

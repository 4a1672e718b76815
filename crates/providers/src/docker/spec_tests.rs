//! The request for a container against the golden file, and against configs made to bend it.

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use warren_model::{
    BoxLimits, DockerRelaxations, Mount as ConfigMount, MountMode, PullPolicy, TmpfsMount, Ulimit,
};

use super::*;
use crate::boxes::mounts;

/// Pretty, so that a change to it can be read.
const HARDENED: &str = include_str!("hardened.json");

fn identity() -> Identity {
    let workspace = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    Identity { instance: "0123456789abcdef".into(), workspace, generation: 1 }
}

fn made(config: &DockerConfig, grants: &[CheckedMount], image_volumes: &[String]) -> Value {
    let folders = BoxSource::Folders {
        files: Path::new("/base/files"),
        run: Path::new("/base/run"),
        init: Path::new("/base/warren-init"),
        runner: Path::new("/base/warren-runner"),
    };
    made_with(folders, config, grants, image_volumes)
}

fn made_with(
    source: BoxSource<'_>,
    config: &DockerConfig,
    grants: &[CheckedMount],
    image_volumes: &[String],
) -> Value {
    let identity = identity();
    let facts = Facts {
        identity: &identity,
        image: &Image::parse(&config.image).unwrap(),
        image_volumes,
        owner: Owner { uid: 100_001, gid: 100_001 },
        seccomp: "{the profile}",
        source,
        grants,
    };
    serde_json::to_value(request(config, &facts)).unwrap()
}

fn golden() -> Value {
    static GOLDEN: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(HARDENED).unwrap());
    GOLDEN.clone()
}

// W74
#[test]
fn with_no_knob_turned_the_container_is_exactly_the_hardened_one() {
    let made = made(&DockerConfig::default(), &[], &[]);
    assert_eq!(made, golden(), "{}", serde_json::to_string_pretty(&made).unwrap());
}

// W74, W83
#[test]
fn with_a_daemon_elsewhere_only_where_files_and_process_1_come_from_differs() {
    let volumes = BoxSource::Volumes { files: "the-files", program: "the-program" };
    let made = made_with(volumes, &DockerConfig::default(), &[], &[]);
    let volume = |source: &str, target: &str, is_read_only: bool| {
        json!({
            "Type": "volume", "Source": source, "Target": target, "ReadOnly": is_read_only,
            "VolumeOptions": { "NoCopy": true },
        })
    };
    let mut expected = golden();
    expected["HostConfig"]["Mounts"] =
        json!([volume("the-files", "/workspace", false), volume("the-program", "/.warren", true)]);
    (expected["OpenStdin"], expected["StdinOnce"]) = (json!(true), json!(true));
    expected["Cmd"][1] = json!("stdio");
    assert_eq!(made, expected, "{}", serde_json::to_string_pretty(&made).unwrap());
}

// W74: the numbers that the specification promises.
#[test]
fn the_defaults_are_512_mb_one_processor_and_256_processes() {
    let host = &golden()["HostConfig"];
    assert_eq!(host["Memory"], 512 << 20);
    assert_eq!(host["MemorySwap"], host["Memory"], "no swap");
    assert_eq!(host["NanoCpus"], 1_000_000_000);
    assert_eq!(host["PidsLimit"], 256);
}

// W75
#[test]
fn a_container_to_reconnect_to_waits_for_warren_and_others_do_not() {
    let words = |reuse| {
        let config = DockerConfig { reuse, ..DockerConfig::default() };
        made(&config, &[], &[])["Cmd"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let linger =
        |words: &[String]| words[words.iter().position(|word| word == "--linger-ms").unwrap() + 1].clone();
    assert_eq!(linger(&words(Reuse::Recreate)), "0");
    assert_eq!(linger(&words(Reuse::Reconnect)), "86400000");
}

// W74: a volume of the image's would be a directory of the host without a limit.
#[test]
fn volumes_of_the_image_become_memory() {
    let volumes = ["/var/lib/data".to_owned()];
    let made = made(&DockerConfig::default(), &[], &volumes);
    let mounts = made["HostConfig"]["Mounts"].as_array().unwrap();
    assert_eq!(mounts.len(), 6);
    assert_eq!((&mounts[5]["Type"], &mounts[5]["Target"]), (&json!("tmpfs"), &json!("/var/lib/data")));
    assert_eq!(mounts[5]["TmpfsOptions"]["SizeBytes"], 64 << 20);
}

/// What the golden host config becomes by what a config says, written down a second time and in another way.
fn expected(config: &DockerConfig) -> Map<String, Value> {
    let mut host = golden()["HostConfig"].as_object().unwrap().clone();
    let megabytes = |count: u32| i64::from(count) * 1_048_576;
    let (limits, relax) = (&config.limits, &config.relax);
    host.insert("Memory".into(), json!(megabytes(limits.memory_mb)));
    host.insert("MemorySwap".into(), json!(megabytes(relax.memory_swap_mb.unwrap_or(limits.memory_mb))));
    host.insert("NanoCpus".into(), json!((limits.cpus * 1e9).round() as i64));
    host.insert("PidsLimit".into(), json!(limits.pids));
    host.insert("ShmSize".into(), json!(megabytes(limits.tmp_mb)));
    let tmp = |size| format!("rw,noexec,nosuid,nodev,mode=1777,size={}", megabytes(size));
    let mut tmpfs = Map::from_iter([("/tmp".to_owned(), json!(tmp(limits.tmp_mb)))]);
    tmpfs.extend(relax.tmpfs.iter().map(|one| (one.target.clone(), json!(tmp(one.size_mb)))));
    host.insert("Tmpfs".into(), Value::Object(tmpfs));
    if !relax.cap_add.is_empty() {
        let names = relax.cap_add.iter().map(|name| name.to_uppercase().replacen("CAP_", "", 1));
        host.insert("CapAdd".into(), names.collect());
    }
    for one in &relax.ulimits {
        let ulimits = host["Ulimits"].as_array_mut().unwrap();
        ulimits.retain(|other| other["Name"] != one.name.as_str());
        ulimits.push(json!({ "Name": one.name, "Soft": one.soft, "Hard": one.hard }));
    }
    let mounts = host["Mounts"].as_array_mut().unwrap();
    mounts.extend(config.mounts.iter().map(|mount| {
        json!({
            "Type": "bind", "Source": mount.source, "Target": mount.target, "ReadOnly": mount.mode == MountMode::Ro,
            "BindOptions": { "Propagation": "rprivate", "NonRecursive": true },
        })
    }));
    host
}

/// Text that means something to a daemon, a shell or a parser, beside plain words.
fn hostile() -> impl Strategy<Value = String> {
    let known = [
        "",
        "ALL",
        "SYS_ADMIN",
        "--privileged",
        "host",
        "container:x",
        "/",
        "/proc",
        "/var/run/docker.sock",
        "/tmp:exec",
        "/a,suid",
        "../..",
        "/proc/self/fd/7",
        "/proc/self/cwd/../..",
        "a@b",
        "a\0b",
        "unconfined",
        "0:0",
        "root",
        "-1",
        "seccomp=unconfined",
        "\u{202e}x",
        "nofile",
        "CHOWN",
        "cap_kill",
        "/cache",
        "/data",
        "/workspace",
        "7",
        "7:8",
        "debian",
        "debian:stable-slim",
        "nproc",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,12}"]
}

/// Mostly what is meant to be given, else something hostile.
fn mostly(sound: &[&'static str]) -> impl Strategy<Value = String> + use<> {
    let sound = proptest::sample::select(sound.to_vec()).prop_map(str::to_owned);
    prop_oneof![9 => sound, 1 => hostile()]
}

fn relaxations() -> impl Strategy<Value = DockerRelaxations> {
    let ulimit = (mostly(&["nofile", "core", "nproc", "stack"]), 0_i64..9, 5_i64..20)
        .prop_map(|(name, soft, hard)| Ulimit { name, soft, hard });
    let tmpfs =
        (mostly(&["/cache", "/var/cache/x", "/opt/scratch"]), prop_oneof![9 => 1_u32..99, 1 => Just(0)])
            .prop_map(|(target, size_mb)| TmpfsMount { target, size_mb });
    (
        proptest::collection::vec(mostly(&["CHOWN", "cap_kill", "NET_RAW", "Setuid"]), 0..3),
        proptest::collection::vec(ulimit, 0..2),
        proptest::collection::vec(tmpfs, 0..2),
        proptest::option::of(prop_oneof![9 => 2_000_u32..4_000, 1 => 0_u32..2_000]),
        proptest::option::of(mostly(&["0", "7:8", "1000:1000"])),
    )
        .prop_map(|(cap_add, ulimits, tmpfs, memory_swap_mb, user)| DockerRelaxations {
            cap_add,
            ulimits,
            tmpfs,
            memory_swap_mb,
            user,
        })
}

fn limits() -> impl Strategy<Value = BoxLimits> {
    let sound = (16_u32..2_000, 0.01_f64..9.0, 8_u32..600, 1_u32..200, 1_u32..200);
    let any = (0_u32..2_000, -1.0_f64..9_000.0, 0_u32..600, 0_u32..200, 0_u32..200);
    prop_oneof![2 => sound.boxed(), 1 => any.boxed()].prop_map(|(memory_mb, cpus, pids, tmp_mb, disk_mb)| {
        BoxLimits { memory_mb, cpus, pids, tmp_mb, disk_mb }
    })
}

fn configs() -> impl Strategy<Value = DockerConfig> {
    let mount = (mostly(&["/srv/data", "/opt/tools"]), mostly(&["/data", "/tools"]), any::<bool>()).prop_map(
        |(source, target, is_writable)| ConfigMount {
            source,
            target,
            mode: if is_writable { MountMode::Rw } else { MountMode::Ro },
        },
    );
    (
        mostly(&["debian", "team/tools:1"]),
        prop_oneof![1 => Just(BoxLimits::default()), 2 => limits()],
        proptest::collection::vec(mount, 0..2),
        prop_oneof![1 => Just(DockerRelaxations::default()), 3 => relaxations()],
        any::<bool>(),
        proptest::collection::vec(hostile(), 0..3),
    )
        .prop_map(|(image, limits, mounts, relax, is_reconnect, pass_env)| DockerConfig {
            image,
            limits,
            mounts,
            relax: Box::new(relax),
            pass_env,
            pull_policy: PullPolicy::Never,
            reuse: if is_reconnect { Reuse::Reconnect } else { Reuse::Recreate },
            ..DockerConfig::default()
        })
}

fn is_refused(config: &DockerConfig) -> bool {
    Image::parse(&config.image).is_err()
        || config.limits.problem().is_some()
        || mounts::check(&config.mounts).is_err()
        || relax::problem(&config.relax, config.limits.memory_mb, &config.mounts).is_some()
}

// sec/S23
#[test]
fn ten_thousand_configs_bend_nothing_but_what_their_knobs_name() {
    let (mut accepted, mut relaxed) = (0_u32, 0_u32);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 10_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let counted = std::cell::RefCell::new((&mut accepted, &mut relaxed));
    runner
        .run(&configs(), |config| {
            if is_refused(&config) {
                return Ok(());
            }
            let grants: Vec<_> = config
                .mounts
                .iter()
                .map(|mount| CheckedMount {
                    source: mount.source.clone(),
                    target: mount.target.clone(),
                    is_writable: mount.mode == MountMode::Rw,
                })
                .collect();
            let made = made(&config, &grants, &[]);
            prop_assert_eq!(&made["HostConfig"], &Value::Object(expected(&config)));
            let mut rest = made.as_object().unwrap().clone();
            let mut hardened = golden().as_object().unwrap().clone();
            for (name, is_named) in
                [("HostConfig", true), ("Image", true), ("Cmd", true), ("User", config.relax.user.is_some())]
            {
                if is_named {
                    rest.remove(name);
                    hardened.remove(name);
                }
            }
            prop_assert_eq!(rest, hardened);
            let names = relax::named(&config.relax);
            prop_assert_eq!(names.is_empty(), config.relax.is_empty());
            let mut counted = counted.borrow_mut();
            *counted.0 += 1;
            *counted.1 += u32::from(!names.is_empty());
            Ok(())
        })
        .unwrap();
    assert!(
        accepted > 3_000 && relaxed > 1_000 && accepted < 9_000,
        "{accepted} accepted, {relaxed} relaxed: the fuzz says too little"
    );
}

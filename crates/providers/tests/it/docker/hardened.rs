//! What a container really is, seen from inside and from the daemon's side.

use std::collections::BTreeSet;

use serde_json::Value;
use warren_model::{BoxLimits, DockerConfig, ErrorCode};
use warren_workspace::WorkspacePath;
use warren_workspace::shell::Command;

use super::daemon::{Box_, Docker, config, containers_of, docker_says, text};

fn inspected(docker: &Docker, opened: &Box_) -> Value {
    let container = containers_of(&docker.host, opened.id).remove(0);
    let mut all: Value = serde_json::from_str(&docker_says(&docker.host, &["inspect", &container])).unwrap();
    all[0].take()
}

// sec/S01
#[tokio::test]
async fn a_box_has_no_capabilities_a_filter_and_a_user_of_its_own() {
    let docker = Docker::new();
    let (one, other) = (docker.open().await, docker.open().await);
    let mut users = BTreeSet::new();
    for opened in [&one, &other] {
        let status = text(&opened.run("cat /proc/self/status").await);
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').trim().to_owned()
        };
        for capabilities in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(field(capabilities), "0000000000000000", "{capabilities}");
        }
        assert_eq!((field("NoNewPrivs"), field("Seccomp")), ("1".to_owned(), "2".to_owned()));
        let user: u32 = field("Uid").split_whitespace().next().unwrap().parse().unwrap();
        assert!(user >= 100_000, "{user}");
        users.insert(user);
    }
    assert_eq!(users.len(), 2, "each workspace has its own user");
    // The control: a plain container has what ours has not.
    let plain = docker_says(
        &docker.host,
        &["run", "--rm", "--network", "none", super::daemon::IMAGE, "cat", "/proc/self/status"],
    );
    assert!(!plain.contains("CapBnd:\t0000000000000000") && plain.contains("NoNewPrivs:\t0"));
}

// sec/S02
#[tokio::test]
async fn the_host_s_settings_cannot_be_written() {
    let docker = Docker::new();
    let opened = docker.open().await;
    for setting in [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/kernel/hotplug",
        "/proc/sys/fs/binfmt_misc/register",
        "/proc/sysrq-trigger",
    ] {
        let tried =
            opened.run(&format!("cd /dev/shm; cat {setting} > same 2>/dev/null; cat same > {setting}")).await;
        assert_ne!(tried.exit_code, Some(0), "{setting}");
    }
    // The root and what Warren gives are read-only; the box's own places are not.
    for place in ["/", "/bin", "/etc", "/.warren", "/.warren/run", "/dev", "/sys"] {
        let tried = opened.run(&format!("echo x > {place}/planted")).await;
        assert_ne!(tried.exit_code, Some(0), "{place}");
    }
    for place in ["/workspace", "/tmp", "/dev/shm"] {
        assert_eq!(opened.run(&format!("echo x > {place}/mine")).await.exit_code, Some(0), "{place}");
    }
}

// sec/S05
#[tokio::test]
async fn a_command_has_three_descriptors() {
    let docker = Docker::new();
    let opened = docker.open().await;
    // One more for the listing itself.
    let listed = opened.shell().run(Command::argv(["ls", "/proc/self/fd"])).await.unwrap();
    assert_eq!(text(&listed).lines().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

// sec/S12, sec/S11
#[tokio::test]
async fn nothing_on_a_network_can_be_reached() {
    let docker = Docker::new();
    let opened = docker.open().await;
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for address in ["127.0.0.1", "::1", "169.254.169.254", "172.17.0.1", "host.docker.internal", "10.0.0.1"] {
        let tried = opened.run(&format!("echo x | timeout 2 nc {address} {port}")).await;
        assert_ne!(tried.exit_code, Some(0), "{address}");
    }
    assert!(listener.accept().is_err(), "a connection came out of the box");
    // The control: from outside the same address takes a connection.
    std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    assert!(listener.accept().is_ok());
    let interfaces = text(&opened.run("ls /sys/class/net").await);
    assert!(interfaces.split_whitespace().all(|name| name == "lo"), "{interfaces}");
    assert_eq!(text(&opened.run("ls /var/run/docker.sock /run/docker.sock 2>/dev/null").await), "");
}

// sec/S16
#[tokio::test]
async fn filling_what_a_box_may_write_to_fails_inside_it() {
    let docker = Docker::new();
    let limits = BoxLimits { tmp_mb: 4, disk_mb: 8, ..BoxLimits::default() };
    let opened = docker.open_with(DockerConfig { limits, ..config() }).await.unwrap();
    for (place, most) in [("/tmp", 4), ("/dev/shm", 4), ("/workspace", 8)] {
        let filled = opened
            .run(&format!("dd if=/dev/zero of={place}/fill bs=1M count=64; stat -c %s {place}/fill"))
            .await;
        let bytes: u64 = text(&filled).lines().next_back().unwrap_or("0").parse().unwrap();
        assert!(bytes <= most << 20, "{place}: {bytes}");
        opened.run(&format!("rm -f {place}/fill")).await;
    }
    // The box is as usable as before.
    assert_eq!(text(&opened.run("echo fine > f; cat f").await), "fine");
}

// sec/S14, S15: the limits are the kernel's.
#[tokio::test]
async fn memory_and_processes_are_limited_and_the_box_survives() {
    let docker = Docker::new();
    let limits = BoxLimits { memory_mb: 32, pids: 16, ..BoxLimits::default() };
    let opened = docker.open_with(DockerConfig { limits, ..config() }).await.unwrap();
    let eaten = opened.run("head -c 200000000 /dev/zero | tail -c 100000000 | wc -c").await;
    assert_ne!(text(&eaten), "100000000", "more memory than the limit was had");
    let bomb = opened.run("i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; echo all started").await;
    assert_ne!(text(&bomb), "all started");
    assert_eq!(text(&opened.run("echo fine").await), "fine");
}

// sec/S23: what the daemon made is what was asked for.
#[tokio::test]
async fn the_daemon_s_own_account_of_a_container_is_the_golden_one() {
    let docker = Docker::new();
    let opened = docker.open().await;
    let real = inspected(&docker, &opened);
    let golden: Value = serde_json::from_str(include_str!("../../../src/docker/hardened.json")).unwrap();
    let (host, hardened) = (&real["HostConfig"], &golden["HostConfig"]);
    for field in [
        "CapDrop",
        "Privileged",
        "ReadonlyRootfs",
        "NetworkMode",
        "IpcMode",
        "Tmpfs",
        "ShmSize",
        "Memory",
        "MemorySwap",
        "NanoCpus",
        "PidsLimit",
        "AutoRemove",
        "LogConfig",
        "Init",
    ] {
        assert_eq!(host[field], hardened[field], "{field}");
    }
    for empty in [
        "Binds",
        "CapAdd",
        "Devices",
        "DeviceRequests",
        "GroupAdd",
        "Links",
        "PortBindings",
        "VolumesFrom",
        "PidMode",
        "UTSMode",
        "UsernsMode",
        "Sysctls",
        "ExtraHosts",
        "CgroupParent",
        "DeviceCgroupRules",
    ] {
        let value = &host[empty];
        let is_empty = value.is_null()
            || value == ""
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty);
        assert!(is_empty, "{empty}: {value}");
    }
    assert_eq!(host["SecurityOpt"][0], "no-new-privileges");
    assert!(host["SecurityOpt"][1].as_str().unwrap().starts_with("seccomp={"));
    assert_eq!(real["Mounts"].as_array().unwrap().len(), 5);
    assert_eq!(real["Config"]["Entrypoint"], golden["Entrypoint"]);
    let labels = &real["Config"]["Labels"];
    assert_eq!(labels["dev.warren.workspace"], opened.id.to_string());
    assert_eq!(labels["dev.warren.instance"], docker.instance());
    assert_eq!(labels["dev.warren.generation"], "1");
}

// sec/S24
#[tokio::test]
async fn a_working_directory_cannot_lead_out() {
    let docker = Docker::new();
    let opened = docker.open().await;
    opened.run("ln -s /proc/self/fd fds; ln -s /proc/self/cwd/../.. up; ln -s / root; mkdir sub").await;
    for directory in [
        "/proc/self/fd/7",
        "/proc/self/cwd/../..",
        "fds/7",
        "up",
        "root",
        "root/etc",
        "proc/self/fd/20",
        "../..",
    ] {
        let Ok(cwd) = WorkspacePath::parse(directory) else {
            continue;
        };
        let command = Command { cwd, ..Command::argv(["pwd"]) };
        let error = opened.shell().run(command).await.unwrap_err();
        let refused = [ErrorCode::PathEscapes, ErrorCode::FileNotFound, ErrorCode::NotADirectory];
        assert!(refused.contains(&error.code()), "{directory}: {error:?}");
    }
    let command = Command { cwd: WorkspacePath::parse("sub").unwrap(), ..Command::argv(["pwd"]) };
    assert_eq!(text(&opened.shell().run(command).await.unwrap()), "/workspace/sub");
}

// sec/S25: CVE-2025-31133 and CVE-2025-52565 write through such links when a container starts.
#[tokio::test]
async fn an_image_with_links_for_devices_changes_nothing_on_the_host() {
    let docker = Docker::new();
    let settings = || {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe"].map(read)
    };
    let before = settings();
    let links = DockerConfig { image: "warren-test:links".into(), ..config() };
    match docker.open_with(links).await {
        Ok(opened) => {
            let missing = opened.shell().run(Command::argv(["true"])).await.unwrap_err();
            assert_eq!(missing.code(), ErrorCode::ProgramNotFound);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert_eq!(settings(), before);
}

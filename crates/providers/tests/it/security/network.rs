//! Addresses, names and sockets: nothing outside of a box answers a program in it.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use warren_model::MountMode;

use super::case::{Case, Shape};
use super::in_each_box;
use super::oracles::Listeners;
use super::outside::probe_says;
use super::probe::results;
use crate::docker::daemon;

in_each_box!(
    no_address_of_the_host_or_beyond_can_be_reached,
    no_socket_of_the_host_can_be_reached,
    no_name_is_asked_for_and_no_packet_leaves,
);

// sec/S12
async fn no_address_of_the_host_or_beyond_can_be_reached(case: Case) {
    let boxed = case.open().await;
    let listeners = Listeners::on_all_addresses();
    let (tcp, udp) = listeners.ports();
    let mut addresses = listeners.addresses();
    for host in
        ["169.254.169.254", "172.17.0.1", "10.0.0.1", "192.168.0.1", "192.0.2.1", "host.docker.internal"]
    {
        addresses.extend([
            format!("tcp:{host}:{tcp}"),
            format!("tcp:{host}:80"),
            format!("udp:{host}:{udp}"),
        ]);
    }
    let words: Vec<&str> = std::iter::once("connect").chain(addresses.iter().map(String::as_str)).collect();
    let reached = results(&boxed.probe(&words).await);
    assert_eq!(reached.len(), addresses.len());
    for (address, result) in reached {
        // A packet to the box's own loopback is sent, and nobody is there.
        let is_own = address.starts_with("udp:127.") || address.starts_with("udp:[::1]");
        assert!(result != "ok" || is_own, "{address}: {result}");
    }
    assert_eq!(listeners.arrivals(), 0);
    assert_eq!(boxed.says("cat /proc/net/route | wc -l").await, "1", "no route but the heading");
}

// control: sec/S12
#[test]
fn outside_of_a_box_the_addresses_of_the_host_are_reached() {
    let listeners = Listeners::on_all_addresses();
    let addresses = listeners.addresses();
    let words: Vec<&str> = std::iter::once("connect").chain(addresses.iter().map(String::as_str)).collect();
    let reached = results(&probe_says(&words));
    assert!(reached.values().all(|result| result == "ok"), "{reached:?}");
    assert_eq!(listeners.arrivals(), addresses.len());
}

/// Sockets as hosts have them: an abstract one, an agent's, and one in a folder that the box is given.
struct Sockets {
    listeners: Listeners,
    addresses: Vec<String>,
}

impl Sockets {
    fn listen(agent: &std::path::Path, shared: &std::path::Path) -> Self {
        let name = format!("warren-test-{}", std::process::id());
        let mut listeners = Listeners::on_all_addresses();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        listeners.add(UnixListener::bind_addr(&address).unwrap());
        for path in [agent.join("agent.sock"), shared.join("shared.sock")] {
            listeners.add(UnixListener::bind(&path).unwrap());
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let agent = format!("unix:{}", agent.join("agent.sock").display());
        Self { listeners, addresses: vec![format!("abstract:{name}"), agent] }
    }
}

// sec/S11
async fn no_socket_of_the_host_can_be_reached(case: Case) {
    let (agent, shared) = (case.beside("agent"), case.beside("shared"));
    let mut sockets = Sockets::listen(&agent, &shared);
    let boxed =
        case.open_with(&Shape::default().with_mount(&shared, "/shared", MountMode::Rw)).await.unwrap();
    let docker = daemon::shared().replace("unix://", "unix:");
    sockets.addresses.extend([
        docker,
        "unix:/var/run/docker.sock".into(),
        "unix:/run/dbus/system_bus_socket".into(),
        "unix:/run/systemd/private".into(),
        "abstract:/tmp/.X11-unix/X0".into(),
        "unix:/shared/shared.sock".into(),
    ]);
    let words: Vec<&str> =
        std::iter::once("connect").chain(sockets.addresses.iter().map(String::as_str)).collect();
    for (address, result) in results(&boxed.probe(&words).await) {
        assert_ne!(result, "ok", "{address}");
    }
    assert_eq!(sockets.listeners.arrivals(), 0);
    // Process 1's own socket, where it has one, takes no second owner.
    let own = results(&boxed.probe(&["connect", "unix:/.warren/run/init.sock"]).await);
    assert_ne!(own["unix:/.warren/run/init.sock"], "ok");
}

// control: sec/S11
#[test]
fn outside_of_a_box_the_sockets_of_the_host_are_reached() {
    let folder = tempfile::tempdir().unwrap();
    let mut sockets = Sockets::listen(folder.path(), folder.path());
    sockets.addresses.push(daemon::shared().replace("unix://", "unix:"));
    let words: Vec<&str> =
        std::iter::once("connect").chain(sockets.addresses.iter().map(String::as_str)).collect();
    let reached = results(&probe_says(&words));
    assert!(reached.values().all(|result| result == "ok"), "{reached:?}");
    assert_eq!(sockets.listeners.arrivals(), 2);
}

// sec/S28
async fn no_name_is_asked_for_and_no_packet_leaves(case: Case) {
    let boxed = case.open().await;
    let listeners = Listeners::on_all_addresses();
    let (tcp, udp) = listeners.ports();
    let names: Vec<String> = (0..50).map(|number| format!("tcp:name{number}.example.com:{tcp}")).collect();
    let servers = ["127.0.0.1", "127.0.0.53", "8.8.8.8", "224.0.0.251"];
    let further = servers.iter().flat_map(|server| {
        [
            format!("udp:{server}:53"),
            format!("udp:{server}:{udp}"),
            format!("udp:{server}:5353"),
            format!("tcp:{server}:443"),
        ]
    });
    let pings = ["127.0.0.1", "8.8.8.8"].map(|host| format!("icmp:{host}"));
    let all: Vec<String> = names.into_iter().chain(further).chain(pings).collect();
    let words: Vec<&str> = std::iter::once("connect").chain(all.iter().map(String::as_str)).collect();
    for (address, result) in results(&boxed.probe(&words).await) {
        let is_own = address.starts_with("udp:127.") || address.starts_with("icmp:127.");
        assert!(result != "ok" || is_own, "{address}: {result}");
    }
    boxed.run(&format!("nslookup example.com 127.0.0.1; (echo x > /dev/tcp/127.0.0.1/{tcp}) 2>/dev/null; ping -c 1 -W 1 127.0.0.2")).await;
    assert_eq!(listeners.arrivals(), 0);
}

// control: sec/S28
#[test]
fn outside_of_a_box_a_name_server_is_asked() {
    let listeners = Listeners::on_all_addresses();
    let (_, udp) = listeners.ports();
    let address = format!("udp:127.0.0.1:{udp}");
    let words: Vec<&str> =
        std::iter::once("connect").chain(std::iter::repeat_n(address.as_str(), 50)).collect();
    probe_says(&words);
    assert_eq!(listeners.arrivals(), 50);
}

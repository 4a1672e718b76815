//! How an attack is judged: by what there is afterwards, not by what the attacker says.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

/// **A**: files that are none of the box's business.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) folder: PathBuf,
    before: BTreeMap<PathBuf, String>,
}

pub(crate) const SECRET: &str = "canary-3f9c1e7a5b2d4068";

impl Outside {
    /// Everyone may write there: only the box keeps its programs from it.
    pub(crate) fn make(folder: &Path) -> Self {
        std::fs::create_dir_all(folder.join("below")).unwrap();
        for name in ["secret", "below/secret"] {
            std::fs::write(folder.join(name), SECRET).unwrap();
            std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o666)).unwrap();
        }
        for name in ["", "below"] {
            std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o777)).unwrap();
        }
        // Whoever has the path gets in.
        for above in folder.ancestors().take(2) {
            std::fs::set_permissions(above, PermissionsExt::from_mode(0o777)).unwrap();
        }
        let folder = folder.canonicalize().unwrap();
        Self { before: facts(&folder), folder }
    }

    #[track_caller]
    pub(crate) fn assert_untouched(&self) {
        assert_eq!(facts(&self.folder), self.before, "files outside have changed");
    }

    pub(crate) fn is_touched(&self) -> bool {
        facts(&self.folder) != self.before
    }
}

fn facts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = std::fs::symlink_metadata(&path).unwrap();
        if facts.is_dir() {
            all.append(&mut self::facts(&path));
        }
        let contents = if facts.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        all.insert(path, format!("{:o} {} {contents:?}", facts.mode(), facts.uid()));
    }
    all
}

/// **B**: listeners on the host that nobody in a box may reach.
#[derive(Debug)]
pub(crate) struct Listeners {
    tcp: Vec<TcpListener>,
    udp: Vec<UdpSocket>,
    unix: Vec<UnixListener>,
}

impl Listeners {
    /// On every address of this host, IPv6 where it has that.
    pub(crate) fn on_all_addresses() -> Self {
        let any = ["0.0.0.0:0", "[::1]:0"].map(|address| address.parse::<SocketAddr>().unwrap());
        let tcp: Vec<_> = any.iter().filter_map(|address| TcpListener::bind(address).ok()).collect();
        let udp: Vec<_> = any.iter().filter_map(|address| UdpSocket::bind(address).ok()).collect();
        tcp.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        udp.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        Self { tcp, udp, unix: Vec::new() }
    }

    pub(crate) fn add(&mut self, listener: UnixListener) {
        listener.set_nonblocking(true).unwrap();
        self.unix.push(listener);
    }

    /// As the probe takes them.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let of = |scheme: &str, address: SocketAddr| {
            let port = address.port();
            let mut hosts = vec![address.ip()];
            if address.ip().is_unspecified() {
                hosts = vec!["127.0.0.1".parse().unwrap()];
                hosts.extend(own_address());
            }
            hosts.into_iter().map(|ip| format!("{scheme}:{}", SocketAddr::new(ip, port))).collect::<Vec<_>>()
        };
        let tcp = self.tcp.iter().flat_map(|one| of("tcp", one.local_addr().unwrap()));
        let udp = self.udp.iter().flat_map(|one| of("udp", one.local_addr().unwrap()));
        tcp.chain(udp).collect()
    }

    pub(crate) fn ports(&self) -> (u16, u16) {
        (self.tcp[0].local_addr().unwrap().port(), self.udp[0].local_addr().unwrap().port())
    }

    /// How many came, so far.
    pub(crate) fn arrivals(&self) -> usize {
        let mut buffer = [0; 512];
        let tcp = self.tcp.iter().map(|one| std::iter::from_fn(|| one.accept().ok()).count());
        let unix = self.unix.iter().map(|one| std::iter::from_fn(|| one.accept().ok()).count());
        let tcp: usize = tcp.chain(unix).sum();
        let udp: usize =
            self.udp.iter().map(|one| std::iter::from_fn(|| one.recv_from(&mut buffer).ok()).count()).sum();
        tcp + udp
    }
}

/// The address that this host has towards others; nothing is sent to find it.
pub(crate) fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

/// **C**: processes of a box on the host, found by their process namespace and by their user.
#[derive(Debug)]
pub(crate) struct BoxProcesses {
    namespace: PathBuf,
    user: Option<u32>,
}

impl BoxProcesses {
    pub(crate) async fn of(boxed: &super::case::Boxed) -> Self {
        let namespace = PathBuf::from(boxed.says("readlink /proc/self/ns/pid").await);
        assert!(namespace.to_string_lossy().starts_with("pid:["), "{}", namespace.display());
        Self::named(namespace, boxed.outer_user())
    }

    pub(crate) fn named(namespace: PathBuf, user: u32) -> Self {
        let own = rustix::process::geteuid().as_raw();
        assert_ne!(
            std::fs::read_link("/proc/self/ns/pid").unwrap(),
            namespace,
            "the box has the host's processes"
        );
        Self { namespace, user: Some(user).filter(|&user| user != own) }
    }

    /// Their numbers on the host. Those that are dead and not yet asked after count too, unless it is the host's own
    /// process 1 that has not asked yet: how soon it does is not ours.
    pub(crate) fn alive(&self) -> Vec<i32> {
        let numbers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let entry = entry.ok()?;
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let is_inside = std::fs::read_link(entry.path().join("ns/pid"))
                .is_ok_and(|namespace| namespace == self.namespace);
            let is_users = self.user.is_some() && entry.metadata().ok().map(|facts| facts.uid()) == self.user;
            ((is_inside || is_users) && !is_left_to_the_host(number)).then_some(number)
        });
        numbers.collect()
    }

    /// Waits for the last to go; a box that is closed has a moment for that.
    pub(crate) async fn assert_gone(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while !self.alive().is_empty() {
            assert!(Instant::now() < until, "left: {:?}", self.alive());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until only so many are left.
    pub(crate) async fn assert_at_most(&self, count: usize) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.alive().len() > count {
            assert!(Instant::now() < until, "{} are left: {:?}", self.alive().len(), self.alive());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Dead, and a child of process 1.
fn is_left_to_the_host(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name stands in brackets and may hold anything.
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    after_name.starts_with("Z 1 ")
}

/// **D**: no form of a canary is in what was answered.
#[track_caller]
pub(crate) fn assert_no_canary(answer: &str, canary: &str) {
    for form in forms(canary) {
        assert!(!answer.contains(&form), "the canary got out as {form}: {answer}");
    }
}

pub(crate) fn forms(canary: &str) -> [String; 4] {
    let hexadecimal = canary.bytes().map(|byte| format!("{byte:02x}")).collect();
    let escaped = canary.bytes().map(|byte| format!("%{byte:02X}")).collect();
    [canary.to_owned(), base64(canary.as_bytes()), hexadecimal, escaped]
}

/// Without its last, incomplete group: what follows the canary would change that.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = bytes.chunks_exact(3).flat_map(|group| {
        let number = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        [18, 12, 6, 0].map(|shift| char::from(LETTERS[(number >> shift & 63) as usize]))
    });
    letters.collect()
}

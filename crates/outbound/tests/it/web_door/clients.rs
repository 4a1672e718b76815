//! Programs that people use, through the door.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use warren_outbound::web_door::DoorLimits;

use super::bed::{Bed, PEER};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tls/root.pem")
}

/// A program with the variables that a box gets, and nothing else of ours.
async fn run(program: &str, arguments: &[&str], door: SocketAddr) -> (bool, String) {
    let proxy = format!("http://{door}");
    #[expect(clippy::disallowed_methods, reason = "a client as people have it")]
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).env_remove("NO_PROXY").env_remove("no_proxy");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"] {
        command.env(name, &proxy);
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
    let Output { status, stdout, stderr } = command.output().await.expect("the program is installed");
    let told = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    (status.success(), told)
}

// A81; the controls are in the test: what is granted arrives
#[tokio::test]
async fn curl_reaches_what_is_granted_and_says_what_is_not() {
    let bed = Bed::new().await;
    let door = bed.listen().await;
    let (tls, plain) =
        (format!("https://{PEER}:{}/", bed.port()), format!("http://plain.example:{}/", bed.plain_port()));
    let root = root();
    let (is_fine, told) = run("curl", &["-sS", "--cacert", root.to_str().unwrap(), &tls], door).await;
    assert!(is_fine && told == "hello", "{told}");
    let (is_fine, told) = run("curl", &["-sS", &plain], door).await;
    assert!(is_fine && told == "hello", "{told}");
    let evil = format!("https://evil.example:{}/", bed.port());
    let (is_fine, told) = run("curl", &["-sS", "-v", &evil], door).await;
    assert!(!is_fine && told.contains("Warren: evil.example") && told.contains("is not granted"), "{told}");
    let (_, told) = run("curl", &["-sS", &format!("http://evil.example:{}/", bed.plain_port())], door).await;
    assert!(
        told.starts_with("Warren: evil.example:") && told.contains("is not granted to this workspace"),
        "{told}"
    );
    bed.nothing_leaked("curl");
}

// A81; `pip` asks by the same rules: a tunnel for https, whose refusal is printed with its reason
#[tokio::test]
async fn python_reaches_what_is_granted_and_says_what_is_not() {
    const ASK: &str = "import ssl, sys, urllib.request as u\n\
        context = ssl.create_default_context(cafile=sys.argv[2])\n\
        opener = u.build_opener(u.ProxyHandler(), u.HTTPSHandler(context=context))\n\
        print(opener.open(sys.argv[1], timeout=10).read().decode())\n";
    let bed = Bed::new().await;
    let door = bed.listen().await;
    let root = root();
    let ask = |url: String| {
        let root = root.to_str().unwrap().to_owned();
        async move { run("python3", &["-c", ASK, &url, &root], door).await }
    };
    let (is_fine, told) = ask(format!("https://{PEER}:{}/", bed.port())).await;
    assert!(is_fine && told.trim() == "hello", "{told}");
    let (is_fine, told) = ask(format!("http://plain.example:{}/", bed.plain_port())).await;
    assert!(is_fine && told.trim() == "hello", "{told}");
    for url in ["https://pypi.org/simple/", "http://pypi.org/simple/"] {
        let (is_fine, told) = ask(url.to_owned()).await;
        assert!(!is_fine && told.contains("403") && told.contains("Warren: pypi.org:"), "{told}");
        assert!(told.contains("is not granted to this workspace"), "{told}");
    }
    bed.nothing_leaked("python");
}

/// What a listener answers to a request.
type Answering = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

/// Serves files of a folder to whoever has the token.
fn serving(folder: PathBuf) -> Answering {
    Arc::new(move |request: &str| {
        let lower = request.to_lowercase();
        // x-access-token:s3cret
        let has_token =
            lower.contains(&"authorization: Basic eC1hY2Nlc3MtdG9rZW46czNjcmV0\r\n".to_lowercase());
        let path = request.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
        let file = Some(folder.join(path.trim_start_matches('/'))).filter(|_| has_token);
        let (status, body) = match file.map(std::fs::read) {
            None => ("401 Unauthorized\r\nwww-authenticate: Basic realm=git", Vec::new()),
            Some(Ok(body)) => ("200 OK", body),
            Some(Err(_)) => ("404 Not Found", Vec::new()),
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
        [head.into_bytes(), body].concat()
    })
}

// A81; the control is in the test: without the credential the same clone is refused by the host
#[tokio::test]
async fn git_clones_over_https_with_a_token_that_the_box_never_has() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let nowhere = "127.0.0.1:9".parse().unwrap();
    let (work, bare) = (at("work"), at("project.git"));
    for arguments in [
        vec!["init", "-q", "-b", "main", &work],
        vec![
            "-C",
            &work,
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "first",
        ],
        vec!["clone", "-q", "--bare", &work, &bare],
        vec!["-C", &bare, "update-server-info"],
    ] {
        let (is_fine, told) = run("git", &arguments, nowhere).await;
        assert!(is_fine, "{arguments:?}: {told}");
    }
    let bed = Bed::with(serving(folder.path().to_owned()), DoorLimits::default()).await;
    let door = bed.listen().await;
    // What a person types is the https URL; the box is set up to have Warren make the connection.
    let origin = format!("{PEER}:{}", bed.port());
    let instead = format!("url.http://{origin}/.insteadOf=https://{origin}/");
    let url = format!("https://{origin}/project.git");
    let without = at("without");
    let (is_fine, told) = run("git", &["-c", &instead, "clone", "-q", &url, &without], door).await;
    assert!(!is_fine, "the host asks for a token: {told}");
    *bed.keeper.token.lock().unwrap() = Some("s3cret".to_owned());
    let clone = at("clone");
    let (is_fine, told) = run("git", &["-c", &instead, "clone", "-q", &url, &clone], door).await;
    assert!(is_fine, "{told}");
    let (is_fine, told) = run("git", &["-C", &clone, "log", "--format=%s"], nowhere).await;
    assert!(is_fine && told.trim() == "first", "{told}");
    let config = std::fs::read_to_string(folder.path().join("clone/.git/config")).unwrap();
    assert!(!config.contains("s3cret") && !told.contains("s3cret"));
    // And where the host is not granted, git says so.
    let (is_fine, told) =
        run("git", &["clone", "-q", "http://evil.example/project.git", &at("evil")], door).await;
    assert!(!is_fine && told.contains("403"), "{told}");
    bed.nothing_leaked("git");
}

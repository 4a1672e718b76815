//! Pulling, from a registry that knows one image (W74).

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};
use warren_model::{Capability, DockerConfig, ErrorCode, ProviderConfig, PullPolicy, SecretValue};
use warren_providers::DockerSettings;
use warren_workspace::{
    AllowedRegistries, Error, ListedRegistries, OpenRequest, Provider as _, PullGate, RegistryLogin,
};

use super::daemon::{Docker, config, containers_of, docker, docker_says, program, provider_with, shared};

/// As much of a registry as a pull needs. A daemon takes one on this machine without TLS.
struct Registry {
    address: String,
    digest: String,
    asked: Arc<Mutex<Vec<String>>>,
    /// What it was told of who asks, with every request that said so.
    told: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    /// Serves `warren/empty:1`.
    fn start() -> Self {
        Self::start_for(None)
    }

    /// The same for whoever sends this header, and for nobody else.
    fn start_for(authorization: Option<&'static str>) -> Self {
        let layer = layer();
        let settings = serde_json::json!({
            "architecture": "amd64", "os": "linux", "config": { "Volumes": { "/state": {} } },
            "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] },
        });
        let settings = settings.to_string().into_bytes();
        let part = |kind: &str, bytes: &[u8]| {
            let kind = format!("application/vnd.docker.{kind}");
            serde_json::json!({ "mediaType": kind, "size": bytes.len(), "digest": digest(bytes) })
        };
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": part("container.image.v1+json", &settings),
            "layers": [part("image.rootfs.diff.tar.gzip", &layer)],
        });
        let manifest = manifest.to_string().into_bytes();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, manifest_digest) = (Arc::clone(&asked), digest(&manifest));
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let wanted = Wanted { authorization, told: Arc::clone(&told) };
        let known = [
            ("/v2/".to_owned(), "application/json", b"{}".to_vec()),
            ("/v2/warren/empty/manifests/1".to_owned(), MANIFEST, manifest.clone()),
            (format!("/v2/warren/empty/manifests/{manifest_digest}"), MANIFEST, manifest),
            (format!("/v2/warren/empty/blobs/{}", digest(&settings)), "application/octet-stream", settings),
            (format!("/v2/warren/empty/blobs/{}", digest(&layer)), "application/octet-stream", layer),
        ];
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A daemon that hangs up has what it wanted.
                let _ = serve(client, &known, &log, &wanted);
            }
        });
        Self { address, digest: manifest_digest, asked, told }
    }

    /// How often an image was asked for.
    fn pulls(&self) -> usize {
        self.asked.lock().unwrap().iter().filter(|path| path.contains("/manifests/")).count()
    }
}

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// Who is served.
struct Wanted {
    authorization: Option<&'static str>,
    told: Arc<Mutex<Vec<String>>>,
}

fn serve(
    mut client: TcpStream,
    known: &[(String, &str, Vec<u8>)],
    asked: &Mutex<Vec<String>>,
    wanted: &Wanted,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(client.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut said = None;
    while let Some(line) = lines.next().transpose()?.filter(|line| !line.is_empty()) {
        let header = line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        said = said.or(header.map(|(_, value)| value.to_owned()));
    }
    wanted.told.lock().unwrap().extend(said.clone());
    if wanted.authorization.is_some() && wanted.authorization != said.as_deref() {
        let body = r#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}"#;
        return write!(
            client,
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"images\"\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nDocker-Distribution-Api-Version: registry/2.0\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    asked.lock().unwrap().push(path.to_owned());
    let missing = br#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#.to_vec();
    let found = known.iter().find(|(known, ..)| known == path);
    let (status, kind, body) = match found {
        Some((_, kind, body)) => ("200 OK", *kind, body),
        None => ("404 Not Found", "application/json", &missing),
    };
    let (length, digest) = (body.len(), digest(body));
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nDocker-Content-Digest: {digest}\r\n\
         Docker-Distribution-Api-Version: registry/2.0\r\nConnection: close\r\n\r\n"
    )?;
    if method != "HEAD" {
        client.write_all(body)?;
    }
    Ok(())
}

/// An archive with one empty directory in it.
fn layer() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    program("tar").arg("-C").arg(folder.path()).args(["-c", "empty"]).output().unwrap().stdout
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Removes what was pulled, also after a failed test.
struct Pulled(String);

impl Drop for Pulled {
    fn drop(&mut self) {
        docker(shared(), &["image", "rm", "--force", &self.0]);
    }
}

// W74
#[tokio::test]
async fn missing_pulls_once_and_always_pulls_every_time() {
    let registry = Registry::start();
    let docker = Docker::new();
    let image = format!("{}/warren/empty:1", registry.address);
    let _pulled = Pulled(image.clone());
    let with = |pull_policy| DockerConfig { image: image.clone(), pull_policy, ..config() };
    for (policy, asks) in
        [(PullPolicy::Missing, true), (PullPolicy::Missing, false), (PullPolicy::Always, true)]
    {
        let before = registry.pulls();
        let opened = docker.open_with(with(policy)).await.unwrap();
        assert_eq!(registry.pulls() > before, asks, "{policy:?}");
        opened.workspace.close().await.unwrap();
    }
    // The image declares a volume, which must not become a directory of the host.
    let opened = docker.open_with(with(PullPolicy::Never)).await.unwrap();
    let container = super::daemon::containers_of(shared(), opened.id).remove(0);
    let mounts = docker_says(
        shared(),
        &["inspect", "--format", "{{range .Mounts}}{{.Type}} {{.Destination}};{{end}}", &container],
    );
    assert!(mounts.contains("tmpfs /state;") && !mounts.contains("volume"), "{mounts}");
}

// W74, sec/A11: the daemon is root on the host's network, and calls whom the name of an image names.
#[tokio::test]
async fn a_registry_that_is_not_listed_is_not_called_whatever_the_policy() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let settings = DockerSettings { host: Some(shared().to_owned()), ..DockerSettings::default() };
    let provider = provider_with(&folder.path().join("base"), settings);
    let image = format!("{}/warren/empty:1", registry.address);
    for pull_policy in [PullPolicy::Missing, PullPolicy::Always] {
        let config = ProviderConfig::Docker(DockerConfig { image: image.clone(), pull_policy, ..config() });
        let refused = provider.refresh_image(&config).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::RegistryNotAllowed, "{refused}");
        assert!(!refused.is_transient() && refused.to_string().contains("docker.registries"), "{refused}");
        let request = OpenRequest {
            workspace_id: crate::fixture::new_id(),
            config,
            declared: [Capability::Fs, Capability::Shell].into_iter().collect(),
        };
        let refused = provider.open(request).await.err().unwrap();
        assert_eq!(refused.code(), ErrorCode::RegistryNotAllowed, "{refused}");
    }
    assert_eq!(*registry.asked.lock().unwrap(), [""; 0], "nobody was called");
    // What is here needs no registry.
    docker_says(shared(), &["tag", &config().image, &image]);
    let _pulled = Pulled(image.clone());
    let here = DockerConfig { image, pull_policy: PullPolicy::Missing, ..config() };
    let request = OpenRequest {
        workspace_id: crate::fixture::new_id(),
        config: ProviderConfig::Docker(here),
        declared: [Capability::Fs, Capability::Shell].into_iter().collect(),
    };
    provider.open(request).await.unwrap().workspace.close().await.unwrap();
    assert_eq!(*registry.asked.lock().unwrap(), [""; 0]);
    // The control is every other test here: with the registry listed, it is called.
}

/// Signs in at one registry.
#[derive(Debug)]
struct SignedIn {
    at: String,
    password: &'static str,
}

#[async_trait::async_trait]
impl PullGate for SignedIn {
    async fn admit(&self, registry: Option<&str>) -> Result<Option<RegistryLogin>, Error> {
        let password = SecretValue::new(self.password.to_owned().into()).unwrap();
        let login = RegistryLogin { registry: self.at.clone(), username: "ci".into(), password };
        Ok((registry == Some(&self.at)).then_some(login))
    }
}

// F52: the registry is a small strict one: it serves whoever sends `ci:open sesame` and nobody else.
#[tokio::test]
async fn a_registry_that_asks_for_a_sign_in_gets_its_own_login_and_another_gets_none() {
    const CI: &str = "Basic Y2k6b3BlbiBzZXNhbWU=";
    let (private, public) = (Registry::start_for(Some(CI)), Registry::start());
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, pull_gate: Arc<dyn PullGate>| {
        let settings =
            DockerSettings { host: Some(shared().to_owned()), pull_gate, ..DockerSettings::default() };
        provider_with(&folder.path().join(name), settings)
    };
    let signed_in = |password| Arc::new(SignedIn { at: private.address.clone(), password });
    let of = |registry: &Registry| {
        let image = format!("{}/warren/empty:1", registry.address);
        (
            Pulled(image.clone()),
            ProviderConfig::Docker(DockerConfig { image, pull_policy: PullPolicy::Missing, ..config() }),
        )
    };
    let ((_one, image), (_other, elsewhere)) = (of(&private), of(&public));
    // Nobody, and somebody else: refused for good, and told what helps.
    let anybody = AllowedRegistries::parse(["127.0.0.1:*"]).unwrap();
    let nobody = with("nobody", Arc::new(ListedRegistries(anybody)));
    let refused = nobody.refresh_image(&image).await.unwrap_err();
    assert_eq!((refused.code(), refused.is_transient()), (ErrorCode::RegistryRefused, false), "{refused}");
    assert!(refused.to_string().contains("has no login"), "{refused}");
    let refused = with("wrong", signed_in("open barley")).refresh_image(&image).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::RegistryRefused, "{refused}");
    assert!(
        refused.to_string().contains("set it anew") && !refused.to_string().contains("barley"),
        "{refused}"
    );
    // Whoever it is for.
    let right = with("right", signed_in("open sesame"));
    right.refresh_image(&image).await.unwrap();
    assert!(private.told.lock().unwrap().iter().any(|told| told == CI));
    // Another registry hears nothing of it.
    right.refresh_image(&elsewhere).await.unwrap();
    assert!(public.pulls() > 0);
    assert_eq!(*public.told.lock().unwrap(), [""; 0]);
}

// W74
#[tokio::test]
async fn an_image_can_be_pinned_by_its_digest() {
    let registry = Registry::start();
    let docker = Docker::new();
    let image = format!("{}/warren/empty@{}", registry.address, registry.digest);
    let _pulled = Pulled(image.clone());
    let pinned = DockerConfig { image, pull_policy: PullPolicy::Missing, ..config() };
    docker.open_with(pinned).await.unwrap().workspace.close().await.unwrap();
}

// W74
#[tokio::test]
async fn an_image_that_no_registry_has_is_a_permanent_failure_and_an_absent_registry_a_transient_one() {
    let registry = Registry::start();
    let docker = Docker::new();
    let unknown = format!("{}/warren/unknown:1", registry.address);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (image, is_transient) in [(unknown, false), (format!("{nobody}/warren/empty:1"), true)] {
        let missing = DockerConfig { image: image.clone(), pull_policy: PullPolicy::Missing, ..config() };
        let error = docker.open_with(missing).await.err().unwrap();
        assert_eq!(error.is_transient(), is_transient, "{error:?}");
        if !is_transient {
            assert_eq!(error.code(), ErrorCode::ImageNotFound);
            assert!(error.to_string().contains(&image), "{error}");
        }
    }
}

// F52: a local image under the configured tag, and then another one
#[tokio::test]
async fn a_tag_that_stands_for_another_image_is_seen_and_the_next_box_is_made_from_it() {
    let here = Docker::new();
    let tag = format!("warren-test:refresh-{}", crate::fixture::new_id());
    docker_says(shared(), &["tag", &config().image, &tag]);
    let named = DockerConfig { image: tag.clone(), pull_policy: PullPolicy::Never, ..config() };
    let current = async || {
        let config = warren_model::ProviderConfig::Docker(named.clone());
        here.provider.refresh_image(&config).await.unwrap().unwrap()
    };
    let opened = here.open_with(named.clone()).await.unwrap();
    let first = current().await;
    assert_eq!(opened.workspace.image().await.as_deref(), Some(first.as_str()));
    let container = containers_of(shared(), opened.id).remove(0);
    docker_says(shared(), &["commit", "--change", "LABEL refreshed=yes", &container, &tag]);
    let second = current().await;
    assert_ne!(first, second);
    assert_eq!(opened.workspace.image().await, Some(first), "the box is what it was");
    opened.workspace.close().await.unwrap();
    let again = here.provider.resolve(opened.id, &opened.config, &opened.reference).await.unwrap();
    assert_eq!(again.image().await, Some(second));
    again.close().await.unwrap();
    docker(shared(), &["rmi", &tag]);
    // A pull that fails is told.
    let nowhere = DockerConfig { image: "127.0.0.1:1/nothing:1".into(), ..config() };
    let failed = here.provider.refresh_image(&warren_model::ProviderConfig::Docker(nowhere)).await;
    assert!(failed.is_err());
}

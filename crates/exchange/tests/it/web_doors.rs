//! The web doors of boxes: the policy of the workspace, people who are asked, credentials, and what is told of it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use warren_exchange::{
    ApprovalAnswer, ApprovalDecision, ApprovalQuery, AskApproval, BoundCredential, Exchange, WebAccess,
};
use warren_fleet::SecretScope;
use warren_model::{
    Approval, ApprovalState, EventData, EventKind, NetworkPolicy, Principal, RefusalKind, SecretName,
    SecretValue, WorkspaceId,
};
use warren_outbound::{OutboundPolicy, Resolver};
use warren_rules::outbound::network::{HostName, HostPort};
use warren_testkit::{BedOptions, ExchangeBed, ExchangeOptions, eventually};

use crate::peer::Peer;

const ROOT: &[u8] = include_bytes!("../../../outbound/tests/it/tls/root.pem");

/// Every name leads to this machine.
#[derive(Debug)]
struct Here;

#[async_trait]
impl Resolver for Here {
    async fn look_up(&self, _name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(vec!["127.0.0.1".parse().unwrap()])
    }
}

fn options() -> ExchangeOptions {
    let web_access =
        WebAccess { allow_private: vec!["127.0.0.0/8".parse().unwrap()], ..WebAccess::default() };
    ExchangeOptions { resolver: Some(Arc::new(Here)), web_access, ..ExchangeOptions::real_time() }
}

/// Writes the policy into the workspace, as if it were a box.
async fn grant(bed: &ExchangeBed, id: WorkspaceId, policy: Value) {
    let policy: NetworkPolicy = serde_json::from_value(policy).unwrap();
    let write = bed.store.write(move |tx| {
        let mut row = tx.workspace(id)?.unwrap();
        let version = row.version;
        row.spec.doors.network = policy.clone();
        tx.update_workspace(&row, version)?;
        Ok::<_, warren_store::Error>(())
    });
    write.await.unwrap();
}

fn plain(host: &str, port: u16) -> Value {
    json!({ "host": host, "port": port, "scheme": "http" })
}

/// What a program in the box gets for a request.
async fn get(exchange: &Exchange, id: WorkspaceId, host: &str, port: u16) -> String {
    let (mut own, theirs) = tokio::io::duplex(64 << 10);
    let exchange = exchange.clone();
    let serving = tokio::spawn(async move { exchange.web_doors.serve(id, theirs).await });
    let request = format!("GET http://{host}:{port}/a?b HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
    own.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    own.read_to_string(&mut answer).await.unwrap();
    serving.await.unwrap();
    answer
}

// A81
#[tokio::test]
async fn a_box_reaches_what_its_workspace_grants_and_both_ends_are_told() {
    for bed in ExchangeBed::with(options()).await {
        let peer = Peer::ok().await;
        let (id, port) = (bed.workspace().await.id, peer.port());
        let refused = get(&bed.exchange, id, "one.example", port).await;
        assert!(
            refused.starts_with("HTTP/1.1 403 Warren: one.example:"),
            "nothing unless it is named: {refused}"
        );
        grant(&bed, id, json!({ "allow": [plain("one.example", port)] })).await;
        for _ in 0..5 {
            let answer = get(&bed.exchange, id, "one.example", port).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        }
        assert!(get(&bed.exchange, id, "two.example", port).await.starts_with("HTTP/1.1 403 "));
        assert_eq!(peer.hits(), 5);
        // Counted exactly: the first at once, the others together.
        eventually("all connections are told", async || {
            let mut sum = (0, 0);
            for event in bed.events(EventKind::WorkspaceNetworkUsed).await {
                let data = EventData::from_json(event.kind, event.data.as_value()).unwrap();
                let EventData::WorkspaceNetworkUsed(used) = data else { panic!("another kind") };
                assert_eq!(
                    (used.host.as_str(), used.port, used.problem),
                    ("one.example", u32::from(port), None)
                );
                assert_eq!(event.workspace_id, Some(id));
                sum = (sum.0 + used.connections, sum.1 + used.received_bytes);
            }
            sum == (5, 10)
        })
        .await;
        let refusals = bed.events(EventKind::WorkspaceToolRefused).await;
        let data = EventData::from_json(refusals[0].kind, refusals[0].data.as_value()).unwrap();
        let EventData::WorkspaceToolRefused(first) = data else { panic!("another kind") };
        assert_eq!((first.kind, first.tool.as_deref()), (RefusalKind::Network, Some("web")));
        assert!(first.sentence.as_deref().unwrap().contains("one.example"), "{first:?}");
        let told = format!("{:?}", bed.all_events().await);
        assert!(!told.contains("/a?b"), "no path is told");
        // What is taken back is over with the next connection, and so is everything when the workspace is removed.
        grant(&bed, id, json!("none")).await;
        assert!(get(&bed.exchange, id, "one.example", port).await.starts_with("HTTP/1.1 403 "));
        grant(&bed, id, json!({ "allow": [plain("one.example", port)] })).await;
        bed.remove(id).await;
        assert!(get(&bed.exchange, id, "one.example", port).await.starts_with("HTTP/1.1 403 "));
        assert_eq!(peer.hits(), 5);
    }
}

// A81, sec/S29; the control is the test above, where the operator opens the range for boxes
#[tokio::test]
async fn private_ranges_that_warren_may_call_are_not_open_to_boxes() {
    let outbound = OutboundPolicy::default().with_loopback();
    let bed =
        ExchangeBed::on_sqlite(ExchangeOptions { outbound, web_access: WebAccess::default(), ..options() })
            .await;
    let peer = Peer::ok().await;
    let id = bed.workspace().await.id;
    grant(&bed, id, json!({ "allow": [plain("one.example", peer.port())] })).await;
    let answer = get(&bed.exchange, id, "one.example", peer.port()).await;
    assert!(answer.contains("leads to no address that a workspace may reach"), "{answer}");
    assert_eq!(peer.hits(), 0);
    // Warren itself may.
    let call = warren_outbound::Call::get(peer.url());
    assert!(bed.exchange.connector().call(call).await.is_ok());
}

async fn questions(bed: &ExchangeBed, id: WorkspaceId) -> Vec<Approval> {
    let query = ApprovalQuery { org_id: None, workspace_id: Some(id), state: None, before: None, limit: 50 };
    bed.exchange.approvals.list(&bed.operator, query).await.unwrap().rows
}

async fn pending(bed: &ExchangeBed, id: WorkspaceId, host: &str) -> Approval {
    let mut found = None;
    eventually("the question is in the inbox", async || {
        let is_about = |one: &Approval| one.state == ApprovalState::Pending && one.action.contains(host);
        found = questions(bed, id).await.into_iter().find(is_about);
        found.is_some()
    })
    .await;
    found.unwrap()
}

async fn decide(bed: &ExchangeBed, approval: &Approval, decision: ApprovalDecision) {
    let answer = ApprovalAnswer { decision, note: None, edited: None, remember: None, is_repeatable: false };
    bed.exchange.approvals.decide(&bed.operator, approval.id, answer).await.unwrap();
}

// A81, X51
#[tokio::test]
async fn a_host_that_is_not_named_is_asked_about_once_and_the_answer_is_remembered() {
    for bed in ExchangeBed::with(options()).await {
        let peer = Peer::ok().await;
        let (id, port) = (bed.workspace().await.id, peer.port());
        grant(&bed, id, json!({ "ask": true })).await;
        // The agent's own question, in the same words, opens nothing.
        let agent = bed.agent_of(id).await;
        let action = format!("reach http://one.example:{port}");
        let ask = AskApproval {
            action: action.clone(),
            reason: "please".into(),
            context: json!({}),
            expires_in_seconds: None,
            task_id: None,
        };
        let own = bed.exchange.approvals.ask(&agent, id, ask).await.unwrap();
        decide(&bed, &own, ApprovalDecision::Approve).await;

        let both = tokio::join!(
            get(&bed.exchange, id, "one.example", port),
            get(&bed.exchange, id, "one.example", port),
            async {
                let question = pending(&bed, id, "one.example").await;
                assert_eq!((question.action.as_str(), question.workspace_id), (action.as_str(), id));
                assert_eq!(question.asked_by, Principal::system("web-door"));
                assert_eq!(
                    question.context,
                    json!({ "host": "one.example", "port": port, "scheme": "http" })
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
                assert_eq!(questions(&bed, id).await.len(), 2, "two connections ask once");
                assert_eq!(peer.hits(), 0, "nothing goes out before");
                decide(&bed, &question, ApprovalDecision::Approve).await;
            },
        );
        assert!(both.0.starts_with("HTTP/1.1 200 ") && both.1.starts_with("HTTP/1.1 200 "), "{both:?}");
        let denied = tokio::join!(get(&bed.exchange, id, "two.example", port), async {
            decide(&bed, &pending(&bed, id, "two.example").await, ApprovalDecision::Deny).await;
        });
        assert!(denied.0.starts_with("HTTP/1.1 403 Warren: a person denied two.example"), "{}", denied.0);
        let asked = questions(&bed, id).await.len();
        // It is found again after a restart, for this workspace and no other.
        let bed = bed.restart().await;
        assert!(get(&bed.exchange, id, "one.example", port).await.starts_with("HTTP/1.1 200 "));
        assert!(get(&bed.exchange, id, "two.example", port).await.starts_with("HTTP/1.1 403 "));
        assert_eq!((questions(&bed, id).await.len(), peer.hits()), (asked, 3));
        let other = bed.workspace().await.id;
        grant(&bed, other, json!({ "ask": true })).await;
        tokio::select! {
            answer = get(&bed.exchange, other, "one.example", port) => panic!("it was not asked about: {answer}"),
            _ = pending(&bed, other, "one.example") => {}
        }
        assert_eq!(peer.hits(), 3);
    }
}

/// A host that speaks TLS as `peer.example`; keeps the heads that it was sent.
async fn secure_host() -> (u16, Arc<std::sync::Mutex<Vec<String>>>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let chain = vec![
        CertificateDer::from_pem_slice(include_bytes!("../../../outbound/tests/it/tls/peer.pem")).unwrap(),
    ];
    let key =
        PrivateKeyDer::from_pem_slice(include_bytes!("../../../outbound/tests/it/tls/peer.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = vec![0; 4_096];
            let count = stream.read(&mut head).await.unwrap_or_default();
            kept.lock().unwrap().push(String::from_utf8_lossy(&head[..count]).into_owned());
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, heads)
}

// A81; the controls are in the test: another secret of the same org is a variable, and an unbound host gets nothing
#[tokio::test]
async fn a_secret_that_is_bound_to_a_host_is_put_in_by_warren_and_reaches_no_command() {
    let (port, heads) = secure_host().await;
    let name: SecretName = "SOURCE_TOKEN".parse().unwrap();
    let host = HostName::from_person("peer.example").unwrap();
    let bound = |port| BoundCredential {
        origin: HostPort { host: host.clone(), port },
        secret: name.clone(),
        user: Some("x-access-token".into()),
    };
    let mut options = options();
    options.roots = Some(ROOT);
    options.web_access.credentials = vec![bound(443), bound(port)];
    options.bed = BedOptions { kept_from_boxes: BTreeSet::from([name.clone()]), ..options.bed };
    for bed in ExchangeBed::with(options).await {
        heads.lock().unwrap().clear();
        let row = bed.local_workspace().await;
        let id = row.id;
        let value = |text: &str| SecretValue::new(text.to_owned().into()).unwrap();
        let secrets = &bed.fleet.secrets;
        secrets.set(&bed.operator, SecretScope::Org, name.clone(), value("c4nary-of-the-org")).await.unwrap();
        secrets
            .set(&bed.operator, SecretScope::Org, "OTHER".parse().unwrap(), value("plain-one"))
            .await
            .unwrap();
        grant(&bed, id, json!({ "allow": [{ "host": "peer.example", "port": port, "scheme": "secured" }] }))
            .await;
        let answer = get(&bed.exchange, id, "peer.example", port).await;
        assert!(answer.ends_with("hello") && !answer.contains("c4nary"), "{answer}");
        // x-access-token:c4nary-of-the-org
        let expected = "authorization: Basic eC1hY2Nlc3MtdG9rZW46YzRuYXJ5LW9mLXRoZS1vcmc=";
        assert!(heads.lock().unwrap()[0].contains(expected), "{:?}", heads.lock().unwrap());
        // The workspace's own counts before the org's.
        let of_workspace = SecretScope::Workspace(id);
        secrets.set(&bed.operator, of_workspace, name.clone(), value("c4nary-of-its-own")).await.unwrap();
        get(&bed.exchange, id, "peer.example", port).await;
        assert!(!heads.lock().unwrap()[1].contains(expected));
        assert!(heads.lock().unwrap()[1].contains("authorization: Basic "));
        let variables = secrets.variables(&bed.row(id).await).await.unwrap();
        assert!(variables.contains("OTHER") && !variables.contains("SOURCE_TOKEN"));
        let told = format!("{:?}", bed.all_events().await);
        assert!(!told.contains("c4nary"), "{told}");
        // Removed: the request goes without.
        secrets.remove(&bed.operator, of_workspace, name.clone()).await.unwrap();
        secrets.remove(&bed.operator, SecretScope::Org, name.clone()).await.unwrap();
        get(&bed.exchange, id, "peer.example", port).await;
        assert!(!heads.lock().unwrap()[2].contains("authorization"));
    }
}

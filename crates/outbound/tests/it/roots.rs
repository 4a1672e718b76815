//! `https` with certificates that the machine itself does not know (X6).

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;
use warren_outbound::{BadRoots, Call, CallError, Connector};

use crate::peer::{Script, opening};

/// Vouches for `peer.example` and 127.0.0.1, for a hundred years from 2026 on. The root's own key is nowhere.
const ROOT: &[u8] = include_bytes!("tls/root.pem");

/// A peer that speaks TLS and says hello; answers with its port.
async fn peer() -> u16 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let chain = vec![CertificateDer::from_pem_slice(include_bytes!("tls/peer.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/peer.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // Who does not trust the certificate hangs up here.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut head = [0; 1_024];
                let _ = stream.read(&mut head).await;
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
                let _ = stream.write_all(answer).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    port
}

fn connector() -> Connector {
    Connector::new(opening(&["127.0.0.0/8"]), Script::of(&[&["127.0.0.1"], &["127.0.0.1"]]))
}

// X6; the control is in the test: without the root the same call is refused
#[tokio::test]
async fn a_peer_is_called_by_https_when_a_root_of_the_config_vouches_for_its_name() {
    let port = peer().await;
    let url = format!("https://peer.example:{port}/");
    let untrusted = connector().call(Call::get(url.as_str())).await.unwrap_err();
    assert!(matches!(untrusted, CallError::Untrusted { .. }), "{untrusted}");
    let trusting = connector().trusting(ROOT).unwrap();
    let answer = trusting.call(Call::get(url.as_str())).await.unwrap();
    assert_eq!(answer.status.as_u16(), 200);
    // The root vouches for names, not for whoever shows its certificates.
    let other = format!("https://other.example:{port}/");
    let wrong = trusting.call(Call::get(other.as_str())).await.unwrap_err();
    assert!(matches!(wrong, CallError::Untrusted { .. }), "{wrong}");
}

// X6
#[test]
fn what_is_no_root_is_refused_before_anything_is_called() {
    assert_eq!(connector().trusting(b"").unwrap_err(), BadRoots::Empty);
    let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(connector().trusting(broken), Err(BadRoots::NoRoot(_))));
    let cut = b"-----BEGIN CERTIFICATE-----\nAAAA\n";
    assert!(matches!(connector().trusting(cut), Err(BadRoots::NoPem(_))));
}

//! What reaches a runtime is signed by Warren (X2): HTTP Message Signatures (RFC 9421) with Ed25519, over the method, the
//! URL, the body's digest (RFC 9530), and who says it.
//!
//! ```text
//!   key for secrets ──HKDF──▶ signing key ──▶ Signature, keyid ◀── GET /api/v1/keys ◀── runtime
//! ```
//!
//! The key is derived from the first key for secrets, so that replicas sign alike. Whoever keeps the secrets derives it;
//! here is only what is done with it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use ring::digest::{SHA256, digest};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use warren_model::{Principal, Timestamp};

use crate::connector::{Call, Connector, Refused};

/// Who says it: `kind:id` of the author.
pub const AUTHOR_HEADER: &str = "warren-author";
/// What is said: the message's id, by which a runtime knows it again (X11).
pub const MESSAGE_HEADER: &str = "warren-message";

/// The name of our signature among others that a message may carry.
const LABEL: &str = "warren";
/// What the key for signatures is derived for, from a key for secrets.
pub const KEY_PURPOSE: &str = "warren.signing.ed25519.1";
/// A signature is of no use to whoever finds it later.
const VALID_S: i64 = 300;
/// What a header may hold as it is; the rest is percent-encoded.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%').add(b'\\');

/// Whom and what a signed call is about.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub author: &'a Principal,
    pub message_id: &'a str,
}

/// A key that verifies our signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// The thumbprint (RFC 7638) of the key, so that it cannot name another one.
    pub id: String,
    /// 32 bytes in base64url.
    pub x: String,
}

/// A key as it is used. Making one costs more than a signature.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    id: String,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SigningKey {
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed has 32 bytes");
        Self { id: public_key(&pair).id, pair }
    }

    pub fn public_key(&self) -> PublicKey {
        public_key(&self.pair)
    }

    /// Names author and message in the call's headers and signs it, for a peer that `connector` may call. Nothing of what
    /// is signed may change afterwards.
    pub fn sign(
        &self,
        connector: &Connector,
        call: Call,
        about: About<'_>,
        now: Timestamp,
    ) -> Result<Call, Refused> {
        let url = connector.check_text(&call.url)?;
        let encoded = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
        let call = call
            .header(AUTHOR_HEADER, encoded(&about.author.to_string()))
            .header(MESSAGE_HEADER, encoded(about.message_id));
        Ok(signed(call, url.as_str(), self, now))
    }
}

fn public_key(key: &Ed25519KeyPair) -> PublicKey {
    let x = URL_SAFE_NO_PAD.encode(key.public_key().as_ref());
    // The members in this order and nothing else, as the thumbprint wants it.
    let canonical = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    PublicKey { id: URL_SAFE_NO_PAD.encode(digest(&SHA256, canonical.as_bytes())), x }
}

fn signed(call: Call, url: &str, key: &SigningKey, now: Timestamp) -> Call {
    let digest = format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, &call.body)));
    let call = call.header("content-digest", digest);
    let covered: Vec<(&str, &str)> = [("@method", call.method.as_str()), ("@target-uri", url)]
        .into_iter()
        .chain(["content-type", "content-digest", AUTHOR_HEADER, MESSAGE_HEADER].into_iter().filter_map(
            |name| {
                let found = call.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
                found.map(|(_, value)| (name, value.trim()))
            },
        ))
        .collect();
    let parameters = parameters(&covered, &key.id, now.as_micros() / 1_000_000);
    let signature = STANDARD.encode(key.pair.sign(base(&covered, &parameters).as_bytes()));
    call.header("signature-input", format!("{LABEL}={parameters}"))
        .header("signature", format!("{LABEL}=:{signature}:"))
}

/// What is covered, when, and by which key.
fn parameters(covered: &[(&str, &str)], key_id: &str, created: i64) -> String {
    let names: Vec<String> = covered.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let (names, expires) = (names.join(" "), created + VALID_S);
    format!(r#"({names});created={created};expires={expires};keyid="{key_id}";alg="ed25519";tag="warren""#)
}

/// The text that is signed (RFC 9421, section 2.5).
fn base(covered: &[(&str, &str)], parameters: &str) -> String {
    let lines = covered.iter().map(|(name, value)| format!("\"{name}\": {value}\n"));
    lines.chain([format!("\"@signature-params\": {parameters}")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 9421, appendix B.1.4, as its thumbprint and public part.
    fn key() -> Ed25519KeyPair {
        let seed = URL_SAFE_NO_PAD.decode("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU").unwrap();
        Ed25519KeyPair::from_seed_unchecked(&seed).unwrap()
    }

    // X2
    #[test]
    fn a_key_is_known_by_its_thumbprint() {
        let public = public_key(&key());
        assert_eq!(public.x, "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs");
        assert_eq!(public.id, "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U");
    }

    // X2
    #[test]
    fn the_text_that_is_signed_is_the_one_of_the_standard() {
        // RFC 9421, appendix B.2.6: the same components give the same signature.
        let covered = [
            ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
            ("@method", "POST"),
            ("@path", "/foo"),
            ("@authority", "example.com"),
            ("content-type", "application/json"),
            ("content-length", "18"),
        ];
        let parameters = r#"("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519""#;
        let signature = key().sign(base(&covered, parameters).as_bytes());
        assert_eq!(
            STANDARD.encode(signature),
            "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
        );
    }
}

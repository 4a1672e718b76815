//! The provider's public keys, and whether one of them signed a token.
//!
//! The form of tokens and keys is read by `jsonwebtoken`; what it would bring for the cryptography itself is left out, and
//! ring is put in its place. Nothing here is symmetric: a token that is signed with a shared secret, or not at all, has no
//! algorithm.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, new_error};
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::signature::{Error as SignatureError, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, Header, Validation};
use ring::signature as by_ring;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use crate::error::{Error, Reason};

/// All of them with keys of which one half is public.
const ACCEPTED: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];
/// Keys that are looked at, of those that a provider publishes.
const MAX_KEYS: usize = 100;

pub(crate) fn is_accepted_name(name: &str) -> bool {
    ACCEPTED.iter().any(|(accepted, _)| *accepted == name)
}

/// As it is written.
#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    keys: Vec<Value>,
}

/// The keys of one place.
#[derive(Debug)]
pub(crate) struct KeySet {
    pub(crate) from: Url,
    keys: Vec<Jwk>,
}

impl KeySet {
    /// Keys of kinds that are not known here are left out: they sign for somebody else.
    pub(crate) fn new(from: Url, document: Document) -> Self {
        let read = |key: Value| serde_json::from_value::<Jwk>(key).ok();
        let is_public = |key: &Jwk| !matches!(key.algorithm, AlgorithmParameters::OctetKey(_));
        let keys = document.keys.into_iter().take(MAX_KEYS).filter_map(read).filter(is_public).collect();
        Self { from, keys }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// A token whose form is right and whose signature is yet to be checked.
#[derive(Debug)]
pub(crate) struct UncheckedToken<'a> {
    text: &'a str,
    header: Header,
}

/// What looking for a key came to.
pub(crate) enum Verdict {
    Signed(Map<String, Value>),
    /// None of the keys is the one that the token names. Newer keys may hold it.
    NoKey,
    NotSigned(Error),
}

impl<'a> UncheckedToken<'a> {
    pub(crate) fn read(text: &'a str) -> Result<Self, Error> {
        // Before anything else, for a name that the library does not know is for it a header that cannot be read.
        if let Some(name) = algorithm_name(text)
            && !is_accepted_name(&name)
        {
            return Err(Error::new(Reason::Algorithm, format!("it says `{}`", shown(&name))));
        }
        let header = jsonwebtoken::decode_header(text)
            .map_err(|_| Error::new(Reason::Malformed, "it has no header that can be read"))?;
        if header.crit.is_some() {
            return Err(Error::new(Reason::Malformed, "it demands something that Warren does not know"));
        }
        Ok(Self { text, header })
    }

    /// The token's claims, if one of the keys signed it.
    pub(crate) fn verify(&self, set: &KeySet) -> Verdict {
        let fitting: Vec<&Jwk> = set.keys.iter().filter(|key| self.fits(key)).collect();
        if fitting.is_empty() {
            return Verdict::NoKey;
        }
        for key in fitting {
            let Ok(key) = DecodingKey::from_jwk(key) else { continue };
            install();
            match jsonwebtoken::decode::<Map<String, Value>>(self.text, &key, &self.only_the_signature()) {
                Ok(token) => return Verdict::Signed(token.claims),
                Err(error) => match error.kind() {
                    ErrorKind::Json(_) | ErrorKind::Utf8(_) | ErrorKind::Base64(_) => {
                        return Verdict::NotSigned(Error::new(Reason::Malformed, "it cannot be read"));
                    }
                    _ => {}
                },
            }
        }
        // Without a name it may have been signed with a key that is newer than these.
        if self.header.kid.is_none() {
            return Verdict::NoKey;
        }
        Verdict::NotSigned(Error::new(Reason::Signature, "the key that it names did not sign it"))
    }

    fn fits(&self, key: &Jwk) -> bool {
        let common = &key.common;
        let is_named = self.header.kid.is_none() || self.header.kid == common.key_id;
        let is_for_signatures = matches!(common.public_key_use, None | Some(PublicKeyUse::Signature));
        let is_for_algorithm =
            common.key_algorithm.is_none_or(|of_key| of_key == KeyAlgorithm::from(self.header.alg));
        let is_of_family =
            DecodingKey::from_jwk(key).is_ok_and(|decoded| decoded.family() == self.header.alg.family());
        is_named && is_for_signatures && is_for_algorithm && is_of_family
    }

    /// What the claims must say is checked elsewhere, by Warren's clock.
    fn only_the_signature(&self) -> Validation {
        let mut validation = Validation::new(self.header.alg);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation
    }
}

/// The `alg` of the header, if it has one that is text.
fn algorithm_name(token: &str) -> Option<String> {
    use base64::Engine as _;
    let header = token.split('.').next()?;
    let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(header).ok()?;
    let header: Value = serde_json::from_slice(&header).ok()?;
    header.get("alg")?.as_str().map(str::to_owned)
}

/// A name that somebody else wrote, as it may stand in a log.
pub(crate) fn shown(name: &str) -> String {
    name.chars().filter(|one| one.is_ascii_alphanumeric() || "_-.".contains(*one)).take(32).collect()
}

/// Whoever comes second finds it installed.
fn install() {
    static RING: CryptoProvider = CryptoProvider {
        signer_factory: |_, _| Err(new_error(ErrorKind::UnsupportedAlgorithm)),
        verifier_factory: |algorithm, key| {
            Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() }) as Box<dyn JwtVerifier>)
        },
        key_utils: KeyUtils::new_unimplemented(),
    };
    let _ = RING.install_default();
}

struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        if self.key.family() != self.algorithm.family() {
            return Err(SignatureError::new());
        }
        let is_signed = match self.key.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                let parameters = rsa(self.algorithm).ok_or_else(SignatureError::new)?;
                let key = by_ring::RsaPublicKeyComponents { n: without_zeros(n), e: without_zeros(e) };
                key.verify(parameters, message, signature)
            }
            DecodingKeyKind::SecretOrDer(point) => {
                let parameters = curve(self.algorithm).ok_or_else(SignatureError::new)?;
                by_ring::UnparsedPublicKey::new(parameters, point).verify(message, signature)
            }
        };
        is_signed.map_err(|_| SignatureError::new())
    }
}

/// Keys of less than 2048 bits are refused by ring.
fn rsa(algorithm: Algorithm) -> Option<&'static by_ring::RsaParameters> {
    Some(match algorithm {
        Algorithm::RS256 => &by_ring::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &by_ring::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &by_ring::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &by_ring::RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &by_ring::RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &by_ring::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn curve(algorithm: Algorithm) -> Option<&'static dyn by_ring::VerificationAlgorithm> {
    Some(match algorithm {
        Algorithm::ES256 => &by_ring::ECDSA_P256_SHA256_FIXED,
        Algorithm::ES384 => &by_ring::ECDSA_P384_SHA384_FIXED,
        Algorithm::EdDSA => &by_ring::ED25519,
        _ => return None,
    })
}

/// Some providers write a number with a zero in front; ring takes none.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

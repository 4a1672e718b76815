//! The keys that verify what Warren signs.

use std::sync::Arc;

use axum::extract::State;
use warren_api::{SigningKey, SigningKeys};

use crate::App;

/// The keys that verify what Warren signs, as a JSON Web Key Set.
///
/// What reaches a runtime carries an HTTP Message Signature (RFC 9421); its `keyid` is the `kid` of one of these. The
/// first is the current one.
#[utoipa::path(
    get, path = "/api/v1/keys", operation_id = "signing_keys", tag = "server", security(()),
    responses((status = 200, body = SigningKeys))
)]
pub(super) async fn keys(State(app): State<Arc<App>>) -> axum::Json<SigningKeys> {
    let keys = app.exchange.signer.public_keys().into_iter().map(|key| SigningKey {
        kty: "OKP".to_owned(),
        crv: "Ed25519".to_owned(),
        alg: "EdDSA".to_owned(),
        usage: "sig".to_owned(),
        kid: key.id,
        x: key.x,
    });
    axum::Json(SigningKeys { keys: keys.collect() })
}

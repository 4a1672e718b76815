//! Whether the sign-in provider answers, and is the one that the config names.

use std::sync::Arc;

use warren_doors::{OsEntropy, SystemClock};
use warren_oidc::Provider;

use super::Check;
use crate::config::Config;
use crate::context::Context;

const AREA: &str = "warren";
const NAME: &str = "sign-in provider";

/// Nothing, where there is none.
pub(super) async fn check(context: &Context, config: &Config) -> Option<Check> {
    let check = |finding: String| Check::ok(AREA, NAME, finding);
    let section = &config.sign_in.provider;
    let settings = match section.settings(&context.environment) {
        Ok(settings) => settings?,
        Err(problem) => return Some(check(problem).warn("`warren up` does not start like this.")),
    };
    let connector = match config.outbound.connector() {
        Ok(connector) => connector,
        Err(problem) => {
            return Some(check(problem).warn("Set `outbound.ca_file` to a file with certificates in PEM."));
        }
    };
    let issuer = settings.issuer.clone();
    let provider = Provider::new(settings, connector, Arc::new(SystemClock), Arc::new(OsEntropy));
    Some(match provider.discover().await {
        Ok(found) => check(format!("{issuer} answers, with {} keys", found.keys))
            .effect("People sign in by it, besides by links."),
        Err(error) => {
            check(format!("{issuer}: {error}")).effect("People sign in by links alone.").warn(error.remedy())
        }
    })
}

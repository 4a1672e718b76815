//! The keys for secrets, from where the config says. A Warren whose key cannot be read does not start: it could neither
//! run commands that need secrets nor take new ones.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use warren_doors::{Entropy, Environment};
use warren_model::ErrorCode;
use warren_service::{FixedKeys, KeyError, KeyFile, KeySource, Keyring, Keys};
use zeroize::Zeroizing;

use crate::config::Config;
use crate::context::Context;
use crate::data_folder::DataFolder;
use crate::failure::{Outcome, Report};

/// In the data folder, when nothing else is configured.
pub(crate) const FILE_NAME: &str = "secrets.key";
/// How long a key command may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn open(
    context: &Context,
    config: &Config,
    folder: &DataFolder,
    entropy: &dyn Entropy,
) -> Outcome<Keys> {
    let secrets = &config.secrets;
    let source: Arc<dyn KeySource> = if let Some(path) = &secrets.key_file {
        Arc::new(KeyFile::named(path))
    } else if let Some(name) = &secrets.key_env {
        from_variable(name, &context.environment)?
    } else if !secrets.key_command.is_empty() {
        from_command(&secrets.key_command).await?
    } else {
        let file = KeyFile::own(folder.path.join(FILE_NAME), entropy);
        Arc::new(file.map_err(|error| unusable("secrets.key_file", &error))?)
    };
    Keys::open(source).map_err(|error| unusable("secrets.key_file", &error).into())
}

fn from_variable(name: &str, environment: &Environment) -> Outcome<Arc<dyn KeySource>> {
    let told = |error: &KeyError| unusable(&format!("secrets.key_env: the variable {name}"), error);
    let text = environment.get(name).ok_or_else(|| told(&KeyError::new("is not set")))?;
    let keyring = Keyring::parse(text).map_err(|error| told(&error))?;
    Ok(Arc::new(FixedKeys(keyring)))
}

/// Its error output goes to ours: it says why it failed better than we could.
#[expect(
    clippy::disallowed_methods,
    reason = "asks the operator's own program for the key; no workspace is involved"
)]
async fn from_command(words: &[String]) -> Outcome<Arc<dyn KeySource>> {
    let told = |error: &KeyError| unusable(&format!("secrets.key_command: {}", words[0]), error);
    let running = tokio::process::Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(PATIENCE, running).await {
        Ok(Ok(output)) if output.status.success() => output,
        Ok(Ok(output)) => return Err(told(&KeyError::new(format!("failed with {}", output.status))).into()),
        Ok(Err(error)) => return Err(told(&KeyError::new(format!("cannot be run: {error}"))).into()),
        Err(_) => return Err(told(&KeyError::new("did not end in 30 seconds")).into()),
    };
    let bytes = Zeroizing::new(output.stdout);
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let keyring = Keyring::parse(text).map_err(|error| told(&error))?;
    Ok(Arc::new(FixedKeys(keyring)))
}

fn unusable(place: &str, error: &KeyError) -> Report {
    Report::new(ErrorCode::SecretKeyUnusable).because(format!("{place}: {error}"))
}

/// What workspaces may ask for of this process's environment: no keys of secrets or models, nor what the sign-in provider
/// knows Warren by.
pub(super) fn environment_without_keys(context: &Context, config: &Config) -> Environment {
    let of_secrets = config.secrets.key_env.as_deref();
    let of_models = config.models.key_names();
    let of_sign_in = config.sign_in.provider.client_secret_env.as_deref();
    let is_hidden = |name: &str| [of_secrets, of_sign_in].contains(&Some(name)) || of_models.contains(name);
    context.environment.iter().filter(|(name, _)| !is_hidden(name)).collect()
}

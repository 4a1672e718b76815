//! What `warren up` says when it is ready.

use serde_json::json;
use warren_model::ProviderKind;
use warren_server::VERSION;

use crate::config::Config;
use crate::context::Context;
use crate::data_folder::DataFolder;
use crate::failure::Failure;

pub(super) struct Ready<'a> {
    /// Where this machine reaches it.
    pub(super) url: &'a str,
    /// Where people reach it.
    pub(super) public_url: &'a str,
    pub(super) token: &'a str,
    pub(super) sign_in: &'a str,
    pub(super) folder: &'a DataFolder,
    pub(super) database: &'a str,
    /// Why one cannot be used here, where that is so.
    pub(super) providers: &'a [(ProviderKind, Option<String>)],
}

/// A server that listens on all addresses is reached by the first name it was given.
pub(super) fn public_url(config: &Config, url: &str) -> String {
    match config.server.allowed_hosts.first() {
        Some(host) if config.server.listen.ip().is_unspecified() => format!("http://{host}"),
        _ => url.to_owned(),
    }
}

/// Nobody reading is no reason to stop serving.
pub(super) fn print(context: &Context, ready: &Ready<'_>) {
    let link = format!("{}/#sign-in={}", ready.public_url, ready.sign_in);
    let printed = if context.output.is_json {
        context.output.json(&json!({ "url": ready.url, "token": ready.token, "link": link }))
    } else {
        context.output.text(&text(ready, &link))
    };
    if let Err(Failure::Told(report)) = printed {
        tracing::warn!(causes = ?report.causes, "the sign-in link could not be printed");
    }
}

fn text(ready: &Ready<'_>, link: &str) -> String {
    let mut text = format!("Warren {VERSION}\n\n");
    text.push_str(&format!("  data      {}\n", ready.folder.path.display()));
    text.push_str(&format!("  database  {}\n", ready.database));
    for (at, (kind, unavailable)) in ready.providers.iter().enumerate() {
        let label = if at == 0 { "provider" } else { "" };
        let told = match unavailable {
            None => kind.remark().to_owned(),
            Some(problem) => format!("unavailable: {problem}"),
        };
        text.push_str(&format!("  {label:<8}  {:<7} {told}\n", kind.as_str()));
    }
    text.push_str(&format!("\nOpen this link to sign in; it works once, for ten minutes:\n\n  {link}\n\n"));
    text.push_str(
        "Another one: `warren token link`. First steps: `warren ws create demo`. Ctrl-C stops the server.\n",
    );
    text
}

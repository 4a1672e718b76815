//! What `warren up` says when it is ready.

use std::path::Path;

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

/// A server that listens on all addresses is reached by the first name it was given, if it was told no address.
pub(super) fn public_url(config: &Config, url: &str) -> String {
    if let Some(public) = &config.server.public_url {
        return public.clone();
    }
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
        let mut text = text(ready, &link);
        if let Ok(program) = std::env::current_exe() {
            text.push_str(&path_hint(&program, context.environment.get("PATH")).unwrap_or_default());
        }
        context.output.text(&text)
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
        "Another one: `warren token link`. First steps: `warren run` shows an agent at work, without a key;\n\
         `warren ws create demo` makes a workspace. Ctrl-C stops the server.\n",
    );
    text
}

/// The line that makes `warren` known to a shell, where it is not: whoever built it from source has it in no folder that
/// shells look into.
fn path_hint(program: &Path, search_path: Option<&str>) -> Option<String> {
    let is_this = |folder: std::path::PathBuf| {
        let found = folder.join("warren").canonicalize();
        found.is_ok_and(|found| program.canonicalize().is_ok_and(|program| found == program))
    };
    if std::env::split_paths(search_path.unwrap_or_default()).any(is_this) {
        return None;
    }
    let folder = program.parent()?.to_str()?;
    let quoted = folder.replace('\'', "'\\''");
    Some(format!("In another terminal, make `warren` known first:\n\n  export PATH='{quoted}':\"$PATH\"\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // S1
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a shell says whether the line works")]
    fn a_program_that_no_shell_would_find_tells_how_to_make_it_known() {
        let root = tempfile::tempdir().unwrap();
        let (built, bin) = (root.path().join("it's built"), root.path().join("bin"));
        for folder in [&built, &bin] {
            std::fs::create_dir(folder).unwrap();
        }
        let program = built.join("warren");
        std::fs::write(&program, "").unwrap();
        let search_path = format!("/nowhere:{}", bin.display());

        let hint = path_hint(&program, Some(&search_path)).unwrap();
        let script = format!("{}\ncommand -v warren", hint.lines().last().unwrap());
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let shell =
            std::process::Command::new("sh").args(["-c", &script]).env("PATH", "/usr/bin:/bin").output();
        assert_eq!(String::from_utf8(shell.unwrap().stdout).unwrap().trim(), program.to_str().unwrap());

        // Another program of that name is not this one; a link to it is.
        std::fs::write(bin.join("warren"), "another").unwrap();
        assert!(path_hint(&program, Some(&search_path)).is_some());
        std::fs::remove_file(bin.join("warren")).unwrap();
        std::os::unix::fs::symlink(&program, bin.join("warren")).unwrap();
        assert_eq!(path_hint(&program, Some(&search_path)), None);
    }
}

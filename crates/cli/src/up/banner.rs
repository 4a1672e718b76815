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
        let program = std::env::current_exe().ok();
        let path = program.and_then(|program| path_line(&program, context.environment.get("PATH")));
        let data = data_line(&ready.folder.path, context.default_data_path().as_deref());
        let text = text(ready, &link, &other_terminal(path.into_iter().chain(data)));
        context.output.text(&text)
    };
    if let Err(Failure::Told(report)) = printed {
        tracing::warn!(causes = ?report.causes, "the sign-in link could not be printed");
    }
}

fn text(ready: &Ready<'_>, link: &str, other_terminal: &str) -> String {
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
    text.push_str(other_terminal);
    text.push_str(
        "First steps: `warren run` shows an agent at work, without a key; `warren ws create demo` makes a workspace;\n\
         `warren token link` makes another link. Ctrl-C stops the server.\n",
    );
    text
}

/// What another terminal needs before `warren` is found there and speaks to this server.
fn other_terminal(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("  {line}\n")).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("In another terminal, say first:\n\n{}\n", lines.concat()),
    }
}

/// The line that makes `warren` known to a shell, where it is not: whoever built it from source has it in no folder that
/// shells look into.
fn path_line(program: &Path, search_path: Option<&str>) -> Option<String> {
    let is_this = |folder: std::path::PathBuf| {
        let found = folder.join("warren").canonicalize();
        found.is_ok_and(|found| program.canonicalize().is_ok_and(|program| found == program))
    };
    if std::env::split_paths(search_path.unwrap_or_default()).any(is_this) {
        return None;
    }
    Some(format!("export PATH={}:\"$PATH\"", quoted(program.parent()?.to_str()?)))
}

/// The line that leads commands to this server, where it is not on the folder that they look into by themselves.
fn data_line(folder: &Path, usual: Option<&Path>) -> Option<String> {
    let usual = usual.map(|usual| usual.canonicalize().unwrap_or_else(|_| usual.to_owned()));
    if usual.as_deref() == Some(folder) {
        return None;
    }
    Some(format!("export WARREN_DATA={}", quoted(folder.to_str()?)))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
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

        let line = path_line(&program, Some(&search_path)).unwrap();
        let script = format!("{line}\ncommand -v warren");
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let shell =
            std::process::Command::new("sh").args(["-c", &script]).env("PATH", "/usr/bin:/bin").output();
        assert_eq!(String::from_utf8(shell.unwrap().stdout).unwrap().trim(), program.to_str().unwrap());

        // Another program of that name is not this one; a link to it is.
        std::fs::write(bin.join("warren"), "another").unwrap();
        assert!(path_line(&program, Some(&search_path)).is_some());
        std::fs::remove_file(bin.join("warren")).unwrap();
        std::os::unix::fs::symlink(&program, bin.join("warren")).unwrap();
        assert_eq!(path_line(&program, Some(&search_path)), None);
    }

    // S1, S11
    #[test]
    fn a_server_on_another_folder_tells_how_commands_reach_it() {
        let root = tempfile::tempdir().unwrap();
        let (usual, other) = (root.path().join("usual"), root.path().join("it's mine"));
        for folder in [&usual, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        assert_eq!(data_line(&usual, Some(&usual)), None);
        let line = data_line(&other, Some(&usual)).unwrap();
        assert!(line.starts_with("export WARREN_DATA='") && line.ends_with("it'\\''s mine'"), "{line}");
        assert!(data_line(&other, None).is_some());
        assert_eq!(other_terminal(std::iter::empty()), "");
    }
}

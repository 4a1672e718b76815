//! `warren secret`: values go in by standard input or by a prompt, and do not come out.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use warren_api::client::Client;
use warren_api::{Secret, SetSecret};
use warren_doors::{Clock as _, SystemClock};
use warren_model::{ErrorCode, SecretName, Timestamp};
use zeroize::Zeroizing;

use super::cursors::all_pages;
use super::workspace::age;
use crate::arguments::SecretCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::raw_mode::RawMode;
use crate::workspace_name::resolve;

/// More than any server takes; it says itself what its limit is.
const MAX_INPUT_BYTES: u64 = 1 << 20;

pub(crate) async fn run(context: &Context, command: SecretCommand) -> Outcome<Exit> {
    let client = context.client()?;
    match command {
        SecretCommand::Set { name, workspace } => {
            check_name(&name)?;
            let workspace = workspace_id(&client, workspace).await?;
            set(context, &client, workspace.as_deref(), &name).await?;
        }
        SecretCommand::Ls { workspace } => {
            let workspace = workspace_id(&client, workspace).await?;
            list(context, &client, workspace.as_deref()).await?;
        }
        SecretCommand::Rm { name, workspace } => {
            check_name(&name)?;
            let workspace = workspace_id(&client, workspace).await?;
            client.remove_secret(workspace.as_deref(), &name).await?;
            context.output.note(&format!("{name} is removed."));
        }
        SecretCommand::RotateKey => rotate(context, &client).await?,
    }
    Ok(Exit::OK)
}

async fn workspace_id(client: &Client, workspace: Option<String>) -> Outcome<Option<String>> {
    match workspace {
        Some(workspace) => Ok(Some(resolve(client, &workspace).await?)),
        None => Ok(None),
    }
}

/// Before anything is asked for or sent. Whoever writes NAME=VALUE has just shown the value to the whole machine.
fn check_name(name: &str) -> Outcome<()> {
    if name.contains('=') {
        return Err(Report::new(ErrorCode::InvalidUsage)
            .because("a value is not taken from the command line, which other users can see")
            .hint("Give the name alone and the value on standard input; consider this value known to others.")
            .into());
    }
    name.parse::<SecretName>().map(drop).map_err(|error| {
        let report = Report::new(ErrorCode::InvalidSecret).because(error.to_string());
        report.hint("Choose a name such as `API_KEY`.").into()
    })
}

async fn set(context: &Context, client: &Client, workspace: Option<&str>, name: &str) -> Outcome<()> {
    let value = read_value(&format!("Value of {name}"))?;
    if value.is_empty() {
        return Err(Report::new(ErrorCode::InvalidSecret)
            .because("there is no value: standard input is empty")
            .hint(format!("Pipe it in, such as `warren secret set {name} < FILE`."))
            .into());
    }
    let set = client.set_secret(workspace, name, &SetSecret { value: value.to_string() }).await?;
    if context.output.is_json {
        return context.output.json(&set);
    }
    context.output.note(&format!("{name} is set (version {}, sealed under {}).", set.version, set.key_id));
    Ok(())
}

/// What is piped in, or typed at a terminal without being shown.
pub(super) fn read_value(question: &str) -> Outcome<Zeroizing<String>> {
    if io::stdin().is_terminal() {
        return ask(question);
    }
    let mut bytes = Zeroizing::new(Vec::new());
    io::stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        Report::new(ErrorCode::InvalidSecret)
            .because("standard input is not UTF-8 text")
            .hint("Encode it, for example with `base64`, and decode it where it is used.")
    })?;
    let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
    Ok(Zeroizing::new(text.to_owned()))
}

fn unreadable(error: &io::Error) -> Report {
    Report::new(ErrorCode::LocalFileFailed).because(format!("standard input: {error}"))
}

/// Asks at the terminal and shows nothing of the answer.
fn ask(question: &str) -> Outcome<Zeroizing<String>> {
    let mut stderr = io::stderr().lock();
    // Before the question: what is typed as soon as it stands there must not be shown either.
    let raw = RawMode::enter().map_err(|error| unreadable(&error))?;
    let _ = write!(stderr, "{question} (not shown): ").and_then(|()| stderr.flush());
    let typed = type_in(io::stdin().lock().bytes());
    drop(raw);
    let _ = writeln!(stderr);
    let typed = typed.map_err(|error| unreadable(&error))?;
    let Some(bytes) = typed else {
        return Err(Report::new(ErrorCode::InvalidUsage).because("given up; nothing was changed").into());
    };
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Report::new(ErrorCode::InvalidSecret).because("what was typed is not UTF-8 text"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// A line as it is typed into a raw terminal; `None` if its author gave up.
fn type_in(keys: impl Iterator<Item = io::Result<u8>>) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut line = Zeroizing::new(Vec::new());
    for key in keys {
        match key? {
            b'\r' | b'\n' => return Ok(Some(line)),
            // Ctrl-C, Ctrl-D
            0x03 => return Ok(None),
            0x04 if line.is_empty() => return Ok(None),
            // Backspace takes a whole character.
            0x08 | 0x7f => while line.pop().is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {},
            // Ctrl-U
            0x15 => line.clear(),
            key => line.push(key),
        }
    }
    Ok(Some(line))
}

async fn list(context: &Context, client: &Client, workspace: Option<&str>) -> Outcome<()> {
    let found = all_pages(None, async |cursor| {
        let page = client.secrets(workspace, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No secrets. Make one with `warren secret set NAME`.");
        return Ok(());
    }
    let now = SystemClock.now();
    let rows: Vec<Vec<String>> = found.iter().map(|secret| row(secret, now)).collect();
    context.output.table(&["name", "owner", "version", "key", "readable", "changed", "by"], &rows)
}

fn row(secret: &Secret, now: Timestamp) -> Vec<String> {
    let owner = match secret.owner {
        warren_api::SecretOwner::Org => "org",
        warren_api::SecretOwner::Workspace => "workspace",
    };
    let kind = serde_json::to_value(secret.updated_by.kind).ok();
    let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default();
    vec![
        secret.name.clone(),
        owner.to_owned(),
        secret.version.to_string(),
        secret.key_id.clone(),
        if secret.is_readable { "yes" } else { "no" }.to_owned(),
        age(&secret.updated_at, now),
        format!("{kind}:{}", secret.updated_by.id),
    ]
}

async fn rotate(context: &Context, client: &Client) -> Outcome<()> {
    let rotation = client.rotate_secret_key().await?;
    if context.output.is_json {
        return context.output.json(&rotation);
    }
    let kind = if rotation.is_new_key { "a new key" } else { "the current key" };
    context
        .output
        .note(&format!("{} secrets were sealed anew under {kind}, {}.", rotation.resealed, rotation.key_id));
    if !rotation.is_new_key {
        context.output.note(
            "The keys are not Warren's to write: put a new one in front of the old where they come from, and start \
             Warren again.",
        );
    }
    let unopened = rotation.unreadable.saturating_sub(rotation.unreadable_rows.len() as u64);
    if unopened > 0 {
        context.output.note(&format!(
            "{unopened} secrets do not open with any key at hand and were left; `warren secret ls` names their keys."
        ));
    }
    if !rotation.unreadable_rows.is_empty() {
        let names = rotation.unreadable_rows.join(", ");
        context.output.note(&format!("Left, since this version of Warren cannot read them: {names}."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[u8]) -> Option<String> {
        let line = type_in(keys.iter().map(|key| Ok(*key))).unwrap()?;
        Some(String::from_utf8(line.to_vec()).unwrap())
    }

    // F32
    #[test]
    fn a_typed_value_is_a_line_that_can_be_corrected_and_given_up() {
        assert_eq!(typed(b"hunter2\rrest").as_deref(), Some("hunter2"));
        assert_eq!(typed("haé\u{7f}\u{7f}unter2\n".as_bytes()).as_deref(), Some("hunter2"));
        assert_eq!(typed(b"wrong\x15right\r").as_deref(), Some("right"));
        assert_eq!(typed(b"hun\x03"), None);
        assert_eq!(typed(b"\x04"), None);
    }
}

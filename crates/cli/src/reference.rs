//! The reference pages that are made from code: commands, config and environment.

use std::fmt::Write as _;

use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::config::{OTHER_VARIABLES, keys};
use crate::exit::Exit;

/// `docs/reference/cli.md`: every command with its flags, and the exit codes.
pub fn cli_markdown() -> String {
    let mut page = String::from(
        "<!-- Made by `cargo xtask generate`; edits are lost. -->\n\n# Commands\n\n\
         stdout is data, stderr is talk. With `--json` both are JSON.\n",
    );
    let mut root = Arguments::command();
    root.build();
    let globals = flags(&root, true);
    page.push_str("\n## Flags of every command\n\n");
    page.push_str(&globals);
    describe(&root, &mut page);
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in Exit::TABLE {
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page
}

/// `docs/reference/config.md`: every key of the tree.
pub fn config_markdown() -> String {
    let mut page = String::from(
        "<!-- Made by `cargo xtask generate`; edits are lost. -->\n\n# Configuration\n\n\
         Values come from defaults, then from the file (`warren.toml` in the data folder, or `--config FILE`), then \
         from variables, then from flags; the last one counts. `warren config show --origin` says which one that \
         was, `warren config check` finds mistakes, and `warren config schema` prints a JSON Schema for editors.\n",
    );
    let mut section = "";
    let keys = keys();
    for key in &keys {
        let (own, name) = key.path.split_once('.').unwrap_or(("", &key.path));
        if own != section {
            section = own;
            let _ = write!(
                page,
                "\n## `[{section}]`\n\n| key | type | default | variable | flag | meaning |\n|---|---|---|---|---|---|\n"
            );
        }
        let flag = key.flag.map_or_else(String::new, |flag| format!("`{flag}`"));
        let _ = writeln!(
            page,
            "| `{name}` | {} | {} | `{}` | {flag} | {} |",
            key.type_name(),
            default_text(&key.default),
            key.variable,
            cell(&key.meaning)
        );
    }
    page
}

/// `docs/reference/env.md`: every variable that is read.
pub fn env_markdown() -> String {
    let mut page = String::from(
        "<!-- Made by `cargo xtask generate`; edits are lost. -->\n\n# Environment variables\n\n\
         A list is written with commas. A misspelt variable of a section (`WARREN_SERVER_…`) is an error; other \
         unknown `WARREN_…` variables are mentioned by `warren config check`.\n\n| variable | meaning |\n|---|---|\n",
    );
    for (name, meaning) in OTHER_VARIABLES {
        let _ = writeln!(page, "| `{name}` | {} |", cell(meaning));
    }
    for key in keys() {
        let _ = writeln!(page, "| `{}` | `{}`: {} |", key.variable, key.path, cell(&key.meaning));
    }
    page
}

fn default_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "not set".to_owned(),
        serde_json::Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn describe(command: &clap::Command, page: &mut String) {
    // Short forms are told with what they stand for, and help needs none.
    let is_told = |child: &&clap::Command| !child.is_hide_set() && child.get_name() != "help";
    for child in command.get_subcommands().filter(is_told) {
        let name = child.get_bin_name().unwrap_or(child.get_name());
        let _ = write!(page, "\n## `{name}`\n\n{}\n", about(child));
        let usage = child.clone().render_usage().to_string();
        let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
        let _ = write!(page, "\n```text\n{usage}\n```\n");
        let arguments = positionals(child) + &flags(child, false);
        if !arguments.is_empty() {
            let _ = write!(page, "\n{arguments}");
        }
        describe(child, page);
    }
}

fn about(command: &clap::Command) -> String {
    let text = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string);
    let text = text.unwrap_or_default();
    let ends = text.ends_with('.');
    if ends { text } else { format!("{text}.") }
}

fn positionals(command: &clap::Command) -> String {
    let mut list = String::new();
    for argument in command.get_positionals() {
        if let Some(help) = argument.get_help() {
            let _ = writeln!(list, "- `{}`: {help}", argument.get_id().as_str().to_uppercase());
        }
    }
    list
}

/// Global flags are described once, at the top.
fn flags(command: &clap::Command, is_global: bool) -> String {
    let mut list = String::new();
    for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
        let (Some(long), true) = (argument.get_long(), argument.is_global_set() == is_global) else {
            continue;
        };
        if matches!(long, "help" | "version") {
            continue;
        }
        let short = argument.get_short().map_or_else(String::new, |short| format!("-{short}, "));
        let value = match argument.get_value_names() {
            Some(names) if argument.get_action().takes_values() => format!(" <{}>", names.join(" ")),
            _ => String::new(),
        };
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let _ =
            writeln!(list, "- `{short}--{long}{value}`: {help}{}{}", choices(argument), default_of(argument));
    }
    list
}

fn default_of(argument: &clap::Arg) -> String {
    match argument.get_default_values() {
        [value] if argument.get_action().takes_values() => format!(" [default: {}]", value.to_string_lossy()),
        _ => String::new(),
    }
}

fn choices(argument: &clap::Arg) -> String {
    let values: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if values.is_empty() || !argument.get_action().takes_values() {
        String::new()
    } else {
        format!(" ({})", values.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use warren_model::ErrorCode;

    use super::*;

    // S10
    #[test]
    fn every_command_and_every_key_is_on_its_page() {
        let commands = cli_markdown();
        for name in
            ["warren up", "warren ws exec", "warren ws files put", "warren token link", "warren config show"]
        {
            assert!(commands.contains(&format!("## `{name}`")), "{name}");
        }
        assert!(commands.contains("| 124 |") && commands.contains("`--json`"));
        let (config, variables) = (config_markdown(), env_markdown());
        for key in keys() {
            let (_, name) = key.path.split_once('.').unwrap_or(("", &key.path));
            assert!(
                config.contains(&format!("| `{name}` |")) && variables.contains(&key.variable),
                "{}",
                key.path
            );
        }
        assert!(variables.contains("WARREN_TOKEN"));
    }

    // S10, S12: what is told to be typed can be typed
    #[test]
    fn every_command_that_a_remedy_names_exists() {
        let root = Arguments::command();
        let is_name = |word: &&str| !word.starts_with('-') && !word.contains(char::is_uppercase);
        for code in ErrorCode::ALL {
            let quoted = code.entry().remedy.split('`').skip(1).step_by(2);
            for command in quoted.filter_map(|text| text.strip_prefix("warren ")) {
                let mut at = &root;
                for word in command.split_whitespace().take_while(is_name) {
                    if at.get_subcommands().next().is_none() {
                        break;
                    }
                    let found = at.find_subcommand(word);
                    at = found.unwrap_or_else(|| panic!("{}: `warren {command}`", code.as_str()));
                }
            }
        }
    }

    // S12: a person is told a command, and not only a route
    #[test]
    fn errors_of_sessions_tell_what_to_type() {
        for code in [
            ErrorCode::InvalidAgent,
            ErrorCode::AgentNotFound,
            ErrorCode::SessionNotFound,
            ErrorCode::SessionExists,
            ErrorCode::SessionBusy,
            ErrorCode::StaleRun,
            ErrorCode::NotPending,
            ErrorCode::NothingToResume,
            ErrorCode::ToolRuleNotFound,
            ErrorCode::StepNotFound,
            ErrorCode::SessionMessageNotFound,
            ErrorCode::BlankMessage,
        ] {
            assert!(code.entry().remedy.contains("`warren "), "{}", code.as_str());
        }
    }
}

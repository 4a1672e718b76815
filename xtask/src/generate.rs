//! Files that are made from code. `cargo xtask generate` writes them; `cargo xtask check` makes them again in memory
//! and compares. To add one: a row in [`ALL`] with a function that returns its whole text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use warren_model::{ErrorCode, EventField, EventKind};
use warren_rules::{boxes::registry, lifecycle};

/// One generated file.
pub(crate) struct Generated {
    /// From the root of the repository.
    pub(crate) path: &'static str,
    pub(crate) text: fn() -> Result<String>,
}

pub(crate) const ALL: &[Generated] = &[
    Generated { path: "docs/reference/cli.md", text: || Ok(warren_cli::reference::cli_markdown()) },
    Generated { path: "docs/reference/config.md", text: || Ok(warren_cli::reference::config_markdown()) },
    Generated { path: "docs/reference/env.md", text: || Ok(warren_cli::reference::env_markdown()) },
    Generated { path: "docs/reference/errors.md", text: errors },
    Generated { path: "docs/reference/events.md", text: events },
    Generated { path: "docs/reference/lifecycle.md", text: || Ok(lifecycle::diagram()) },
    Generated { path: "docs/reference/registry.md", text: registry_states },
    Generated { path: "openapi/v1.json", text: || Ok(warren_server::openapi_json()) },
];

/// Said at the top of every page, so that nobody edits one by hand.
fn page(title: &str, introduction: &str, body: &str) -> String {
    let note = "<!-- Made by `cargo xtask generate`; edits are lost. -->";
    format!("{note}\n\n# {title}\n\n{introduction}\n\n{}\n", body.trim())
}

fn errors() -> Result<String> {
    let mut table = "| code | status | what it means | what to do |\n|---|---|---|---|\n".to_owned();
    for code in ErrorCode::ALL {
        let entry = code.entry();
        let anchor = format!("<a id=\"{0}\"></a>`{0}`", entry.code);
        writeln!(
            table,
            "| {anchor} | {} | {} | {} |",
            entry.status,
            cell(entry.sentence),
            cell(entry.remedy)
        )?;
    }
    let introduction = "Every public failure has a stable code. Over HTTP it comes as a problem document \
                        (RFC 9457) with the status below; the command line prints the sentence and the remedy as \
                        `hint:`. A code never changes its meaning; a sentence may be improved.";
    Ok(page("Error codes", introduction, &table))
}

fn events() -> Result<String> {
    let mut table = "| event | what happened | data |\n|---|---|---|\n".to_owned();
    for kind in EventKind::ALL {
        let fields: Vec<String> = kind.fields().iter().map(event_field).collect();
        let (name, meaning, data) = (kind.as_str(), cell(kind.meaning().trim()), cell(&fields.join("; ")));
        writeln!(table, "| `{name}` | {meaning} | {data} |")?;
    }
    table.push_str("\nWords that fields may hold:\n\n| type | one of |\n|---|---|\n");
    let fields = EventKind::ALL.iter().flat_map(|kind| kind.fields());
    for spellings in fields.filter_map(|field| field.spellings).collect::<BTreeSet<_>>() {
        let all: Vec<String> = spellings.all.iter().map(|one| format!("`{one}`")).collect();
        writeln!(table, "| `{}` | {} |", spellings.type_name, all.join(", "))?;
    }
    let introduction = "An event is a fact, written in the same transaction as the change it tells of. Every event \
                        has a sequence number without gaps, a time, an org, the principal that acted and, where it \
                        concerns one, a workspace; the fields below are its data. A later Warren may add fields; the \
                        OpenAPI document has a schema for each kind.";
    Ok(page("Events", introduction, &table))
}

fn event_field(field: &EventField) -> String {
    let left_out = if field.is_optional { ", or left out" } else { "" };
    format!("`{}`: {}{left_out}", field.name, field.holds)
}

fn registry_states() -> Result<String> {
    let introduction = "The registry holds the live workspaces of a process. This is its transition table, drawn by \
                        the code that decides by it.";
    let body = format!("```mermaid\n{}\n```", registry::diagram().trim());
    Ok(page("States of an open workspace", introduction, &body))
}

/// Text that does not end a table's cell early.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_and_every_event_has_a_row() {
        let (errors, events) = (errors().unwrap(), events().unwrap());
        for code in ErrorCode::ALL {
            assert!(errors.contains(&format!("</a>`{code}` | {}", code.entry().status)), "{code}");
        }
        for kind in EventKind::ALL {
            assert!(events.contains(&format!("| `{}` |", kind.as_str())), "{kind:?}");
        }
    }

    #[test]
    fn a_bar_does_not_end_a_cell() {
        assert_eq!(cell("a | b\nc"), "a \\| b c");
    }

    #[test]
    fn no_file_is_generated_twice() {
        let paths: std::collections::BTreeSet<&str> = ALL.iter().map(|one| one.path).collect();
        assert_eq!(paths.len(), ALL.len());
    }
}

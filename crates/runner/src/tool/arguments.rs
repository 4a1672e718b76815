//! The words of a command, as the call of a tool.

use serde_json::{Map, Value, json};

/// A tool, and what it is called with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    pub(super) is_json: bool,
}

impl Asked {
    /// Whether what was asked for came about.
    pub(super) fn is_well(&self, answer: &Value) -> bool {
        match self.tool {
            "request_approval" => answer["state"] == json!("approved"),
            "delegate_task" | "check_task" => {
                !matches!(answer["state"].as_str(), Some("failed" | "cancelled" | "expired"))
            }
            _ => true,
        }
    }
}

/// Nothing where help is asked for.
pub(super) fn read(words: &[&str]) -> Result<Option<Asked>, String> {
    let Some((command, rest)) = words.split_first() else { return Ok(None) };
    if matches!(*command, "help" | "--help" | "-h") || rest.contains(&"--help") {
        return Ok(None);
    }
    let mut given = Given::of(rest)?;
    let (tool, arguments) = match *command {
        "peers" => ("list_peers", json!({ "query": given.place().unwrap_or_default() })),
        "delegate" => {
            let (to, task) = (given.needed("NAME")?, given.needed("TEXT")?);
            let tool = if given.flag("--no-wait") { "delegate_task_async" } else { "delegate_task" };
            (tool, json!({ "to": to, "task": task, "files": given.all("--file") }))
        }
        "task" => ("check_task", json!({ "id": given.needed("ID")? })),
        "ask" => {
            let action = given.needed("TEXT")?;
            let reason =
                given.one("--reason").unwrap_or_else(|| "the agent asks before it goes on".to_owned());
            ("request_approval", json!({ "action": action, "reason": reason }))
        }
        "notify" => {
            let text = given.needed("TEXT")?;
            let files: Vec<_> =
                given.all("--attach").iter().map(|path| json!({ "path": in_workspace(path) })).collect();
            ("send_message_to_user", json!({ "text": text, "attachments": files }))
        }
        "remember" => {
            let mut arguments = Map::new();
            arguments.insert("key".to_owned(), given.needed("KEY")?.into());
            arguments.insert("value".to_owned(), given.needed("TEXT")?.into());
            if let Some(scope) = given.one("--scope") {
                arguments.insert("scope".to_owned(), scope.into());
            }
            ("remember", Value::Object(arguments))
        }
        "recall" => match (given.place(), given.one("--search")) {
            (Some(key), None) => ("recall", json!({ "key": key })),
            (None, Some(query)) => ("recall", json!({ "query": query })),
            _ => return Err("recall: expected a KEY, or --search WORDS".to_owned()),
        },
        "info" => ("get_workspace_info", json!({})),
        other => return Err(format!("there is no command `{other}`")),
    };
    let is_json = given.flag("--json");
    given.end(command)?;
    Ok(Some(Asked { tool, arguments, is_json }))
}

/// As the workspace names its files: a path of the box below its root is relative to it.
fn in_workspace(path: &str) -> String {
    path.strip_prefix("/workspace/").unwrap_or(path).to_owned()
}

/// What was said, taken away piece by piece; what is left at the end was not understood.
struct Given {
    places: std::collections::VecDeque<String>,
    options: Vec<(String, String)>,
    flags: Vec<String>,
}

const FLAGS: [&str; 2] = ["--json", "--no-wait"];

impl Given {
    fn of(words: &[&str]) -> Result<Self, String> {
        let mut given = Self { places: Default::default(), options: Vec::new(), flags: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--" {
                given.places.extend(words.by_ref().map(|word| (*word).to_owned()));
            } else if FLAGS.contains(word) {
                given.flags.push((*word).to_owned());
            } else if word.starts_with("--") {
                let value = words.next().ok_or_else(|| format!("{word}: expected a value"))?;
                given.options.push(((*word).to_owned(), (*value).to_owned()));
            } else {
                given.places.push_back((*word).to_owned());
            }
        }
        Ok(given)
    }

    fn place(&mut self) -> Option<String> {
        self.places.pop_front()
    }

    fn needed(&mut self, name: &str) -> Result<String, String> {
        self.place().ok_or_else(|| format!("expected {name}"))
    }

    fn flag(&mut self, name: &str) -> bool {
        let count = self.flags.len();
        self.flags.retain(|flag| flag != name);
        self.flags.len() < count
    }

    fn all(&mut self, name: &str) -> Vec<String> {
        let (taken, left) =
            std::mem::take(&mut self.options).into_iter().partition(|(option, _)| option == name);
        self.options = left;
        let taken: Vec<(String, String)> = taken;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    fn one(&mut self, name: &str) -> Option<String> {
        self.all(name).pop()
    }

    fn end(&self, command: &str) -> Result<(), String> {
        let left =
            self.places.iter().chain(self.options.iter().map(|(name, _)| name)).chain(&self.flags).next();
        left.map_or(Ok(()), |left| Err(format!("{command}: `{left}` is not understood")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> (&'static str, Value) {
        let asked = read(words).unwrap().unwrap();
        (asked.tool, asked.arguments)
    }

    // X23
    #[test]
    fn each_command_is_the_call_of_a_tool() {
        assert_eq!(asked(&["peers"]), ("list_peers", json!({ "query": "" })));
        let handed = asked(&["delegate", "reviewer", "look at this", "--file", "a.txt", "--no-wait"]);
        let expected = json!({ "to": "reviewer", "task": "look at this", "files": ["a.txt"] });
        assert_eq!(handed, ("delegate_task_async", expected));
        let told = asked(&["notify", "done", "--attach", "/workspace/out/a.pdf", "--attach", "b.txt"]);
        let files = json!([{ "path": "out/a.pdf" }, { "path": "b.txt" }]);
        assert_eq!(told, ("send_message_to_user", json!({ "text": "done", "attachments": files })));
        assert_eq!(asked(&["recall", "--search", "port"]).1, json!({ "query": "port" }));
        assert_eq!(asked(&["remember", "k", "--", "--text"]).1, json!({ "key": "k", "value": "--text" }));
        assert_eq!(asked(&["ask", "deploy?", "--reason", "it is late"]).1["reason"], "it is late");
    }

    // X23: bad input
    #[test]
    fn what_is_not_understood_is_said() {
        for (words, sentence) in [
            (&["dance"][..], "there is no command `dance`"),
            (&["delegate", "x"], "expected TEXT"),
            (&["notify", "x", "--attach"], "--attach: expected a value"),
            (&["info", "more"], "`more` is not understood"),
            (&["info", "--colour", "red"], "`--colour` is not understood"),
            (&["recall"], "expected a KEY"),
        ] {
            let problem = read(words).unwrap_err();
            assert!(problem.contains(sentence), "{words:?}: {problem}");
        }
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["peers", "--help"]), Ok(None));
    }
}

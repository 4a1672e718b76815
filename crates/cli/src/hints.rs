//! Words that people type at other command lines, and what they are called here. Clap alone would suggest whatever is
//! spelt alike: `reset` to somebody who wants to delete.

/// What somebody probably wants who typed a command that does not exist.
pub(crate) fn hint(word: &str) -> Option<&'static str> {
    Some(match word {
        "login" | "signin" | "sign-in" | "auth" => {
            "On the server's machine no sign-in is needed; `warren token link` makes a link for a browser. Elsewhere set \
             WARREN_URL and WARREN_TOKEN (`warren token create NAME` makes one)."
        }
        "logout" => "`warren token revoke ID` ends a token; `warren token ls` lists them.",
        "status" | "info" => "`warren ls` lists workspaces, `warren doctor` checks this host and the server.",
        "start" | "serve" | "server" => {
            "`warren up` starts the server; `warren ws start WORKSPACE COMMAND` starts a program in a workspace."
        }
        "stop" | "down" | "shutdown" => {
            "Ctrl-C stops `warren up`; `warren ws pause WORKSPACE` puts a workspace to rest; `warren session stop` ends a run."
        }
        "kill" => "`warren ws kill WORKSPACE PROCESS` ends a process; `warren ps WORKSPACE` lists them.",
        "cp" | "copy" => "`warren ws cp WORKSPACE:PATH PATH` copies files.",
        "cat" | "files" => {
            "`warren ws files cat WORKSPACE PATH` prints a file; `warren ws files --help` has the rest."
        }
        "new" | "init" | "add" => {
            "`warren ws create NAME` makes a workspace; `warren agent init FILE` writes an agent."
        }
        "update" | "edit" | "patch" | "rename" => "`warren ws set WORKSPACE` changes a workspace.",
        "delete" | "remove" | "destroy" => "`warren ws rm WORKSPACE` removes a workspace.",
        "ask" | "send" | "message" | "msg" => {
            "`warren chat WORKSPACE MESSAGE` talks with its agent; `warren task send` waits for one answer."
        }
        "dump" | "export" => {
            "`warren backup FILE` copies everything; `warren bundle export WORKSPACE` one workspace."
        }
        "agents" => "`warren agent ls` lists agents.",
        "sessions" => "`warren session ls` lists sessions.",
        "delegate" => "`warren delegation send FROM TO MESSAGE` hands work on.",
        "ssh" | "attach" | "bash" | "sh" => "`warren shell WORKSPACE` opens a terminal in it.",
        _ => return None,
    })
}

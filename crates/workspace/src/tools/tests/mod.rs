mod fake;
mod through;

use bytes::Bytes;
use serde_json::{Value, json};
use warren_model::{Capability, CapabilitySet, CommandMode, ErrorCode, FileChange};

use self::fake::{Fake, both, context};
use super::*;
use crate::shell::{Command, ProcessId, Signal};

fn with_file(path: &str, contents: impl Into<Bytes>) -> Fake {
    let fake = Fake::default();
    fake.files.lock().unwrap().insert(path.to_owned(), contents.into());
    fake
}

async fn ask(fake: &Fake, name: &str, arguments: Value) -> Result<Value, ToolError> {
    call(fake, &context(&["ls"]).0, name, arguments).await.map(|result| result.answer)
}

// W64
#[tokio::test]
async fn a_call_tells_what_it_did_apart_from_its_answer() {
    let fake = with_file("a.txt", "old");
    let (context, _) = context(&["ls"]);
    let effect =
        async |name: &str, arguments: Value| call(&fake, &context, name, arguments).await.unwrap().effect;
    let changed = |change, path: &str, bytes| ToolEffect::FileChanged {
        change,
        path: crate::WorkspacePath::parse(path).unwrap(),
        bytes,
    };
    let written = effect("workspace_write_file", json!({"path": "b.txt", "content": "new"})).await;
    assert_eq!(written, changed(FileChange::Write, "b.txt", 3));
    let read = effect("workspace_read_file", json!({"path": "a.txt"})).await;
    assert_eq!(read, ToolEffect::Nothing);
    let ran = effect("workspace_run", json!({"argv": ["ls"]})).await;
    assert!(matches!(ran, ToolEffect::CommandRan { exit_code: Some(3), signal: None, timed_out: false }));
    let started = effect("workspace_run_background", json!({"argv": ["ls"]})).await;
    assert!(matches!(started, ToolEffect::ProcessStarted(_)), "{started:?}");
}

// sec/T10
#[test]
fn a_call_tells_the_program_it_will_run_and_no_more() {
    let (mut context, _) = context(&["ls"]);
    let call = ToolCall::check(&context, "workspace_run", json!({"argv": ["ls", "-l"]})).unwrap();
    assert_eq!(call.intent(), ToolIntent::RunCommand { program: "ls" });
    context.policy = warren_model::RunPolicy { mode: CommandMode::Full, ..Default::default() };
    context.is_boxed = true;
    let call = ToolCall::check(&context, "workspace_run_background", json!({"command": "$TOKEN x"})).unwrap();
    assert_eq!(call.intent(), ToolIntent::StartProcess { program: "/bin/sh" });
    let call = ToolCall::check(&context, "workspace_ls", json!({})).unwrap();
    assert_eq!(call.intent(), ToolIntent::Other);
}

// W60
#[test]
fn tools_come_from_the_declared_capabilities_and_only_from_them() {
    let names = |capabilities| catalog(capabilities).iter().map(|tool| tool.name).collect::<Vec<_>>();
    let fs = [
        "workspace_read_file",
        "workspace_write_file",
        "workspace_edit_file",
        "workspace_ls",
        "workspace_glob",
        "workspace_grep",
        "workspace_mkdir",
        "workspace_rm",
        "workspace_mv",
    ];
    let shell =
        ["workspace_run", "workspace_run_background", "workspace_process_output", "workspace_process_kill"];
    assert_eq!(names(CapabilitySet::EMPTY.with(Capability::Fs)), fs);
    assert_eq!(names(CapabilitySet::EMPTY.with(Capability::Shell)), shell);
    assert_eq!(names(both()), [fs.as_slice(), shell.as_slice()].concat());
    assert!(names(CapabilitySet::EMPTY).is_empty());
}

// W60
#[test]
fn the_schemas_a_model_reads_are_these() {
    let shown: Vec<_> = catalog(both())
        .into_iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}))
        .collect();
    insta::assert_json_snapshot!("tools", shown);
    insta::assert_snapshot!("system_prompt", system_prompt(both()));
}

// W60
#[test]
fn schemas_are_closed_objects_whose_every_field_is_described() {
    for tool in catalog(both()) {
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        for keyword in ["$schema", "title", "$defs"] {
            assert!(schema.get(keyword).is_none(), "{} has {keyword}", tool.name);
        }
        for (field, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}.{field}", tool.name);
        }
    }
}

// W60, W14
#[tokio::test]
async fn a_tool_of_an_undeclared_capability_and_a_reset_do_not_exist() {
    let (mut context, _) = context(&["ls"]);
    context.capabilities = CapabilitySet::EMPTY.with(Capability::Fs);
    for name in ["workspace_run", "workspace_reset", "read_file", ""] {
        let error = call(&Fake::default(), &context, name, json!({})).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ToolNotFound, "{name}");
        assert!(error.to_string().contains("workspace_read_file"), "{error}");
    }
}

// W60
#[tokio::test]
async fn bad_arguments_are_named_by_their_json_path() {
    let fake = Fake::default();
    let cases = [
        ("workspace_run", json!({"argv": ["ls", 7]}), "argv[1]"),
        ("workspace_run", json!({"argv": ["ls"], "env": {"A": 1}}), "env.A"),
        ("workspace_run", json!({"argv": ["ls"], "command": "ls"}), "command"),
        ("workspace_run", json!({}), "argv"),
        ("workspace_run", json!({"argv": ["ls"], "timeout_ms": 0}), "timeout_ms"),
        ("workspace_read_file", json!({"path": "a", "colour": 1}), "colour"),
        ("workspace_read_file", json!({"path": "a", "max_lines": 5001}), "max_lines"),
        ("workspace_read_file", json!({"path": "a", "start_line": 1, "offset": 1}), "start_line"),
        ("workspace_read_file", json!({"path": "a", "encoding": "latin1"}), "encoding"),
        ("workspace_ls", json!({"limit": 100_000}), "limit"),
        ("workspace_glob", json!({"pattern": "a".repeat(1_025)}), "pattern"),
        ("workspace_grep", json!({"pattern": ""}), "pattern"),
        ("workspace_grep", json!({"pattern": "a", "globs": ["x", null]}), "globs[1]"),
        ("workspace_edit_file", json!({"path": "a", "old": "", "new": "b"}), "old"),
        ("workspace_write_file", json!({"path": "a", "content": "%", "encoding": "base64"}), "content"),
    ];
    for (name, arguments, path) in cases {
        let error = ask(&fake, name, arguments.clone()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidRequest, "{arguments}");
        assert_eq!(error.answer()["error"]["path"], path, "{arguments}");
    }
    let missing = ask(&fake, "workspace_read_file", json!({})).await.unwrap_err();
    assert!(missing.to_string().contains("missing field `path`"), "{missing}");
    assert!(ask(&fake, "workspace_read_file", json!("a")).await.is_err());
}

// W60, W20
#[tokio::test]
async fn a_file_is_read_by_lines_and_then_on_from_the_next_offset() {
    let fake = with_file("a.txt", "one\ntwo\nthree\nfour\n");
    let first = json!({"path": "a.txt", "start_line": 2, "max_lines": 2});
    let first = ask(&fake, "workspace_read_file", first).await.unwrap();
    assert_eq!((&first["text"], &first["lines"]), (&json!("two\nthree\n"), &json!(2)));
    assert_eq!((&first["start_line"], &first["next_offset"]), (&json!(2), &json!(14)));
    let rest = json!({"path": "/a.txt", "offset": first["next_offset"]});
    let rest = ask(&fake, "workspace_read_file", rest).await.unwrap();
    assert_eq!((&rest["text"], &rest["next_offset"]), (&json!("four\n"), &Value::Null));
}

// W60, W20
#[tokio::test]
async fn a_file_that_is_not_text_is_read_as_base64() {
    let fake = with_file("a.bin", Bytes::from_static(&[0xff, 0x00, 0x01]));
    let error = ask(&fake, "workspace_read_file", json!({"path": "a.bin"})).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotText);
    let read = json!({"path": "a.bin", "encoding": "base64"});
    assert_eq!(ask(&fake, "workspace_read_file", read).await.unwrap()["base64"], "/wAB");
}

// W60
#[tokio::test]
async fn a_large_file_is_answered_in_bounded_pieces() {
    let fake = with_file("long.txt", "x".repeat(1_000_000));
    let answer = ask(&fake, "workspace_read_file", json!({"path": "long.txt"})).await.unwrap();
    assert_eq!(answer["text"].as_str().unwrap().len(), 65_536);
    assert_eq!(answer["next_offset"], 65_536);
}

// W60
#[tokio::test]
async fn files_are_written_edited_moved_and_removed() {
    let fake = Fake::default();
    let write = json!({"path": "d/a.txt", "content": "one two one"});
    let written = ask(&fake, "workspace_write_file", write).await.unwrap();
    assert_eq!(written, json!({"path": "/d/a.txt", "bytes": 11, "created": true}));
    let again = json!({"path": "d/a.txt", "content": "", "mode": "create_new"});
    assert_eq!(ask(&fake, "workspace_write_file", again).await.unwrap_err().code(), ErrorCode::FileExists);
    let append = json!({"path": "d/a.txt", "content": "IQ==", "encoding": "base64", "mode": "append"});
    ask(&fake, "workspace_write_file", append).await.unwrap();
    let edit = |all| json!({"path": "d/a.txt", "old": "one", "new": "1", "all": all});
    let refused = ask(&fake, "workspace_edit_file", edit(false)).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::EditManyMatches);
    assert_eq!(ask(&fake, "workspace_edit_file", edit(true)).await.unwrap()["replacements"], 2);
    ask(&fake, "workspace_mv", json!({"from": "d/a.txt", "to": "b.txt"})).await.unwrap();
    assert_eq!(fake.files.lock().unwrap()["b.txt"], "1 two 1!");
    ask(&fake, "workspace_rm", json!({"path": "b.txt"})).await.unwrap();
    ask(&fake, "workspace_mkdir", json!({"path": "new"})).await.unwrap();
    assert!(fake.files.lock().unwrap().is_empty());
}

// W60, W22, W23
#[tokio::test]
async fn lists_and_searches_are_bounded_and_say_when_they_were_cut() {
    let fake = Fake::default();
    for number in 0..300 {
        let path = format!("f{number:03}.txt");
        fake.files.lock().unwrap().insert(path, "needle".into());
    }
    let first = ask(&fake, "workspace_ls", json!({})).await.unwrap();
    assert_eq!((first["entries"].as_array().unwrap().len(), &first["next"]), (200, &json!("f199.txt")));
    let rest = ask(&fake, "workspace_ls", json!({"after": "f199.txt"})).await.unwrap();
    assert_eq!((rest["entries"].as_array().unwrap().len(), &rest["next"]), (100, &Value::Null));
    let found = ask(&fake, "workspace_grep", json!({"pattern": "needle"})).await.unwrap();
    assert_eq!((found["matches"].as_array().unwrap().len(), &found["truncated"]), (100, &json!(true)));
    assert_eq!(found["skipped"], json!(["huge.bin"]));
    let globbed = ask(&fake, "workspace_glob", json!({"pattern": "*1.txt"})).await.unwrap();
    assert_eq!(globbed["paths"].as_array().unwrap().len(), 30);
}

// W21, sec/F01, sec/F08
#[tokio::test]
async fn paths_that_escape_and_the_root_itself_are_refused() {
    let fake = Fake::default();
    for path in ["../x", "/..", "a/../../x"] {
        let error = ask(&fake, "workspace_read_file", json!({"path": path})).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::PathEscapes, "{path}");
    }
    for path in ["", ".", "/", "./", "a/.."] {
        let error = ask(&fake, "workspace_rm", json!({"path": path, "recursive": true})).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::RootProtected, "{path}");
        let error = ask(&fake, "workspace_mv", json!({"from": path, "to": "b"})).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::RootProtected, "{path}");
    }
}

// W60, W30
#[tokio::test]
async fn a_command_is_run_as_asked_and_its_outcome_told() {
    let fake = Fake::default();
    let arguments =
        json!({"argv": ["ls", "-l"], "cwd": "src", "env": {"LANG": "C"}, "stdin": "x", "timeout_ms": 50});
    let answer = ask(&fake, "workspace_run", arguments).await.unwrap();
    let expected = json!({
        "exit_code": 3, "signal": null, "timed_out": false, "stdout": "out\u{fffd}", "stderr": "err",
        "truncated": true, "total_bytes": 304, "duration_ms": 12,
    });
    assert_eq!(answer, expected);
    let command = Command {
        cwd: crate::WorkspacePath::parse("src").unwrap(),
        env: [("LANG".to_owned(), "C".to_owned())].into(),
        stdin: "x".into(),
        timeout_ms: Some(50),
        ..Command::argv(["ls", "-l"])
    };
    assert_eq!(*fake.ran.lock().unwrap(), [command]);
}

// W60, W30
#[tokio::test]
async fn background_processes_are_started_read_and_killed() {
    let fake = Fake::default();
    let started = ask(&fake, "workspace_run_background", json!({"argv": ["ls"]})).await.unwrap();
    assert_eq!(started["process_id"], 1);
    // The last character is only half there.
    *fake.output.lock().unwrap() = Bytes::copy_from_slice(&"hé".as_bytes()[..2]);
    let half = ask(&fake, "workspace_process_output", json!({"process_id": 1})).await.unwrap();
    assert_eq!(half, json!({"output": "h", "offset": 0, "next_offset": 1, "state": "running"}));
    *fake.output.lock().unwrap() = "hé".into();
    let whole = json!({"process_id": 1, "offset": 1});
    assert_eq!(ask(&fake, "workspace_process_output", whole).await.unwrap()["output"], "é");
    ask(&fake, "workspace_process_kill", json!({"process_id": 1, "signal": "kill"})).await.unwrap();
    ask(&fake, "workspace_process_kill", json!({"process_id": 1})).await.unwrap();
    let killed = fake.killed.lock().unwrap().clone();
    assert_eq!(killed, [(ProcessId(1), Signal::Kill), (ProcessId(1), Signal::Terminate)]);
}

// W61, W62
#[tokio::test]
async fn a_refusal_is_an_answer_a_model_can_use_and_is_audited_and_nothing_runs() {
    let fake = Fake::default();
    let (context, audit) = context(&["cat", "ls"]);
    for tool in ["workspace_run", "workspace_run_background"] {
        let error = call(&fake, &context, tool, json!({"argv": ["curl", "x"]})).await.unwrap_err();
        let expected = json!({"error": {
            "code": "command_refused",
            "message": "`curl` is not on the allowlist; allowed: `argv` with one of these programs: cat, ls",
            "refused": "`curl` is not on the allowlist",
            "allowed": "`argv` with one of these programs: cat, ls",
        }});
        assert_eq!(error.answer(), expected);
    }
    let reserved = json!({"argv": ["ls"], "env": {"LD_PRELOAD": "x"}});
    let error = call(&fake, &context, "workspace_run", reserved).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CommandRefused);
    assert!(fake.ran.lock().unwrap().is_empty());
    let audited = audit.0.lock().unwrap().clone();
    assert_eq!(
        audited,
        [
            "workspace_run: `curl` is not on the allowlist",
            "workspace_run: the variable `LD_PRELOAD` may not be set"
        ]
    );
}

// W61, sec/T09
#[tokio::test]
async fn oversized_commands_are_invalid_rather_than_refused() {
    let fake = Fake::default();
    let many = json!({"argv": vec!["ls"; 100_000]});
    let nul = json!({"argv": ["ls", "a\0b"]});
    for arguments in [many, nul, json!({"argv": []})] {
        let error = ask(&fake, "workspace_run", arguments).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidCommand);
    }
    assert!(fake.ran.lock().unwrap().is_empty());
}

// W61
#[tokio::test]
async fn a_shell_reads_the_command_only_where_the_policy_gives_one() {
    let fake = Fake::default();
    let (mut context, _) = context(&[]);
    context.policy = warren_model::RunPolicy { mode: CommandMode::Full, ..Default::default() };
    let arguments = json!({"command": "ls | wc -l"});
    call(&fake, &context, "workspace_run", arguments.clone()).await.unwrap_err();
    context.is_boxed = true;
    call(&fake, &context, "workspace_run", arguments).await.unwrap();
    assert_eq!(*fake.ran.lock().unwrap(), [Command::script("ls | wc -l")]);
}

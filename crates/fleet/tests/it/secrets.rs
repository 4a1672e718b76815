//! Secrets: what goes in, who sees what, whom a change reaches, and a new key for all.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use warren_fleet::SecretScope;
use warren_model::{
    BehindOf, ErrorCode, EventKind, Limits, OrgId, Scope, ScopeSet, SealedSecret, SecretOwner, SecretValue,
    Status, Timestamp, Workspace, WorkspaceId,
};
use warren_testkit::{Bed, eventually};
use warren_workspace::shell::{Command, Shell as _, Start};

const ORG: SecretOwner = SecretOwner::Org(OrgId::DEFAULT);

fn value(text: &str) -> SecretValue {
    SecretValue::new(text.to_owned().into()).unwrap()
}

// F32
#[tokio::test]
async fn a_workspace_gets_its_own_secret_before_its_orgs() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        let (secrets, name) = (&bed.fleet.secrets, || "API_KEY".parse().unwrap());
        let (_, is_new) =
            secrets.set(&bed.operator, SecretScope::Org, name(), value("of-the-org")).await.unwrap();
        assert!(is_new);
        let masked = |text: &'static str| {
            let (fleet, row) = (bed.fleet.clone(), row.clone());
            async move {
                let mut text = text.to_owned();
                fleet.redactors.of_workspace(&row).await.unwrap().mask_text(&mut text);
                !text.contains("of-the")
            }
        };
        assert!(masked("of-the-org").await);
        let own = SecretScope::Workspace(row.id);
        secrets.set(&bed.operator, own, name(), value("of-the-workspace")).await.unwrap();
        assert!(masked("of-the-workspace").await, "its own is in effect");
        assert!(!masked("of-the-org").await, "and the org's is not");
        secrets.remove(&bed.operator, own, name()).await.unwrap();
        assert!(masked("of-the-org").await);
        let gone = secrets.remove(&bed.operator, own, name()).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::SecretNotFound);
    }
}

// A81, F33: the key of a model provider is Warren's own
#[tokio::test]
async fn the_key_of_a_model_provider_reaches_no_command_and_restarts_nothing() {
    for bed in Bed::on_each_store().await {
        let row = bed.local_workspace().await;
        let (secrets, before) = (&bed.fleet.secrets, bed.row(row.id).await.generation);
        let key = || "ANTHROPIC_API_KEY".parse().unwrap();
        secrets.set(&bed.operator, SecretScope::Org, key(), value("sk-of-the-org")).await.unwrap();
        let own = SecretScope::Workspace(row.id);
        secrets.set(&bed.operator, own, key(), value("sk-of-the-workspace")).await.unwrap();
        secrets.set(&bed.operator, own, "PLAIN".parse().unwrap(), value("for-commands")).await.unwrap();
        let variables = secrets.variables(&bed.row(row.id).await).await.unwrap();
        assert!(variables.contains("PLAIN"));
        assert!(!variables.contains("ANTHROPIC_API_KEY"));
        assert_eq!(bed.row(row.id).await.generation, before + 1, "only the one that commands get counts");

        let asked = async |workspace| {
            let found = secrets.for_warren(row.org_id, workspace, &key()).await.unwrap();
            found.map(|value| value.reveal().to_owned())
        };
        assert_eq!(asked(Some(row.id)).await.as_deref(), Some("sk-of-the-workspace"));
        assert_eq!(asked(None).await.as_deref(), Some("sk-of-the-org"));
        let plain = secrets.for_warren(row.org_id, Some(row.id), &"PLAIN".parse().unwrap()).await.unwrap();
        assert!(plain.is_none(), "what is meant for commands is not handed out otherwise");
    }
}

// F32
#[tokio::test]
async fn a_list_tells_names_and_who_may_not_write_changes_nothing() {
    for bed in Bed::on_each_store().await {
        let (secrets, org) = (&bed.fleet.secrets, SecretScope::Org);
        secrets.set(&bed.operator, org, "TOKEN".parse().unwrap(), value("hunter2")).await.unwrap();
        let reader = bed.user([Scope::SecretsRead].into_iter().collect::<ScopeSet>()).await;
        let refused = secrets.set(&reader, org, "TOKEN".parse().unwrap(), value("mine")).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden);
        let page = secrets.list(&reader, org, None, 10).await.unwrap();
        assert_eq!(page.rows.iter().map(|one| one.row.name.as_str()).collect::<Vec<_>>(), ["TOKEN"]);
        assert!(page.rows[0].is_readable);
        assert!(!format!("{page:?}").contains("hunter2"));
        assert_eq!(bed.events(EventKind::SecretSet).await.len(), 1);
    }
}

// F32
#[tokio::test]
async fn a_new_key_seals_everything_anew_and_changes_no_value() {
    for bed in Bed::on_each_store().await {
        let row = bed.workspace().await;
        for name in ["ONE", "TWO", "THREE"] {
            let value = value(&format!("value-of-{name}"));
            bed.fleet
                .secrets
                .set(&bed.operator, SecretScope::Org, name.parse().unwrap(), value)
                .await
                .unwrap();
        }
        let before = bed.fleet.sealer.current_key_id();
        let rotation = bed.fleet.key_rotation.rotate(&bed.operator).await.unwrap();
        assert!(rotation.is_new_key && rotation.key_id != before);
        assert_eq!((rotation.resealed, rotation.unreadable), (3, 0));
        let page = bed.fleet.secrets.list(&bed.operator, SecretScope::Org, None, 10).await.unwrap();
        assert!(page.rows.iter().all(|one| one.row.key_id == rotation.key_id && one.is_readable));
        let mut said = "value-of-ONE value-of-TWO value-of-THREE".to_owned();
        bed.fleet.redactors.of_workspace(&row).await.unwrap().mask_text(&mut said);
        assert!(!said.contains("value-of"), "{said}");
    }
}

async fn set(bed: &Bed, scope: SecretScope, name: &str, text: &str) {
    let set = bed.fleet.secrets.set(&bed.operator, scope, name.parse().unwrap(), value(text));
    set.await.unwrap();
}

async fn stored(bed: &Bed, name: &'static str) -> SealedSecret {
    bed.store.read(move |tx| tx.secret(ORG, &name.parse().unwrap())).await.unwrap().unwrap()
}

/// Runs a command as operations do, and returns what it wrote to a file: output is masked, files are the workspace's own.
async fn written_by(bed: &Bed, id: WorkspaceId, command: Command) -> String {
    let variables = bed.fleet.secrets.variables(&bed.row(id).await).await.unwrap();
    let lease = bed.fleet.registry.acquire(id).await.unwrap();
    let ran = variables.shell(lease.workspace().shell().unwrap()).run(command).await.unwrap();
    assert_eq!(ran.exit_code, Some(0));
    std::fs::read_to_string(bed.place(id).join("out")).unwrap()
}

fn print(names: &[&str]) -> Command {
    let values: Vec<_> = names.iter().map(|name| format!("\"${name}\"")).collect();
    Command::script(format!("printf '%s, ' {} > out", values.join(" ")))
}

/// Starts something that has the secrets of now.
async fn start(bed: &Bed, id: WorkspaceId) {
    let variables = bed.fleet.secrets.variables(&bed.row(id).await).await.unwrap();
    let lease = bed.fleet.registry.acquire(id).await.unwrap();
    let start = Start { command: Command::argv(["sleep", "600"]), pty: None };
    variables.shell(lease.workspace().shell().unwrap()).start(start).await.unwrap();
}

async fn running(bed: &Bed, id: WorkspaceId) -> usize {
    let lease = bed.fleet.registry.acquire(id).await.unwrap();
    lease.workspace().shell().unwrap().list().await.unwrap().len()
}

// F32
#[tokio::test]
async fn commands_get_their_workspaces_secrets_before_their_orgs_and_a_person_may_overrule_both() {
    for bed in Bed::on_each_store().await {
        let (one, other) = (bed.local_workspace().await.id, bed.local_workspace().await.id);
        set(&bed, SecretScope::Org, "SHARED", "of the org").await;
        set(&bed, SecretScope::Org, "PLAIN", "for all").await;
        set(&bed, SecretScope::Workspace(one), "SHARED", "of the workspace").await;
        let both = || print(&["SHARED", "PLAIN"]);
        assert_eq!(written_by(&bed, one, both()).await, "of the workspace, for all, ");
        assert_eq!(written_by(&bed, other, both()).await, "of the org, for all, ");
        let mut overruled = both();
        overruled.env.insert("SHARED".into(), "mine".into());
        assert_eq!(written_by(&bed, one, overruled).await, "mine, for all, ");
        // A new value is there for the next command; without one of its own the workspace has the org's again.
        set(&bed, SecretScope::Org, "PLAIN", "changed").await;
        let own = SecretScope::Workspace(one);
        bed.fleet.secrets.remove(&bed.operator, own, "SHARED".parse().unwrap()).await.unwrap();
        assert_eq!(written_by(&bed, one, both()).await, "of the org, changed, ");
    }
}

// F32
#[tokio::test]
async fn an_owner_has_so_many_secrets_and_a_removed_workspace_takes_none() {
    let limits = Limits { max_secrets_per_owner: 2, ..Limits::default() };
    for bed in Bed::with_limits(limits).await {
        let id = bed.workspace().await.id;
        let try_set = async |scope, name: &str| {
            let set = bed.fleet.secrets.set(&bed.operator, scope, name.parse().unwrap(), value("x"));
            set.await.map(|(_, is_new)| is_new).map_err(|error| error.code)
        };
        assert_eq!(try_set(SecretScope::Org, "A").await, Ok(true));
        assert_eq!(try_set(SecretScope::Org, "B").await, Ok(true));
        assert_eq!(try_set(SecretScope::Org, "C").await, Err(ErrorCode::SecretLimit));
        assert_eq!(try_set(SecretScope::Org, "B").await, Ok(false), "one that is there may change");
        assert_eq!(try_set(SecretScope::Workspace(id), "C").await, Ok(true), "another owner");
        bed.remove(id).await;
        assert_eq!(try_set(SecretScope::Workspace(id), "D").await, Err(ErrorCode::WorkspaceNotFound));
    }
}

// F32
#[tokio::test]
async fn an_agent_neither_sees_nor_changes_its_orgs_secrets_and_scopes_hold() {
    for bed in Bed::on_each_store().await {
        let id = bed.workspace().await.id;
        let own = SecretScope::Workspace(id);
        set(&bed, SecretScope::Org, "A", "x").await;
        set(&bed, own, "A", "x").await;
        let scoped = async |scope: Scope| bed.user([scope].into_iter().collect()).await;
        let askers =
            [bed.agent_of(id).await, scoped(Scope::SecretsRead).await, scoped(Scope::SecretsWrite).await];
        for (scope, may_list, may_write) in [
            (SecretScope::Org, [false, true, false], [false, false, true]),
            (own, [true, true, false], [false, false, true]),
        ] {
            for (at, who) in askers.iter().enumerate() {
                let (secrets, name) = (&bed.fleet.secrets, || "A".parse().unwrap());
                let listed = secrets.list(who, scope, None, 10).await.map(drop);
                let changed = secrets.set(who, scope, name(), value("y")).await.map(drop);
                let removed = secrets.remove(who, scope, name()).await;
                for (answer, is_allowed) in
                    [(listed, may_list[at]), (changed, may_write[at]), (removed, may_write[at])]
                {
                    let code = answer.map_err(|error| error.code);
                    let expected = if is_allowed { Ok(()) } else { Err(ErrorCode::Forbidden) };
                    assert_eq!(code, expected, "asker {at}, {scope:?}");
                }
            }
        }
        for who in &askers {
            let refused = bed.fleet.key_rotation.rotate(who).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::Forbidden);
        }
    }
}

// F33
#[tokio::test]
async fn a_change_raises_the_generation_of_the_workspaces_it_reaches_together_with_its_event() {
    for bed in Bed::on_each_store().await {
        let (one, other) = (bed.local_workspace().await.id, bed.local_workspace().await.id);
        let resting = bed.local_workspace().await.id;
        bed.fleet.lifecycle.pause(&bed.operator, resting).await.unwrap();
        let generations = async || {
            [bed.row(one).await, bed.row(other).await, bed.row(resting).await].map(|row| row.generation)
        };
        let [a, b, c] = generations().await;
        set(&bed, SecretScope::Workspace(one), "A", "x").await;
        assert_eq!(generations().await, [a + 1, b, c]);
        set(&bed, SecretScope::Org, "A", "x").await;
        assert_eq!(generations().await, [a + 1, b + 1, c], "one has its own, and the resting waits");
        set(&bed, SecretScope::Org, "B", "x").await;
        assert_eq!(generations().await, [a + 2, b + 2, c]);
        let removed = bed.fleet.secrets.remove(&bed.operator, SecretScope::Org, "B".parse().unwrap());
        removed.await.unwrap();
        assert_eq!(generations().await, [a + 3, b + 3, c]);
        let told: Vec<String> = bed
            .all_events()
            .await
            .iter()
            .filter(|event| event.kind.as_str().starts_with("secret."))
            .map(|event| format!("{} {}", event.kind.as_str(), event.data))
            .collect();
        assert_eq!(
            told,
            [
                r#"secret.value.set {"name":"A","owner":"workspace","version":1,"workspaces":1}"#,
                r#"secret.value.set {"name":"A","owner":"org","version":1,"workspaces":1}"#,
                r#"secret.value.set {"name":"B","owner":"org","version":1,"workspaces":2}"#,
                r#"secret.value.removed {"name":"B","owner":"org","workspaces":2}"#,
            ]
        );
    }
}

// F33
#[tokio::test]
async fn a_running_process_ends_and_its_workspace_comes_up_again_when_a_secret_changes() {
    for bed in Bed::on_each_store().await {
        let (one, other) = (bed.local_workspace().await.id, bed.workspace().await.id);
        start(&bed, one).await;
        let before = (bed.row(one).await, bed.row(other).await);
        set(&bed, SecretScope::Org, "A", "x").await;
        eventually("it comes up again", async || {
            let row = bed.row(one).await;
            row.observed_generation > before.0.observed_generation && row.status == Status::Online
        })
        .await;
        let after = bed.row(one).await;
        assert_eq!(after.observed_generation, after.generation);
        assert!(after.generation > before.0.generation);
        assert_eq!(running(&bed, one).await, 0, "what had the old value is gone");
        assert_eq!(bed.row(other).await.generation, before.1.generation, "nothing there has an environment");
    }
}

/// A change of a secret whose carrier died before it told anybody.
async fn change_unseen(bed: &Bed) {
    let changed: Result<u64, warren_store::Error> = bed
        .store
        .write(move |tx| {
            let reach = warren_store::Reach { owner: ORG, name: "A".parse().unwrap() };
            tx.raise_generations(&reach, Timestamp::from_micros(1))
        })
        .await;
    assert!(changed.unwrap() > 0);
}

async fn catches_up(bed: &Bed, id: WorkspaceId) -> Workspace {
    eventually("it has caught up", async || bed.row(id).await.behind_of().is_none()).await;
    bed.row(id).await
}

// F33: killed between a change of secrets and its roll-out
#[tokio::test]
async fn a_start_after_a_change_of_secrets_notes_it_where_nothing_has_the_old_ones_and_restarts_nothing() {
    for bed in Bed::on_each_store().await {
        let (id, other) = (bed.local_workspace().await.id, bed.local_workspace().await.id);
        change_unseen(&bed).await;
        assert_eq!(bed.row(id).await.behind_of(), Some(BehindOf::Secrets));
        bed.fleet.lifecycle.restart(&bed.operator, other).await.unwrap();
        assert_ne!(bed.row(other).await.behind_of(), Some(BehindOf::Secrets), "it is restarted anyway");
        let bed = bed.restart().await;
        let row = catches_up(&bed, id).await;
        assert_eq!((row.status, row.observed_generation), (Status::Online, row.generation));
        assert_eq!(bed.arrivals(id, Status::Provisioning).await, 0, "it was not restarted");
    }
}

// F33: the carrier died, and its workspaces live
#[tokio::test]
async fn a_sweep_restarts_after_a_change_of_secrets_only_what_has_the_old_ones() {
    for bed in Bed::on_each_store().await {
        let (idle, busy) = (bed.local_workspace().await.id, bed.local_workspace().await.id);
        start(&bed, busy).await;
        change_unseen(&bed).await;
        bed.sweep("catching_up").await;
        for id in [idle, busy] {
            catches_up(&bed, id).await;
        }
        let ups =
            [bed.arrivals(idle, Status::Provisioning).await, bed.arrivals(busy, Status::Provisioning).await];
        assert_eq!(ups, [0, 1]);
        assert_eq!(running(&bed, busy).await, 0, "what had the old value is gone");
    }
}

// F33: what was started after the change has the new values, and is not ended for it
#[tokio::test]
async fn a_process_that_was_started_with_the_new_secrets_outlives_their_roll_out() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        change_unseen(&bed).await;
        start(&bed, id).await;
        bed.sweep("catching_up").await;
        catches_up(&bed, id).await;
        assert_eq!(running(&bed, id).await, 1, "it has the new value");
        change_unseen(&bed).await;
        bed.sweep("catching_up").await;
        catches_up(&bed, id).await;
        assert_eq!(running(&bed, id).await, 0, "by now it had an old one");
    }
}

// F32
#[tokio::test]
async fn a_rotation_changes_neither_versions_nor_generations_and_values_outlive_many_keys() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        for number in 0..3 {
            set(&bed, SecretScope::Org, &format!("S{number}"), &format!("value {number}")).await;
        }
        set(&bed, SecretScope::Workspace(id), "S0", "own").await;
        let (before, at) = (stored(&bed, "S1").await, bed.row(id).await.generation);
        let rotated = bed.fleet.key_rotation.rotate(&bed.operator).await.unwrap();
        assert_eq!((rotated.resealed, rotated.unreadable, rotated.is_new_key), (4, 0, true));
        let after = stored(&bed, "S1").await;
        assert_ne!((&after.key_id, &after.sealed), (&before.key_id, &before.sealed));
        assert_eq!(after.key_id, rotated.key_id);
        assert_eq!((after.version, after.updated_at), (before.version, before.updated_at));
        assert_eq!(bed.row(id).await.generation, at, "nobody restarts for this");
        let all = || print(&["S0", "S1", "S2"]);
        assert_eq!(written_by(&bed, id, all()).await, "own, value 1, value 2, ");
        // Also after more rotations than keys are kept, and after a restart.
        for _ in 0..3 {
            assert_eq!(bed.fleet.key_rotation.rotate(&bed.operator).await.unwrap().resealed, 4);
        }
        let keys = std::fs::read_to_string(bed.folder().join("secrets.key")).unwrap();
        assert_eq!(keys.lines().count(), 2, "the current and the one before");
        let bed = bed.restart().await;
        assert_eq!(written_by(&bed, id, all()).await, "own, value 1, value 2, ");
    }
}

// F32: crashed after the new key was written, and in the middle of the rows
#[tokio::test]
async fn a_rotation_that_was_cut_off_goes_on_at_the_next_start() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        for number in 0..3 {
            set(&bed, SecretScope::Org, &format!("S{number}"), &format!("value {number}")).await;
        }
        let path = bed.folder().join("secrets.key");
        let old = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{}\n{old}", STANDARD.encode([42; 32]))).unwrap();
        // Another replica has the new keys already and has sealed one row with them.
        set(&bed, SecretScope::Org, "S0", "value 0").await;
        let key_id = stored(&bed, "S0").await.key_id;
        assert_ne!(stored(&bed, "S1").await.key_id, key_id, "half of the rows are under the old key");
        let all = || print(&["S0", "S1", "S2"]);
        assert_eq!(written_by(&bed, id, all()).await, "value 0, value 1, value 2, ", "both keys open");
        let bed = bed.restart().await;
        eventually("all are under the new key", async || {
            let counts = bed.store.read(|tx| tx.count_secrets_by_key()).await.unwrap();
            counts == [(key_id.clone(), 3)]
        })
        .await;
        assert_eq!(written_by(&bed, id, all()).await, "value 0, value 1, value 2, ");
    }
}

// F32: a command does not run without what it counts on
#[tokio::test]
async fn without_its_key_a_secret_is_told_as_unreadable_and_nothing_is_handed_out() {
    for bed in Bed::on_each_store().await {
        let id = bed.local_workspace().await.id;
        set(&bed, SecretScope::Org, "A", "x").await;
        std::fs::write(bed.folder().join("secrets.key"), STANDARD.encode([1; 32])).unwrap();
        let bed = bed.restart().await;
        let refused = bed.fleet.secrets.variables(&bed.row(id).await).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::SecretUnreadable);
        assert!(refused.detail.as_ref().unwrap().starts_with("A, sealed under k"), "{refused}");
        let page = bed.fleet.secrets.list(&bed.operator, SecretScope::Org, None, 10).await.unwrap();
        assert!(!page.rows[0].is_readable);
        let rotated = bed.fleet.key_rotation.rotate(&bed.operator).await.unwrap();
        assert_eq!((rotated.resealed, rotated.unreadable), (0, 1));
        set(&bed, SecretScope::Org, "A", "y").await;
        assert_eq!(written_by(&bed, id, print(&["A"])).await, "y, ", "set anew, it works again");
    }
}

// F32, sec/U08
#[tokio::test]
async fn a_sealed_value_that_was_moved_or_put_back_in_the_database_does_not_open() {
    for bed in Bed::on_each_store().await {
        let row = bed.local_workspace().await;
        set(&bed, SecretScope::Org, "A", "first").await;
        let old = stored(&bed, "A").await;
        set(&bed, SecretScope::Org, "A", "second").await;
        set(&bed, SecretScope::Org, "B", "other").await;
        let (current, other) = (stored(&bed, "A").await, stored(&bed, "B").await);
        for foreign in [&other, &old] {
            let (nonce, sealed) = (foreign.nonce, foreign.sealed.clone());
            let forged = SealedSecret { nonce, sealed, ..current.clone() };
            for (secret, opens) in [(forged, false), (current.clone(), true)] {
                let (version, key_id) = (current.version, current.key_id.clone());
                let written = bed.store.write(move |tx| tx.update_secret(&secret, version, &key_id)).await;
                written.unwrap();
                assert_eq!(bed.fleet.secrets.variables(&row).await.is_ok(), opens);
            }
        }
    }
}

// F32
#[tokio::test]
async fn a_workspaces_secrets_end_with_it() {
    for bed in Bed::on_each_store().await {
        let id = bed.workspace().await.id;
        set(&bed, SecretScope::Workspace(id), "A", "x").await;
        bed.remove(id).await;
        assert_eq!(bed.store.read(|tx| tx.count_secrets_by_key()).await.unwrap(), []);
    }
}

//! Which crate may use which: the table of the design, as data. A new edge is a change of the design and belongs in
//! `docs/decisions/`. A crate of the table need not exist yet.
//!
//! Read from `[dependencies]`, `[build-dependencies]` and their `[target.…]` forms. Dev-dependencies are free, for a
//! test may stand anywhere; in return `testkit` may be nothing else.

use toml::{Table, Value};

use crate::finding::Finding;
use crate::tree::{CrateFolder, Tree};

/// A crate's place in the house.
struct Room {
    name: &'static str,
    may_use: Uses,
    /// Libraries that would let in what the room is there to keep out.
    never_sees: &'static [&'static str],
}

enum Uses {
    Only(&'static [&'static str]),
    /// Where everything is put together.
    Everything,
}

use Uses::{Everything, Only};

const ASYNC_AND_IO: &[&str] = &[
    "async-trait",
    "axum",
    "futures-util",
    "hyper",
    "reqwest",
    "rusqlite",
    "rustix",
    "sqlx",
    "tokio",
    "tokio-util",
];
/// For what is linked into `init`, which must stay a small static program.
const ASYNC_AND_DATABASES: &[&str] =
    &["async-trait", "axum", "futures-util", "hyper", "reqwest", "rusqlite", "sqlx", "tokio", "tokio-util"];
const DATABASES_AND_WEB: &[&str] = &["axum", "hyper", "rusqlite", "sqlx"];
const DATABASES_AND_BACKENDS: &[&str] = &["bollard", "kube", "rquickjs", "rusqlite", "sqlx"];

const ROOMS: &[Room] = &[
    Room {
        name: "model",
        may_use: Only(&[]),
        never_sees: &["axum", "fastrand", "getrandom", "hyper", "rand", "rusqlite", "sqlx", "tokio"],
    },
    Room { name: "doors", may_use: Only(&["model"]), never_sees: DATABASES_AND_WEB },
    Room { name: "rules", may_use: Only(&["model"]), never_sees: ASYNC_AND_IO },
    Room { name: "store", may_use: Only(&["model"]), never_sees: DATABASES_AND_WEB },
    Room { name: "store-sql", may_use: Only(&["doors", "model", "store"]), never_sees: &["axum", "hyper"] },
    Room {
        name: "workspace",
        may_use: Only(&["doors", "model", "rules"]),
        never_sees: &["axum", "bollard", "hyper", "kube", "rquickjs", "rusqlite", "sqlx"],
    },
    Room {
        name: "service",
        may_use: Only(&["doors", "model", "rules", "store"]),
        never_sees: DATABASES_AND_WEB,
    },
    Room {
        name: "outbound",
        // `api` for the one decoder of event streams.
        may_use: Only(&["api", "doors", "model", "rules"]),
        never_sees: &["axum", "rusqlite", "sqlx"],
    },
    Room { name: "backup", may_use: Only(&["confined-fs", "model"]), never_sees: ASYNC_AND_DATABASES },
    Room { name: "confined-fs", may_use: Only(&[]), never_sees: ASYNC_AND_DATABASES },
    Room {
        name: "providers",
        may_use: Only(&["confined-fs", "doors", "init", "model", "snapshots", "workspace"]),
        never_sees: &["axum"],
    },
    Room { name: "init", may_use: Only(&["confined-fs"]), never_sees: ASYNC_AND_DATABASES },
    Room { name: "probe", may_use: Only(&[]), never_sees: DATABASES_AND_WEB },
    Room {
        name: "snapshots",
        may_use: Only(&["confined-fs", "doors", "model"]),
        never_sees: DATABASES_AND_WEB,
    },
    Room {
        name: "fleet",
        may_use: Only(&["backup", "doors", "model", "rules", "service", "store", "workspace"]),
        never_sees: DATABASES_AND_WEB,
    },
    Room {
        name: "operations",
        may_use: Only(&["doors", "fleet", "model", "rules", "service", "workspace"]),
        never_sees: DATABASES_AND_WEB,
    },
    Room {
        name: "exchange",
        may_use: Only(&["doors", "fleet", "model", "outbound", "rules", "service", "store"]),
        never_sees: DATABASES_AND_WEB,
    },
    Room {
        name: "llm",
        may_use: Only(&["doors", "model", "outbound"]),
        // `hyper` for the scripted model as a server, behind a feature.
        never_sees: &["axum", "reqwest", "rusqlite", "sqlx"],
    },
    Room {
        name: "oidc",
        may_use: Only(&["doors", "model", "outbound"]),
        never_sees: &["axum", "hyper", "reqwest", "rusqlite", "sqlx"],
    },
    Room {
        name: "agent",
        may_use: Only(&[
            "doors",
            "exchange",
            "fleet",
            "llm",
            "model",
            "operations",
            "rules",
            "service",
            "store",
        ]),
        never_sees: DATABASES_AND_WEB,
    },
    // A macro; instead of utoipa where no OpenAPI document is made.
    Room { name: "empty-schema", may_use: Only(&[]), never_sees: ASYNC_AND_IO },
    Room { name: "api", may_use: Only(&["empty-schema"]), never_sees: DATABASES_AND_WEB },
    Room {
        name: "server",
        may_use: Only(&[
            "agent",
            "api",
            "doors",
            "exchange",
            "fleet",
            "line",
            "model",
            "oidc",
            "operations",
            // For requests that are passed on to the replica that has the box.
            "outbound",
            "service",
            "workspace",
        ]),
        never_sees: DATABASES_AND_BACKENDS,
    },
    // Byte streams between Warren and a box, for both ends.
    Room { name: "line", may_use: Only(&[]), never_sees: DATABASES_AND_WEB },
    Room { name: "runner", may_use: Only(&["api", "doors", "line", "model"]), never_sees: DATABASES_AND_WEB },
    Room { name: "cli", may_use: Everything, never_sees: &[] },
    Room { name: "testkit", may_use: Everything, never_sees: &[] },
    Room { name: "xtask", may_use: Everything, never_sees: &[] },
];

/// May stand under `[dev-dependencies]` alone.
const TESTS_ONLY: &str = "testkit";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.crates().flat_map(|one| check_crate(one, tree.text(one.manifest).unwrap_or_default())).collect()
}

fn check_crate(one: CrateFolder<'_>, manifest: &str) -> Vec<Finding> {
    let Some(room) = ROOMS.iter().find(|room| room.name == one.name) else {
        let what = format!("the crate `{}` has no place in the design", one.name);
        return vec![Finding::in_file(
            one.manifest,
            what,
            "add its row to ROOMS in xtask/src/check/edges.rs",
        )];
    };
    let manifest: Table = match manifest.parse() {
        Ok(manifest) => manifest,
        Err(error) => {
            return vec![Finding::in_file(one.manifest, error.to_string(), "write valid TOML")];
        }
    };
    let dependencies = normal_dependencies(&manifest);
    dependencies.iter().filter_map(|dependency| forbidden(room, dependency, one.manifest)).collect()
}

fn forbidden(room: &Room, dependency: &str, manifest: &str) -> Option<Finding> {
    let Some(ours) = dependency.strip_prefix("warren-") else {
        return room.never_sees.contains(&dependency).then(|| {
            let what = format!("`{}` must never see `{dependency}`", room.name);
            Finding::in_file(manifest, what, "move the code that needs it to the room that owns it")
        });
    };
    if ours == TESTS_ONLY {
        let what = format!("`{TESTS_ONLY}` is a normal dependency");
        return Some(Finding::in_file(manifest, what, "move it to [dev-dependencies]"));
    }
    match room.may_use {
        Everything => None,
        Only(allowed) if allowed.contains(&ours) => None,
        Only(allowed) => {
            let what = format!("`{}` must not use `{ours}`", room.name);
            let remedy = match allowed {
                [] => "it may use no other crate of ours".to_owned(),
                _ => format!("it may use {}", allowed.join(", ")),
            };
            Some(Finding::in_file(manifest, what, remedy))
        }
    }
}

/// Names of packages, also where a dependency is renamed.
fn normal_dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table).chain([manifest]);
    let mut names = Vec::new();
    for table in tables {
        for section in ["dependencies", "build-dependencies"] {
            for (name, value) in table.get(section).and_then(Value::as_table).into_iter().flatten() {
                let package = value.get("package").and_then(Value::as_str);
                names.push(package.unwrap_or(name).to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(manifest_path: &str, manifest: &str) -> Vec<String> {
        check(&Tree::of([(manifest_path, manifest)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_edge_of_the_design_passes() {
        let manifest = "[dependencies]\nwarren-model.workspace = true\nserde_json.workspace = true\n";
        assert!(findings("crates/rules/Cargo.toml", manifest).is_empty());
    }

    #[test]
    fn the_seams_of_the_design_hold() {
        for (room, dependency) in [
            ("outbound", "exchange"),
            ("outbound", "store"),
            ("llm", "exchange"),
            ("oidc", "fleet"),
            ("oidc", "store"),
            ("exchange", "agent"),
            ("fleet", "exchange"),
            ("fleet", "outbound"),
            ("operations", "exchange"),
            ("service", "fleet"),
            ("confined-fs", "model"),
            ("snapshots", "providers"),
            ("server", "store"),
            ("server", "rules"),
        ] {
            let manifest = format!("[dependencies]\nwarren-{dependency}.workspace = true\n");
            let found = findings(&format!("crates/{room}/Cargo.toml"), &manifest);
            assert!(found[0].contains(&format!("`{room}` must not use `{dependency}`")), "{found:?}");
        }
    }

    #[test]
    fn an_edge_that_is_not_in_the_design_is_found() {
        let found = findings("crates/model/Cargo.toml", "[dependencies]\nwarren-doors.workspace = true\n");
        assert!(found[0].contains("`model` must not use `doors`"), "{found:?}");
        let found =
            findings("crates/server/Cargo.toml", "[dependencies]\nwarren-store-sql.workspace = true\n");
        assert!(found[0].contains("`server` must not use `store-sql`"), "{found:?}");
    }

    #[test]
    fn a_library_that_a_room_must_not_see_is_found_also_when_renamed_or_per_target() {
        let renamed = "[dependencies]\nruntime = { package = \"tokio\", version = \"1\" }\n";
        assert_eq!(findings("crates/rules/Cargo.toml", renamed).len(), 1);
        let per_target = "[target.'cfg(unix)'.dependencies]\nsqlx = \"0.9\"\n";
        assert_eq!(findings("crates/fleet/Cargo.toml", per_target).len(), 1);
        let at_build = "[build-dependencies]\ntokio = \"1\"\n";
        assert_eq!(findings("crates/model/Cargo.toml", at_build).len(), 1);
    }

    #[test]
    fn testkit_is_free_for_tests_and_nothing_else() {
        assert!(
            findings("crates/server/Cargo.toml", "[dev-dependencies]\nwarren-testkit.workspace = true")
                .is_empty()
        );
        for room in ["server", "cli"] {
            let path = format!("crates/{room}/Cargo.toml");
            let found = findings(&path, "[dependencies]\nwarren-testkit.workspace = true");
            assert!(found[0].contains("`testkit` is a normal dependency"), "{found:?}");
        }
    }

    #[test]
    fn a_crate_without_a_place_in_the_design_is_found() {
        let found = findings("crates/attic/Cargo.toml", "");
        assert!(found[0].contains("no place in the design"), "{found:?}");
    }
}

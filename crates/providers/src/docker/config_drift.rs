//! Whether a container really is what was asked for: right after it was made, and before it is used again (W75).
//!
//! Everything that was asked for must be there, and nothing else may be: a field that the request leaves out must be
//! empty, whatever it is called. Some fields the daemon fills in by itself; these are named here. Limits that the host
//! cannot enforce are told apart, since the daemon drops them with no more than a warning.

use bollard::models::{ContainerCreateBody, ContainerInspectResponse};
use serde_json::{Map, Value};

/// Filled in by the daemon, harmless, and different from version to version.
const DAEMONS_OWN: [&str; 8] = [
    "CgroupParent",
    "ConsoleSize",
    "ContainerIDFile",
    "Isolation",
    "MemorySwappiness",
    "OomKillDisable",
    "Runtime",
    "VolumeDriver",
];
/// Filled in by the daemon too, and needed: empty, they would show the host's `/proc` to the box.
const NEVER_EMPTY: [&str; 2] = ["MaskedPaths", "ReadonlyPaths"];
/// Dropped by a daemon whose host cannot enforce them.
const LIMITS: [&str; 5] = ["Memory", "MemorySwap", "NanoCpus", "PidsLimit", "CgroupnsMode"];
/// Of the container itself, next to its host config.
const CONFIG: [&str; 11] = [
    "Cmd",
    "Entrypoint",
    "Healthcheck",
    "Hostname",
    "Image",
    "Labels",
    "OpenStdin",
    "StdinOnce",
    "Tty",
    "User",
    "WorkingDir",
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ConfigDrift {
    /// Names of fields that are not as asked for.
    pub(super) fields: Vec<String>,
    /// Names of limits that this host does not enforce.
    pub(super) unenforced: Vec<String>,
}

pub(super) fn between(request: &ContainerCreateBody, real: &ContainerInspectResponse) -> ConfigDrift {
    let asked = fields(request.host_config.as_ref());
    let found = fields(real.host_config.as_ref());
    let mut drift = ConfigDrift::default();
    let names: std::collections::BTreeSet<&String> = asked.keys().chain(found.keys()).collect();
    for name in names {
        let is_listed = |list: &[&str]| list.contains(&name.as_str());
        let (asked, found) = (asked.get(name), found.get(name));
        let is_same = if is_listed(&NEVER_EMPTY) {
            asked.is_none() && found.is_some_and(|found| !is_empty(found))
        } else {
            is_listed(&DAEMONS_OWN) && asked.is_none() || is_equal(asked, found)
        };
        match is_same {
            true => {}
            false if is_listed(&LIMITS) && found.is_none_or(is_absent_limit) => {
                drift.unenforced.push(name.clone());
            }
            false => drift.fields.push(format!("HostConfig.{name}")),
        }
    }
    for name in NEVER_EMPTY.into_iter().filter(|name| !found.contains_key(*name)) {
        drift.fields.push(format!("HostConfig.{name}"));
    }
    drift.fields.extend(config_drift(request, real));
    drift
}

fn config_drift(request: &ContainerCreateBody, real: &ContainerInspectResponse) -> Vec<String> {
    let (asked, found) = (fields(Some(request)), fields(real.config.as_ref()));
    let is_same = |name: &str| match name {
        // An image may bring labels of its own.
        "Labels" => match (asked.get(name), found.get(name)) {
            (Some(Value::Object(asked)), Some(Value::Object(found))) => {
                asked.iter().all(|(label, value)| found.get(label) == Some(value))
            }
            _ => false,
        },
        _ => is_equal(asked.get(name), found.get(name)),
    };
    CONFIG.into_iter().filter(|name| !is_same(name)).map(|name| format!("Config.{name}")).collect()
}

fn fields<T: serde::Serialize>(part: Option<&T>) -> Map<String, Value> {
    match serde_json::to_value(part) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn is_equal(asked: Option<&Value>, found: Option<&Value>) -> bool {
    let asked = asked.filter(|value| !is_empty(value));
    let found = found.filter(|value| !is_empty(value));
    match (asked, found) {
        (Some(Value::Array(asked)), Some(Value::Array(found))) => {
            // The daemon sorts some lists and spells some defaults out.
            asked.len() == found.len()
                && asked.iter().all(|one| found.iter().any(|other| is_equal(Some(one), Some(other))))
        }
        (Some(Value::Object(asked)), Some(Value::Object(found))) => {
            let names: std::collections::BTreeSet<&String> = asked.keys().chain(found.keys()).collect();
            names.into_iter().all(|name| is_equal(asked.get(name), found.get(name)))
        }
        (asked, found) => asked == found,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

/// How the daemon writes that there is none.
fn is_absent_limit(found: &Value) -> bool {
    is_empty(found) || found.as_i64() == Some(-1) || found == "host"
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::HostConfig;
    use serde_json::json;

    fn asked() -> ContainerCreateBody {
        let host_config: HostConfig = serde_json::from_value(json!({
            "CapDrop": ["ALL"], "ReadonlyRootfs": true, "Memory": 512, "MemorySwap": 512, "Tmpfs": {"/tmp": "size=1"},
            "Ulimits": [{"Name": "a", "Soft": 1, "Hard": 2}, {"Name": "b", "Soft": 0, "Hard": 0}],
        }))
        .unwrap();
        ContainerCreateBody {
            image: Some("a:1".into()),
            user: Some("7:7".into()),
            labels: Some([("k".to_owned(), "v".to_owned())].into()),
            host_config: Some(host_config),
            ..ContainerCreateBody::default()
        }
    }

    fn real(change: impl FnOnce(&mut Value)) -> ContainerInspectResponse {
        let mut real = json!({
            "HostConfig": {
                "CapDrop": ["ALL"], "ReadonlyRootfs": true, "Memory": 512, "MemorySwap": 512,
                "Tmpfs": {"/tmp": "size=1"}, "Privileged": false, "Binds": null, "Devices": [], "OomScoreAdj": 0,
                "Ulimits": [{"Name": "b", "Soft": 0, "Hard": 0}, {"Name": "a", "Soft": 1, "Hard": 2}],
                "Runtime": "runc", "ConsoleSize": [0, 0], "MaskedPaths": ["/proc/kcore"], "ReadonlyPaths": ["/proc/sys"],
            },
            "Config": {"Image": "a:1", "User": "7:7", "Labels": {"k": "v", "maintainer": "x"}},
        });
        change(&mut real);
        serde_json::from_value(real).unwrap()
    }

    // W75
    #[test]
    fn what_was_asked_for_is_no_drift() {
        assert_eq!(between(&asked(), &real(|_| {})), ConfigDrift::default());
    }

    // W75
    #[test]
    fn every_field_that_is_not_as_asked_for_is_named() {
        for (path, value) in [
            ("/HostConfig/Privileged", json!(true)),
            ("/HostConfig/Binds", json!(["/:/host"])),
            ("/HostConfig/Devices", json!([{"PathOnHost": "/dev/sda"}])),
            ("/HostConfig/CapDrop", json!([])),
            ("/HostConfig/ReadonlyRootfs", json!(false)),
            ("/HostConfig/Tmpfs", json!({"/tmp": "size=2"})),
            ("/HostConfig/Ulimits", json!([{"Name": "a", "Soft": 1, "Hard": 2}])),
            ("/HostConfig/Memory", json!(1024)),
            ("/HostConfig/MaskedPaths", json!([])),
            ("/HostConfig/ReadonlyPaths", Value::Null),
            ("/Config/User", json!("0")),
            ("/Config/Labels", json!({"k": "other"})),
        ] {
            let changed = real(|real| *real.pointer_mut(path).unwrap() = value);
            let name = path.trim_start_matches('/').replace('/', ".");
            assert_eq!(between(&asked(), &changed).fields, [name]);
        }
        let added = real(|real| real["HostConfig"]["PidMode"] = json!("host"));
        assert_eq!(between(&asked(), &added).fields, ["HostConfig.PidMode"]);
    }

    // W74
    #[test]
    fn a_limit_that_the_host_does_not_enforce_is_told_apart() {
        let dropped = real(|real| real["HostConfig"]["MemorySwap"] = json!(-1));
        let drift = between(&asked(), &dropped);
        assert_eq!((drift.fields, drift.unenforced), (vec![], vec!["MemorySwap".to_owned()]));
    }
}

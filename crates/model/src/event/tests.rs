use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::*;

#[test]
fn names_are_unique_and_have_three_parts() {
    let mut seen = BTreeSet::new();
    for kind in EventKind::ALL {
        // The one that is not stored has the name that the specification gives it.
        let parts = if kind.is_stored() { 3 } else { 2 };
        assert_eq!(kind.as_str().split('.').count(), parts, "{}", kind.as_str());
        assert!(seen.insert(kind.as_str()));
        assert_eq!(EventKind::parse(kind.as_str()), Some(*kind));
    }
}

#[test]
fn every_kind_comes_back_from_its_json() {
    for kind in EventKind::ALL {
        let example = kind.example();
        assert_eq!(example.kind(), *kind);
        let read = EventData::from_json(*kind, &example.to_json());
        assert_eq!(read.ok(), Some(example), "{kind:?}");
    }
}

/// What remains of an example where every field that may be null or left out was left out.
fn least(kind: EventKind) -> EventData {
    let mut json = kind.example().to_json();
    let may_be_null =
        |schema: &Value| schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
    let schema = kind.schema();
    let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().collect();
    let fields = json.as_object_mut().expect("the data of an event is an object");
    fields.retain(|name, _| required.contains(&&json!(name)) && !may_be_null(&schema["properties"][name]));
    EventData::from_json(kind, &json).unwrap_or_else(|error| panic!("{kind:?}: {error}"))
}

#[test]
fn the_json_of_every_kind_is_a_promise() {
    let mut text = String::new();
    for kind in EventKind::ALL {
        writeln!(text, "{}\n  {}\n  {}", kind.as_str(), kind.example().to_json(), least(*kind).to_json())
            .unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn what_a_newer_warren_adds_is_ignored_and_what_it_changes_is_told() {
    for kind in EventKind::ALL {
        let mut json = kind.example().to_json();
        json["of_a_newer_warren"] = json!({ "deep": [1, null] });
        assert_eq!(EventData::from_json(*kind, &json).ok(), Some(kind.example()), "{kind:?}");
    }
    for json in [json!({}), json!(null), json!({ "version": 3 })] {
        assert!(EventData::from_json(EventKind::ServerStarted, &json).is_err(), "{json}");
    }
}

#[test]
fn the_schema_of_every_kind_names_the_fields_of_its_json() {
    for kind in EventKind::ALL {
        let (schema, json) = (kind.schema(), kind.example().to_json());
        let names = |value: &Value| -> BTreeSet<String> {
            value.as_object().expect("an object").keys().cloned().collect()
        };
        assert_eq!(names(&schema["properties"]), names(&json), "{kind:?}");
        let always: BTreeSet<String> = names(&least(*kind).to_json());
        let required = schema["required"].as_array().expect("a list").iter();
        assert_eq!(
            required.map(|name| name.as_str().expect("a name").to_owned()).collect::<BTreeSet<_>>(),
            always
        );
        let listed: BTreeSet<String> = kind.fields().iter().map(|field| field.name.to_owned()).collect();
        assert_eq!(listed, names(&json), "{kind:?}");
    }
}

#[test]
fn an_event_with_other_data_can_still_be_passed_on() {
    let event = Event {
        seq: 1,
        at: Timestamp::from_micros(1),
        kind: EventKind::TaskChanged,
        org_id: OrgId::DEFAULT,
        workspace_id: None,
        principal: Principal::system("test"),
        data: json!({ "to": "a state of tomorrow" }).into(),
    };
    assert!(event.read().is_err());
    assert_eq!(serde_json::to_value(&event.data).ok(), Some(json!({ "to": "a state of tomorrow" })));
}

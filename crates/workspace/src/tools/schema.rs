//! JSON Schemas that models read: self-contained, and without what only a code generator would want.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub(super) fn of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    clean(&mut schema);
    schema
}

/// Leaves out titles and number formats, and lets an optional field simply be absent instead of null.
fn clean(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // In `properties` a key is a field of the tool's, not a keyword.
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                properties.values_mut().for_each(clean);
            }
            for keyword in ["title", "format", "$schema"] {
                fields.remove(keyword);
            }
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            drop_null(fields);
            // A doc comment's line breaks are ours, not the model's.
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            let nested = fields.iter_mut().filter(|(keyword, _)| *keyword != "properties");
            nested.for_each(|(_, value)| clean(value));
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn drop_null(fields: &mut serde_json::Map<String, Value>) {
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".into(), only);
        }
    }
}

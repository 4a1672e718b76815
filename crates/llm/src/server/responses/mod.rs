//! OpenAI Responses, as a server.

mod check;
mod render;

use serde_json::{Value, json};
use warren_model::fingerprint;

pub(super) use check::{check, check_tools, is_name};
pub(super) use render::{Rendered, calls, retrieve};

fn summary_of(item: &Value) -> String {
    let parts = item["summary"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// What stands for reasoning that only the provider can read.
fn encrypted(words: &str) -> String {
    format!("enc_{}", fingerprint(&json!(words)))
}

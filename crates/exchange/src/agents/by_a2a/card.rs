//! What an agent card says about how its agent is called.

use serde::Deserialize;
use serde_json::Value;

use crate::a2a::{HTTP_JSON, JSON_RPC, is_supported_version};

/// How requests are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    HttpJson,
}

/// Where and how an agent is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interface {
    /// Without a slash at its end for `HttpJson`.
    pub(super) url: String,
    pub(super) binding: Binding,
    pub(super) tenant: Option<String>,
    pub(super) streams: bool,
    /// It shows a card with more in it to those it knows.
    pub(super) has_extended_card: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Card {
    supported_interfaces: Vec<Listed>,
    capabilities: Capabilities,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Listed {
    url: String,
    protocol_binding: String,
    protocol_version: String,
    tenant: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Capabilities {
    streaming: Option<bool>,
    #[serde(rename = "extendedAgentCard")]
    extended_agent_card: Option<bool>,
}

/// The interface to call: JSON-RPC where there is one, HTTP+JSON else; the card's order decides between two of a kind.
/// None, where the agent speaks nothing that Warren speaks.
pub(super) fn interface_of(card: &Value) -> Option<Interface> {
    let card = Card::deserialize(card).ok()?;
    let speaks = |listed: &&Listed| is_supported_version(&listed.protocol_version) && is_http(&listed.url);
    let find = |binding: &str| {
        card.supported_interfaces.iter().filter(speaks).find(|listed| listed.protocol_binding == binding)
    };
    let (listed, binding) = match (find(JSON_RPC), find(HTTP_JSON)) {
        (Some(listed), _) => (listed, Binding::JsonRpc),
        (None, Some(listed)) => (listed, Binding::HttpJson),
        (None, None) => return None,
    };
    let url = match binding {
        Binding::JsonRpc => listed.url.as_str(),
        Binding::HttpJson => listed.url.trim_end_matches('/'),
    };
    Some(Interface {
        url: url.to_owned(),
        binding,
        tenant: listed.tenant.clone().filter(|tenant| !tenant.is_empty()),
        streams: card.capabilities.streaming.unwrap_or_default(),
        has_extended_card: card.capabilities.extended_agent_card.unwrap_or_default(),
    })
}

/// The connector decides what may be called; this only tells a URL from something else.
fn is_http(url: &str) -> bool {
    let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(binding: &str, version: &str, url: &str) -> Value {
        json!({ "url": url, "protocolBinding": binding, "protocolVersion": version })
    }

    // X1
    #[test]
    fn json_rpc_of_our_version_is_preferred() {
        let card = json!({
            "capabilities": { "streaming": true },
            "supportedInterfaces": [
                listed("GRPC", "1.0", "https://a.example/grpc"),
                listed("HTTP+JSON", "1.0", "https://a.example/rest/"),
                listed("JSONRPC", "0.3", "https://a.example/old"),
                listed("JSONRPC", "1.0", "https://a.example/rpc/"),
            ],
        });
        let found = interface_of(&card).unwrap();
        assert_eq!(
            (found.url.as_str(), found.binding, found.streams),
            ("https://a.example/rpc/", Binding::JsonRpc, true)
        );
        let rest = json!({ "supportedInterfaces": [listed("HTTP+JSON", "1.0", "https://a.example/rest/")] });
        let found = interface_of(&rest).unwrap();
        assert_eq!(
            (found.url.as_str(), found.binding, found.streams),
            ("https://a.example/rest", Binding::HttpJson, false)
        );
    }

    // X1
    #[test]
    fn an_agent_that_speaks_nothing_we_speak_cannot_be_called() {
        let cards = [
            json!({}),
            json!(null),
            json!("card"),
            json!({ "supportedInterfaces": [] }),
            json!({ "supportedInterfaces": "x" }),
            json!({ "supportedInterfaces": [listed("JSONRPC", "0.3", "https://a.example")] }),
            json!({ "supportedInterfaces": [listed("JSONRPC", "1.0", "file:///etc/passwd")] }),
            json!({ "supportedInterfaces": [listed("GRPC", "1.0", "https://a.example")] }),
        ];
        for card in cards {
            assert_eq!(interface_of(&card), None, "{card}");
        }
    }
}

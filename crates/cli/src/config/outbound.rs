//! `[outbound]`: what Warren may call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warren_outbound::{Cidr, Connector, OutboundPolicy};

use super::validate::Complaint;

/// What Warren may call: agents, webhooks and whatever else is not Warren.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutboundSection {
    /// Private ranges that may be called, such as `10.20.0.0/16` or `127.0.0.0/8`. None by default. Link-local, metadata,
    /// shared and multicast ranges cannot be opened.
    pub allow_private: Vec<String>,
    /// Milliseconds to look up a name, connect and agree on TLS.
    #[schemars(range(min = 1, max = 60_000))]
    pub connect_timeout_ms: u64,
    /// A file with certificates, in PEM, that are trusted for `https` besides those of the machine: the authority of a
    /// company, for example.
    pub ca_file: Option<String>,
}

impl Default for OutboundSection {
    fn default() -> Self {
        let OutboundPolicy { connect_timeout_ms, allow_private: _ } = OutboundPolicy::default();
        Self { allow_private: Vec::new(), connect_timeout_ms, ca_file: None }
    }
}

impl OutboundSection {
    /// As checked before: what is not a block of addresses does not get here.
    pub(crate) fn policy(&self) -> OutboundPolicy {
        OutboundPolicy {
            allow_private: self.allow_private.iter().filter_map(|text| text.parse().ok()).collect(),
            connect_timeout_ms: self.connect_timeout_ms,
        }
    }

    /// The one door out, as the section says. The error is a sentence about `ca_file`.
    pub(crate) fn connector(&self) -> Result<Connector, String> {
        let connector = Connector::with_system_names(self.policy());
        let Some(path) = &self.ca_file else { return Ok(connector) };
        let pem = std::fs::read(path).map_err(|error| format!("`{path}`: {error}"))?;
        connector.trusting(&pem).map_err(|error| format!("`{path}`: {error}"))
    }

    pub(super) fn complaints(&self) -> Vec<Complaint> {
        let ranges = self.allow_private.iter().filter_map(|text| {
            let sentence = match text.parse::<Cidr>() {
                Ok(block) if block.is_private() => return None,
                Ok(_) => format!("`{text}` is not within a private range, so that it cannot be opened here"),
                Err(error) => format!("`{text}`: {error}"),
            };
            Some(("outbound.allow_private".to_owned(), sentence))
        });
        let timeout = (!(1..=60_000).contains(&self.connect_timeout_ms))
            .then(|| ("outbound.connect_timeout_ms".to_owned(), "must be from 1 to 60000".to_owned()));
        ranges.chain(timeout).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // X6, S50
    #[test]
    fn private_ranges_are_opened_by_name_and_nothing_else_is() {
        assert_eq!(OutboundSection::default().policy(), OutboundPolicy::default());
        let of = |texts: &[&str]| OutboundSection {
            allow_private: texts.iter().map(|text| (*text).to_owned()).collect(),
            ..OutboundSection::default()
        };
        let good = of(&["127.0.0.0/8", "10.1.0.0/16", "fd00::/8"]);
        assert_eq!(good.complaints(), []);
        assert_eq!(good.policy().allow_private.len(), 3);
        for bad in
            ["169.254.0.0/16", "0.0.0.0/0", "8.8.8.8/32", "fe80::/10", "10.0.0.1/8", "10.0.0.0", "here"]
        {
            assert_eq!(of(&[bad]).complaints().len(), 1, "{bad}");
        }
        let hasty = OutboundSection { connect_timeout_ms: 0, ..OutboundSection::default() };
        assert_eq!(hasty.complaints().len(), 1);
    }

    // X6, S50
    #[test]
    fn a_file_of_roots_that_cannot_be_used_is_told_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roots.pem").display().to_string();
        let section = OutboundSection { ca_file: Some(path.clone()), ..OutboundSection::default() };
        let told = || section.connector().unwrap_err();
        assert!(told().starts_with(&format!("`{path}`: ")), "{}", told());
        std::fs::write(&path, "nothing of the kind").unwrap();
        assert!(told().ends_with("there is no certificate in it"), "{}", told());
        std::fs::write(&path, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        assert!(told().contains("cannot be used as a root"), "{}", told());
        assert!(OutboundSection::default().connector().is_ok());
    }
}

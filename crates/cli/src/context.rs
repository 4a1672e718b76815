//! What every command is given: the global flags, the environment, and where to print.

use std::path::PathBuf;

use warren_api::client::Client;
use warren_doors::Environment;
use warren_model::ErrorCode;

use crate::access::{DEFAULT_URL, LocalAccess};
use crate::arguments::Global;
use crate::config::{self, Loaded, Overrides};
use crate::failure::{Outcome, Report};
use crate::output::Output;

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) environment: Environment,
    pub(crate) output: Output,
}

impl Context {
    pub(crate) fn new(global: Global, environment: Environment) -> Self {
        let no_color = environment.get("NO_COLOR").is_some_and(|value| !value.is_empty());
        let output = Output::new(global.json, global.color, no_color);
        Self { global, environment, output }
    }

    /// `--data`, WARREN_DATA, or the place that the desktop conventions name.
    pub(crate) fn data_path(&self) -> Outcome<PathBuf> {
        if let Some(path) = &self.global.data {
            return Ok(path.clone());
        }
        if let Some(path) = self.variable("WARREN_DATA") {
            return Ok(path.into());
        }
        match self.default_data_path() {
            Some(path) => Ok(path),
            None => Err(Report::new(ErrorCode::DataFolderUnusable)
                .because("neither HOME, XDG_DATA_HOME nor WARREN_DATA is set")
                .hint("Name a folder with `--data DIR`.")
                .into()),
        }
    }

    /// Where the data folder is when nobody names one; absent: nothing says.
    pub(crate) fn default_data_path(&self) -> Option<PathBuf> {
        if let Some(path) = self.variable("XDG_DATA_HOME") {
            return Some(PathBuf::from(path).join("warren"));
        }
        self.variable("HOME").map(|home| PathBuf::from(home).join(".local/share/warren"))
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).filter(|value| !value.is_empty())
    }

    /// The whole config tree, from all its sources.
    pub(crate) fn load_config(&self, flags: &Overrides) -> Outcome<Loaded> {
        let named = self.environment.get("WARREN_CONFIG").map(PathBuf::from);
        let explicit = self.global.config.clone().or(named);
        let path = match explicit {
            Some(path) => config::FileAt::Named(path),
            None => config::FileAt::Usual(self.data_path()?.join(config::FILE_NAME)),
        };
        config::load(&path, &self.environment, flags).map_err(|problem| problem.into_report().into())
    }

    /// A client for the server that was named, or else for the one that runs on the data folder.
    ///
    /// The local operator's token goes to the local server only: naming another server without a token must not
    /// hand it over.
    pub(crate) fn client(&self) -> Outcome<Client> {
        let named_url = self.named(self.global.url.as_deref(), "WARREN_URL");
        let named_token = self.named(self.global.token.as_deref(), "WARREN_TOKEN");
        let local = match self.data_path() {
            Ok(path) if named_token.is_none() || named_url.is_none() => LocalAccess::read(&path)?,
            _ => None,
        };
        let url = named_url.or_else(|| local.as_ref().map(|local| local.url.as_str())).unwrap_or(DEFAULT_URL);
        let own_token = local
            .as_ref()
            .filter(|local| local.url.trim_end_matches('/') == url.trim_end_matches('/'))
            .map(|local| local.token.as_str());
        Ok(Client::new(url, named_token.or(own_token))?)
    }

    /// The address of the server, for those who have credentials of their own.
    pub(crate) fn url(&self) -> Outcome<String> {
        Ok(self.client()?.url().to_string())
    }

    fn named<'a>(&'a self, flag: Option<&'a str>, variable: &str) -> Option<&'a str> {
        flag.or_else(|| self.environment.get(variable)).filter(|value| !value.is_empty())
    }
}

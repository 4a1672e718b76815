use crate::schema::ToSchema;
use serde::{Deserialize, Serialize};

use crate::Principal;

/// Who Warren signs in as at a registry of images: never the password.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImageLogin {
    /// Its host, with a port unless it is the usual one; `docker.io` is Docker Hub.
    pub registry: String,
    pub username: String,
    pub updated_at: String,
    pub updated_by: Principal,
}

/// All of them; there are not many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ImageLogins {
    pub items: Vec<ImageLogin>,
    /// Names of entries that no key at hand opens. They are left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A login on its way in. The password does not come out again.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetImageLogin {
    #[schema(min_length = 1, max_length = 256)]
    pub username: String,
    /// Or a token that the registry gave out.
    #[schema(min_length = 1, max_length = 65536, write_only)]
    pub password: String,
}

impl std::fmt::Debug for SetImageLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SetImageLogin(…)")
    }
}

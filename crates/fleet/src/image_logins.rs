//! Who Warren is to registries of images that ask for a sign-in (F52): one login for each registry, set by operators, for the
//! whole deployment. An image that was pulled is on the host, for every workspace; so there is no login of one org.
//!
//! They are kept among Warren's own secrets: sealed, rotated with the others, and no variable anywhere. The row's name is a
//! digest of the registry's; what is sealed says which it is.

use serde_json::{Value, json};
use warren_model::{
    AuditAction, AuditDetails, AuditTargetKind, ErrorCode, Principal, SealedSecret, SecretName, SecretValue,
    Timestamp,
};
use warren_service::{Action, Actor, Context, Error, Identity, Sealer};
use warren_store::{SecretQuery, WriteTx};
use warren_workspace::{RegistryLogin, parse_registry};
use zeroize::Zeroizing;

const PREFIX: &str = "IMAGES_";
/// One page of rows; nobody signs in at more places.
const MAX_LOGINS: u32 = 100;
const MAX_USERNAME_BYTES: usize = 256;

/// A login as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLogin {
    pub registry: String,
    pub username: String,
    pub updated_at: Timestamp,
    pub updated_by: Principal,
}

/// Sets, lists and removes logins. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ImageLogins {
    context: Context,
    sealer: Sealer,
}

impl ImageLogins {
    pub fn new(context: Context, sealer: Sealer) -> Self {
        Self { context, sealer }
    }

    /// Before what somebody sent is read.
    pub fn authorize(&self, who: &Identity) -> Result<(), Error> {
        who.may_in_own_org(Action::OperateWarren)
    }

    /// Sets a login, new or anew. Returns true if it is new.
    #[tracing::instrument(name = "fleet.image_logins.set", skip_all)]
    pub async fn set(
        &self,
        who: &Identity,
        registry: &str,
        username: String,
        password: &SecretValue,
    ) -> Result<(ImageLogin, bool), Error> {
        self.authorize(who)?;
        let registry = parse_registry(registry).ok_or_else(|| {
            let detail = "the registry is a host and perhaps a port, such as `registry.example.com:5000`";
            Error::with_detail(ErrorCode::InvalidRequest, detail)
        })?;
        if username.is_empty() || username.len() > MAX_USERNAME_BYTES || username.contains([':', '\0']) {
            let detail = format!("`username`: 1 to {MAX_USERNAME_BYTES} bytes, without a colon");
            return Err(Error::with_detail(ErrorCode::InvalidRequest, detail));
        }
        let max = self.context.limits().max_secret_bytes;
        if password.len() as u64 > max {
            let detail = format!("`password`: {} bytes; the limit is {max}", password.len());
            return Err(Error::with_detail(ErrorCode::SecretTooLarge, detail));
        }
        let login = ImageLogin {
            registry,
            username,
            updated_at: self.context.now(),
            updated_by: who.principal.clone(),
        };
        // Another replica may have moved on to a new key.
        self.sealer.keys().reload();
        let request =
            SetLogin { value: sealed_text(&login, password)?, login: login.clone(), actor: Actor::of(who) };
        let sealer = self.sealer.clone();
        let is_new = self.context.write_with_retries(true, move |tx| request.write(tx, &sealer)).await?;
        Ok((login, is_new))
    }

    /// All of them, by registry, and the names of rows that do not open.
    #[tracing::instrument(name = "fleet.image_logins.list", skip_all)]
    pub async fn list(&self, who: &Identity) -> Result<(Vec<ImageLogin>, Vec<String>), Error> {
        self.authorize(who)?;
        let page = self.context.store().read(|tx| tx.secrets(&page_of_logins()).map_err(Error::from)).await?;
        let (mut logins, mut unreadable) = (Vec::new(), Vec::new());
        for row in self.context.listed(page).rows.iter().filter(|row| is_login(row)) {
            match self.shown(row) {
                Ok(login) => logins.push(login),
                Err(_) => unreadable.push(row.name.to_string()),
            }
        }
        logins.sort_by(|one, other| one.registry.cmp(&other.registry));
        Ok((logins, unreadable))
    }

    #[tracing::instrument(name = "fleet.image_logins.remove", skip_all)]
    pub async fn remove(&self, who: &Identity, registry: &str) -> Result<(), Error> {
        self.authorize(who)?;
        let missing = || Error::new(ErrorCode::ImageLoginNotFound);
        let registry = parse_registry(registry).ok_or_else(missing)?;
        let (now, actor, name) = (self.context.now(), Actor::of(who), row_name(&registry));
        self.context
            .write_with_retries(true, move |tx| {
                if !tx.delete_secret(Sealer::SYSTEM_SECRETS, &name)? {
                    return Err(missing());
                }
                let (action, kind) = (AuditAction::ImageLoginRemoved, AuditTargetKind::ImageRegistry);
                tx.append_audit(&actor.did(now, action, kind, &registry, &AuditDetails::None))?;
                Ok(())
            })
            .await
    }

    /// The login at a registry, for a pull; `registry` in its one spelling. What does not open is an error: without it the pull
    /// would fail for a reason that nobody understands.
    pub async fn login_at(&self, registry: &str) -> Result<Option<RegistryLogin>, Error> {
        let name = row_name(registry);
        let row = self
            .context
            .store()
            .read(move |tx| tx.secret(Sealer::SYSTEM_SECRETS, &name).map_err(Error::from))
            .await?;
        row.map(|row| self.opened(&row)).transpose()
    }

    fn opened(&self, row: &SealedSecret) -> Result<RegistryLogin, Error> {
        let unreadable = || Error::new(ErrorCode::SecretUnreadable);
        let value = self.sealer.open_system_secret(row)?;
        let mut document: Value = serde_json::from_str(value.reveal()).map_err(|_| unreadable())?;
        let mut take = |field: &str| match document[field].take() {
            Value::String(text) => Ok(text),
            _ => Err(unreadable()),
        };
        let (registry, username) = (take("registry")?, take("username")?);
        let password = SecretValue::new(Zeroizing::new(take("password")?)).map_err(|_| unreadable())?;
        Ok(RegistryLogin { registry, username, password })
    }

    fn shown(&self, row: &SealedSecret) -> Result<ImageLogin, Error> {
        let RegistryLogin { registry, username, .. } = self.opened(row)?;
        Ok(ImageLogin { registry, username, updated_at: row.updated_at, updated_by: row.updated_by.clone() })
    }
}

/// A login on its way into the database.
#[derive(Clone)]
struct SetLogin {
    login: ImageLogin,
    value: SecretValue,
    actor: Actor,
}

impl SetLogin {
    /// Returns true if it is new.
    fn write(&self, tx: &mut dyn WriteTx, sealer: &Sealer) -> Result<bool, Error> {
        let ImageLogin { registry, username, updated_at, updated_by } = &self.login;
        let mut row = sealer.seal_system_secret(&row_name(registry), &self.value, updated_by, *updated_at);
        let known = tx.secret(row.owner, &row.name)?;
        match &known {
            Some(known) => {
                (row.version, row.created_at) = (known.version + 1, known.created_at);
                // The seal vouches for the version.
                sealer.seal_row(&mut row, &self.value, sealer.keys().ring().current());
                tx.update_secret(&row, known.version, &known.key_id)?;
            }
            None if tx.secrets(&page_of_logins())?.rows.iter().filter(|row| is_login(row)).count()
                >= MAX_LOGINS as usize =>
            {
                return Err(Error::new(ErrorCode::SecretLimit));
            }
            None => tx.insert_secret(&row)?,
        }
        let details = AuditDetails::ImageLogin { username: username.clone() };
        let (action, kind) = (AuditAction::ImageLoginSet, AuditTargetKind::ImageRegistry);
        tx.append_audit(&self.actor.did(*updated_at, action, kind, registry, &details))?;
        Ok(known.is_none())
    }
}

fn sealed_text(login: &ImageLogin, password: &SecretValue) -> Result<SecretValue, Error> {
    let document = json!({
        "registry": login.registry, "username": login.username, "password": password.reveal(),
    });
    SecretValue::new(Zeroizing::new(document.to_string()))
        .map_err(|error| Error::with_detail(ErrorCode::InvalidSecret, error.to_string()))
}

/// Hosts are longer than names of secrets may be.
fn row_name(registry: &str) -> SecretName {
    let digest = ring::digest::digest(&ring::digest::SHA256, registry.as_bytes());
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{PREFIX}{hex}").parse().expect("letters, digits and `_`")
}

fn is_login(row: &SealedSecret) -> bool {
    row.name.as_str().starts_with(PREFIX)
}

fn page_of_logins() -> SecretQuery {
    // Rows come by name.
    let after = PREFIX.parse().ok();
    SecretQuery { owner: Sealer::SYSTEM_SECRETS, after, limit: MAX_LOGINS }
}

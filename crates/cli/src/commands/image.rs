//! `warren image`: who Warren is to registries of images.

use warren_api::SetImageLogin;
use warren_doors::{Clock as _, SystemClock};
use warren_model::ErrorCode;

use super::secret::read_value;
use super::workspace::age;
use crate::arguments::ImageCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};

pub(crate) async fn run(context: &Context, command: ImageCommand) -> Outcome<Exit> {
    match command {
        ImageCommand::Login { registry, username } => login(context, &registry, username).await?,
        ImageCommand::Logins => list(context).await?,
        ImageCommand::Logout { registry } => {
            context.client()?.remove_image_login(&registry).await?;
            context.output.note(&format!("The login at {registry} is removed."));
        }
    }
    Ok(Exit::OK)
}

async fn login(context: &Context, registry: &str, username: String) -> Outcome<()> {
    let client = context.client()?;
    let password = read_value(&format!("Password of {username} at {registry}"))?;
    if password.is_empty() {
        return Err(Report::new(ErrorCode::InvalidSecret)
            .because("there is no password: standard input is empty")
            .hint(format!(
                "Pipe it in, such as `warren image login {registry} --username {username} < FILE`."
            ))
            .into());
    }
    let set =
        client.set_image_login(registry, &SetImageLogin { username, password: password.to_string() }).await?;
    if context.output.is_json {
        return context.output.json(&set);
    }
    context.output.note(&format!("Images of {} are pulled as {}.", set.registry, set.username));
    Ok(())
}

async fn list(context: &Context) -> Outcome<()> {
    let found = context.client()?.image_logins().await?;
    context.output.note_unreadable(&found.unreadable);
    if context.output.is_json {
        return context.output.json(&found.items);
    }
    if found.items.is_empty() {
        context.output.note("No logins. Set one with `warren image login REGISTRY --username NAME`.");
        return Ok(());
    }
    let now = SystemClock.now();
    let rows: Vec<Vec<String>> = found
        .items
        .iter()
        .map(|login| vec![login.registry.clone(), login.username.clone(), age(&login.updated_at, now)])
        .collect();
    context.output.table(&["registry", "username", "changed"], &rows)
}

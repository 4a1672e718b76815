//! `warren audit`: the log of who did what to which, and whether it is still what was written.

use std::path::Path;

use warren_api::AuditEntry;
use warren_api::client::{AuditQuery, Client};
use warren_model::{AuditHash, AuditHead, ErrorCode, canonical_json};
use warren_rules::access::audit::{Broken, Verification};
use warren_store::{Error as StoreError, Store};

use super::cursors::first_of_pages;
use crate::arguments::{AuditCommand, AuditListArguments, AuditVerifyArguments};
use crate::config::redacted_url;
use crate::context::Context;
use crate::database;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::names::Names;
use crate::terminal_text::visible;

/// Entries read from a database at a time.
const PAGE: u32 = 500;

pub(crate) async fn run(context: &Context, command: AuditCommand) -> Outcome<Exit> {
    match command {
        AuditCommand::Ls(arguments) => list(context, arguments).await?,
        AuditCommand::Verify(arguments) => verify(context, &arguments).await?,
        AuditCommand::Head => head(context).await?,
    }
    Ok(Exit::OK)
}

async fn list(context: &Context, arguments: AuditListArguments) -> Outcome<()> {
    let client = context.client()?;
    let (target_kind, target_id) = match arguments.target {
        Some(target) => match target.split_once(':') {
            Some((kind, id)) => (Some(kind.to_owned()), Some(id.to_owned())),
            None => (Some(target), None),
        },
        None => (None, None),
    };
    let query = AuditQuery {
        cursor: arguments.after.map(|after| after.to_string()),
        limit: None,
        target_kind,
        target_id,
        principal: arguments.principal,
        action: arguments.action,
        since: arguments.since,
        until: arguments.until,
    };
    let found = entries(context, &client, query, arguments.limit.unwrap_or(usize::MAX)).await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    let names = Names::load(&client).await;
    let rows: Vec<Vec<String>> = found.iter().map(|entry| row(entry, &names)).collect();
    context.output.table(&["number", "at", "who", "action", "target", "outcome", "details"], &rows)
}

async fn entries(
    context: &Context,
    client: &Client,
    query: AuditQuery,
    limit: usize,
) -> Outcome<Vec<AuditEntry>> {
    first_of_pages(limit, query.cursor.clone(), async |cursor| {
        let query = AuditQuery { cursor: cursor.map(str::to_owned), ..query.clone() };
        let page = client.audit(&query).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await
}

fn row(entry: &AuditEntry, names: &Names) -> Vec<String> {
    vec![
        entry.seq.to_string(),
        entry.at.clone(),
        names.written(&entry.principal),
        entry.action.clone(),
        names.who(&entry.target.kind, &entry.target.id),
        entry.outcome.clone(),
        entry.details.to_string(),
    ]
}

async fn head(context: &Context) -> Outcome<()> {
    let head = context.client()?.audit_head().await?;
    if context.output.is_json {
        return context.output.json(&head);
    }
    context.output.line(&format!("{}:{}", head.seq, head.hash))
}

async fn verify(context: &Context, arguments: &AuditVerifyArguments) -> Outcome<()> {
    let noted = match &arguments.head {
        Some(text) => Some(AuditHead::parse(text).ok_or_else(|| {
            Report::new(ErrorCode::InvalidUsage)
                .because("--head: expected NUMBER:HASH, as `warren audit head` prints it")
        })?),
        None => None,
    };
    let verified = match (&arguments.file, &arguments.database) {
        (Some(file), _) => verify_entries(&read_file(file)?, noted, None)?,
        (None, Some(address)) => verify_database(context, address, noted).await?,
        (None, None) => {
            let client = context.client()?;
            // First the head, then the log: what is written in between makes it longer, not wrong.
            let recorded = client.audit_head().await?;
            let recorded = AuditHash::parse(&recorded.hash)
                .map(|hash| AuditHead { seq: recorded.seq, hash })
                .ok_or_else(|| unexpected("head"))?;
            let found = entries(context, &client, AuditQuery::default(), usize::MAX).await?;
            verify_entries(&found, noted, Some(recorded))?
        }
    };
    if context.output.is_json {
        let document = serde_json::json!({ "seq": verified.seq, "hash": verified.hash.to_string() });
        return context.output.json(&document);
    }
    context.output.note(&format!("{} entries, each as it was written. The head:", verified.seq));
    context.output.line(&verified.to_string())
}

fn verify_entries(
    entries: &[AuditEntry],
    noted: Option<AuditHead>,
    recorded: Option<AuditHead>,
) -> Outcome<AuditHead> {
    let mut verification = Verification::new(noted.into_iter().chain(recorded));
    for entry in entries {
        verification.push(&from_wire(entry)?).map_err(|error| broken(&error))?;
    }
    Ok(verification.finish().map_err(|error| broken(&error))?)
}

fn read_file(path: &Path) -> Outcome<Vec<AuditEntry>> {
    let text = std::fs::read_to_string(path).map_err(|error| Report::local_file(path, &error))?;
    serde_json::from_str(&text).map_err(|error| {
        Report::new(ErrorCode::InvalidUsage)
            .because(format!("{}: {error}", path.display()))
            .hint("Give a file that `warren audit ls --json` wrote.")
            .into()
    })
}

/// The database as it is: one that would have to be brought up to date first is not touched.
async fn verify_database(context: &Context, address: &str, noted: Option<AuditHead>) -> Outcome<AuditHead> {
    if let database::Found::Sqlite(health) = database::look(address, &context.data_path()?).await?
        && health.schema_version != warren_store_sql::newest_schema()
    {
        return Err(Report::new(ErrorCode::DatabaseDamaged)
            .because(format!("{} was written by an older Warren", redacted_url(address)))
            .hint("Start `warren up` on it once, which brings it up to date, then verify again.")
            .into());
    }
    let store = warren_store_sql::open(address).await.map_err(|error| database::unusable(&error, address))?;
    let verified = walk(&*store, noted).await;
    store.close().await;
    Ok(verified.map_err(|error| database::unusable(&error, address))?.map_err(|error| broken(&error))?)
}

async fn walk(store: &dyn Store, noted: Option<AuditHead>) -> Result<Result<AuditHead, Broken>, StoreError> {
    let recorded = store.read(|tx| tx.audit_head()).await?;
    let mut verification = Verification::new(noted.into_iter().chain([recorded]));
    let mut query = warren_store::AuditQuery::all(0, PAGE);
    loop {
        let asked = query.clone();
        let page = store.read(move |tx| tx.audit(&asked)).await?.whole()?;
        if let Err(error) = page.rows.iter().try_for_each(|entry| verification.push(entry)) {
            return Ok(Err(error));
        }
        match page.next {
            Some(next) => query.after = next,
            None => return Ok(verification.finish()),
        }
    }
}

fn broken(error: &Broken) -> Report {
    Report::new(ErrorCode::AuditBroken).because(format!("entry {}: {}", error.seq, error.why.sentence()))
}

fn unexpected(field: &str) -> Report {
    Report::new(ErrorCode::UnexpectedAnswer)
        .because(format!("an entry of the audit log has a `{}` that cannot be read", visible(field)))
}

/// The entry as it was hashed.
fn from_wire(entry: &AuditEntry) -> Outcome<warren_model::AuditEntry> {
    let hash = |field: &str, text: &str| -> Outcome<AuditHash> {
        Ok(AuditHash::parse(text).ok_or_else(|| unexpected(field))?)
    };
    Ok(warren_model::AuditEntry {
        seq: entry.seq,
        at: entry.at.parse().map_err(|_| unexpected("at"))?,
        org_id: entry.org_id.parse().map_err(|_| unexpected("org_id"))?,
        principal: entry.principal.clone(),
        token_id: entry
            .token_id
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|_| unexpected("token_id"))?,
        token_prefix: entry.token_prefix.clone(),
        action: entry.action.clone(),
        target_kind: entry.target.kind.clone(),
        target_id: entry.target.id.clone(),
        outcome: entry.outcome.clone(),
        request_id: entry.request_id.clone(),
        details: canonical_json(&entry.details),
        previous_hash: hash("previous_hash", &entry.previous_hash)?,
        hash: hash("hash", &entry.hash)?,
    })
}

//! What was made with which token, in SQL.

use warren_model::{MadeWithToken, OrgId, Principal, TokenId};
use warren_store::{Error, MadeWithReads, MadeWithWrites};

use crate::row::Columns;
use crate::transaction::Transaction;
use crate::value::Value;

const LIST: &str = "SELECT kind, target_id FROM made_with WHERE token_id = $1 ORDER BY kind, target_id";
const MADE_BY: &str = "SELECT 'schedule', id FROM schedules WHERE created_by = $1 AND org_id = $2 \
     UNION ALL SELECT 'webhook', id FROM webhooks WHERE created_by = $1 AND org_id = $2 \
     UNION ALL SELECT 'channel', id FROM channels WHERE created_by = $1 AND org_id = $2";
const INSERT: &str =
    "INSERT INTO made_with (kind, target_id, token_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
/// One that is gone may have made others, which are found through it.
const PRUNE: &str = "DELETE FROM made_with WHERE (kind, target_id) IN (SELECT kind, target_id FROM made_with AS m WHERE \
     (kind = 'token' AND NOT EXISTS (SELECT 1 FROM tokens WHERE tokens.id = m.target_id) \
        AND NOT EXISTS (SELECT 1 FROM made_with AS others WHERE others.token_id = m.target_id)) \
     OR (kind = 'schedule' AND NOT EXISTS (SELECT 1 FROM schedules WHERE schedules.id = m.target_id)) \
     OR (kind = 'webhook' AND NOT EXISTS (SELECT 1 FROM webhooks WHERE webhooks.id = m.target_id)) \
     OR (kind = 'channel' AND NOT EXISTS (SELECT 1 FROM channels WHERE channels.id = m.target_id)) LIMIT $1)";

impl MadeWithReads for Transaction<'_> {
    fn made_with(&mut self, token_id: TokenId) -> Result<Vec<MadeWithToken>, Error> {
        self.rows("made_with", LIST, &[token_id.into()], read)
    }

    fn made_by(&mut self, who: &Principal, org_id: OrgId) -> Result<Vec<MadeWithToken>, Error> {
        self.rows("made_with", MADE_BY, &[who.to_string().into(), org_id.into()], read)
    }
}

impl MadeWithWrites for Transaction<'_> {
    fn note_made_with(&mut self, token_id: TokenId, made: MadeWithToken) -> Result<(), Error> {
        let target: Value<'_> = match made {
            MadeWithToken::Token(id) => id.into(),
            MadeWithToken::Schedule(id) => id.into(),
            MadeWithToken::Webhook(id) => id.into(),
            MadeWithToken::Channel(id) => id.into(),
        };
        self.execute(INSERT, &[made.kind().into(), target, token_id.into()]).map(drop)
    }

    fn prune_made_with(&mut self, limit: u32) -> Result<u64, Error> {
        self.execute(PRUNE, &[Value::Int(Some(i64::from(limit)))])
    }
}

fn read(row: &mut Columns<'_>) -> Result<MadeWithToken, Error> {
    let kind = row.text()?.to_owned();
    match kind.as_str() {
        "token" => Ok(MadeWithToken::Token(row.id()?)),
        "schedule" => Ok(MadeWithToken::Schedule(row.id()?)),
        "webhook" => Ok(MadeWithToken::Webhook(row.id()?)),
        "channel" => Ok(MadeWithToken::Channel(row.id()?)),
        other => Err(row.corrupt(format!("`{other}` is not made with a token"))),
    }
}

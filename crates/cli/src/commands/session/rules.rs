//! Rules about tool calls that people made, most of them with "always allow".

use warren_api::ToolRule;
use warren_api::client::Client;

use crate::commands::cursors::all_pages;
use crate::commands::facts::word;
use crate::context::Context;
use crate::failure::Outcome;

pub(super) async fn list(context: &Context, client: &Client) -> Outcome<()> {
    let rules = all_pages(None, async |cursor| {
        let page = client.tool_rules(cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&rules);
    }
    if rules.is_empty() {
        context.output.note("Nobody made a rule. `warren session approve --remember session` makes one.");
        return Ok(());
    }
    let rows: Vec<_> = rules.iter().map(row).collect();
    context.output.table(&["id", "decision", "tool", "where", "until", "by"], &rows)
}

pub(super) async fn revoke(context: &Context, client: &Client, id: &str) -> Outcome<()> {
    let rule = client.revoke_tool_rule(id).await?;
    if context.output.is_json {
        return context.output.json(&rule);
    }
    context.output.note(&format!("The rule about {} counts no more.", rule.tool));
    Ok(())
}

fn row(rule: &ToolRule) -> Vec<String> {
    let at = [&rule.session_id, &rule.workspace_id, &rule.agent].into_iter().flatten().next();
    let place = match at {
        Some(at) => format!("{} {at}", word(rule.scope)),
        None => word(rule.scope),
    };
    let arguments = rule.arguments.iter().map(|(name, pattern)| format!(" {name}={pattern}"));
    let tool: String = std::iter::once(rule.tool.clone()).chain(arguments).collect();
    let until = match (&rule.revoked_at, &rule.expires_at) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) => at.clone(),
        (None, None) => "it is revoked".to_owned(),
    };
    let by = format!("{}:{}", word(rule.created_by.kind), rule.created_by.id);
    vec![rule.id.clone(), word(rule.decision), tool, place, until, by]
}

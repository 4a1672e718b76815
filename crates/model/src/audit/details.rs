//! What an entry of the audit log tells beyond who did what to whom. One variant for each shape, so that a field has one
//! name and one type; the JSON is made here and nowhere else.

use serde_json::{Value, json};

use crate::{
    Desired, EventData, OrgQuotas, OrgRole, Principal, ScheduleChange, ScheduleRunId, Scope, ScopeSet,
    Status, Tier, TokenId, TokenKind, UserId, WorkspaceId,
};

/// Names and counts; never a secret, never a file's contents.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditDetails {
    None,
    /// What the event of the same transaction tells.
    Event(EventData),
    /// The same for a secret of this workspace.
    WorkspaceSecret {
        event: EventData,
        workspace_id: WorkspaceId,
    },
    WorkspaceRemoved {
        name: String,
        /// How many went with it.
        secrets: u64,
        is_purged: bool,
    },
    WorkspaceReset {
        from: Status,
    },
    DesiredChanged {
        desired: Desired,
    },
    IsolationRelaxed {
        knobs: Vec<&'static str>,
        tier: Tier,
    },
    RuntimeRegistered {
        boots: u64,
        token_id: TokenId,
    },
    BudgetSet {
        from_micros: Option<u64>,
        to_micros: Option<u64>,
    },
    Token {
        kind: TokenKind,
        name: String,
        owner: Principal,
        prefix: String,
        scopes: ScopeSet,
    },
    AccessRefused {
        /// How many before this one were only counted.
        not_recorded_before: u64,
    },
    QueueCleared {
        messages: u64,
    },
    ScheduleChanged {
        name: String,
        change: ScheduleChange,
        workspace_id: WorkspaceId,
    },
    ScheduleRun {
        run_id: ScheduleRunId,
        name: String,
    },
    ApprovalDecided {
        action: String,
        workspace_id: WorkspaceId,
    },
    WebhookChanged {
        is_active: bool,
    },
    ImageLogin {
        username: String,
    },
    /// A person as they are from now on.
    User {
        name: String,
        display_name: String,
        is_admin: bool,
        role: Option<OrgRole>,
    },
    /// A person who is no longer there, and what ended with them.
    UserLeft {
        name: String,
        ended: u64,
    },
    Invitation {
        role: OrgRole,
        email: Option<String>,
        used_by: Option<UserId>,
    },
    Org {
        name: String,
        quotas: OrgQuotas,
    },
}

impl AuditDetails {
    /// As it is stored. Entries are hashed with their JSON, so that those who verify an old log need its spelling as it was.
    pub fn to_json(&self) -> Value {
        match self {
            Self::None => json!({}),
            Self::Event(event) => event.to_json(),
            Self::WorkspaceSecret { event, workspace_id } => {
                let mut details = event.to_json();
                details["workspace_id"] = json!(workspace_id);
                details
            }
            Self::WorkspaceRemoved { name, secrets, is_purged } => {
                json!({ "name": name, "secrets": secrets, "is_purged": is_purged })
            }
            Self::WorkspaceReset { from } => json!({ "from": from }),
            Self::DesiredChanged { desired } => json!({ "fields": ["desired"], "desired": desired }),
            Self::IsolationRelaxed { knobs, tier } => json!({ "knobs": knobs, "tier": tier }),
            Self::RuntimeRegistered { boots, token_id } => json!({ "boots": boots, "token_id": token_id }),
            Self::BudgetSet { from_micros, to_micros } => {
                json!({ "from_micros": from_micros, "to_micros": to_micros })
            }
            Self::Token { kind, name, owner, prefix, scopes } => json!({
                "kind": kind.as_str(),
                "name": name,
                "owner": owner.to_string(),
                "prefix": prefix,
                "scopes": scopes.iter().map(Scope::as_str).collect::<Vec<_>>(),
            }),
            Self::AccessRefused { not_recorded_before } => {
                json!({ "not_recorded_before": not_recorded_before })
            }
            Self::QueueCleared { messages } => json!({ "messages": messages }),
            Self::ScheduleChanged { name, change, workspace_id } => {
                json!({ "name": name, "change": change, "workspace_id": workspace_id })
            }
            Self::ScheduleRun { run_id, name } => json!({ "run_id": run_id, "name": name }),
            Self::ApprovalDecided { action, workspace_id } => {
                json!({ "action": action, "workspace_id": workspace_id })
            }
            Self::WebhookChanged { is_active } => json!({ "is_active": is_active }),
            Self::ImageLogin { username } => json!({ "username": username }),
            Self::User { name, display_name, is_admin, role } => json!({
                "name": name,
                "display_name": display_name,
                "is_admin": is_admin,
                "role": role,
            }),
            Self::UserLeft { name, ended } => json!({ "name": name, "ended": ended }),
            Self::Invitation { role, email, used_by } => {
                json!({ "role": role, "email": email, "used_by": used_by })
            }
            Self::Org { name, quotas } => json!({ "name": name, "quotas": quotas }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::canonical_json;
    use crate::event::{SecretRemoved, WorkspaceSpecChanged};
    use crate::{SecretOwnerKind, UserId};

    // F35: what was written by an earlier version is verified by its spelling
    #[test]
    fn every_shape_has_its_spelling() {
        let id = WorkspaceId::from_bytes([1; 16]);
        let removed = SecretRemoved { name: "KEY".into(), owner: SecretOwnerKind::Workspace, workspaces: 1 };
        let cases = [
            (AuditDetails::None, "{}".to_owned()),
            (
                AuditDetails::Event(
                    WorkspaceSpecChanged { fields: vec!["peers".into()], generation: 2 }.into(),
                ),
                r#"{"fields":["peers"],"generation":2}"#.into(),
            ),
            (
                AuditDetails::WorkspaceSecret { event: removed.into(), workspace_id: id },
                format!(r#"{{"name":"KEY","owner":"workspace","workspace_id":"{id}","workspaces":1}}"#),
            ),
            (
                AuditDetails::WorkspaceRemoved { name: "demo".into(), secrets: 3, is_purged: false },
                r#"{"is_purged":false,"name":"demo","secrets":3}"#.into(),
            ),
            (AuditDetails::ImageLogin { username: "ci".into() }, r#"{"username":"ci"}"#.into()),
            (AuditDetails::WorkspaceReset { from: Status::Failed }, r#"{"from":"failed"}"#.into()),
            (
                AuditDetails::DesiredChanged { desired: Desired::Paused },
                r#"{"desired":"paused","fields":["desired"]}"#.into(),
            ),
            (
                AuditDetails::IsolationRelaxed { knobs: vec!["local"], tier: Tier::Basic },
                r#"{"knobs":["local"],"tier":"basic"}"#.into(),
            ),
            (
                AuditDetails::RuntimeRegistered { boots: 2, token_id: TokenId::from_bytes([2; 16]) },
                format!(r#"{{"boots":2,"token_id":"{}"}}"#, TokenId::from_bytes([2; 16])),
            ),
            (
                AuditDetails::BudgetSet { from_micros: None, to_micros: Some(5) },
                r#"{"from_micros":null,"to_micros":5}"#.into(),
            ),
            (
                AuditDetails::Token {
                    kind: TokenKind::User,
                    name: "ci".into(),
                    owner: Principal::user(UserId::OPERATOR),
                    prefix: "wrn_u_abc".into(),
                    scopes: [Scope::EventsRead].into_iter().collect(),
                },
                format!(
                    r#"{{"kind":"user","name":"ci","owner":"{}","prefix":"wrn_u_abc","scopes":["events:read"]}}"#,
                    Principal::user(UserId::OPERATOR)
                ),
            ),
            (AuditDetails::AccessRefused { not_recorded_before: 4 }, r#"{"not_recorded_before":4}"#.into()),
            (AuditDetails::QueueCleared { messages: 7 }, r#"{"messages":7}"#.into()),
            (
                AuditDetails::ScheduleChanged {
                    name: "n".into(),
                    change: ScheduleChange::Paused,
                    workspace_id: id,
                },
                format!(r#"{{"change":"paused","name":"n","workspace_id":"{id}"}}"#),
            ),
            (
                AuditDetails::ScheduleRun { run_id: ScheduleRunId::from_bytes([3; 16]), name: "n".into() },
                format!(r#"{{"name":"n","run_id":"{}"}}"#, ScheduleRunId::from_bytes([3; 16])),
            ),
            (
                AuditDetails::ApprovalDecided { action: "deploy".into(), workspace_id: id },
                format!(r#"{{"action":"deploy","workspace_id":"{id}"}}"#),
            ),
            (AuditDetails::WebhookChanged { is_active: true }, r#"{"is_active":true}"#.into()),
        ];
        for (details, spelling) in cases {
            assert_eq!(canonical_json(&details.to_json()), spelling, "{details:?}");
        }
    }
}

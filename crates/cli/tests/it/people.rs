//! `warren user`, `warren org` and `warren whoami` (F37).

use serde_json::json;

use crate::pty::Pty;
use crate::warren::Machine;

// F37
#[test]
fn people_and_orgs_are_kept_by_name_from_the_command_line() {
    let machine = Machine::new();
    let server = machine.start();
    let me = machine.run(&["whoami"]).expect_ok().text();
    assert!(me.contains("operator (Operator)") && me.contains("default (operator)"), "{me}");
    machine.run(&["user", "add", "anna", "--role", "viewer", "--display-name", "Anna M"]).expect_ok();
    machine.run(&["user", "add", "ANNA", "--json"]).expect_error(1, "invalid_request");
    machine.run(&["user", "add", "annа", "--json"]).expect_error(1, "invalid_request");
    machine.run(&["user", "add", "bert", "--display-name", "anna m", "--json"]).expect_error(5, "name_taken");
    let listed = machine.run(&["user", "ls"]).expect_ok().text();
    assert!(listed.contains("anna") && listed.contains("Anna M") && listed.contains("viewer"), "{listed}");
    machine.run(&["user", "role", "anna", "member"]).expect_ok();
    let link = machine.run(&["user", "link", "anna"]).expect_ok().text();
    assert!(link.starts_with(server.url()) && link.contains("/#sign-in=wrn_login_"), "{link}");
    let invitation = machine.run(&["user", "invite", "--role", "viewer"]).expect_ok();
    assert!(invitation.text().contains("/#invitation=wrn_invitation_"), "{invitation:?}");
    assert!(invitation.stderr.contains("7 days"), "{invitation:?}");
    let open = machine.run(&["user", "invitations", "--json"]).expect_ok().json();
    assert_eq!((&open[0]["state"], &open[0]["invited_by"]["name"]), (&json!("open"), &json!("Operator")));
    machine.run(&["user", "uninvite", open[0]["id"].as_str().unwrap()]).expect_ok();
    machine.run(&["org", "create", "lab", "--max-members", "1"]).expect_ok();
    machine.run(&["user", "add", "carl", "--org", "lab", "--role", "operator"]).expect_ok();
    machine.run(&["user", "add", "anna", "--org", "lab", "--json"]).expect_error(5, "quota_exceeded");
    let shown = machine.run(&["org", "set", "lab", "--max-members", "none", "--json"]).expect_ok().json();
    assert_eq!(shown["quotas"], json!({ "max_tier": "basic" }));
    machine.run(&["org", "use", "lab"]).expect_ok();
    let people = machine.run(&["user", "ls", "--json"]).expect_ok().json();
    assert_eq!((people.as_array().unwrap().len(), &people[0]["name"]), (1, &json!("carl")));
    machine.run(&["org", "use", "default"]).expect_ok();
    machine.run(&["user", "rm", "anna"]).expect_ok();
    machine.run(&["user", "show", "nobody", "--json"]).expect_error(3, "user_not_found");
    machine.run(&["org", "rm", "lab"]).expect_ok();
    let orgs = machine.run(&["org", "ls"]).expect_ok().text();
    assert!(orgs.contains("default") && !orgs.contains("lab"), "{orgs}");
}

// F37: what takes somebody away asks first where a person sits at it
#[test]
fn taking_a_person_out_asks_first_at_a_terminal() {
    let machine = Machine::new();
    let _server = machine.start();
    machine.run(&["user", "add", "anna"]).expect_ok();
    let mut asked = Pty::spawn(&machine.command(&["user", "rm", "anna"]), 24, 100);
    asked.see("Take anna out of this org, and end what acts in their name? [y/N]");
    asked.type_in("\n");
    asked.see("Nobody was taken out.");
    machine.run(&["user", "show", "anna"]).expect_ok();
    let mut asked = Pty::spawn(&machine.command(&["user", "rm", "anna"]), 24, 100);
    asked.see("[y/N]");
    asked.type_in("y\n");
    asked.see("anna is out of the org");
}

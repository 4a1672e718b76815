//! People whom a sign-in provider vouches for.

use warren_fleet::{Invite, Made, NewPeople, ProviderPerson};
use warren_model::{ErrorCode, OrgId, OrgRole};
use warren_testkit::Bed;

use crate::people::{invite, org, person, person_in};

fn anna() -> ProviderPerson {
    ProviderPerson {
        issuer: "https://id.example".into(),
        subject: "s-1".into(),
        email: Some("Anna@example.org".into()),
        email_verified: true,
        name: Some("anna".into()),
        display_name: Some("Anna Müller".into()),
    }
}

async fn try_sign_in(
    bed: &Bed,
    person: ProviderPerson,
    invitation: Option<&str>,
    new: &NewPeople,
) -> Result<warren_service::Identity, ErrorCode> {
    let invitation = invitation.map(str::to_owned);
    let minted = bed.fleet.users.sign_in_by_provider(person, invitation, new, None).await;
    match minted {
        Ok(minted) => Ok(bed.identify(&minted).await),
        Err(error) => Err(error.code),
    }
}

fn of_domain() -> NewPeople {
    NewPeople { domains: vec!["example.org".into()], org_id: OrgId::DEFAULT, role: OrgRole::Member }
}

// F31: default deny
#[tokio::test]
async fn nobody_comes_in_by_a_provider_who_is_not_invited_or_of_an_allowed_domain() {
    for bed in Bed::on_each_store().await {
        let nobody = NewPeople::default();
        assert_eq!(try_sign_in(&bed, anna(), None, &nobody).await, Err(ErrorCode::NotInvited));
        for (email, email_verified) in
            [(Some("anna@example.org"), false), (Some("anna@evil.org"), true), (None, true)]
        {
            let person = ProviderPerson { email: email.map(Into::into), email_verified, ..anna() };
            assert_eq!(try_sign_in(&bed, person, None, &of_domain()).await, Err(ErrorCode::NotInvited));
        }
        let who = try_sign_in(&bed, anna(), None, &of_domain()).await.unwrap();
        assert_eq!((who.name(), who.role()), (Some("anna"), Some(OrgRole::Member)));
        // Found again by issuer and subject alone: the domain is not asked for any more, nor the name.
        let renamed = ProviderPerson { name: Some("other".into()), email: None, ..anna() };
        let again = try_sign_in(&bed, renamed, None, &nobody).await.unwrap();
        assert_eq!((&again.principal, again.name()), (&who.principal, Some("anna")));
        // The same name or address of another subject or issuer is another person.
        for person in [
            ProviderPerson { subject: "s-2".into(), ..anna() },
            ProviderPerson { issuer: "https://other.example".into(), ..anna() },
        ] {
            let other = try_sign_in(&bed, person, None, &of_domain()).await.unwrap();
            assert_ne!(other.principal, who.principal);
        }
        // Whoever was taken out does not come back by themselves.
        bed.fleet.users.remove(&bed.operator, None, "anna", Made::Ends).await.unwrap();
        assert_eq!(try_sign_in(&bed, anna(), None, &of_domain()).await, Err(ErrorCode::NotInvited));
    }
}

// F9, F31: bad input: a forwarded invitation
#[tokio::test]
async fn an_invitation_for_an_address_is_taken_by_that_address_alone() {
    for bed in Bed::on_each_store().await {
        let boss = person(&bed, "boss", OrgRole::Operator).await;
        let meant = Invite { email: Some("anna@example.org".into()), ..invite(OrgRole::Operator) };
        let (_, secret) = bed.fleet.invitations.create(&boss, meant).await.unwrap();
        let secret = Some(secret.reveal());
        let nobody = NewPeople::default();
        let forwarded =
            ProviderPerson { subject: "s-9".into(), email: Some("eve@example.org".into()), ..anna() };
        let for_another = Err(ErrorCode::InvitationForAnother);
        assert_eq!(try_sign_in(&bed, forwarded, secret, &nobody).await, for_another);
        let unproven = ProviderPerson { email_verified: false, ..anna() };
        assert_eq!(try_sign_in(&bed, unproven, secret, &nobody).await, for_another);
        let who = try_sign_in(&bed, anna(), secret, &nobody).await.unwrap();
        assert_eq!(who.role(), Some(OrgRole::Operator));
        let late = ProviderPerson { subject: "s-3".into(), ..anna() };
        assert_eq!(try_sign_in(&bed, late, secret, &nobody).await, Err(ErrorCode::InvitationUsed));
        let forged = try_sign_in(&bed, anna(), Some("wrn_invitation_forged"), &nobody).await;
        assert_eq!(forged, Err(ErrorCode::InvitationNotFound));
    }
}

// F9: who is known joins as who they are
#[tokio::test]
async fn who_is_known_to_the_provider_joins_another_org_by_invitation() {
    for bed in Bed::on_each_store().await {
        let lab = org(&bed, "lab").await;
        let boss = person_in(&bed, Some("lab"), "boss", OrgRole::Operator).await;
        let first = try_sign_in(&bed, anna(), None, &of_domain()).await.unwrap();
        let (_, secret) = bed.fleet.invitations.create(&boss, invite(OrgRole::Viewer)).await.unwrap();
        let joined = try_sign_in(&bed, anna(), Some(secret.reveal()), &NewPeople::default()).await.unwrap();
        assert_eq!((joined.principal, joined.token.org_id), (first.principal, lab));
    }
}

//! People: what names look like, who may change whom, how long an invitation is good (F9, F30).

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::skeleton;
use warren_model::{Invitation, InvitationState, OrgRole, Timestamp};

use crate::text::unseen;

/// The longest name to be shown.
pub const MAX_DISPLAY_CHARACTERS: usize = 80;
/// How long an invitation is good, unless told.
pub const INVITATION_LIFETIME_MS: i64 = 7 * DAY_MS;
const MAX_INVITATION_LIFETIME_MS: i64 = 30 * DAY_MS;
const DAY_MS: i64 = 24 * 3_600 * 1_000;
const MAX_EMAIL_BYTES: usize = 254;

/// What is wrong with a name to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayNameProblem {
    Length,
    /// A character that is not seen, or that moves others about.
    Unseen,
}

impl DisplayNameProblem {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Length => "display_name: 1 to 80 characters",
            Self::Unseen => {
                "display_name: no control characters, and none that are not seen or turn the direction of writing"
            }
        }
    }
}

/// A name as it is kept: without space at its ends, and with one where there were several.
pub fn check_display_name(text: &str) -> Result<String, DisplayNameProblem> {
    if text.chars().any(is_unseen) {
        return Err(DisplayNameProblem::Unseen);
    }
    let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if (1..=MAX_DISPLAY_CHARACTERS).contains(&name.chars().count()) {
        Ok(name)
    } else {
        Err(DisplayNameProblem::Length)
    }
}

/// Control characters, and those that have no width or turn the direction of writing: with them two names that differ look
/// the same, and a line is shown in another order than it is written.
fn is_unseen(character: char) -> bool {
    // Selectors of pictures are seen in a text, beside the picture; a name has none.
    let is_selector = matches!(character, '\u{fe0e}' | '\u{fe0f}');
    character.is_control() || unseen::is_unseen(character) || is_selector
}

/// What a name may be taken for. Two people whose names have a look in common would be taken for each other.
///
/// The look is the skeleton of Unicode's table of characters that look alike. A capital letter may look like another
/// letter than its small form does (`I` like `l`), so that both ways are taken.
pub fn looks(name: &str) -> BTreeSet<String> {
    let plain: String = name.nfkc().filter(|character| !character.is_whitespace()).collect();
    let of_small: String = skeleton(&plain.to_lowercase()).collect();
    let as_written: String = skeleton(&plain).collect();
    [small(&of_small), small(&as_written)].into()
}

/// All looks of a person.
pub fn looks_of(name: &str, display_name: &str) -> Vec<String> {
    looks(name).into_iter().chain(looks(display_name)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The skeleton of `O` is `O`, and of `0` too, while that of `o` is `o`; hence once more.
fn small(look: &str) -> String {
    skeleton(&look.to_lowercase()).collect()
}

/// An address as it is compared: in small letters. Whether it exists, its provider says.
pub fn check_email(text: &str) -> Option<String> {
    let text = text.trim();
    let (user, domain) = text.rsplit_once('@')?;
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.chars().any(|c| c.is_whitespace() || is_unseen(c) || matches!(c, '<' | '>' | ','))
    };
    let is_well = is_plain(user) && is_plain(domain) && domain.contains('.') && text.len() <= MAX_EMAIL_BYTES;
    is_well.then(|| text.to_lowercase())
}

/// Why an invitation is not for this person now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvitationRefusal {
    Used,
    Expired,
    Revoked,
    /// It is for an address, which this person has not proven to have.
    ForAnother,
}

/// Who takes an invitation, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taker<'a> {
    /// Somebody who has its secret.
    Bearer,
    /// Somebody whose address a sign-in provider vouches for.
    Vouched { email: &'a str },
}

/// How an invitation stands.
pub fn standing(invitation: &Invitation, now: Timestamp) -> Result<(), InvitationRefusal> {
    match invitation.state(now) {
        InvitationState::Open => Ok(()),
        InvitationState::Used => Err(InvitationRefusal::Used),
        InvitationState::Revoked => Err(InvitationRefusal::Revoked),
        InvitationState::Expired => Err(InvitationRefusal::Expired),
    }
}

/// Whether this person may take an invitation now. One that was made for an address is taken by nobody to whom it was
/// forwarded.
pub fn may_take(invitation: &Invitation, taker: Taker<'_>, now: Timestamp) -> Result<(), InvitationRefusal> {
    standing(invitation, now)?;
    match (&invitation.email, taker) {
        (None, _) => Ok(()),
        (Some(meant), Taker::Vouched { email }) if check_email(email).as_ref() == Some(meant) => Ok(()),
        (Some(_), _) => Err(InvitationRefusal::ForAnother),
    }
}

/// How long an invitation is good; absent: it was asked for longer than it may be, or for no time.
pub fn invitation_lifetime_ms(asked_seconds: Option<u64>) -> Option<i64> {
    let Some(seconds) = asked_seconds else { return Some(INVITATION_LIFETIME_MS) };
    let ms = i64::try_from(seconds).ok()?.checked_mul(1_000)?;
    (1..=MAX_INVITATION_LIFETIME_MS).contains(&ms).then_some(ms)
}

/// Whether an org would be left without anybody who runs it.
pub fn leaves_no_operator(before: OrgRole, after: Option<OrgRole>, operators: u64, by_admin: bool) -> bool {
    let loses_one = before == OrgRole::Operator && after != Some(OrgRole::Operator);
    loses_one && operators <= 1 && !by_admin
}

/// A person whom somebody wants to change, or to make a link for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person<'a> {
    pub is_admin: bool,
    /// The roles that the one who asks has where this person is.
    pub roles_of_asker: &'a [Option<OrgRole>],
}

/// Whether an operator may act for a whole person, and not only in their own org: change what they are called, or make a
/// link by which one becomes them. Whoever runs this Warren is out of an operator's reach, and so is who is elsewhere too.
pub fn is_in_reach(person: &Person<'_>) -> bool {
    let runs_all = person.roles_of_asker.iter().all(|role| *role == Some(OrgRole::Operator));
    !person.is_admin && runs_all && !person.roles_of_asker.is_empty()
}

/// Whether there is room for one more.
pub fn has_room(max: Option<u32>, count: u64) -> bool {
    max.is_none_or(|max| count < u64::from(max))
}

/// Whether a provider's address is of one of these domains. `example.org` does not mean `evil-example.org`, nor those below
/// it.
pub fn is_of_domain(email: &str, domains: &[String]) -> bool {
    let Some(email) = check_email(email) else { return false };
    let domain = email.rsplit_once('@').map_or("", |(_, domain)| domain);
    domains.iter().any(|allowed| allowed.trim_start_matches('@').eq_ignore_ascii_case(domain))
}

/// A name for somebody whom a provider calls so: what of it a name may have.
pub fn short_name_from(preferred: &str) -> Option<warren_model::ShortName> {
    let head = preferred.split('@').next().unwrap_or_default();
    let plain: String = head
        .nfkd()
        .flat_map(char::to_lowercase)
        .filter_map(|character| match character {
            'a'..='z' | '0'..='9' | '.' | '_' | '-' => Some(character),
            character if character.is_whitespace() => Some('.'),
            _ => None,
        })
        .collect();
    let plain = plain.trim_start_matches(['.', '_', '-']);
    warren_model::truncate_utf8(plain, warren_model::ShortName::MAX_BYTES - 4).parse().ok()
}

#[cfg(test)]
mod tests {
    use warren_model::{OrgId, Principal, TokenHash, UserId};

    use super::*;

    fn is_taken_for(one: &str, other: &str) -> bool {
        !looks(one).is_disjoint(&looks(other))
    }

    // F9: bad input: names that differ only in case or look alike
    #[test]
    fn names_that_look_alike_have_a_look_in_common_and_others_have_not() {
        for (one, other) in [
            ("alice", "Alice"),
            ("alice", "ALICE"),
            ("alice", "аlice"),
            ("scope", "ѕсоре"),
            ("Ian", "lan"),
            ("paul", "pau1"),
            ("bob", "b0b"),
            ("BOB", "b0b"),
            ("Anna Maria", "AnnaMaria"),
            ("modern", "modem"),
            ("ﬁona", "fiona"),
            ("ｍａｘ", "max"),
            ("operator", "Operator"),
            ("zoë", "zoe\u{308}"),
        ] {
            assert!(is_taken_for(one, other), "{one} {other}: {:?} {:?}", looks(one), looks(other));
        }
        for (one, other) in
            [("alice", "alicia"), ("bob", "rob"), ("zoe", "zoë"), ("ann", "anna"), ("max", "mix")]
        {
            assert!(!is_taken_for(one, other), "{one} {other}");
        }
    }

    // F9: the first row is written by the migration
    #[test]
    fn the_operators_look_is_the_one_that_the_migration_wrote() {
        assert_eq!(looks_of("operator", "Operator"), ["operator"]);
    }

    // F9
    #[test]
    fn a_name_to_be_shown_hides_nothing() {
        assert_eq!(check_display_name("  Anna   Müller "), Ok("Anna Müller".into()));
        assert_eq!(check_display_name("山田 太郎 🦀"), Ok("山田 太郎 🦀".into()));
        for hidden in [
            "a\u{200b}b",
            "a\u{202e}b",
            "a\nb",
            "a\u{0}",
            "\u{feff}a",
            "a\u{e0041}",
            "a\u{2067}b",
            "\u{3164}",
        ] {
            assert_eq!(check_display_name(hidden), Err(DisplayNameProblem::Unseen), "{hidden:?}");
        }
        for length in ["", "   ", &"a".repeat(81)] {
            assert_eq!(check_display_name(length), Err(DisplayNameProblem::Length));
        }
        assert_eq!(check_display_name(&"ä".repeat(80)).map(|name| name.chars().count()), Ok(80));
    }

    fn invitation(email: Option<&str>) -> Invitation {
        Invitation {
            id: warren_model::InvitationId::from_bytes([1; 16]),
            org_id: OrgId::DEFAULT,
            role: OrgRole::Member,
            hash: TokenHash([1; 32]),
            email: email.map(str::to_owned),
            invited_by: Principal::user(UserId::OPERATOR),
            created_at: Timestamp::from_micros(0),
            expires_at: Timestamp::from_micros(10),
            used_at: None,
            used_by: None,
            revoked_at: None,
        }
    }

    // F9: bad input: an invitation used twice, expired, revoked, forwarded
    #[test]
    fn an_invitation_is_for_one_person_once_and_in_time() {
        let now = Timestamp::from_micros(5);
        let open = invitation(None);
        let take = |of: &Invitation, taker| may_take(of, taker, now);
        assert_eq!(take(&open, Taker::Bearer), Ok(()));
        assert_eq!(may_take(&open, Taker::Bearer, open.expires_at), Err(InvitationRefusal::Expired));
        let used = Invitation { used_at: Some(now), ..invitation(None) };
        assert_eq!(take(&used, Taker::Bearer), Err(InvitationRefusal::Used));
        let revoked = Invitation { revoked_at: Some(now), ..invitation(None) };
        assert_eq!(take(&revoked, Taker::Bearer), Err(InvitationRefusal::Revoked));
        let meant = invitation(Some("anna@example.org"));
        assert_eq!(take(&meant, Taker::Bearer), Err(InvitationRefusal::ForAnother));
        assert_eq!(take(&meant, Taker::Vouched { email: "Anna@Example.org" }), Ok(()));
        for other in ["bob@example.org", "anna@example.org.evil", "", "anna"] {
            let refused = Err(InvitationRefusal::ForAnother);
            assert_eq!(take(&meant, Taker::Vouched { email: other }), refused, "{other}");
        }
    }

    // F9
    #[test]
    fn an_invitation_is_good_for_a_week_unless_told_and_a_month_at_most() {
        assert_eq!(invitation_lifetime_ms(None), Some(7 * DAY_MS));
        assert_eq!(invitation_lifetime_ms(Some(60)), Some(60_000));
        assert_eq!(invitation_lifetime_ms(Some(30 * 24 * 3_600)), Some(30 * DAY_MS));
        for bad in [0, 30 * 24 * 3_600 + 1, u64::MAX] {
            assert_eq!(invitation_lifetime_ms(Some(bad)), None);
        }
    }

    // F30: demoting oneself as last operator
    #[test]
    fn an_org_keeps_an_operator_unless_who_runs_warren_says_otherwise() {
        let leaves =
            |after, operators, by_admin| leaves_no_operator(OrgRole::Operator, after, operators, by_admin);
        assert!(leaves(None, 1, false) && leaves(Some(OrgRole::Member), 1, false));
        assert!(!leaves(None, 2, false) && !leaves(None, 1, true));
        assert!(!leaves(Some(OrgRole::Operator), 1, false));
        assert!(!leaves_no_operator(OrgRole::Member, None, 1, false));
    }

    // F30: nobody becomes somebody who may more
    #[test]
    fn an_operator_reaches_those_alone_who_are_in_their_orgs_and_run_nothing_more() {
        let reach =
            |is_admin, roles: &[Option<OrgRole>]| is_in_reach(&Person { is_admin, roles_of_asker: roles });
        let operator = Some(OrgRole::Operator);
        assert!(reach(false, &[operator]) && reach(false, &[operator, operator]));
        assert!(!reach(true, &[operator]) && !reach(false, &[operator, None]));
        assert!(!reach(false, &[operator, Some(OrgRole::Member)]) && !reach(false, &[]));
    }

    // F31
    #[test]
    fn a_domain_is_the_whole_domain() {
        let domains = ["example.org".to_owned(), "@other.example".to_owned()];
        for good in ["a@example.org", "A@EXAMPLE.ORG", "b@other.example"] {
            assert!(is_of_domain(good, &domains), "{good}");
        }
        for bad in [
            "a@evil-example.org",
            "a@sub.example.org",
            "a@example.org.evil.com",
            "example.org",
            "@example.org",
        ] {
            assert!(!is_of_domain(bad, &domains), "{bad}");
        }
    }

    // F31
    #[test]
    fn a_providers_name_becomes_a_short_one() {
        let short = |text: &str| short_name_from(text).map(|name| name.to_string());
        assert_eq!(short("Anna.Müller@example.org"), Some("anna.muller".into()));
        assert_eq!(short("Anna Müller"), Some("anna.muller".into()));
        assert_eq!(short("--x"), Some("x".into()));
        assert_eq!(short("山田"), None);
        assert_eq!(short(&"a".repeat(200)).map(|name| name.len()), Some(59));
    }
}

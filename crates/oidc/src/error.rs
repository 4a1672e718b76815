//! Why a sign-in failed: what the person is told (a code), and what the operator is (a reason, its cause, a remedy).

use warren_model::{ErrorCode, PublicFailure};
use warren_outbound::CallError;

macro_rules! reasons {
    ($($variant:ident = $name:literal, $code:ident, $remedy:literal;)*) => {
        /// What exactly was wrong, by a name that does not change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Reason { $($variant),* }

        impl Reason {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            pub const fn code(self) -> ErrorCode {
                match self { $(Self::$variant => ErrorCode::$code),* }
            }

            /// What whoever runs Warren can do about it.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy),* }
            }
        }
    };
}

reasons! {
    // Between Warren and the provider
    Unreachable = "unreachable", SignInUnavailable, "See whether the provider runs and can be reached from this machine; `warren doctor` tries it.";
    CallRefused = "call_refused", SignInMisconfigured, "Warren does not call this address. If the provider is in your own network, open its range with `outbound.allow_private`.";
    BadAnswer = "bad_answer", SignInMisconfigured, "The provider's answer is not one that can be used. See whether `sign_in.provider.issuer` is the provider's own address and not that of a page in front of it.";
    TooLarge = "too_large", SignInMisconfigured, "The provider's answer is larger than it may be. Have it put fewer groups and claims into its tokens.";
    DiscoveryIssuer = "discovery_issuer", SignInMisconfigured, "Set `sign_in.provider.issuer` to the `issuer` of the provider's discovery document, letter by letter; a slash at the end counts.";
    DiscoveryIncomplete = "discovery_incomplete", SignInMisconfigured, "The discovery document lacks what a sign-in needs, or names an address that is not https. See whether the issuer is the right one.";
    NoAlgorithm = "no_algorithm", SignInMisconfigured, "Have the provider sign ID tokens with RS256, PS256, ES256 or EdDSA.";
    ClientRefused = "client_refused", SignInMisconfigured, "The provider does not know this client. Check `sign_in.provider.client_id` and the client's secret, which may have expired.";
    RedirectRefused = "redirect_refused", SignInMisconfigured, "Register the address that ends with `/api/v1/sign-in/provider/callback` at the provider, as the log of `warren up` shows it.";
    RequestRefused = "request_refused", SignInMisconfigured, "The provider refuses what Warren asks for. Check `sign_in.provider.scopes`, and that the client may use the authorization code flow.";
    ProviderBusy = "provider_busy", SignInUnavailable, "The provider says that it cannot answer now. Look at its own status.";
    Busy = "busy", TooManyRequests, "Many sign-ins are under way at once. If this lasts, somebody tries it out.";
    // The way back
    StateMismatch = "state_mismatch", SignInExpired, "None, if it happens once: the sign-in was begun in another browser, or twice. If always: people must open Warren at `server.public_url`.";
    AttemptExpired = "attempt_expired", SignInExpired, "None: the person took longer than ten minutes.";
    Denied = "denied", SignInDenied, "None: the provider did not let the person in, or the person said no.";
    CodeRefused = "code_refused", SignInExpired, "None, if it happens once: the code was used already, or too late.";
    AnswerIssuer = "answer_issuer", SignInFailed, "The browser came back from another provider than it was sent to. If it happens again, somebody tries to mix up two of them.";
    // The ID token
    NoIdToken = "no_id_token", SignInMisconfigured, "The provider gave no ID token. Let the client use OpenID Connect, with the scope `openid`.";
    Malformed = "malformed_token", SignInFailed, "The ID token is not one. See whether the issuer is the right one.";
    Algorithm = "token_algorithm", SignInFailed, "The ID token is not signed with a key of the provider. Have the provider sign with RS256, PS256, ES256 or EdDSA; never with `none` or HS256.";
    UnknownKey = "unknown_key", SignInFailed, "The ID token is signed with a key that the provider does not publish. If it has just changed its keys, try again in a minute.";
    Signature = "token_signature", SignInFailed, "The ID token is not signed by the provider. If it happens again, somebody is between Warren and it.";
    Issuer = "token_issuer", SignInFailed, "The ID token is from another issuer than `sign_in.provider.issuer`.";
    Audience = "token_audience", SignInFailed, "The ID token is for another client. Check `sign_in.provider.client_id`.";
    Nonce = "token_nonce", SignInFailed, "The ID token belongs to another sign-in.";
    Expired = "token_expired", SignInClock, "The ID token was over before it came. Set the clock of this machine, or of the provider's, by NTP.";
    NotYet = "token_from_the_future", SignInClock, "The ID token is from the future. Set the clock of this machine, or of the provider's, by NTP.";
    NoTimes = "token_without_times", SignInFailed, "The ID token does not say when it was made and until when it holds.";
    NoSubject = "token_without_subject", SignInFailed, "The ID token does not say whom it is about (`sub`).";
    UserinfoSubject = "userinfo_subject", SignInFailed, "The provider's userinfo is about somebody else than its ID token.";
}

/// Why a sign-in failed. Holds no token, no code, and nothing that the provider wrote but short names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {cause}", reason.as_str())]
pub struct Error {
    reason: Reason,
    cause: String,
}

impl Error {
    pub(crate) fn new(reason: Reason, cause: impl Into<String>) -> Self {
        Self { reason, cause: cause.into() }
    }

    /// A call to one of the provider's places did not succeed.
    pub(crate) fn of_call(place: &str, error: &CallError) -> Self {
        use warren_outbound::BadAnswer;
        let reason = match error {
            CallError::Refused(_) => Reason::CallRefused,
            CallError::BadAnswer(BadAnswer::BodyBytes(_) | BadAnswer::HeaderBytes(_)) => Reason::TooLarge,
            CallError::BadAnswer(_) => Reason::BadAnswer,
            CallError::NobodyListens { .. }
            | CallError::Unreachable { .. }
            | CallError::Untrusted { .. }
            | CallError::NoAnswer { .. } => Reason::Unreachable,
        };
        Self::new(reason, format!("{place}: {error}"))
    }

    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Whether somebody who runs Warren should look. What any visitor can cause is not worth a line in the log.
    pub fn needs_operator(&self) -> bool {
        !matches!(
            self.reason.code(),
            ErrorCode::SignInExpired | ErrorCode::SignInDenied | ErrorCode::TooManyRequests
        )
    }

    pub fn remedy(&self) -> &'static str {
        self.reason.remedy()
    }
}

impl PublicFailure for Error {
    fn code(&self) -> ErrorCode {
        self.reason.code()
    }

    fn detail(&self) -> Option<String> {
        None
    }

    fn cause(&self) -> Option<String> {
        Some(self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // F38, F34
    #[test]
    fn every_reason_has_a_name_of_its_own_a_code_and_a_remedy() {
        let mut names: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Reason::ALL.len());
        for reason in Reason::ALL {
            assert!(reason.remedy().ends_with('.'), "{reason:?}");
            let code = reason.code().as_str();
            assert!(code.starts_with("sign_in_") || code == "too_many_requests", "{reason:?}: {code}");
        }
    }
}

// Why a sign-in by the organisation's provider failed. The server leads the browser here with a code in the fragment; the
// page says what it means and what to do, and takes it out of the address bar.
import { Problem } from "../../api/problem";

const FRAGMENT = "#sign-in-failed=";

const TRY_AGAIN = "Begin again with the button below.";
const TELL =
  "Tell whoever runs this Warren; the log has the cause under the request below. A sign-in link still works.";

/** Title and what to do, by code. */
const WORDS: Record<string, [string, string]> = {
  sign_in_expired: [
    "This sign-in is over",
    `It was begun in another browser, or more than ten minutes ago. ${TRY_AGAIN}`,
  ],
  sign_in_denied: [
    "You were not let in",
    `The provider did not let you in, or you changed your mind. ${TRY_AGAIN}`,
  ],
  sign_in_failed: ["The answer cannot be trusted", `${TRY_AGAIN} If it happens again: ${TELL}`],
  sign_in_unavailable: [
    "The provider does not answer",
    "Try again in a minute, or sign in with a link. Get one on the machine that runs Warren:",
  ],
  sign_in_misconfigured: ["The sign-in is not set up as it should be", TELL],
  sign_in_clock: ["The clocks disagree", `Those of Warren and of the provider are not the same. ${TELL}`],
  sign_in_email_unverified: [
    "Your address is not verified",
    `The provider does not say that your e-mail address is yours. Confirm it there. ${TRY_AGAIN}`,
  ],
  not_invited: [
    "Nobody invited you yet",
    "Ask an operator of this Warren for an invitation, and open its link.",
  ],
  invitation_for_another: [
    "This invitation is for somebody else",
    "It was made for another address. Sign in with that one, or ask for an invitation of your own.",
  ],
  invitation_used: ["This invitation was used already", TRY_AGAIN],
  invitation_expired: ["This invitation has expired", "Ask whoever invited you for a new link."],
  invitation_revoked: ["This invitation was taken back", "Ask whoever invited you."],
  invitation_not_found: ["There is no such invitation", "Ask whoever invited you for a new link."],
  too_many_requests: ["Too many sign-ins at once", "Wait a minute and try again."],
};

/** Takes the failure out of the address bar. */
export function takeFailure(): Problem | undefined {
  const { hash, pathname, search } = window.location;
  if (!hash.startsWith(FRAGMENT)) return undefined;
  window.history.replaceState(null, "", pathname + search);
  const [code = "", ...rest] = hash.slice(FRAGMENT.length).split("&");
  // Whoever wrote the link chose these words: only names are repeated.
  if (!/^[a-z_]{1,64}$/.test(code)) return undefined;
  const request = new URLSearchParams(rest.join("&")).get("request") ?? "";
  const [title, remedy] = WORDS[code] ?? [
    "The sign-in did not succeed",
    `${TRY_AGAIN} If it happens again: ${TELL}`,
  ];
  const requestId = /^[A-Za-z0-9_-]{1,64}$/.test(request) ? request : undefined;
  return new Problem({ code, status: 0, title, remedy, request_id: requestId });
}

/** Whether a refusal is the provider's and not a link's. */
export function isOfProvider(refusal: Problem | undefined): refusal is Problem {
  return refusal !== undefined && refusal.status === 0 && refusal.code !== "server_unreachable";
}

// The whole page against a fake Warren, for tests that look at it as a person does. Such tests name jsdom as
// their environment; the others need no browser.
import { cleanup, configure, render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, vi } from "vitest";
import { createApi } from "../src/api/client";
import { takeFailure } from "../src/features/signIn/failure";
import { takeInvitation, takeSecret } from "../src/features/signIn/signIn";
import { App } from "../src/routes/App";
import type { FakeWarren } from "./fakeWarren";

// Bounds for a machine that is busy with other things; a green run never waits for them.
configure({ asyncUtilTimeout: 15_000 });

// jsdom draws nothing, so its dialogs cannot be modal; being open is enough here.
HTMLDialogElement.prototype.showModal = function showModal() {
  this.open = true;
};
HTMLDialogElement.prototype.close = function close() {
  this.open = false;
};

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  window.sessionStorage.clear();
  window.localStorage.clear();
  window.history.replaceState(null, "", "/");
});

export function openPage(warren: FakeWarren, address = "/") {
  vi.stubGlobal("fetch", warren.fetch);
  window.history.replaceState(null, "", address);
  const secret = takeSecret();
  const invitation = takeInvitation();
  const page = render(
    <App client={createApi()} secret={secret} invitation={invitation} failure={takeFailure()} />,
  );
  return { page, user: userEvent.setup() };
}

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/components.css";
import "./styles/forms.css";
import "./styles/shell.css";
import "./styles/pages.css";
import "./styles/chat.css";
import "./styles/commands.css";
import "./styles/terminal.css";
import "./styles/files.css";
import "./styles/map.css";
import "./styles/schedules.css";
import "./styles/markdown.css";
import "./styles/sessions.css";
import "./styles/timeline.css";
import "./styles/people.css";
import "./styles/settings.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createApi } from "./api/client";
import { applyTheme, storedTheme } from "./components/theme";
import { takeFailure } from "./features/signIn/failure";
import { takeInvitation, takeSecret } from "./features/signIn/signIn";
import { App } from "./routes/App";

// First of all: a secret must not stay in the address bar while anything else goes on.
const secret = takeSecret();
const invitation = takeInvitation();
const failure = takeFailure();
applyTheme(storedTheme());

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <App client={createApi()} secret={secret} invitation={invitation} failure={failure} />
  </StrictMode>,
);

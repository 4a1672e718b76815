// What an org has besides workspaces and people: secrets, templates and tokens.
import { SecretSection } from "../features/settings/SecretSection";
import { TemplateSection } from "../features/settings/TemplateSection";
import { TokenSection } from "../features/settings/TokenSection";
import { useMe } from "../features/signIn/me";
import { Link } from "./router";

export default function SettingsPage() {
  const me = useMe();
  return (
    <div className="page">
      <header className="page-head">
        <h1>
          Settings of <bdi>{me.org.name}</bdi>
        </h1>
      </header>
      <TemplateSection />
      <SecretSection />
      <TokenSection />
      <p className="hint">
        Everything here can be done by programs too: <Link to={{ page: "api" }}>the API</Link>.
      </p>
    </div>
  );
}

// A link that is shown once: whoever has it comes in.
import { useId, useState } from "react";
import { Button } from "../../components/Button";
import { formatMoment } from "../../components/format";

interface OneTimeLinkProps {
  /** Path and fragment, as the server says. */
  path: string;
  expiresAt: string;
  label: string;
}

export function OneTimeLink({ path, expiresAt, label }: OneTimeLinkProps) {
  const [said, setSaid] = useState("");
  const id = useId();
  const link = window.location.origin + path;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(link);
      setSaid("Copied");
    } catch {
      setSaid("The browser does not let this page copy. Select the link and copy it by hand.");
    }
  };
  return (
    <div className="field one-time-link">
      <label htmlFor={id}>{label}</label>
      <div className="row">
        <input
          id={id}
          className="mono"
          readOnly
          data-autofocus
          value={link}
          onFocus={(event) => event.target.select()}
        />
        <Button tone="primary" onClick={() => void copy()}>
          Copy
        </Button>
      </div>
      <p className="hint" role="status">
        {said}
      </p>
      <p className="hint">
        It works once, until {formatMoment(expiresAt)}, and is not shown again. Whoever has it comes in: give
        it to that person alone.
      </p>
    </div>
  );
}

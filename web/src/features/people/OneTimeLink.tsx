// A link that is shown once: whoever has it comes in.
import { formatMoment } from "../../components/format";
import { ShownOnce } from "../../components/ShownOnce";

interface OneTimeLinkProps {
  /** Path and fragment, as the server says. */
  path: string;
  expiresAt: string;
  label: string;
}

export function OneTimeLink({ path, expiresAt, label }: OneTimeLinkProps) {
  return (
    <div className="field one-time-link">
      <ShownOnce label={label} value={window.location.origin + path} what="link" />
      <p className="hint">
        It works once, until {formatMoment(expiresAt)}, and is not shown again. Whoever has it comes in: give
        it to that person alone.
      </p>
    </div>
  );
}

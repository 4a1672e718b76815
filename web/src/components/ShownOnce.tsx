// Something secret that is shown once, to be copied.
import { useId, useState } from "react";
import { Button } from "./Button";

interface ShownOnceProps {
  label: string;
  value: string;
  /** What it is called where it cannot be copied for the reader. */
  what: string;
}

export function ShownOnce({ label, value, what }: ShownOnceProps) {
  const [said, setSaid] = useState("");
  const id = useId();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value);
      setSaid("Copied");
    } catch {
      setSaid(`The browser does not let this page copy. Select the ${what} and copy it by hand.`);
    }
  };
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <div className="row">
        <input
          id={id}
          className="mono"
          readOnly
          data-autofocus
          value={value}
          onFocus={(event) => event.target.select()}
        />
        <Button tone="primary" onClick={() => void copy()}>
          Copy
        </Button>
      </div>
      <p className="hint" role="status">
        {said}
      </p>
    </>
  );
}

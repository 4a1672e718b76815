import { useEffect, useState } from "react";
import { Icon } from "../../components/Icon";

/** Long enough that a word is not searched letter by letter. */
const PAUSE_MS = 200;

interface SearchFieldProps {
  /** What is searched for now. */
  words: string;
  onChange: (words: string) => void;
}

export function SearchField({ words, onChange }: SearchFieldProps) {
  const [typed, setTyped] = useState(words);
  useEffect(() => {
    const timer = setTimeout(() => onChange(typed.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, onChange]);
  const clear = () => {
    setTyped("");
    onChange("");
  };
  return (
    <search className="chat-search">
      <Icon name="search" />
      <input
        type="search"
        aria-label="Search messages"
        placeholder="Search messages"
        maxLength={200}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") clear();
        }}
      />
    </search>
  );
}

import { useLayoutEffect, useRef } from "react";
import type { TerminalText } from "./terminalText";

interface OutputProps {
  text: TerminalText;
  isRunning: boolean;
  label: string;
}

export function Output({ text, isRunning, label }: OutputProps) {
  const box = useRef<HTMLPreElement>(null);
  const isFollowing = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when text was added
  useLayoutEffect(() => {
    const element = box.current;
    if (element && isFollowing.current) element.scrollTop = element.scrollHeight;
  }, [text]);
  if (text.spans.length === 0) {
    return isRunning ? null : <p className="hint run-note">No output.</p>;
  }
  const onScroll = () => {
    const element = box.current;
    // Somebody who scrolled up is reading; the end is followed again once they return to it.
    if (element) isFollowing.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
  };
  return (
    <>
      {text.droppedChars > 0 && (
        <p className="hint run-note">
          The first {text.droppedChars.toLocaleString()} characters are not shown.
        </p>
      )}
      <pre
        ref={box}
        className="output"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        role="log"
        aria-live="off"
        onScroll={onScroll}
      >
        {text.spans.map((span, index) => (
          // Output only grows at its end, so a span's position is its identity.
          // biome-ignore lint/suspicious/noArrayIndexKey: append-only
          <span key={index} className={span.style || undefined}>
            {span.text}
          </span>
        ))}
      </pre>
    </>
  );
}

// The drawn terminal. It is loaded only when somebody opens one: with xterm it weighs as much as the rest of the page.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef } from "react";
import "@xterm/xterm/css/xterm.css";
import type { TerminalConnection } from "./connection";
import { makeInert } from "./inert";

const SCROLLBACK_LINES = 5_000;
/** The same in both themes, as programs expect of a terminal. */
const COLOURS = {
  background: "#181614",
  foreground: "#f0ebe4",
  cursor: "#f0a57c",
  selectionBackground: "#4a443d",
};

interface TerminalViewProps {
  connection: TerminalConnection;
  /** Asked for by a key, since a terminal takes every other one. */
  onLeave: () => void;
}

export default function TerminalView({ connection, onLeave }: TerminalViewProps) {
  const host = useRef<HTMLDivElement>(null);
  const leave = useRef(onLeave);
  leave.current = onLeave;
  useEffect(() => {
    if (!host.current) return;
    const terminal = new Terminal({
      cursorBlink: false,
      fontFamily: getComputedStyle(host.current).getPropertyValue("--mono"),
      fontSize: 13,
      scrollback: SCROLLBACK_LINES,
      theme: COLOURS,
    });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    makeInert(terminal);
    terminal.attachCustomKeyEventHandler((event) => {
      const isLeave = event.ctrlKey && event.shiftKey && event.code === "KeyL";
      if (isLeave && event.type === "keydown") leave.current();
      if (isLeave) event.preventDefault();
      return !isLeave;
    });
    terminal.open(host.current);
    fit.fit();
    terminal.onData((text) => connection.type(text));
    terminal.onResize(({ rows, cols }) => connection.resize({ rows, columns: cols }));
    connection.open(
      { write: (output, done) => terminal.write(output, done) },
      { rows: terminal.rows, columns: terminal.cols },
    );
    terminal.focus();
    const watcher = new ResizeObserver(() => fit.fit());
    watcher.observe(host.current);
    return () => {
      watcher.disconnect();
      connection.close();
      terminal.dispose();
    };
  }, [connection]);
  return <div className="terminal-screen" ref={host} />;
}

// A moment in words, with the exact one behind it. All of them tick on one clock.
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { formatAgo, formatMoment } from "./format";

const NowContext = createContext(0);
const TICK_MS = 5_000;

export function NowProvider({ children }: { children: ReactNode }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return <NowContext value={now}>{children}</NowContext>;
}

export function Ago({ at }: { at: string }) {
  const now = useContext(NowContext);
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {/* What happened since the last tick happened now, not in the future. */}
      {formatAgo(at, Math.max(now, Date.parse(at)))}
    </time>
  );
}

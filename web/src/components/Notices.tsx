// Short notices of what was done, read out by screen readers and gone by themselves. Failures are not notices:
// they stay where they happened.
import { createContext, type ReactNode, useCallback, useContext, useState } from "react";

const NoticeContext = createContext<(text: string) => void>(() => undefined);
const SHOWN_MS = 4_000;

export function NoticeProvider({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<{ id: number; text: string }[]>([]);
  const notify = useCallback((text: string) => {
    const id = performance.now();
    setNotices((shown) => [...shown.slice(-2), { id, text }]);
    setTimeout(() => setNotices((shown) => shown.filter((notice) => notice.id !== id)), SHOWN_MS);
  }, []);
  return (
    <NoticeContext value={notify}>
      {children}
      <div className="notices" role="status" aria-live="polite">
        {notices.map((notice) => (
          <div key={notice.id} className="notice">
            {notice.text}
          </div>
        ))}
      </div>
    </NoticeContext>
  );
}

export function useNotify(): (text: string) => void {
  return useContext(NoticeContext);
}

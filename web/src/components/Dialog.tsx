// A modal dialog by the browser's own element: it traps focus, closes on Escape and gives the focus back.
import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "./Button";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** For what needs more room than a form. */
  isWide?: boolean;
}

export function Dialog({ title, onClose, children, isWide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // `autofocus` is honoured by showModal only for server-rendered attributes, so it is done by hand.
    dialog?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={isWide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header className="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <Button tone="quiet" icon="close" aria-label="Close" onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
}

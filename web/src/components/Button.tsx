import type { ComponentProps } from "react";
import { Icon, type IconName } from "./Icon";

interface ButtonProps extends ComponentProps<"button"> {
  tone?: "plain" | "primary" | "danger" | "quiet";
  icon?: IconName;
  /** Work is under way: the button stays where it is, says so, and cannot be pressed again. */
  isBusy?: boolean;
}

export function Button({
  tone = "plain",
  icon,
  isBusy = false,
  children,
  className,
  disabled,
  ...rest
}: ButtonProps) {
  const names = ["button", `button-${tone}`, children ? "" : "button-icon", className ?? ""];
  return (
    <button
      type="button"
      className={names.filter(Boolean).join(" ")}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      {...rest}
    >
      {isBusy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

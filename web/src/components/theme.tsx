// Light, dark, or as the system says. The choice is kept in this browser.
import { useState } from "react";
import { Button } from "./Button";
import type { IconName } from "./Icon";

export type Theme = "system" | "light" | "dark";

const KEY = "warren.theme";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };

export function storedTheme(): Theme {
  try {
    const stored = window.localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    window.localStorage.setItem(KEY, theme);
  } catch {
    // Forbidden storage costs the memory of the choice, not the choice.
  }
}

export function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme);
  const change = () => {
    applyTheme(NEXT[theme]);
    setTheme(NEXT[theme]);
  };
  return (
    <Button
      tone="quiet"
      icon={ICONS[theme]}
      onClick={change}
      aria-label={`Colours: ${theme}. Change to ${NEXT[theme]}.`}
      title={`Colours: ${theme}`}
    />
  );
}

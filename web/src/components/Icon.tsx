// The page's few icons, drawn on a 16-unit grid. They are decoration: the word beside them, or the label of
// their button, carries the meaning.
const PATHS = {
  activity: "M1.5 8h3l2-5 3 10 2-5h3",
  attach:
    "m13 7.2-5.3 5.3a3.2 3.2 0 0 1-4.5-4.5l5.6-5.6a2.1 2.1 0 0 1 3 3l-5.4 5.4a1 1 0 0 1-1.5-1.5l4.8-4.8",
  branch:
    "M4.5 5.5v5M4.5 5.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM4.5 14.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM11.5 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM11.5 6.5c0 3-7 2-7 4",
  chat: "M2 3h12v8H7.5L4 14v-3H2z",
  clock: "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4zM8 4.5V8l2.5 1.5",
  close: "m4 4 8 8m0-8-8 8",
  chevron: "m6 4 4 4-4 4",
  download: "M8 2v8m0 0L5 7m3 3 3-3M2.5 13.5h11",
  file: "M4 1.5h5l3 3v10H4zM9 1.5v3h3",
  folder: "M1.5 3.5h4l1.5 2h7.5v7.5h-13z",
  folderPlus: "M1.5 3.5h4l1.5 2h7.5v7.5h-13zM8 7.5v4m-2-2h4",
  hand: "M5 8.5v-5a1 1 0 0 1 2 0v3.5-4.5a1 1 0 0 1 2 0v4.5-3.5a1 1 0 0 1 2 0V9l1-1.5a1 1 0 0 1 1.7 1L11.5 13c-.6 1-1.4 1.5-2.5 1.5H8a4 4 0 0 1-3.3-1.8L2.5 9.5A1 1 0 0 1 4 8.3l1 1.2",
  health:
    "M8 13.8C3.6 10.9 1.7 8.4 1.7 5.9c0-2 1.5-3.5 3.3-3.5 1.3 0 2.4.7 3 1.9.6-1.2 1.7-1.9 3-1.9 1.8 0 3.3 1.5 3.3 3.5 0 2.5-1.9 5-6.3 7.9z",
  home: "M2 7.5 8 2l6 5.5M3.5 6.5v7h9v-7",
  key: "M10.500 9a3.500 3.500 0 1 0-3.300-2.300L2 11.900V14h2.500v-1.500H6V11h1.500l1.300-1.300c.5.200 1.100.300 1.700.300M11.200 4.800v.01",
  list: "M5.5 4h8.500M5.500 8h8.500M5.500 12h8.500M2.200 4h.01M2.200 8h.01M2.200 12h.01",
  menu: "M2 4h12M2 8h12M2 12h12",
  link: "M6.5 9.5a3 3 0 0 0 4.2 0l2.4-2.4a3 3 0 0 0-4.2-4.2l-.9.9M9.5 6.5a3 3 0 0 0-4.2 0L2.9 8.9a3 3 0 0 0 4.2 4.2l.9-.9",
  map: "M8 1.5v0M5.5 2h5v3.5h-5zM1.5 10.5h5V14h-5zM9.5 10.5h5V14h-5zM8 5.5V8M4 10.5V8h8v2.5",
  moon: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1z",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  pause: "M5 3v10M11 3v10",
  pencil: "m2.5 13.5.8-3.2 7.9-7.9 2.4 2.4-7.9 7.9z",
  people:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM1.5 13.5c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4M10.500 2.700a2.500 2.500 0 0 1 0 4.600M12 9.800c1.600.5 2.500 1.800 2.500 3.700",
  play: "M4.5 2.5 13 8l-8.5 5.5z",
  plus: "M8 3v10M3 8h10",
  refresh: "M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 1.5V4.5H10.5",
  rewind: "M2.5 8h8.5a3 3 0 0 1 0 6H7M2.5 8 6 4.5M2.5 8 6 11.5",
  session:
    "M8 1.5v3M4 4.5h8a1.5 1.5 0 0 1 1.5 1.5v5A1.5 1.5 0 0 1 12 12.5H4A1.5 1.5 0 0 1 2.5 11V6A1.5 1.5 0 0 1 4 4.5zM6 8v1M10 8v1M5.500 14.5h5",
  save: "m3 8.5 3.5 3.5L13 4.5",
  send: "m2 8 12-5.5L9.5 14 7.5 9z",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6 14 14",
  signOut: "M6.5 2.5h-4v11h4M6 8h8m0 0-3-3m3 3-3 3",
  stop: "M4 4h8v8H4z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  spark: "M8 1.5 9.6 6.400 14.5 8 9.600 9.600 8 14.5 6.400 9.600 1.500 8 6.400 6.400z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  symlink: "M9 3.5h4v4M13 3.5 6.5 10M11 9.5v3.5H3V5h3.5",
  terminal: "m2.5 4 4 4-4 4M8 12.5h5.5",
  trash: "M2.5 4h11M6 4V2.5h4V4M4 4l.6 9.5h6.8L12 4M6.7 6.5v4.5M9.3 6.5v4.5",
  upload: "M8 10.5v-8m0 0L5 5.5m3-3 3 3M2.5 13.5h11",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3.5M8 12v0",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, className }: { name: IconName; className?: string }) {
  return (
    <svg
      className={className ? `icon ${className}` : "icon"}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** Two arches, one inside the other: a burrow. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" />
      <path d="M6.5 24v-5a9.5 9.5 0 0 1 19 0v5M12 24v-4.5a4 4 0 0 1 8 0V24" />
    </svg>
  );
}

// Nobody sees these, and a model reads them: controls, marks that turn the direction, characters without width, and tags.
// What a person approves must be what is there. The command line has the same list (`rules::text::unseen`).
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control characters looked for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of them is looked for by itself
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\u034f/gu;

/** The same text with what nobody sees written out, such as `\u{200b}`. Line breaks and tabs stay. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

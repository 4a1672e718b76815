// Splits a line into the words of an argv, as a person would quote them. No shell reads the result: nothing is
// expanded, and every character outside quotes and backslashes stands for itself.

export type Words = { ok: true; words: string[] } | { ok: false; why: string };

export function splitWords(line: string): Words {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (quote) {
      if (char === quote) quote = undefined;
      else if (char === "\\" && quote === '"' && /["\\]/.test(line.charAt(at + 1))) word += line.charAt(++at);
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "\\") {
      if (at + 1 === line.length) return { ok: false, why: "The line ends in a backslash." };
      word = (word ?? "") + line.charAt(++at);
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (quote) return { ok: false, why: `A ${quote === "'" ? "single" : "double"} quote is not closed.` };
  if (word !== undefined) words.push(word);
  return { ok: true, words };
}

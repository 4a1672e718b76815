// Markdown as people expect it: headings, lists, tables, code. Its reader gives tokens, and these become elements here:
// nothing that an author wrote ever becomes HTML, and nothing is fetched unasked. A link says where it leads.
import { marked, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode, useState } from "react";
import { Button } from "./Button";
import { isWebAddress } from "./webAddress";

/** Past this it is shown as it was written: reading it anew for every piece would hold up the page. */
const MOST_CHARS = 200_000;

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  if (text.length > MOST_CHARS) return <Code text={text} language="" />;
  return <div className="markdown">{blocks(marked.lexer(text, { gfm: true, breaks: true }))}</div>;
});

// The tokens of one text never move, so their position is their identity.
function blocks(tokens: readonly Token[]): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function inlines(tokens: readonly Token[] | undefined): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
  return (tokens ?? []).map((token, index) => <Fragment key={index}>{inline(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "heading":
      return <Heading depth={(token as Tokens.Heading).depth}>{inlines(token.tokens)}</Heading>;
    case "code":
      return <Code text={token.text} language={(token as Tokens.Code).lang ?? ""} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "paragraph":
      return <p dir="auto">{inlines(token.tokens)}</p>;
    case "text":
      return token.tokens ? inlines(token.tokens) : token.text;
    case "html":
      return <p className="markdown-html">{token.raw.trimEnd()}</p>;
    default:
      return inline(token);
  }
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inlines(token.tokens)}</strong>;
    case "em":
      return <em>{inlines(token.tokens)}</em>;
    case "del":
      return <del>{inlines(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Address link={token as Tokens.Link} />;
    case "image":
      return <Address link={token as Tokens.Image} />;
    case "checkbox":
      return null;
    case "escape":
    case "text":
      return "tokens" in token && token.tokens ? inlines(token.tokens) : token.text;
    default:
      return token.raw;
  }
}

/** The page's own headings stand above: those of a text begin below them. */
function Heading({ depth, children }: { depth: number; children: ReactNode }) {
  const Element = (["h3", "h4", "h5", "h6"] as const)[Math.min(depth, 4) - 1] ?? "h6";
  return <Element>{children}</Element>;
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
    <li key={index} data-task={item.task || undefined}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled aria-label="Done" />}
      {blocks(item.tokens)}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <div className="markdown-table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
              <th key={index} data-align={cell.align ?? undefined}>
                {inlines(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
            <tr key={at}>
              {row.map((cell, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: fixed order
                <td key={index} data-align={cell.align ?? undefined}>
                  {inlines(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Leads away from here: the other side learns nothing of this page, and no words dress up another place. */
function Address({ link }: { link: Tokens.Link | Tokens.Image }) {
  const { href, text } = link;
  if (!isWebAddress(href)) return link.raw;
  const isPlain = text === href || text === "";
  return (
    <>
      {!isPlain && `${text} (`}
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {href}
      </a>
      {!isPlain && ")"}
    </>
  );
}

export function Code({ text, language }: { text: string; language: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setIsCopied(true);
      setTimeout(() => setIsCopied(false), 2_000);
    } catch {
      // Forbidden by the browser: the text can still be selected.
    }
  };
  return (
    <div className="markdown-code">
      <div className="markdown-code-head">
        <span>{language.split(/\s/)[0]}</span>
        <Button tone="quiet" onClick={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <pre className="message-code" tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}

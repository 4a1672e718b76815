//! As much of Rust as the checks need: words and signs without comments and texts, and the methods of inherent `impl`
//! blocks outside of tests. A scanner and not a parser: what it reads has been compiled.

/// A word or a sign, with its line from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// A function of an inherent `impl` block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Method<'a> {
    pub(crate) of: &'a str,
    pub(crate) name: &'a str,
}

/// Words (also lifetimes, numbers) and single signs; `::` and `->` are one sign each. Comments are left out, and a text
/// or a character stands as one token.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = source[at..].chars().next() {
        let length = length_of_next(&source[at..], first);
        let text = &source[at..at + length];
        let is_comment = text.starts_with("//") || text.starts_with("/*");
        if !first.is_whitespace() && !is_comment {
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        at += length;
    }
    tokens
}

fn length_of_next(rest: &str, first: char) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return length_of_block_comment(rest);
    }
    if let Some(length) = length_of_text(rest) {
        return length;
    }
    if first == '\'' {
        return length_of_quote(rest);
    }
    if is_word(first) {
        return rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    }
    if rest.starts_with("::") || rest.starts_with("->") { 2 } else { first.len_utf8() }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn length_of_block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// `"…"`, `r#"…"#` and their forms with `b` and `c`.
fn length_of_text(rest: &str) -> Option<usize> {
    let prefix = rest.len() - rest.trim_start_matches(['b', 'c']).len();
    let after = &rest[prefix..];
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = after.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&end).map_or(body.len(), |found| found + end.len());
        return Some(prefix + 1 + hashes + 1 + length);
    }
    let body = after.strip_prefix('"')?;
    let mut is_escaped = false;
    for (index, c) in body.char_indices() {
        match c {
            '"' if !is_escaped => return Some(prefix + 1 + index + 1),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    Some(rest.len())
}

/// A character (`'a'`, `'\n'`) or a lifetime (`'a`).
fn length_of_quote(rest: &str) -> usize {
    let body = &rest[1..];
    if body.starts_with('\\') {
        let escaped = body.char_indices().skip(2).find(|(_, c)| *c == '\'');
        return escaped.map_or(rest.len(), |(index, _)| 1 + index + 1);
    }
    let mut characters = body.char_indices();
    characters.next();
    match characters.next() {
        Some((index, '\'')) => 1 + index + 1,
        _ => 1 + body.find(|c| !is_word(c)).unwrap_or(body.len()).max(usize::from(body.is_empty())),
    }
}

/// The methods of all inherent `impl` blocks that are built outside of tests.
pub(crate) fn methods<'a>(tokens: &[Token<'a>]) -> Vec<Method<'a>> {
    let mut methods = Vec::new();
    let (mut at, mut is_test) = (0, false);
    while let Some(token) = tokens.get(at) {
        match token.text {
            "#" => {
                let end = end_of_attribute(tokens, at);
                is_test |= is_cfg_test(&tokens[at..end]);
                at = end;
                continue;
            }
            "mod" if !is_test && opens_block(tokens, at) => at = first_brace(tokens, at) + 1,
            "impl" if !is_test => {
                let open = first_brace(tokens, at);
                let end = end_of_item(tokens, at);
                if let Some(of) = inherent_type(&tokens[at + 1..open]) {
                    let inside = open + 1..end.saturating_sub(1).max(open + 1);
                    let names = functions(tokens.get(inside).unwrap_or_default());
                    methods.extend(names.into_iter().map(|name| Method { of, name }));
                }
                at = end;
            }
            // Words and signs that may stand before an item.
            "pub" | "(" | "crate" | "super" | "in" | ")" | "unsafe" | "default" | "}" | ";" => {
                at += 1;
                continue;
            }
            _ => at = end_of_item(tokens, at),
        }
        is_test = false;
    }
    methods
}

/// The names of the functions in the body of an `impl` block.
fn functions<'a>(body: &[Token<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    let (mut at, mut is_test) = (0, false);
    while let Some(token) = body.get(at) {
        if token.text == "#" {
            let end = end_of_attribute(body, at);
            is_test |= is_cfg_test(&body[at..end]);
            at = end;
            continue;
        }
        let end = end_of_item(body, at);
        let name = body[at..end].iter().skip_while(|one| one.text != "fn").nth(1);
        let is_function =
            body[at..end].iter().take_while(|one| !matches!(one.text, "=" | "{")).any(|one| one.text == "fn");
        names.extend(name.filter(|_| is_function && !is_test).map(|one| one.text));
        (at, is_test) = (end, false);
    }
    names
}

/// After the `]` of `#[…]` or `#![…]`.
fn end_of_attribute(tokens: &[Token<'_>], at: usize) -> usize {
    let open =
        tokens[at..].iter().position(|token| token.text == "[").map_or(tokens.len(), |found| at + found);
    end_of_group(tokens, open)
}

fn is_cfg_test(attribute: &[Token<'_>]) -> bool {
    let text: String = attribute.iter().map(|token| token.text).collect();
    ["#[cfg(test", "#[cfg(any(test", "#[cfg(all(test"].iter().any(|start| text.starts_with(start))
}

/// After the block or the `;` that ends the item, whichever comes first.
fn end_of_item(tokens: &[Token<'_>], at: usize) -> usize {
    let mut at = at;
    while let Some(token) = tokens.get(at) {
        match token.text {
            ";" => return at + 1,
            "{" => return end_of_group(tokens, at),
            "(" | "[" => at = end_of_group(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// After the bracket that closes the one at `open`.
fn end_of_group(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in tokens.get(open..).unwrap_or_default().iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return open + offset + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

fn first_brace(tokens: &[Token<'_>], at: usize) -> usize {
    tokens[at..].iter().position(|token| token.text == "{").map_or(tokens.len(), |found| at + found)
}

fn opens_block(tokens: &[Token<'_>], at: usize) -> bool {
    tokens.get(at + 2).is_some_and(|token| token.text == "{")
}

/// The name of the type in the head of an `impl` block, unless it implements a trait.
fn inherent_type<'a>(head: &[Token<'a>]) -> Option<&'a str> {
    let follows = |index: usize| head.get(index + 1).map(|token| token.text);
    // `for<'a>` is a bound and not the type of a trait's implementation.
    if head.iter().enumerate().any(|(index, token)| token.text == "for" && follows(index) != Some("<")) {
        return None;
    }
    let path = &head[end_of_generics(head)..];
    let path = path.iter().take_while(|token| !matches!(token.text, "<" | "where"));
    path.map(|token| token.text).filter(|text| text.starts_with(is_word)).last()
}

/// After `<…>` at the start, or 0.
fn end_of_generics(head: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in head.iter().enumerate() {
        match token.text {
            "<" => depth += 1,
            ">" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if index == 0 { 0 } else { index + 1 };
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    fn found(source: &str) -> Vec<(&str, &str)> {
        methods(&tokens(source)).into_iter().map(|method| (method.of, method.name)).collect()
    }

    #[test]
    fn comments_are_left_out_and_texts_are_one_word() {
        let source = "a // fn x\n/* { /* } */ */ \"}\\\"{\" br#\"\"{\"# '{' '\\'' &'a b::c\n";
        assert_eq!(
            words(source),
            ["a", "\"}\\\"{\"", "br#\"\"{\"#", "'{'", "'\\''", "&", "'a", "b", "::", "c"]
        );
        assert_eq!(tokens("a\n\n/*\n*/ b").last(), Some(&Token { text: "b", line: 4 }));
    }

    #[test]
    fn methods_are_those_of_inherent_blocks_whatever_stands_before_them() {
        let source = "
            pub struct Fleet { a: u8 }
            impl Fleet {
                const LIMIT: usize = 3;
                pub const fn new() -> Self { let f = || { fn inner() {} }; Self }
                #[expect(dead_code, reason = \"fn none\")]
                pub(crate) async fn create(&self, of: impl Fn() -> u8) -> impl Iterator<Item = u8> { todo() }
            }
            impl<'a, T: Into<Vec<u8>>, F: Fn() -> u8> super::Fleet<T> where F: for<'b> Fn(&'b u8) { unsafe fn third(&self); }
            mod inner { impl super::Tokens { fn mint() {} } }
            fn free(x: impl Fn()) { impl Hidden { fn not_counted() {} } }
            macro_rules! many { () => { impl Many { fn no() {} } } }
            impl std::fmt::Display for Fleet { fn fmt(&self) {} }
        ";
        let expected = [("Fleet", "new"), ("Fleet", "create"), ("Fleet", "third"), ("Tokens", "mint")];
        assert_eq!(found(source), expected);
    }

    #[test]
    fn what_is_built_for_tests_alone_is_not_counted() {
        let source = "
            #[cfg(test)] mod tests { impl Fleet { fn a() {} } }
            #[cfg(test)] impl Fleet { fn b() {} }
            impl Fleet { #[cfg(test)] pub fn c() {} #[cfg(unix)] fn d() {} }
            #[cfg(test)] mod more;
            impl Fleet { fn e() {} }
        ";
        assert_eq!(found(source), [("Fleet", "d"), ("Fleet", "e")]);
    }
}

//! Possible names in a reference, as code, documents and models write it.

use crate::detect;

/// Separators between a name and its owner: `a.b`, `a::b`, `a->b`, `a#b`, `a/b` and `A\B`.
const SEPARATORS: &[char] = &['.', ':', '>', '#', '/', '\\'];
/// Keywords before the name in a definition.
const BEFORE_NAMES: &[&str] = &[
    "abstract", "async", "class", "const", "def", "default", "enum", "export", "final", "fn",
    "fun", "func", "function", "impl", "import", "inline", "interface", "let", "macro", "method",
    "module", "mut", "new", "private", "protected", "pub", "public", "static", "struct", "sub",
    "trait", "type", "val", "var", "virtual", "void",
];
/// Names of files, without their ends, whose modules are called as their folders.
pub const FOLDER_MODULES: [&str; 5] = ["__init__", "index", "mod", "lib", "main"];
const OPERATOR: &str = "operator";
const MAX_WRAPPINGS: usize = 4;

/// Lists the possible names in a reference, first the reference without backticks and call
/// arguments: `` `shop.Cart::add()` `` gives `shop.Cart::add` and `add`. Never empty.
pub fn list_possible_names(name: &str) -> Vec<&str> {
    let written = unwrap_name(name);
    let mut readings = vec![written];
    if detect::is_file_name(written) || written.contains("://") {
        return readings;
    }
    let generic = cut_group(written, '<', '>').filter(|rest| !rest.is_empty());
    let trimmed = trim_marks(generic.unwrap_or(written));
    let arity =
        trimmed.rsplit_once('/').filter(|(_, last)| last.bytes().all(|b| b.is_ascii_digit()));
    let bare = cut_words_before(trim_marks(arity.map_or(trimmed, |(before, _)| before)));
    let last = bare.rsplit(SEPARATORS).map(trim_marks).next().unwrap_or_default();
    for reading in [bare, last] {
        let starts = reading.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if starts && reading != OPERATOR && !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    readings
}

/// Removes backticks around a name, the arguments of its call, and a final semicolon.
fn unwrap_name(name: &str) -> &str {
    let mut rest = name.trim();
    for _ in 0..MAX_WRAPPINGS {
        let quoted = rest.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
        let inner = quoted.or_else(|| rest.strip_suffix(';')).or_else(|| cut_group(rest, '(', ')'));
        let is_name = |inner: &&str| {
            inner.ends_with(|c: char| is_part(c) || matches!(c, '!' | '?' | ')' | '>' | '`'))
                && *inner != OPERATOR
        };
        match inner.map(str::trim).filter(is_name) {
            Some(inner) => rest = inner,
            None => break,
        }
    }
    rest
}

/// Removes a bracketed group, with nested groups, from the end of a text.
fn cut_group(text: &str, open: char, close: char) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().rev() {
        if c == close {
            depth += 1;
        } else if c == open {
            depth = depth.checked_sub(1)?;
        }
        if depth == 0 {
            return text.get(..at).filter(|_| c == open);
        }
    }
    None
}

/// Removes marks around a name, as in `$total`, `@cache`, `#count`, `vec!`, `empty?` and `&self`.
fn trim_marks(name: &str) -> &str {
    name.trim_matches(|c: char| !is_part(c))
}

fn cut_words_before(name: &str) -> &str {
    match name.rsplit_once(char::is_whitespace) {
        Some((before, last))
            if before.split_whitespace().all(|word| BEFORE_NAMES.contains(&word)) =>
        {
            last
        }
        _ => name,
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_in_every_notation() {
        for (name, others) in [
            ("save_all", ""),
            ("login.save_all", "save_all"),
            ("self.save_all", "save_all"),
            ("Account::save_all", "save_all"),
            ("Vec::<u8>::with_room::<T>", "Vec::<u8>::with_room|with_room"),
            ("account->save_all", "save_all"),
            ("$this->save_all", "this->save_all|save_all"),
            ("account?.save_all", "save_all"),
            ("Account#save_all", "save_all"),
            ("pkg/save_all", "save_all"),
            ("App\\Models\\Account", "Account"),
            ("accounts:save_all/2", "accounts:save_all|save_all"),
            ("(*Account).SaveAll", "Account).SaveAll|SaveAll"),
            ("#save_all", "save_all"),
            ("@save_all", "save_all"),
            ("$save_all", "save_all"),
            ("save_all!", "save_all"),
            ("save_all?", "save_all"),
            ("Cart<Item>", "Cart"),
            ("<Cart />", "Cart"),
            ("async def save_all", "save_all"),
            ("login::größe", "größe"),
            ("retry login", ""),
            ("login.py", ""),
            ("https://a.b/c", ""),
            ("1.2.3", ""),
            ("operator()", ""),
            ("limit-rule-154", ""),
            ("->", ""),
            ("()", ""),
            ("", ""),
        ] {
            let others = others.split('|').filter(|other| !other.is_empty());
            let wanted: Vec<&str> = [name].into_iter().chain(others).collect();
            assert_eq!(list_possible_names(name), wanted);
        }
    }

    #[test]
    fn backticks_and_calls_are_no_part_of_a_name() {
        for name in ["a_b()", "a_b(x, {y: (1)})", "`a_b()`", "`a_b`()", " a_b(); ", "`a_b`"] {
            assert_eq!(list_possible_names(name), ["a_b"], "{name}");
        }
        assert_eq!(list_possible_names("self.a_b()"), ["self.a_b", "a_b"]);
    }

    #[test]
    fn many_brackets_are_read_in_one_pass() {
        let nested = format!("a{}{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(list_possible_names(&nested), ["a"]);
        assert_eq!(list_possible_names(&")".repeat(100_000)).len(), 1);
    }
}

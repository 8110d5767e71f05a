//! Reads from `.gitattributes` which files are generated (`linguist-generated`), by the rules of
//! Git.

/// File name of attributes.
pub(super) const NAME: &str = ".gitattributes";
/// Attribute of generated files.
const ATTRIBUTE: &str = "linguist-generated";

/// Converts the lines about generated files to patterns of an ignore file, with a `!` before
/// patterns of files that are not generated.
///
/// Both kinds of file match names and paths alike, and the last matching line wins.
pub(super) fn read_patterns(content: &[u8]) -> Vec<u8> {
    let content = String::from_utf8_lossy(content);
    let mut patterns = String::new();
    for line in content.trim_start_matches('\u{feff}').lines() {
        let trimmed = line.trim_start();
        // `[attr]` defines a macro of attributes; Git refuses `!`.
        if trimmed.starts_with(['#', '!', '[']) && !is_class(trimmed) {
            continue;
        }
        let Some((pattern, attributes)) = split_pattern(trimmed) else { continue };
        let Some(is_generated) = attributes.split_whitespace().rev().find_map(read_attribute)
        else {
            continue;
        };
        if !is_generated {
            patterns.push('!');
        }
        patterns.push_str(&pattern);
        patterns.push('\n');
    }
    patterns.into_bytes()
}

/// Returns true if a line begins with a class of characters.
fn is_class(line: &str) -> bool {
    line.starts_with('[') && !line.starts_with("[attr]")
}

/// Splits a line after its pattern, which may be quoted.
fn split_pattern(line: &str) -> Option<(String, &str)> {
    let Some(quoted) = line.strip_prefix('"') else {
        let (pattern, attributes) = line.split_once(char::is_whitespace)?;
        return Some((pattern.to_owned(), attributes));
    };
    let (mut pattern, mut is_escaped) = (String::new(), false);
    for (at, character) in quoted.char_indices() {
        match character {
            '"' if !is_escaped => return Some((pattern, quoted.get(at + 1..)?)),
            '\\' if !is_escaped => is_escaped = true,
            _ => {
                pattern.push(character);
                is_escaped = false;
            }
        }
    }
    None
}

fn read_attribute(attribute: &str) -> Option<bool> {
    match attribute.strip_prefix(ATTRIBUTE) {
        Some("" | "=true" | "=1") => Some(true),
        Some("=false" | "=0") => Some(false),
        Some(_) => None,
        None => (attribute.strip_prefix(['-', '!']) == Some(ATTRIBUTE)).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_generated_files_become_patterns() {
        let content = b"\xef\xbb\xbf# comment linguist-generated\n\
            *.sql linguist-generated\n\
            /api/*.go text eol=lf linguist-generated=true\n\
            \"with space.js\" linguist-generated\n\
            [ab].c linguist-generated\r\n\
            *.pb.go -linguist-generated\n\
            kept.sql linguist-generated=false\n\
            unset.sql !linguist-generated\n\
            [attr]made linguist-generated\n\
            !no.sql linguist-generated\n\
            *.rs text\n\
            \"open linguist-generated\n\
            alone\n\
            odd.x linguist-generated=maybe\n";
        let expected = "*.sql\n/api/*.go\nwith space.js\n[ab].c\n!*.pb.go\n!kept.sql\n!unset.sql\n";
        assert_eq!(String::from_utf8(read_patterns(content)).unwrap(), expected);
    }
}

//! Counts phrases in comments that readers have to read twice.

use crate::tokens::{LineComment, SourceFile, is_word_char};

/// Words that a doc comment should not begin with; a verb or the noun says more.
const QUESTION_WORDS: &[&str] =
    &["How", "Of", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "Why"];
/// Beginnings of house phrases, each with the words that may follow; none means that it is one alone.
const HOUSE_PHRASES: &[(&str, &[&str])] = &[
    ("Of", &["a", "an", "all", "what", "those", "it", "which", "one", "two", "several"]),
    ("is", &["none", "said", "shown", "kept", "left", "given", "taken", "meant", "told"]),
    ("stand", &["in", "at", "for", "before", "after", "there", "as"]),
    ("stands", &["in", "at", "for", "before", "after", "there", "as"]),
    ("so", &["many", "long", "far"]),
    ("who", &["asks"]),
    ("goes", &["on"]),
    ("be", &["it"]),
    ("as", &["far as"]),
    ("at", &["a glance"]),
    ("whoever", &[]),
    ("somebody", &[]),
    ("nobody", &[]),
];

/// Sums over many files.
#[derive(Default)]
pub(crate) struct PhraseCounts {
    pub(crate) comment_lines: usize,
    pub(crate) house_phrases: usize,
    pub(crate) doc_comments: usize,
    pub(crate) question_docs: usize,
}

impl PhraseCounts {
    /// Adds the comments of one file that have their lines to themselves.
    pub(crate) fn add_file(&mut self, file: &SourceFile) {
        let code_lines: Vec<_> = file.tokens.iter().map(|token| &token.lines).collect();
        let is_alone = |comment: &&LineComment| {
            let at = code_lines.partition_point(|lines| *lines.end() < comment.line);
            code_lines.get(at).is_none_or(|lines| *lines.start() > comment.line)
        };
        let mut next_doc_line = 0;
        for comment in file.comments.iter().filter(is_alone) {
            self.comment_lines += 1;
            self.house_phrases += usize::from(has_house_phrase(comment.text));
            let Some(doc) = comment.text.strip_prefix("///") else { continue };
            if comment.line != next_doc_line {
                self.add_doc_comment(doc);
            }
            next_doc_line = comment.line + 1;
        }
    }

    fn add_doc_comment(&mut self, first_line: &str) {
        let first_word = first_line.trim().split(|c: char| !c.is_ascii_alphabetic()).next();
        if let Some(word) = first_word.filter(|word| !word.is_empty()) {
            self.doc_comments += 1;
            self.question_docs += usize::from(QUESTION_WORDS.contains(&word));
        }
    }
}

fn has_house_phrase(comment: &str) -> bool {
    HOUSE_PHRASES.iter().any(|(beginning, endings)| {
        split_at_word(comment, beginning).any(|after| {
            let following = after.strip_prefix(' ').unwrap_or_default();
            endings.is_empty() || endings.iter().any(|ending| begins_with_word(following, ending))
        })
    }) || comment.split(", too").skip(1).any(|after| !after.starts_with(is_word_char))
}

fn begins_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|after| !after.starts_with(is_word_char))
}

/// Returns the text behind each occurrence of a whole word.
fn split_at_word<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(word).filter_map(move |(at, _)| {
        let (before, from_word) = text.split_at(at);
        let is_whole = !before.ends_with(is_word_char) && begins_with_word(from_word, word);
        from_word.get(word.len()..).filter(|_| is_whole)
    })
}

#[cfg(test)]
fn count_phrases(source: &str) -> PhraseCounts {
    let mut counts = PhraseCounts::default();
    counts.add_file(&SourceFile::parse(source));
    counts
}

#[test]
fn house_phrases_are_counted_once_a_line_and_only_in_comments() {
    let counts = count_phrases(
        "// It is said, and it is kept.
         // Of one tree, too.
         // This is shownable; nobodys; Ofa; stands up; tooth, tool.
         let a = \"is said\"; // so many
         // As far as it goes on.
         /// A line, too",
    );
    assert_eq!((counts.comment_lines, counts.house_phrases), (5, 4));
}

#[test]
fn doc_comments_are_judged_by_their_first_word() {
    let counts = count_phrases(
        "/// What it is.
         /// Which is more.
         struct A {
             /// Maximum bytes.
             b: u8,
             /// `c` is a name.
             c: u8,
         }
         // What this is for.
         //! Where it is.
         /// Whether it is.
         fn d() {}",
    );
    assert_eq!((counts.doc_comments, counts.question_docs), (3, 2));
}

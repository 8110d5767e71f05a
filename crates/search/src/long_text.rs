//! Splits a long text, such as a report of a fault, into its title, its prose and its code, which
//! has many words that lead elsewhere.

use codeinfo_core::TermVector;
use codeinfo_embed::lexical;

/// Words up to which a text is one question.
const MAX_QUESTION_WORDS: usize = 25;
/// Maximum bytes of the prose, and of the code, that are searched.
const MAX_PART: usize = 8 * 1024;
/// Maximum bytes of the title.
const MAX_TITLE: usize = 2 * 1024;
/// Spaces before a line of code outside of a fence.
const INDENT: &str = "    ";

/// Maximum terms that are searched. Each costs as much as one of a short question.
const MAX_TERMS: usize = 64;
/// Weight of the terms of the title relative to those of the prose.
const TITLE_TERM: f32 = 4.0;
/// Weight of the terms that only code has.
const CODE_TERM: f32 = 0.5;
/// Weight of the meaning of the title relative to that of the whole text.
const TITLE_MEANING: f32 = 2.0;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LongText {
    /// First line, or its first sentence if the line is long.
    pub(super) title: String,
    /// Title and lines outside of code, at most [`MAX_PART`].
    pub(super) prose: String,
    /// Lines of code, traces and logs: the first and the last ones, at most [`MAX_PART`].
    pub(super) code: String,
}

impl LongText {
    /// Returns prose and code.
    pub(super) fn body(&self) -> String {
        format!("{}{}", self.prose, self.code)
    }

    /// Returns the heaviest terms of all parts and of `paths`, weighted by part; no stop words.
    pub(super) fn weigh_terms<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> TermVector {
        let mut terms = lexical::query_with_files(&self.body(), paths);
        for weight in &mut terms.values {
            *weight *= CODE_TERM;
        }
        for (part, factor) in [(&self.prose, 1.0), (&self.title, TITLE_TERM)] {
            let of_part = lexical::extract_query_terms(part);
            for (term, weight) in of_part.indices.iter().zip(&of_part.values) {
                if let Ok(at) = terms.indices.binary_search(term)
                    && let Some(known) = terms.values.get_mut(at)
                {
                    *known = weight * factor;
                }
            }
        }
        lexical::weigh_stop_words(&mut terms, 0.0);
        keep_heaviest(terms)
    }

    /// Splits a text; `None` if it is one question, or all of it is title. A text above
    /// [`MAX_PART`] is never one question, so that its terms are bounded.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if count_words(text) <= MAX_QUESTION_WORDS && text.len() <= MAX_PART {
            return None;
        }
        let first_line = text.lines().next().unwrap_or_default();
        let line = first_line.get(..first_line.floor_char_boundary(MAX_TITLE))?;
        let title = match line.find(". ") {
            Some(end) if MAX_QUESTION_WORDS < count_words(line) => line.get(..end)?,
            _ => line,
        };
        if title.len() == text.len() {
            return None;
        }
        let mut prose = String::new();
        let mut code = String::new();
        let mut is_fenced = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
                continue;
            }
            let is_code = is_fenced || line.starts_with(INDENT) || line.starts_with('\t');
            let part = if is_code { &mut code } else { &mut prose };
            part.push_str(line);
            part.push('\n');
        }
        prose.truncate(prose.floor_char_boundary(MAX_PART));
        Some(Self { title: title.to_owned(), prose, code: keep_ends(code) })
    }
}

/// Keeps the [`MAX_TERMS`] terms with the highest weights above 0.
fn keep_heaviest(terms: TermVector) -> TermVector {
    let mut pairs: Vec<(u32, f32)> = terms.indices.into_iter().zip(terms.values).collect();
    pairs.retain(|(_, weight)| 0.0 < *weight);
    pairs.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    pairs.truncate(MAX_TERMS);
    pairs.sort_unstable_by_key(|(term, _)| *term);
    let (indices, values) = pairs.into_iter().unzip();
    TermVector { indices, values }
}

/// Returns the sum of the vectors of the body and the title of a text, of length 1.
pub(super) fn join_vectors(body: &[f32], title: &[f32]) -> Vec<f32> {
    let sums = body.iter().zip(title).map(|(body, title)| body + TITLE_MEANING * title);
    let mut sum: Vec<f32> = sums.collect();
    let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        for number in &mut sum {
            *number /= length;
        }
    }
    sum
}

fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Keeps both ends of a text above [`MAX_PART`]: the end of a trace names the place that failed.
fn keep_ends(text: String) -> String {
    if text.len() <= MAX_PART {
        return text;
    }
    let begin = text.floor_char_boundary(MAX_PART / 2);
    let end = text.ceil_char_boundary(text.len() - MAX_PART / 2);
    match (text.get(..begin), text.get(end..)) {
        (Some(first), Some(last)) => format!("{first}\n{last}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen";

    #[test]
    fn a_report_has_a_title_prose_and_code() {
        let report = format!(
            "Crash on exit\n\n{WORDS}\n```\nTraceback\n  File \"a.py\"\n```\nand then {WORDS}\n    at main\n"
        );
        let parts = LongText::parse(&report).unwrap();
        assert_eq!(parts.title, "Crash on exit");
        assert_eq!(parts.prose, format!("Crash on exit\n\n{WORDS}\nand then {WORDS}\n"));
        assert_eq!(parts.code, "Traceback\n  File \"a.py\"\n    at main\n");
    }

    #[test]
    fn the_first_sentence_of_a_long_line_is_the_title() {
        let parts = LongText::parse(&format!("Fix the crash. {WORDS}. {WORDS}")).unwrap();
        assert_eq!(parts.title, "Fix the crash");
        assert_eq!(LongText::parse("Fix the crash. It happens on exit."), None);
        assert_eq!(LongText::parse(&format!("{WORDS} {WORDS}")), None);
    }

    #[test]
    fn the_title_weighs_most() {
        let report = format!("wombat\n{WORDS} {WORDS} okapi\n```\nwombat tapir\n```");
        let terms = LongText::parse(&report).unwrap().weigh_terms([]);
        let weight = |word: &str| {
            let term = lexical::extract_query_terms(word).indices[0];
            terms.values[terms.indices.binary_search(&term).unwrap()]
        };
        let [title, prose, code] = ["wombat", "okapi", "tapir"].map(weight);
        assert!(code < prose && prose < title, "{code} {prose} {title}");
        let many: Vec<String> = (0..900).map(|n| format!("okapi{n}x")).collect();
        let many = LongText::parse(&format!("the wombat\n{}", many.join(" "))).unwrap();
        let terms = many.weigh_terms([]);
        let has =
            |word: &str| terms.indices.contains(&lexical::extract_query_terms(word).indices[0]);
        assert_eq!(terms.indices.len(), MAX_TERMS);
        assert!(terms.indices.is_sorted() && has("wombat") && !has("the"));
        let sum = join_vectors(&[1.0, 0.0], &[0.0, 1.0]);
        assert!(sum[0] < sum[1] && (sum[0].hypot(sum[1]) - 1.0).abs() < 1e-6);
        assert_eq!(join_vectors(&[0.0], &[0.0]), [0.0]);
    }

    #[test]
    fn parts_are_bounded_and_keep_the_end_of_code() {
        let log = "ü x\n".repeat(20_000);
        let parts = LongText::parse(&format!("Crash\n{log}```\n{log}last of all\n")).unwrap();
        assert!(parts.prose.len() <= MAX_PART && parts.code.len() <= MAX_PART + 1);
        assert!(parts.code.ends_with("last of all\n"));
        let word = LongText::parse(&"a.".repeat(30_000)).unwrap();
        assert_eq!([word.title.len(), word.prose.len()], [MAX_TITLE, MAX_PART]);
        assert!(word.weigh_terms([]).indices.len() <= MAX_TERMS);
    }
}

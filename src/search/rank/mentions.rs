//! Raises what the best chunks mention: the answer to how something works is often one step along the
//! code, in what is called, extended or imported there.
//!
//! Only candidates are raised, so that the step costs no search of its own: in 0.83 to 0.88 of questions
//! whose answer is elsewhere than their words, it is a candidate.

use std::collections::{HashMap, HashSet};

use codeinfo_lang::{role::Role, words::identifiers};

use super::{Rated, definition::parts};

/// How many chunks, from the best, are read for names.
const READ: usize = 5;
/// Shorter names are anything's.
const SHORTEST: usize = 4;
/// The most that mentions count together.
const MOST: f32 = 3.0;
/// What is mentioned stays below the chunk that mentions it, at this share of its score.
const BELOW: f32 = 0.97;

/// Raises the candidates that alone define a name which one of the best mentions. They come best first. Each
/// mention adds `weight`, less from the second on, in units of the fused score, of which a candidate can
/// attain `attainable`.
pub(super) fn raise(rated: &mut [Rated], weight: f32, attainable: f32) {
    if weight <= 0.0 {
        return;
    }
    let mut raised: HashMap<usize, (f32, f32)> = HashMap::new();
    let definers = definers(rated);
    let mut share = 1.0_f32;
    for (place, by) in rated.iter().enumerate().take(READ) {
        let record = &by.candidate.record;
        let bases = record.bases.iter().map(|base| parts(base).0.as_bytes());
        let names: HashSet<&[u8]> = identifiers(&record.text).chain(bases).collect();
        let defined = names.iter().filter_map(|name| definers.get(*name)?.as_ref());
        for definer in defined.copied().filter(|definer| *definer != place) {
            let (mentions, limit) = raised.entry(definer).or_insert((0.0, by.candidate.score));
            *mentions = (*mentions + share).min(MOST);
            *limit = limit.max(by.candidate.score);
        }
        #[expect(clippy::cast_precision_loss, reason = "few chunks are read")]
        let next = 1.0 / (place as f32 + 2.0).sqrt();
        share = next;
    }
    for (definer, (mentions, limit)) in raised {
        let Some(rated) = rated.get_mut(definer) else { continue };
        let score = &mut rated.candidate.score;
        let sum = *score + weight * mentions * rated.factor / attainable;
        *score = score.max(sum.min(BELOW * limit));
    }
}

/// Returns which candidate defines a name; `None` where several do. Tests, examples and what only repeats
/// names count as none.
fn definers(rated: &[Rated]) -> HashMap<&[u8], Option<usize>> {
    let mut definers = HashMap::new();
    for (place, one) in rated.iter().enumerate() {
        let record = &one.candidate.record;
        if record.roles.iter().any(|role| is_aside(*role)) {
            continue;
        }
        for symbol in &record.defines {
            // As names are read from texts.
            let name = parts(symbol).0.trim_start_matches('_').as_bytes();
            if name.len() >= SHORTEST {
                let known = definers.entry(name).or_insert(Some(place));
                *known = known.filter(|known| *known == place);
            }
        }
    }
    definers
}

fn is_aside(role: Role) -> bool {
    matches!(role, Role::Test | Role::Example | Role::Vendored | Role::Docs | Role::Data)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::{
        super::{fixture::record, intent::Intent, weights::Weights},
        Candidate, rank,
    };
    use crate::domain::{ChunkRecord, Parts};

    const QUESTION: &str = "how often does a worker whose broker went away connect again";

    /// A path, what the chunk defines, what it extends, its text, and its score.
    type Given<'a> = (&'a str, &'a str, &'a str, &'a str, f32);

    /// Returns the paths of the ranked chunks.
    fn ranked(question: &str, chunks: &[Given<'_>]) -> Vec<String> {
        let candidate = |((path, defines, base, text, score), id): (&Given<'_>, u128)| {
            let names =
                |name: &&str| if name.is_empty() { vec![] } else { vec![(*name).to_owned()] };
            let (defines, bases) = (names(defines), names(base));
            let record = ChunkRecord { defines, bases, ..record(path, None, text) };
            Candidate {
                id: Uuid::from_u128(id),
                record,
                score: *score,
                parts: Parts::default(),
                also: Vec::new(),
            }
        };
        let candidates = chunks.iter().zip(1..).map(candidate).collect();
        let ranked = rank(candidates, &Intent::of(question), &Weights::SHIPPED, 9);
        ranked.into_iter().map(|candidate| candidate.record.path).collect()
    }

    #[test]
    fn what_the_best_mention_or_extend_comes_before_what_they_do_not() {
        let other = ("other.py", "", "", "", 0.3);
        let called = ("time.py", "Timer.retry_over_time", "", "", 0.25);
        let by = |text: &'static str, base: &'static str| ("worker.py", "", base, text, 1.0);
        let calls = "self.retry_over_time(5)";
        for chunks in [
            [by("self._retry()", ""), other, ("time.py", "_retry", "", "", 0.25)],
            [by(calls, ""), other, called],
            [by("", "timers.retry_over_time"), other, called],
            // As often as it is mentioned, it stays below what mentions it.
            [by(calls, ""), other, ("time.py", "retry_over_time", "", "", 0.26)],
        ] {
            assert_eq!(ranked(QUESTION, &chunks), ["worker.py", "time.py", "other.py"]);
        }
        for chunks in [
            vec![by("", ""), other, called],
            vec![by(calls, ""), other, called, ("more.py", "retry_over_time", "", "", 0.0)],
            vec![by("run()", ""), other, ("time.py", "run", "", "", 0.25)],
        ] {
            assert_eq!(
                ranked(QUESTION, &chunks).get(..2),
                Some(&["worker.py", "other.py"].map(str::to_owned)[..])
            );
        }
        let chunks = [by(calls, ""), other, called];
        assert_eq!(ranked("worker broker", &chunks).first().map(String::as_str), Some("worker.py"));
    }

    #[test]
    fn what_is_mentioned_often_stays_below_what_mentions_it() {
        let worker = |path| (path, "", "", "retry_over_time", 0.5);
        let chunks = [
            worker("a.py"),
            worker("b.py"),
            worker("c.py"),
            ("time.py", "retry_over_time", "", "", 0.49),
        ];
        assert_eq!(
            ranked(QUESTION, &chunks),
            ["a.py", "b.py", "c.py", "time.py"].map(str::to_owned).to_vec()
        );
    }

    #[test]
    fn who_uses_a_program_follows_no_calls() {
        let question = "what do I set to have my worker connect again when its broker went away";
        let chunks = [
            ("worker.py", "", "", "retry_over_time()", 1.0),
            ("other.py", "", "", "", 0.3),
            ("time.py", "retry_over_time", "", "", 0.25),
        ];
        assert_eq!(ranked(question, &chunks), ["worker.py", "other.py", "time.py"]);
    }

    #[test]
    fn tests_and_documents_are_not_raised() {
        let by = ("worker.py", "", "", "retry_over_time()", 1.0);
        for path in ["tests/time.py", "docs/time.py", "vendor/time.py"] {
            let chunks =
                [by, ("other.py", "", "", "", 0.1), (path, "retry_over_time", "", "", 0.2)];
            assert_eq!(ranked(QUESTION, &chunks), ["worker.py", "other.py", path]);
        }
    }
}

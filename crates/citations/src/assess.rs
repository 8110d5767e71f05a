//! Judges a citation by the file that it refers to: confirmed, unconfirmed, or wrong. Does no I/O.
//!
//! A citation is confirmed if its statement fits these very lines: it names a definition in them,
//! or its words fit them better than the rest of the file. It is wrong if the file ends before the
//! lines, or if a name of its own is missing from the file or only far from the lines and its other
//! words do not fit them. Everything else is unconfirmed.

use codeinfo_core::LineRange;
use codeinfo_embed::StaticModel;

use super::{
    attribution::AttributedText,
    content::{CitedFileText, ranges_overlap},
    fault::CitationFault,
    fit::{CitedRegion, CitedStatement, FitMeasures, RangeShape},
    judge::CitedFile,
    names::{CitedName, CitedNameWeight},
};

/// Lines on either side of a range in which a name still counts as near.
const NEAR_LINES: u32 = 10;
/// Maximum lines of a range that a match of words can confirm.
const MAX_CONFIRMED_LINES: u32 = 150;
/// Bound of the contribution of a neighbour's statement or place to the score.
const MAX_MARGIN: f32 = 3.0;
/// Minimum fit of confirmed lines. See `benches/README.md`.
const MIN_FIT: f32 = -0.6;
/// Minimum fit if the statement's names, which may be ordinary words, are elsewhere or missing.
const MIN_FIT_WITH_FAR_WORDS: f32 = 1.0;
/// Minimum fit by words alone of confirmed lines, regardless of their shape.
const MIN_CONTENT: f32 = -1.8;
/// Margin of a statement without neighbours to compare with.
const MARGIN_WITHOUT_NEIGHBOURS: f32 = 1.0;
/// Maximum fit, with a misplaced name and without it, at which that name makes a citation wrong.
const MAX_DOUBT: f32 = -0.5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CitationVerdict {
    Confirmed,
    /// Nothing ties the statement to these lines.
    Unconfirmed,
    /// The place or the statement is wrong; these lines may be the right ones.
    Wrong(CitationFault, Vec<LineRange>),
    /// The lines have changed since they were indexed; the indexed content is now at these lines.
    Changed(CitationFault, Vec<LineRange>),
}

#[derive(Clone, Copy)]
pub(super) struct CitationContext<'a> {
    pub(super) attributed: &'a AttributedText,
    pub(super) statement: &'a CitedStatement,
}

/// Lines of a file with the text about them.
pub(super) struct CitedLines<'a> {
    file: &'a CitedFile,
    /// The lines, limited to those of the file.
    lines: Vec<LineRange>,
    context: CitationContext<'a>,
    region: Option<CitedRegion<'a>>,
}

impl<'a> CitedLines<'a> {
    /// Reads the lines. A range beyond the end of the file is cut there, and a reversed range is turned around.
    pub(super) fn new(
        file: &'a CitedFile,
        lines: &[LineRange],
        context: CitationContext<'a>,
        model: &StaticModel,
    ) -> Self {
        let lines = fit_into_file(&file.content, lines);
        let is_short = !lines.is_empty() && count_lines(&lines) <= MAX_CONFIRMED_LINES;
        let region = (is_short && lines.iter().all(|range| file.content.has_lines(*range)))
            .then(|| file.content.build_cited_region(&lines, model));
        Self { file, lines, context, region }
    }

    /// Judges the citation. `neighbours` are the citations before and after it in the text.
    pub(super) fn judge_citation(&self, neighbours: &[&Self]) -> CitationVerdict {
        let content = &self.file.content;
        if self.lines.iter().any(|range| !content.has_lines(*range)) {
            return CitationVerdict::Wrong(
                CitationFault::NoSuchLines { lines: content.line_count() },
                Vec::new(),
            );
        }
        if let Some(at) = self.file.find_moved_lines(&self.lines) {
            return CitationVerdict::Changed(CitationFault::Changed { at: at.clone() }, at);
        }
        let is_whole =
            count_lines(&self.lines) >= content.line_count() && content.line_count() > NEAR_LINES;
        let Some(region) = self.region.as_ref().filter(|_| !is_whole) else {
            return if self.context.statement.is_about_whole_file {
                CitationVerdict::Confirmed
            } else {
                CitationVerdict::Unconfirmed
            };
        };
        let own = content_fit(&region.measure_fit(&self.context.statement.clause));
        let is_far = self.has_names_far_away();
        let min_fit = match is_far {
            true if self.has_sure_names() => f32::INFINITY,
            true => MIN_FIT_WITH_FAR_WORDS,
            false => MIN_FIT,
        };
        let is_tied = || own >= MIN_CONTENT && self.score_fit(region, own, neighbours) >= min_fit;
        if self.defines_a_name() || is_tied() {
            return CitationVerdict::Confirmed;
        }
        // Lines that are cited together share their names.
        let mut group = neighbours.iter().filter(|neighbour| {
            neighbour.context.attributed.group == self.context.attributed.group
        });
        if !is_far
            || own > MAX_DOUBT
            || self.has_name_in_definition()
            || group.any(|neighbour| !neighbour.has_names_far_away())
            || content_fit(&region.measure_fit(&self.context.statement.prose)) > MAX_DOUBT
        {
            return CitationVerdict::Unconfirmed;
        }
        find_misplaced_name(content, &self.lines, &self.placed_names().collect::<Vec<&CitedName>>())
            .map_or(CitationVerdict::Unconfirmed, |(fault, at)| CitationVerdict::Wrong(fault, at))
    }

    /// Returns whether a definition of a name of the statement begins in the lines.
    fn defines_a_name(&self) -> bool {
        let begins = |definition: &LineRange| {
            self.lines.iter().any(|range| (range.first..=range.last).contains(&definition.first))
        };
        let mut names = self
            .context
            .attributed
            .names
            .iter()
            .filter(|name| name.weight != CitedNameWeight::Hint);
        names.any(|name| self.file.content.definitions_of(&name.word).iter().any(begins))
    }

    /// Returns whether the definition around the lines has a name of the statement.
    fn has_name_in_definition(&self) -> bool {
        let content = &self.file.content;
        let mut around = self.lines.iter().filter_map(|range| content.definition_around(*range));
        around.any(|range| {
            self.context
                .attributed
                .names
                .iter()
                .any(|name| content.mentions_word(&name.word, range))
        })
    }

    fn has_sure_names(&self) -> bool {
        self.placed_names().any(|name| name.weight == CitedNameWeight::Name)
    }

    /// Returns the names of code in the statement, without those of the file itself.
    fn placed_names(&self) -> impl Iterator<Item = &'a CitedName> {
        let content = &self.file.content;
        let names = self.context.attributed.names.iter();
        names.filter(|name| name.weight != CitedNameWeight::Hint && !content.is_in_path(&name.word))
    }

    /// Returns whether the statement has names of code, none of which is near the lines.
    fn has_names_far_away(&self) -> bool {
        let mut names = self.placed_names();
        let content = &self.file.content;
        let is_near = |name: &CitedName| {
            self.lines.iter().any(|range| content.mentions_word(&name.word, widen_range(*range)))
        };
        let first = names.next();
        first.is_some_and(|first| !is_near(first) && !names.any(is_near))
    }

    /// Scores how well the statement fits its lines, also against neighbouring statements and
    /// places. The weights are fitted: see `benches/README.md`.
    fn score_fit(&self, region: &CitedRegion<'_>, own: f32, neighbours: &[&Self]) -> f32 {
        let whole = region.measure_fit(&self.context.statement.whole);
        let RangeShape { unbalanced, blank, leads, closes } = region.mean_shape();
        let others = neighbours
            .iter()
            .filter(|other| other.context.attributed.group != self.context.attributed.group);
        let (mut statement, mut elsewhere) = (None::<f32>, None::<f32>);
        for other in others {
            let fit = content_fit(&region.measure_fit(&other.context.statement.clause));
            statement = Some(statement.map_or(fit, |best| best.max(fit)));
            if let Some(there) = &other.region
                && !self.overlaps(other)
            {
                let fit = content_fit(&there.measure_fit(&self.context.statement.clause));
                elsewhere = Some(elsewhere.map_or(fit, |best| best.max(fit)));
            }
        }
        let margin = |other: Option<f32>| {
            other.map_or(MARGIN_WITHOUT_NEIGHBOURS, |other| {
                (own - other).clamp(-MAX_MARGIN, MAX_MARGIN)
            })
        };
        -2.132 + 1.266 * whole.ratio + 1.564 * whole.similarity + 2.154 * whole.local_margin
            - 0.849 * unbalanced
            - 3.107 * blank
            + 2.570 * leads
            - 0.893 * closes
            + 0.478 * margin(statement)
            + 0.349 * margin(elsewhere)
    }

    fn overlaps(&self, other: &Self) -> bool {
        std::ptr::eq(self.file, other.file)
            && self.lines.iter().any(|a| other.lines.iter().any(|b| ranges_overlap(*a, *b)))
    }
}

/// Scores how well words fit lines by their content alone, with fitted weights.
fn content_fit(measures: &FitMeasures) -> f32 {
    -2.562 + 2.405 * measures.ratio - 0.971 * measures.local_ratio
        + 3.109 * measures.local_rank
        + 1.496 * measures.similarity
        + 4.392 * measures.local_margin
        + 1.335 * measures.exact
        - 0.912 * measures.has_spans
}

/// Cuts ranges at the end of their file and turns reversed ranges around.
fn fit_into_file(content: &CitedFileText, lines: &[LineRange]) -> Vec<LineRange> {
    let fitted = |range: &LineRange| {
        let (first, last) = (range.first.min(range.last), range.first.max(range.last));
        let last =
            if first <= content.line_count() { last.min(content.line_count()) } else { last };
        LineRange { first, last }
    };
    lines.iter().map(fitted).collect()
}

/// Finds a name of the statement that is far from the lines or missing, while none of its names is
/// near. Ignores ordinary words. Returns the nearest occurrence of the name.
fn find_misplaced_name(
    content: &CitedFileText,
    lines: &[LineRange],
    names: &[&CitedName],
) -> Option<(CitationFault, Vec<LineRange>)> {
    let is_near = |name: &&CitedName| {
        lines.iter().any(|range| content.mentions_word(&name.word, widen_range(*range)))
    };
    if names.iter().any(is_near) {
        return None;
    }
    let sure = || names.iter().filter(|name| name.weight == CitedNameWeight::Name);
    let found = sure().find_map(|name| {
        let at = content.find_nearest_occurrence(&name.word, lines)?;
        let at = vec![at];
        Some((CitationFault::AtOtherLines { name: name.display.clone(), at: at.clone() }, at))
    });
    let absent = || sure().next().map(|name| CitationFault::Absent { name: name.display.clone() });
    found.or_else(|| Some((absent()?, Vec::new())))
}

fn widen_range(range: LineRange) -> LineRange {
    LineRange {
        first: range.first.saturating_sub(NEAR_LINES).max(1),
        last: range.last.saturating_add(NEAR_LINES),
    }
}

fn count_lines(lines: &[LineRange]) -> u32 {
    lines.iter().map(|range| range.line_count()).fold(0, u32::saturating_add)
}

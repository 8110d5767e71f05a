//! Right citations that need a second look: what they name is not in the cited lines, or is elsewhere as well.

use std::fs;

use super::{ChangedSources, SourceFunction};

/// Number of kinds of [`ExcusedCase`].
pub(super) const EXCUSED_KINDS: usize = 10;

/// Makes right citations about one function of a real file.
pub(super) struct ExcusedCase<'a> {
    library: &'a ChangedSources,
    own: SourceFunction,
    lines: Vec<String>,
}

impl<'a> ExcusedCase<'a> {
    /// Returns a sentence of a kind, about the first function from `turn` on that the kind fits.
    pub(super) fn write_sentence(library: &'a ChangedSources, kind: usize, turn: usize) -> String {
        let sound = library.list_unchanged_functions();
        let sentence = (0..sound.len()).find_map(|at| {
            let own = sound[(turn * 7 + at) % sound.len()].clone();
            let text = fs::read_to_string(library.repository.join(&own.path)).unwrap();
            let lines = text.lines().map(str::to_owned).collect();
            let case = Self { library, own, lines };
            match kind {
                0..4 => case.cite_beside_the_name(kind),
                4..7 => case.name_what_is_no_code(kind),
                7..9 => case.cite_a_comment(kind),
                _ => case.cite_a_use(),
            }
        });
        sentence.unwrap_or_else(|| panic!("no function fits kind {kind}"))
    }

    /// Cites lines near the name, in the definition that it names, or beyond the end of the file.
    fn cite_beside_the_name(&self, kind: usize) -> Option<String> {
        let SourceFunction { path, name, first, last } = &self.own;
        let count = self.library.lines[path];
        let (from, to) = match kind {
            // The name is up to ten lines before them, or behind.
            0 => (first + 3, first + 8),
            1 => (first.checked_sub(8).filter(|from| *from > 0)?, first - 2),
            // It is in the same definition.
            2 if last - first > 25 => (first + 16, first + 20),
            3 if count - last < 30 => (*first, count + 1 + first % 40),
            _ => return None,
        };
        (kind == 3 || to <= count)
            .then(|| format!("`{name}` decides that, see {path}:{from}-{to} for how."))
    }

    /// Names a module of the path, the crate, or another file.
    fn name_what_is_no_code(&self, kind: usize) -> Option<String> {
        let SourceFunction { path, first, last, .. } = &self.own;
        let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
        let named = match (kind, &parts[..]) {
            (4, [.., folder, file]) => format!("{folder}::{file}"),
            (5, ["crates", name, ..]) => format!("codeinfo_{name}"),
            (6, [.., file]) => format!("{file}.json"),
            _ => return None,
        };
        Some(format!("`{named}` gets its part of the work done here ({path}:{first}-{last})."))
    }

    /// Cites a comment that states what the sentence states, with a name that is used elsewhere in the file.
    fn cite_a_comment(&self, kind: usize) -> Option<String> {
        let SourceFunction { path, first, .. } = &self.own;
        let first = usize::try_from(*first).unwrap();
        let (line, mark) = if kind == 7 {
            let above =
                self.lines[..first - 1].iter().rposition(|line| !line.starts_with("///"))?;
            (above + 1, "/// ")
        } else {
            (0, "//! ")
        };
        let comment = self.lines[line..].iter().map_while(|line| line.strip_prefix(mark));
        let comment: Vec<&str> = comment.collect();
        let output_text = comment.join(" ");
        let output_text = output_text.split_once(". ").map_or(&*output_text, |(first, _)| first);
        let others = self.library.list_unique_functions(path);
        let other = others.iter().find(|one| usize::try_from(one.first).unwrap() > line + 24)?;
        (output_text.split(' ').count() > 6 && !output_text.contains('`')).then(|| {
            let lines = format!("{}-{}", line + 1, line + comment.len());
            format!("For `{}`: {output_text} ({path}:{lines}).", other.name)
        })
    }

    /// Cites a line that uses a name declared far above it.
    fn cite_a_use(&self) -> Option<String> {
        let SourceFunction { path, first, last, .. } = &self.own;
        let (first, last) = (usize::try_from(*first).unwrap(), usize::try_from(*last).unwrap());
        let constants = self.lines.iter().enumerate().filter_map(|(at, line)| {
            let name = line.trim_start_matches("pub ").strip_prefix("const ")?.split(':').next()?;
            (name.contains('_') && first.abs_diff(at) > 20).then_some(name)
        });
        let line = constants.filter_map(|declared| {
            let used = self.lines[first..last].iter().position(|line| line.contains(declared))?;
            Some((declared, first + used + 1))
        });
        let (declared, line) = line.min_by_key(|(_, line)| *line)?;
        Some(format!("`{declared}` bounds it ({path}:{line}-{}).", line + 1))
    }
}

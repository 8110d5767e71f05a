//! Answers questions about a repository's history, one a line: `log MAX`, `file PATH`,
//! `lines FIRST LAST PATH` and `blame FIRST LAST PATH`. `benches/history.py` compares the answers
//! with git's.

use std::{
    error::Error,
    io::{self, BufRead, Write},
    time::{Duration, Instant},
};

use codeinfo_history::{CommitId, HistoryBudget, HistoryReader, HistoryStop};
use codeinfo_worktree::git::GitRepository;

const MAX_SECONDS: u64 = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: history FOLDER < QUESTIONS")?;
    let folder = std::path::Path::new(&folder).canonicalize()?;
    let repository = GitRepository::open(&folder)?.ok_or("no repository")?;
    let head = repository.head_commit().ok_or("no commit")?;
    let mut reader = HistoryReader::open(repository.common_folder(), &head)?;
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let start = Instant::now();
        let answer = answer_question(&mut reader, &head.parse()?, &line?);
        let (lines, stop) = answer.unwrap_or_else(|error| (vec![format!("error {error}")], None));
        let end = stop.map_or("-".to_owned(), |stop| stop.to_string());
        writeln!(output, "{:.3}\t{}\t{end}", start.elapsed().as_secs_f64() * 1000.0, lines.len())?;
        lines.iter().try_for_each(|line| writeln!(output, "{line}"))?;
        output.flush()?;
    }
    Ok(())
}

fn answer_question(
    reader: &mut HistoryReader,
    tip: &CommitId,
    question: &str,
) -> Result<(Vec<String>, Option<HistoryStop>), Box<dyn Error>> {
    let (command, rest) = question.split_once(' ').ok_or("no command")?;
    let mut budget = HistoryBudget::until(Instant::now() + Duration::from_secs(MAX_SECONDS));
    let mut parts = rest.splitn(3, ' ');
    let mut next = || parts.next().ok_or("too few words");
    match command {
        "log" => {
            budget.max_results = next()?.parse()?;
            let list = reader.list_commits(tip, &[], &budget);
            let show = |commit: &codeinfo_history::CommitDetails| {
                format!("{}\t{}\t{}", commit.id, commit.author_time.seconds, commit.subject)
            };
            Ok((list.commits.iter().map(show).collect(), list.stop))
        }
        "file" => {
            let history = reader.file_history(tip, rest, &budget)?;
            let show = |change: &codeinfo_history::FileChange| {
                let old = change.old_path.as_ref().unwrap_or(&change.path);
                let lines = change.lines.unwrap_or_default();
                format!(
                    "{}\t{}\t{old}\t{}\t{}",
                    change.commit.id, change.path, lines.added, lines.removed
                )
            };
            Ok((history.changes.iter().map(show).collect(), history.stop))
        }
        "lines" => {
            let (first, last) = (next()?.parse()?, next()?.parse()?);
            let history = reader.line_history(tip, next()?, first, last, &budget)?;
            let show = |change: &codeinfo_history::LineChange| change.commit.id.to_string();
            Ok((history.changes.iter().map(show).collect(), history.stop))
        }
        _ => {
            let (first, last) = (next()?.parse()?, next()?.parse()?);
            let blame = reader.blame_lines(tip, next()?, first, last, &budget)?;
            let show = |lines: &codeinfo_history::BlamedLines| {
                let (first, last) = (lines.first, lines.last);
                format!(
                    "{first}\t{last}\t{}\t{}\t{}",
                    lines.commit.id, lines.old_first, lines.old_path
                )
            };
            Ok((blame.lines.iter().map(show).collect(), blame.stop))
        }
    }
}

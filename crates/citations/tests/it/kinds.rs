//! Citations that must not be accused, fifty of each kind.

use std::fmt::Write;

use codeinfo_citations::{CitationChecker, CitationState, LookupScope};
use codeinfo_core::PathMap;
use codeinfo_test_support::ingest::TestIndex;

const COUNT: usize = 50;
/// Lines of each function of [`write_module`], with the blank one after it.
const FUNCTION_LINES: usize = 47;

/// Returns a module of functions that declare a limit in their second line and use it in none of the last forty.
fn write_module() -> String {
    let mut text = String::new();
    for number in 0..COUNT {
        writeln!(text, "fn step_{number}(input: u32) -> u32 {{").unwrap();
        writeln!(text, "    let limit_of_{number} = input;").unwrap();
        for line in 0..43 {
            writeln!(text, "    let part_{line} = {line} + {number};").unwrap();
        }
        text.push_str("}\n\n");
    }
    text
}

/// Checks sentences one by one. Returns the state of the citation of each, with the sentence.
async fn check_sentences(
    files: &[(&str, &str)],
    sentences: impl Iterator<Item = String>,
) -> Vec<(CitationState, String)> {
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", files);
    index.ingest(&repository).await;
    let checker = CitationChecker::new(index.store.clone(), PathMap::default());
    let mut states = Vec::new();
    for sentence in sentences {
        let report = checker.check_text(&sentence, &LookupScope::default()).await.unwrap();
        let [citation] = &report.citations[..] else { panic!("{sentence}: {report:?}") };
        states.push((citation.state, sentence));
    }
    states
}

fn assert_all_are(state: CitationState, states: &[(CitationState, String)]) {
    assert_eq!(states.len(), COUNT);
    let others: Vec<_> = states.iter().filter(|(one, _)| *one != state).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_citation_may_name_the_definition_around_its_lines() {
    let module = write_module();
    let files = [("src/steps.rs", &*module)];
    let lines = |number: usize| {
        let first = number * FUNCTION_LINES + 30;
        format!("{first}-{}", first + 3)
    };
    let own = (0..COUNT)
        .map(|number| format!("`limit_of_{number}` bounds it (src/steps.rs:{}).", lines(number)));
    assert_all_are(CitationState::Unconfirmed, &check_sentences(&files, own).await);
    // In another definition the same lines are wrong.
    let others = (0..COUNT).map(|number| {
        let other = (number + 1) % COUNT;
        format!("`limit_of_{number}` bounds it (src/steps.rs:{}).", lines(other))
    });
    assert_all_are(CitationState::Wrong, &check_sentences(&files, others).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_begins_in_the_file_ends_with_it() {
    let text: String =
        write_module().lines().take(156).fold(String::new(), |text, line| text + line + "\n");
    let files = [("src/steps.rs", &*text)];
    let behind = (0..COUNT).map(|more| format!("See src/steps.rs:{}-{}.", 156 - more, 157 + more));
    for (state, sentence) in check_sentences(&files, behind).await {
        assert_ne!(state, CitationState::Wrong, "{sentence}");
    }
    let outside = (0..COUNT).map(|more| format!("See src/steps.rs:{}-{}.", 157 + more, 190 + more));
    assert_all_are(CitationState::Wrong, &check_sentences(&files, outside).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_citation_may_name_files_and_parts_of_its_path() {
    let module = write_module();
    let files = [("crates/door_keeper/src/net/steps.rs", &*module)];
    let names =
        ["door_keeper", "active.json", "settings.yaml", "net", "steps", "net::steps", "src/net"];
    let sentences = (0..COUNT).map(|number| {
        let first = number * FUNCTION_LINES + 10;
        let name = names[number % names.len()];
        format!(
            "`{name}` keeps part {number} (crates/door_keeper/src/net/steps.rs:{first}-{}).",
            first + 9
        )
    });
    for (state, sentence) in check_sentences(&files, sentences).await {
        assert_ne!(state, CitationState::Wrong, "{sentence}");
    }
}

/// Rules as comments state them, each with a name of code that applies it and a sentence about both.
const RULES: [(&str, &str, &str); 25] = [
    (
        "Requests with a body over the limit are refused",
        "MAX_BODY",
        "`{}` refuses requests with a larger body",
    ),
    (
        "A failed upload is tried again after twice the time",
        "BackoffPolicy",
        "`{}` doubles the time before a failed upload is tried again",
    ),
    ("Keys are compared without their case", "KeyFold", "Keys are compared without case, by `{}`"),
    (
        "Rows of deleted users are kept for a month",
        "RETENTION",
        "Rows of deleted users stay for a month (`{}`)",
    ),
    (
        "Workers stop when the queue has been empty for a while",
        "IdleTimer",
        "Workers stop on an empty queue, as `{}` says",
    ),
    (
        "Nothing is written before the lock is held",
        "WriteGuard",
        "`{}` makes sure that the lock is held before anything is written",
    ),
    (
        "Tokens expire an hour after they were issued",
        "TOKEN_LIFETIME",
        "Issued tokens expire after an hour, `{}`",
    ),
    (
        "Paths that leave the root are refused",
        "check_beneath",
        "`{}` refuses paths that leave the root",
    ),
    (
        "The oldest entry makes room for a new one",
        "EvictionOrder",
        "The oldest entry is evicted for a new one by `{}`",
    ),
    (
        "Errors of a plugin never end the host",
        "PluginBarrier",
        "A plugin's errors do not end the host, thanks to `{}`",
    ),
    (
        "Messages of one sender arrive in order",
        "SenderLane",
        "`{}` keeps the messages of a sender in order",
    ),
    ("Two colours that are alike are merged", "PaletteMerge", "Alike colours are merged by `{}`"),
    (
        "A header is read once and then remembered",
        "HeaderMemo",
        "`{}` remembers a header after it was read once",
    ),
    (
        "Numbers are rounded to the nearest even one",
        "BankerRounding",
        "`{}` rounds numbers to the nearest even one",
    ),
    (
        "The cache is filled in the background",
        "Prefetcher",
        "`{}` fills the cache in the background",
    ),
    (
        "Old clients get the former format",
        "LegacyEncoder",
        "Old clients are answered in the former format by `{}`",
    ),
    (
        "A second signal ends the process at once",
        "SignalCounter",
        "The second signal ends the process at once (`{}`)",
    ),
    ("Columns without a type are text", "infer_type", "`{}` takes columns without a type for text"),
    (
        "Indexes are built after all rows were loaded",
        "IndexPhase",
        "All rows are loaded before the indexes are built, in `{}`",
    ),
    ("A link is followed once only", "LinkVisitor", "`{}` follows a link once only"),
    (
        "Passwords are hashed with a salt of their own",
        "hash_password",
        "Each password is hashed with its own salt by `{}`",
    ),
    (
        "Slow subscribers lose the oldest events",
        "SlowReader",
        "Subscribers that are slow lose the oldest events (`{}`)",
    ),
    ("Empty lines end a record", "RecordReader", "`{}` ends a record at an empty line"),
    ("The port is chosen by the system", "bind_any", "The system chooses the port in `{}`"),
    (
        "Migrations run in one transaction",
        "MigrationRunner",
        "`{}` runs the migrations in one transaction",
    ),
];

/// Returns a file that states a rule in a line, and has the name that applies it in the last one.
fn write_ruled_file(rule: &str, name: &str, line: usize, comment: &str) -> String {
    let mut text = String::new();
    for at in 1..=240 {
        if at == line {
            writeln!(text, "{comment} {rule}.").unwrap();
        } else {
            writeln!(text, "let part_{at} = gather({at}, inputs);").unwrap();
        }
    }
    writeln!(text, "let chosen = {name}::of(parts);").unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_state_a_rule_whose_name_is_elsewhere_are_not_accused() {
    // In the middle of a file, and as the head of it.
    for (line, comment) in [(97, "//"), (1, "//!")] {
        let files: Vec<(String, String)> = RULES
            .iter()
            .enumerate()
            .map(|(at, (rule, name, _))| {
                (format!("src/rule_{at}.rs"), write_ruled_file(rule, name, line, comment))
            })
            .collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let first = line.saturating_sub(1).max(1);
        let sentences = RULES.iter().enumerate().flat_map(|(at, (_, name, said))| {
            let output_text = said.replace("{}", name);
            let lines = [format!("{line}"), format!("{first}-{}", line + 2)];
            lines.map(|lines| format!("{output_text} (src/rule_{at}.rs:{lines})."))
        });
        let states = check_sentences(&files, sentences).await;
        assert_eq!(states.len(), COUNT);
        for (state, sentence) in states {
            assert_ne!(state, CitationState::Wrong, "{sentence}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_citation_may_name_crates_and_modules_that_are_also_methods() {
    let mut text = String::new();
    for at in 0..COUNT {
        writeln!(text, "pub fn step_{at}(input: u32) -> u32 {{\n    input + {at}\n}}\n").unwrap();
    }
    for at in 0..10 {
        writeln!(text, "pub fn store_{at}(chunk: &Chunk) {{\n    chunk.insert(memo_{at});\n}}\n")
            .unwrap();
    }
    let manifest = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n");
    let (memo, insert) = (manifest("memo_3"), manifest("insert"));
    let files = [
        ("crates/insert/src/lib.rs", &*text),
        ("crates/insert/Cargo.toml", &*insert),
        ("crates/memo_3/Cargo.toml", &*memo),
    ];
    let sentences = (0..COUNT).map(|at| {
        let (first, name) = (at * 4 + 1, ["insert", "insert::step", "crates/insert"][at % 3]);
        format!("`{name}` adds {at} here (crates/insert/src/lib.rs:{first}-{}).", first + 2)
    });
    for (state, sentence) in check_sentences(&files, sentences).await {
        assert_ne!(state, CitationState::Wrong, "{sentence}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_within_ten_lines_extends_the_range() {
    let module = write_module();
    let files = [("src/steps.rs", &*module)];
    // `limit_of_N` is declared in the second line of its function: cited are lines up to ten before or behind.
    let sentences = (0..COUNT).map(|at| {
        let declared = at * FUNCTION_LINES + 2;
        let first = if at % 2 == 0 {
            declared + 1 + at % 10
        } else {
            (declared + 9).saturating_sub(11 + at % 9)
        };
        let last = if at % 2 == 0 { first + 3 } else { declared - 1 };
        format!("`limit_of_{at}` is returned at the end (src/steps.rs:{}-{last}).", first.min(last))
    });
    for (state, sentence) in check_sentences(&files, sentences).await {
        assert_ne!(state, CitationState::Wrong, "{sentence}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_computed_or_returned_in_the_lines_may_be_declared_far_away() {
    let mut text = String::from("package steps\n\n");
    for at in 0..COUNT {
        writeln!(text, "var totalOf{at} int").unwrap();
    }
    for at in 0..COUNT {
        let (body, end) = ("\tcount++\n".repeat(30), "}\n\n");
        write!(text, "func step{at}(input int) error {{\n{body}").unwrap();
        write!(text, "\ttotalOf{at} = input * {at} + count\n\tif count > {at} {{\n\t\treturn errStep{at}\n\t}}\n").unwrap();
        write!(text, "{body}{end}").unwrap();
    }
    for at in 0..COUNT {
        writeln!(text, "var errStep{at} = errors.New(\"step {at}\")").unwrap();
    }
    let lines: Vec<&str> = text.lines().collect();
    let place = |needle: &str| lines.iter().position(|line| line.trim() == needle).unwrap() + 1;
    let files = [("steps.go", &*text)];
    let computed = (0..COUNT).map(|at| {
        let line = place(&format!("totalOf{at} = input * {at} + count"));
        format!("`totalOf{at}` is computed from the input (steps.go:{line}-{}).", line + 1)
    });
    for (state, sentence) in check_sentences(&files, computed).await {
        assert_eq!(state, CitationState::Confirmed, "{sentence}");
    }
    // The lines before the one that returns it.
    let returned = (0..COUNT).map(|at| {
        let line = place(&format!("return errStep{at}"));
        format!(
            "A step that counts too far returns `errStep{at}` (steps.go:{}-{}).",
            line - 5,
            line - 2
        )
    });
    for (state, sentence) in check_sentences(&files, returned).await {
        assert_ne!(state, CitationState::Wrong, "{sentence}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn advice_names_the_nearest_occurrence() {
    let mut text = String::from("package steps\n\n");
    for at in 0..COUNT {
        writeln!(text, "var totalOf{at} int").unwrap();
    }
    for at in 0..COUNT {
        write!(text, "func step{at}() {{\n{}}}\n\n", "\tspin++\n".repeat(60)).unwrap();
        write!(text, "func use{at}() {{\n\tcall(totalOf{at})\n}}\n\n").unwrap();
    }
    let lines: Vec<&str> = text.lines().collect();
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", &[("steps.go", &text)]);
    index.ingest(&repository).await;
    let checker = CitationChecker::new(index.store.clone(), PathMap::default());
    for at in 0..COUNT {
        let used = lines.iter().position(|line| line.trim() == format!("call(totalOf{at})"));
        let used = used.unwrap() + 1;
        let sentence = format!(
            "`totalOf{at}` is handed to the callee (steps.go:{}-{}).",
            used - 30,
            used - 28
        );
        let report = checker.check_text(&sentence, &LookupScope::default()).await.unwrap();
        let advice = codeinfo_citations::describe_faults(&sentence, &report).concat();
        assert!(advice.contains(&format!("`totalOf{at}` is at {used}")), "{sentence}: {advice}");
    }
}

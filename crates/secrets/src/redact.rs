//! Finds the secrets in a text, in one pass, and puts a mark in place of each.
//!
//! What a literal leads to is read for a bounded number of bytes, so that the time grows with the
//! text, whatever the text.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};
use codeinfo_lang::Language;

use super::{
    MARK, address,
    assigned::{self, WORDS},
    command, group, header,
    judge::{Family, Reading},
    key, manifest, service, table,
    token::{self, JOINTS, Joint, TOKENS, Token},
};

/// A text without its secrets, and how many it had.
#[derive(Debug, PartialEq, Eq)]
pub struct Redacted<'a> {
    pub text: Cow<'a, str>,
    pub count: u64,
}

/// Marks change what stands beside a value, which may make another one seen. That ends soon.
const MAX_PASSES: usize = 8;

/// What a literal may be part of.
#[derive(Clone, Copy)]
enum Clue {
    Token(Token),
    Joint(Joint),
    Word(Family),
    /// `eyJ`, which starts a JSON Web Token.
    Signed,
    /// `://`
    Address,
    /// `-u` and `--user`, the options of a login.
    Login,
    /// What stands before the token of a bot.
    Bot,
    /// `Bearer `
    Bearer,
    /// `Authorization`
    Authorization,
    /// `sig=`
    Signature,
    /// `Twilio`
    Twilio,
    /// ` -p` and other short options that take a password.
    Option,
    /// `credentials` and the like, over several values.
    Group,
    /// The first line of a block in PEM.
    Key,
    /// The start of such a block without its first line.
    KeyBody,
    /// `Cookie`, and the option of curl.
    Cookie,
    /// `INSERT INTO`
    Insert,
}

/// Every clue, in the order of the literals of the finder.
static CLUES: LazyLock<Vec<(&'static str, Clue)>> = LazyLock::new(|| {
    let others = [
        ("eyJ", Clue::Signed),
        ("://", Clue::Address),
        ("-u", Clue::Login),
        ("--user ", Clue::Login),
        ("--user=", Clue::Login),
        (".login(", Clue::Bot),
        (".run(", Clue::Bot),
        ("bot ", Clue::Bot),
        ("bearer ", Clue::Bearer),
        ("authorization", Clue::Authorization),
        ("sig=", Clue::Signature),
        ("twilio", Clue::Twilio),
        (" -p", Clue::Option),
        (" -w", Clue::Option),
        (" -a", Clue::Option),
        (key::BEGIN, Clue::Key),
        ("cookie", Clue::Cookie),
        ("curl -b", Clue::Cookie),
        ("insert into ", Clue::Insert),
    ];
    let tokens = TOKENS.iter().map(|token| (token.0, Clue::Token(*token)));
    let joints = JOINTS.iter().map(|joint| (joint.0, Clue::Joint(*joint)));
    let words = WORDS.iter().map(|(word, family)| (*word, Clue::Word(*family)));
    let groups = group::WORDS.iter().map(|word| (*word, Clue::Group));
    let bodies = key::BODIES.iter().map(|start| (*start, Clue::KeyBody));
    tokens.chain(joints).chain(words).chain(groups).chain(bodies).chain(others).collect()
});

/// Finds all literals at once, in time that grows with the text only.
static FINDER: LazyLock<Result<AhoCorasick, BuildError>> = LazyLock::new(|| {
    let literals = CLUES.iter().map(|(literal, _)| literal);
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals)
});

/// Returns `text`, the content of the file at `path`, with `[secret]` in place of each secret. Lines
/// stay lines. Doing so once more changes nothing.
pub fn redact<'a>(path: &str, language: Option<&Language>, text: &'a str) -> Redacted<'a> {
    let reading = Reading::of(path, language);
    let mut redacted = Redacted { text: Cow::Borrowed(text), count: 0 };
    for _ in 0..MAX_PASSES {
        let found = secrets(path, &redacted.text, reading);
        if found.is_empty() {
            break;
        }
        redacted.count += found.len() as u64;
        redacted.text = Cow::Owned(marked(&redacted.text, &found));
    }
    redacted
}

/// Puts the mark in place of secrets that are whole characters of `text`, in order and apart.
fn marked(text: &str, secrets: &[Range<usize>]) -> String {
    let mut marked = String::with_capacity(text.len());
    let (mut rest, mut at) = (text, 0);
    for secret in secrets {
        let (before, after) = rest.split_at(secret.start - at);
        marked.push_str(before);
        marked.push_str(MARK);
        rest = after.split_at(secret.len()).1;
        at = secret.end;
    }
    marked.push_str(rest);
    marked
}

/// Returns where secrets stand: whole characters, in order and apart from each other.
fn secrets(path: &str, text: &str, reading: Reading) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    service::discord_anywhere(text, &mut found);
    if reading != Reading::Code {
        manifest::find(text, &mut found);
        let is_values = |(_, extension): (&str, &str)| {
            ["csv", "tsv"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        };
        if path.rsplit_once('.').is_some_and(is_values) {
            table::values(text, &mut found);
        } else if reading == Reading::Loose {
            table::tables(text, &mut found);
        }
    }
    // How far what was found reaches, so that no byte is gone over for each literal in a secret.
    let mut reached = 0;
    let mut inserted = 0;
    // A list of short literals can always be searched for.
    let hits = FINDER.iter().flat_map(|finder| finder.find_overlapping_iter(text));
    for hit in hits {
        let clue = CLUES.get(hit.pattern().as_usize()).map(|(_, clue)| *clue);
        if hit.start() >= reached
            && let Some(clue) = clue
        {
            if matches!(clue, Clue::Insert) && inserted <= hit.start() {
                inserted = table::inserted(text, hit.end(), reading, &mut found);
            }
            follow(clue, text, hit.range(), reading, &mut found);
            reached = found.last().map_or(reached, |last| reached.max(last.end));
        }
    }
    merged(text, found)
}

/// Adds the secrets that a clue leads to.
fn follow(
    clue: Clue,
    text: &str,
    hit: Range<usize>,
    reading: Reading,
    into: &mut Vec<Range<usize>>,
) {
    let bytes = text.as_bytes();
    let after_quotes = || {
        let next = bytes.iter().skip(hit.end).take(2);
        hit.end + next.take_while(|byte| b"\\\"'`".contains(byte)).count()
    };
    match clue {
        Clue::Word(family) => assigned::find(text, hit, family, reading, into),
        Clue::Token(token) => into.extend(token::starting(bytes, hit.start, token)),
        Clue::Joint(joint) => into.extend(token::around(bytes, hit.start, joint)),
        Clue::Signed => token::signed(bytes, hit.start, into),
        Clue::Address => into.extend(address::password(text, hit.start, reading)),
        Clue::Login => into.extend(address::login(text, hit, reading)),
        Clue::Bot => into.extend(service::discord(bytes, after_quotes())),
        Clue::Bearer => into.extend(header::bearer(bytes, after_quotes())),
        Clue::Authorization => into.extend(header::authorization(text, hit.end, reading)),
        Clue::Signature => into.extend(header::signature(bytes, hit)),
        Clue::Twilio => service::twilio(bytes, hit.end, into),
        Clue::Option => into.extend(command::password(text, hit, reading)),
        Clue::Group if reading == Reading::Data => group::find(text, hit, into),
        // Rows of a statement are read at once.
        Clue::Group | Clue::Insert => {}
        Clue::Key => key::find(text, hit.start, into),
        Clue::KeyBody => key::find_body(bytes, hit.start, into),
        Clue::Cookie => header::cookies(bytes, hit, into),
    }
}

fn merged(text: &str, mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.retain(|secret| !secret.is_empty());
    for secret in &mut found {
        *secret = text.floor_char_boundary(secret.start)..text.ceil_char_boundary(secret.end);
    }
    found.sort_by_key(|secret| secret.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.start <= last.end => last.end = last.end.max(secret.end),
            _ => merged.push(secret),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::detect::by_path;
    use proptest::{prelude::*, sample::select};

    use super::{marked, merged, redact};

    const PIECES: [&str; 40] = [
        "\n",
        " ",
        "password",
        "token: ",
        "secret=",
        "API_KEY",
        "://u:",
        "@h",
        "-u a:",
        "Bearer ",
        "x7Kq2Lm9",
        "Zr4tY8wB1nV5cX3d",
        "hunter22!",
        "\"",
        "'",
        "=",
        ":",
        ",",
        ";",
        "&",
        "\\",
        "[",
        "]",
        "(",
        "|\n  ",
        "kind: Secret\napiVersion: v1\ndata:\n",
        "{\"kind\": \"Secret\", \"data\": {\"a\": \"",
        "\"}}",
        "Authorization",
        "Basic ",
        "mysql -p",
        "--password ",
        "twilio(",
        "IDENTIFIED BY '",
        "credentials:\n  ",
        "| a | password |\n|---|---|\n| b | ",
        "\n---\n",
        "é",
        concat!("gh", "p_"),
        concat!("ey", "J"),
    ];

    #[test]
    fn nothing_but_whole_characters_is_taken_out_wherever_a_secret_is_said_to_stand() {
        let text = "a é ü z";
        for (found, redacted) in [
            (vec![2..3, 6..6], "a [secret] ü z"),
            (vec![6..7, 3..4], "a [secret] [secret] z"),
            (vec![0..3, 2..5], "[secret]ü z"),
            (vec![8..99, 99..100], "a é ü [secret]"),
        ] {
            assert_eq!(marked(text, &merged(text, found)), redacted);
        }
    }

    #[test]
    fn a_mark_shows_what_stood_beside_a_secret() {
        let text = "-u a:x7Kq2Lm9 \"Zr4tY8wB1nV5cX3d";
        let once = redact("a.rs", by_path("a.rs"), text);
        assert!(0 < once.count && once.text.contains("-u a:[secret]"), "{once:?}");
        assert_eq!(redact("a.rs", by_path("a.rs"), &once.text).count, 0, "{once:?}");
    }

    #[test]
    fn a_token_is_no_part_of_a_word_but_may_follow_an_escape() {
        let key = concat!("AK", "IA", "Q7RZ2MX4LD9TB6WK");
        let signed =
            concat!("ey", "JhbGciOiJIUzI1NiJ9", ".eyJ", "zdWIiOiJhbGljZSJ9", ".c2lnbmF0dXJl");
        for (token, before, count) in [
            (key, "", 1),
            (key, "-", 1),
            (key, "\\n", 1),
            (key, "%3D", 1),
            (key, "%zD", 0),
            (key, "_", 0),
            (key, "x", 0),
            (key, "9", 0),
            (signed, " ", 1),
            (signed, "\\t", 1),
            (signed, "-", 0),
            (signed, "_", 0),
        ] {
            let text = format!("({before}{token})");
            assert_eq!(redact("a.md", by_path("a.md"), &text).count, count, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 4_096,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_redacted_has_no_more_secrets_and_as_many_lines(
            pieces in prop::collection::vec(select(&PIECES[..]), 0..40),
            path in select(&["a.yaml", "a.md", "a.rs"][..]),
        ) {
            let text = pieces.concat();
            let once = redact(path, by_path(path), &text);
            prop_assert_eq!(once.text.lines().count(), text.lines().count());
            let again = redact(path, by_path(path), &once.text);
            prop_assert_eq!(again.count, 0, "{:?} became {:?}", &once.text, &again.text);
        }
    }
}

//! Secrets that are known by how they begin: keys of clouds, tokens of forges, registries and services.

use std::ops::Range;

use super::shape;

/// What a token consists of after its prefix.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    Digit,
    /// Upper-case letters and digits.
    Upper,
    Hex,
    Alnum,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_`, `-` and `.`.
    Signed,
    /// Letters, digits, `_`, `-`, `.` and `=`.
    Url,
    /// The same and `~`.
    Tilde,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// What may stand in a path or query of a web address.
    Path,
    /// What the hash of a password is written in.
    Hash,
}

impl Body {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Digit => byte.is_ascii_digit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Signed => byte.is_ascii_alphanumeric() || b"_-.".contains(&byte),
            Self::Url => byte.is_ascii_alphanumeric() || b"_-.=".contains(&byte),
            Self::Tilde => byte == b'~' || Self::Url.has(byte),
            Self::Base64 => byte.is_ascii_alphanumeric() || b"+/=".contains(&byte),
            Self::Path => byte.is_ascii_alphanumeric() || b"_-./%=&".contains(&byte),
            Self::Hash => byte.is_ascii_alphanumeric() || b"$./+=,-".contains(&byte),
        }
    }
}

/// A prefix, what follows it, and at least how many bytes of that.
pub(super) type Token = (&'static str, Body, usize);

/// A part that some tokens have in common, with what stands before it (at least and at most so many
/// bytes) and after it (at least so many).
pub(super) type Joint = (&'static str, (Body, usize, usize), (Body, usize));

/// Returns where the token stands whose prefix is at `at`.
pub(super) fn starting(
    text: &[u8],
    at: usize,
    (prefix, body, least): Token,
) -> Option<Range<usize>> {
    let (before, here) = text.split_at_checked(at)?;
    let rest = here.strip_prefix(prefix.as_bytes())?;
    if follows_word(before) {
        return None;
    }
    let start = at + prefix.len();
    let length = near(rest, body);
    let (value, _) = rest.split_at_checked(length)?;
    let is_drawn = match body {
        Body::Upper | Body::Hex => shape::is_varied(value),
        _ if COMMON.contains(&prefix) => shape::is_random(value),
        _ => shape::is_token(value),
    };
    let is_token = length >= least && is_drawn;
    // Of an address, the host is no secret.
    let from = if prefix.ends_with('/') { start } else { at };
    is_token.then(|| from..start + run(rest, body))
}

/// Returns where the token stands whose joint is at `at`.
pub(super) fn around(text: &[u8], at: usize, (joint, left, right): Joint) -> Option<Range<usize>> {
    let (before, least, most) = left;
    let (after, right_least) = right;
    let (above, here) = text.split_at_checked(at)?;
    let rest = here.strip_prefix(joint.as_bytes())?;
    let head = above.iter().rev().take(most + 1);
    let start = at - head.take_while(|byte| before.has(**byte)).count();
    let is_token = (least..=most).contains(&(at - start)) && near(rest, after) >= right_least;
    let is_apart = is_token && !follows_word(above.split_at_checked(start)?.0);
    is_apart.then(|| start..at + joint.len() + run(rest, after))
}

/// Adds where the lines of the signed token (JWT) stand that starts at `at`.
pub(super) fn signed(text: &[u8], at: usize, into: &mut Vec<Range<usize>>) {
    let Some((before, rest)) = text.split_at_checked(at) else { return };
    if !rest.starts_with(b"eyJ") || before.ends_with(b"-") || follows_word(before) {
        return;
    }
    let (mut token, mut lines, mut start) = (Vec::new(), Vec::new(), at);
    while lines.len() < LINES {
        let length = run(text.get(start..).unwrap_or_default(), Body::Signed);
        let line = start..start + length;
        token.extend(text.get(line.clone()).unwrap_or_default());
        lines.push(line.clone());
        let Some(next) = next_line(text, line.end) else { break };
        let rest = text.get(next..).unwrap_or_default();
        let near = near(rest, Body::Signed);
        let is_joined = token.ends_with(b".") || rest.starts_with(b".");
        let is_wrapped = LINE <= length && rest.get(..near).is_some_and(shape::is_random);
        if near < LEAST || !(is_joined || (is_wrapped && !rest.starts_with(b"eyJ"))) {
            break;
        }
        start = next;
    }
    let head = token.iter().position(|byte| *byte == b'.').unwrap_or(token.len());
    let body = token.get(head..).and_then(|body| body.strip_prefix(b".eyJ"));
    if LEAST <= head && body.is_some_and(|body| LEAST <= body.len()) {
        into.extend(lines);
    }
}

/// Returns where the text of the next line starts that goes on with what ends at `end`, over quotes and signs that
/// join literals.
pub(super) fn next_line(text: &[u8], end: usize) -> Option<usize> {
    let rest = text.get(end..)?;
    let gap = rest.iter().take(INDENT).take_while(|byte| b"\"'` \t\r\n+,\\".contains(byte)).count();
    let lines = rest.get(..gap)?.split(|byte| *byte == b'\n').count();
    (lines == 2).then_some(end + gap)
}

/// How many lines a signed token has at most, and how long one is at least that goes on in the next, in bytes.
const LINES: usize = 64;
const LINE: usize = 40;
/// The shortest part of a signed token.
const LEAST: usize = 12;
/// How far lines are indented at most, in bytes.
const INDENT: usize = 64;

/// How far a token is read before it is judged, in bytes: a hostile text is full of prefixes.
const NEAR: usize = 256;

fn near(rest: &[u8], body: Body) -> usize {
    rest.iter().take(NEAR).take_while(|byte| body.has(**byte)).count()
}

fn run(rest: &[u8], body: Body) -> usize {
    rest.iter().take_while(|byte| body.has(**byte)).count()
}

/// Whether the last byte before a token belongs to the same word. The end of an escape, such as `\n` or
/// `%3D`, does not.
fn follows_word(before: &[u8]) -> bool {
    match before {
        [] | [.., b'\\', b'n' | b'r' | b't'] => false,
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => false,
        [.., before] => before.is_ascii_alphanumeric() || *before == b'_',
    }
}

/// Prefixes that names in code begin with as well, so that the rest must look drawn by lot.
const COMMON: &[&str] = &["sk-", "key-", "SG.", "cio", "EAAA", "1//0", "glc_", "tskey-"];

/// Every kind of token that is known by its middle.
pub(super) const JOINTS: &[Joint] = &[
    // Telegram.
    (":AA", (Body::Digit, 8, 10), (Body::Url, 30)),
    // Terraform Cloud.
    (".atlasv1.", (Body::Alnum, 10, 20), (Body::Url, 40)),
    // Microsoft Entra.
    ("Q~", (Body::Url, 3, 4), (Body::Tilde, 30)),
    // Mailchimp.
    ("-us", (Body::Hex, 32, 32), (Body::Digit, 1)),
];

/// Every kind of token. Facts of the services' own descriptions; lengths are a little below theirs.
pub(super) const TOKENS: &[Token] = &[
    // Clouds.
    ("AKIA", Body::Upper, 16),
    ("ASIA", Body::Upper, 16),
    ("ABIA", Body::Upper, 16),
    ("ACCA", Body::Upper, 16),
    ("ABSK", Body::Base64, 80),
    ("amzn.mws.", Body::Url, 30),
    ("AIza", Body::Url, 30),
    ("GOCSPX-", Body::Url, 20),
    ("ya29.", Body::Url, 20),
    ("1//0", Body::Url, 28),
    ("dop_v1_", Body::Hex, 40),
    ("doo_v1_", Body::Hex, 40),
    ("dor_v1_", Body::Hex, 40),
    ("HRKU-", Body::Url, 30),
    ("fo1_", Body::Url, 40),
    ("tskey-", Body::Url, 20),
    ("LTAI", Body::Alnum, 17),
    ("AKID", Body::Alnum, 32),
    // Forges.
    ("ghp_", Body::Alnum, 30),
    ("gho_", Body::Alnum, 30),
    ("ghu_", Body::Alnum, 30),
    ("ghs_", Body::Alnum, 30),
    ("ghr_", Body::Alnum, 30),
    ("github_pat_", Body::Word, 40),
    ("glpat-", Body::Url, 20),
    ("gldt-", Body::Url, 20),
    ("glrt-", Body::Url, 20),
    ("glcbt-", Body::Url, 20),
    ("glptt-", Body::Url, 20),
    ("glft-", Body::Url, 20),
    ("glsoat-", Body::Url, 20),
    ("gloas-", Body::Url, 20),
    ("glimt-", Body::Url, 20),
    ("glagent-", Body::Url, 20),
    ("glffct-", Body::Url, 20),
    ("ATBB", Body::Alnum, 24),
    ("ATATT3", Body::Url, 50),
    ("ATCTT3", Body::Url, 50),
    // Registries of packages and images.
    ("npm_", Body::Alnum, 36),
    ("pypi-AgEI", Body::Url, 40),
    ("pypi-AgEN", Body::Url, 40),
    ("cio", Body::Alnum, 32),
    ("rubygems_", Body::Hex, 40),
    ("dckr_pat_", Body::Url, 20),
    ("dckr_oat_", Body::Url, 20),
    ("oy2", Body::Alnum, 43),
    ("CLOJARS_", Body::Hex, 40),
    ("AKCp", Body::Alnum, 60),
    // Chat and mail.
    ("xoxa-", Body::Url, 20),
    ("xoxb-", Body::Url, 20),
    ("xoxc-", Body::Url, 20),
    ("xoxd-", Body::Url, 20),
    ("xoxe-", Body::Url, 20),
    ("xoxe.", Body::Url, 20),
    ("xoxo-", Body::Url, 20),
    ("xoxp-", Body::Url, 20),
    ("xoxr-", Body::Url, 20),
    ("xoxs-", Body::Url, 20),
    ("xapp-", Body::Url, 20),
    ("hooks.slack.com/services/", Body::Path, 20),
    ("hooks.slack.com/workflows/", Body::Path, 20),
    ("hooks.slack.com/triggers/", Body::Path, 20),
    ("discord.com/api/webhooks/", Body::Path, 40),
    ("discordapp.com/api/webhooks/", Body::Path, 40),
    ("webhook.office.com/webhookb2/", Body::Path, 40),
    ("SG.", Body::Url, 40),
    ("SK", Body::Hex, 32),
    ("key-", Body::Alnum, 32),
    ("xkeysib-", Body::Url, 40),
    // Payment.
    ("sk_live_", Body::Alnum, 16),
    ("sk_test_", Body::Alnum, 16),
    ("rk_live_", Body::Alnum, 16),
    ("rk_test_", Body::Alnum, 16),
    ("whsec_", Body::Base64, 24),
    ("sq0atp-", Body::Url, 22),
    ("sq0csp-", Body::Url, 40),
    ("EAAA", Body::Url, 56),
    ("access_token$production$", Body::Path, 32),
    ("shpat_", Body::Hex, 32),
    ("shpca_", Body::Hex, 32),
    ("shppa_", Body::Hex, 32),
    ("shpss_", Body::Hex, 32),
    // Models.
    ("sk-ant-", Body::Url, 20),
    ("sk-proj-", Body::Url, 20),
    ("sk-svcacct-", Body::Url, 20),
    ("sk-admin-", Body::Url, 20),
    ("sk-or-v1-", Body::Hex, 40),
    ("sk-", Body::Url, 32),
    ("hf_", Body::Alnum, 30),
    ("api_org_", Body::Alnum, 30),
    ("gsk_", Body::Alnum, 40),
    ("xai-", Body::Alnum, 40),
    ("pplx-", Body::Alnum, 40),
    ("r8_", Body::Alnum, 37),
    // Infrastructure and tools.
    ("hvs.", Body::Url, 20),
    ("hvb.", Body::Url, 20),
    ("hvr.", Body::Url, 20),
    ("dapi", Body::Hex, 32),
    ("AGE-SECRET-KEY-1", Body::Upper, 40),
    ("glc_", Body::Base64, 32),
    ("glsa_", Body::Word, 32),
    ("NRAK-", Body::Upper, 27),
    ("sntrys_", Body::Url, 40),
    ("sntryu_", Body::Hex, 40),
    ("pscale_tkn_", Body::Url, 30),
    ("pscale_pw_", Body::Url, 30),
    ("PMAK-", Body::Url, 40),
    ("dp.pt.", Body::Alnum, 40),
    ("dp.st.", Body::Url, 40),
    ("sbp_", Body::Hex, 40),
    ("nfp_", Body::Alnum, 36),
    ("lin_api_", Body::Alnum, 36),
    ("ntn_", Body::Alnum, 40),
    ("figd_", Body::Url, 36),
    ("pul-", Body::Hex, 40),
    ("sgp_", Body::Word, 40),
    ("bkua_", Body::Hex, 40),
    ("CCIPAT_", Body::Word, 40),
    ("CFPAT-", Body::Url, 40),
    ("ops_eyJ", Body::Url, 100),
    ("sk.eyJ", Body::Url, 60),
    ("dt0c01.", Body::Url, 60),
    // Our own.
    ("codeinfo_pat_", Body::Url, 40),
    ("codeinfo_key_", Body::Url, 40),
    // Hashes of passwords.
    ("$2a$", Body::Hash, 50),
    ("$2b$", Body::Hash, 50),
    ("$2y$", Body::Hash, 50),
    ("$apr1$", Body::Hash, 20),
    ("$6$", Body::Hash, 40),
    ("$argon2id$", Body::Hash, 40),
];

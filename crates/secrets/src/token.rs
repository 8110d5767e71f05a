//! Finds tokens of services by their prefixes, by their form (Discord), or by a service name before them (Twilio).

use std::ops::Range;

use super::shape;

#[derive(Debug, Clone, Copy)]
pub(super) enum TokenAlphabet {
    Digit,
    /// Upper-case letters and digits.
    Upper,
    Hex,
    Alnum,
    Word,
    /// Letters, digits, `_`, `-` and `.`.
    Signed,
    /// Letters, digits, `_`, `-`, `.` and `=`.
    Url,
    /// Letters, digits, `_`, `-`, `.`, `=` and `~`.
    Tilde,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Characters of a path or query of a web address.
    Path,
    Hash,
}

impl TokenAlphabet {
    fn contains(self, byte: u8) -> bool {
        match self {
            Self::Digit => byte.is_ascii_digit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Signed => byte.is_ascii_alphanumeric() || b"_-.".contains(&byte),
            Self::Url => byte.is_ascii_alphanumeric() || b"_-.=".contains(&byte),
            Self::Tilde => byte == b'~' || Self::Url.contains(byte),
            Self::Base64 => byte.is_ascii_alphanumeric() || b"+/=".contains(&byte),
            Self::Path => byte.is_ascii_alphanumeric() || b"_-./%=&".contains(&byte),
            Self::Hash => byte.is_ascii_alphanumeric() || b"$./+=,-".contains(&byte),
        }
    }
}

/// A prefix, the alphabet after it, and the minimum length of the rest in bytes.
pub(super) type PrefixPattern = (&'static str, TokenAlphabet, usize);

/// A middle part, the alphabet before it with minimum and maximum length, and that after it with minimum length.
pub(super) type InfixPattern =
    (&'static str, (TokenAlphabet, usize, usize), (TokenAlphabet, usize));

pub(super) fn find_prefixed_token(
    text: &[u8],
    at: usize,
    pattern: PrefixPattern,
) -> Option<Range<usize>> {
    let (prefix, body, min_length) = pattern;
    let (before, here) = text.split_at_checked(at)?;
    let rest = here.strip_prefix(prefix.as_bytes())?;
    if follows_word(before) {
        return None;
    }
    let start = at + prefix.len();
    let length = bounded_run_length(rest, body);
    let (value, _) = rest.split_at_checked(length)?;
    let is_drawn = match body {
        TokenAlphabet::Upper | TokenAlphabet::Hex => shape::is_varied(value),
        _ if COMMON_PREFIXES.contains(&prefix) => shape::is_random(value),
        _ => shape::is_token(value),
    };
    let is_token = length >= min_length && is_drawn;
    // The host of an address is not secret.
    let from = if prefix.ends_with('/') { start } else { at };
    is_token.then(|| from..start + run_length(rest, body))
}

pub(super) fn find_infix_token(
    text: &[u8],
    at: usize,
    pattern: InfixPattern,
) -> Option<Range<usize>> {
    let (joint, left, right) = pattern;
    let (before, min_length, max_length) = left;
    let (after, min_after) = right;
    let (above, here) = text.split_at_checked(at)?;
    let rest = here.strip_prefix(joint.as_bytes())?;
    let head = above.iter().rev().take(max_length + 1);
    let start = at - head.take_while(|byte| before.contains(**byte)).count();
    let is_token = (min_length..=max_length).contains(&(at - start))
        && bounded_run_length(rest, after) >= min_after;
    let is_apart = is_token && !follows_word(above.split_at_checked(start)?.0);
    is_apart.then(|| start..at + joint.len() + run_length(rest, after))
}

pub(super) fn find_jwt_lines(text: &[u8], at: usize, into: &mut Vec<Range<usize>>) {
    let Some((before, rest)) = text.split_at_checked(at) else { return };
    if !rest.starts_with(b"eyJ") || before.ends_with(b"-") || follows_word(before) {
        return;
    }
    let mut token = Vec::new();
    let mut lines = Vec::new();
    let mut start = at;
    while lines.len() < MAX_JWT_LINES {
        let length = run_length(text.get(start..).unwrap_or_default(), TokenAlphabet::Signed);
        let line = start..start + length;
        token.extend(text.get(line.clone()).unwrap_or_default());
        lines.push(line.clone());
        let Some(next) = next_line(text, line.end) else { break };
        let rest = text.get(next..).unwrap_or_default();
        let near = bounded_run_length(rest, TokenAlphabet::Signed);
        let is_joined = token.ends_with(b".") || rest.starts_with(b".");
        let is_wrapped =
            MIN_WRAPPED_LINE <= length && rest.get(..near).is_some_and(shape::is_random);
        if near < MIN_JWT_PART || !(is_joined || (is_wrapped && !rest.starts_with(b"eyJ"))) {
            break;
        }
        start = next;
    }
    let head = token.iter().position(|byte| *byte == b'.').unwrap_or(token.len());
    let body = token.get(head..).and_then(|body| body.strip_prefix(b".eyJ"));
    if MIN_JWT_PART <= head && body.is_some_and(|body| MIN_JWT_PART <= body.len()) {
        into.extend(lines);
    }
}

/// Returns where the next line continues the text before `end`, after quotes and signs that join literals.
pub(super) fn next_line(text: &[u8], end: usize) -> Option<usize> {
    let rest = text.get(end..)?;
    let gap =
        rest.iter().take(MAX_INDENT).take_while(|byte| b"\"'` \t\r\n+,\\".contains(byte)).count();
    let lines = rest.get(..gap)?.split(|byte| *byte == b'\n').count();
    (lines == 2).then_some(end + gap)
}

/// Maximum lines of a signed token, and minimum bytes of a line that continues on the next one.
const MAX_JWT_LINES: usize = 64;
const MIN_WRAPPED_LINE: usize = 40;
const MIN_JWT_PART: usize = 12;
const MAX_INDENT: usize = 64;

/// Maximum bytes of a token that are judged, because a hostile text may be full of prefixes.
const MAX_JUDGED: usize = 256;

fn bounded_run_length(rest: &[u8], body: TokenAlphabet) -> usize {
    rest.iter().take(MAX_JUDGED).take_while(|byte| body.contains(**byte)).count()
}

fn run_length(rest: &[u8], body: TokenAlphabet) -> usize {
    rest.iter().take_while(|byte| body.contains(**byte)).count()
}

/// Returns whether the last byte before a token belongs to its word, unlike an escape such as `\n` or `%3D`.
fn follows_word(before: &[u8]) -> bool {
    match before {
        [] | [.., b'\\', b'n' | b'r' | b't'] => false,
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => false,
        [.., before] => before.is_ascii_alphanumeric() || *before == b'_',
    }
}

/// Minimum and maximum lengths of the parts of a Discord token: the number of a bot, a time, a hash.
const DISCORD_PARTS: [(usize, usize); 3] = [(23, 28), (6, 7), (25, 45)];
const MAX_TWILIO_GAP: usize = 200;
const TWILIO_BYTES: usize = 32;

/// Adds the Discord tokens of a text. Only the first part has a form of its own: base64 of digits.
pub(super) fn find_discord_tokens(text: &str, into: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let is_dot = |at: usize| bytes.get(at) == Some(&b'.');
    for (dot, _) in text.match_indices('.') {
        if !is_dot(dot + 7) && !is_dot(dot + 8) {
            continue;
        }
        let before = bytes.iter().take(dot).rev().take(DISCORD_PARTS[0].1 + 1);
        let length = before.take_while(|byte| is_token_byte(**byte)).count();
        let start = dot - length;
        if bytes.get(start..dot).is_some_and(is_encoded_number) {
            into.extend(find_discord_token(bytes, start));
        }
    }
}

/// Returns whether bytes are base64 of decimal digits, each of which has the same upper half.
fn is_encoded_number(bytes: &[u8]) -> bool {
    const FORMS: [&[u8]; 4] = [b"MNO", b"DTjz", b"AEIMQUYcgk", b"wxyz012345"];
    bytes.iter().zip(FORMS.iter().cycle()).all(|(byte, form)| form.contains(byte))
}

pub(super) fn find_discord_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !matches!(text.get(at)?, b'M' | b'N' | b'O') {
        return None;
    }
    let mut end = at;
    for (part, (min_length, max_length)) in DISCORD_PARTS.into_iter().enumerate() {
        if part > 0 {
            end += usize::from(*text.get(end)? == b'.');
        }
        let length = text
            .get(end..)?
            .iter()
            .take(max_length + 1)
            .take_while(|byte| is_token_byte(**byte))
            .count();
        if !(min_length..=max_length).contains(&length) {
            return None;
        }
        end += length;
    }
    Some(at..end)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Adds the Twilio tokens shortly after the service name, which ends at `at`: 32 hexadecimal digits.
pub(super) fn find_twilio_tokens(text: &[u8], at: usize, into: &mut Vec<Range<usize>>) {
    let Some(rest) = text.get(at..) else { return };
    // One byte more tells whether the last word ends there.
    let (near, _) = rest.split_at(rest.len().min(MAX_TWILIO_GAP + TWILIO_BYTES + 1));
    let mut start = at;
    for word in near.split(|byte| !is_token_byte(*byte)) {
        let is_hex = word.iter().all(u8::is_ascii_hexdigit);
        let is_token = word.len() == TWILIO_BYTES && is_hex && shape::is_varied(word);
        if is_token && start <= at + MAX_TWILIO_GAP {
            into.push(start..start + TWILIO_BYTES);
        }
        start += word.len() + 1;
    }
}

/// Prefixes that are also common in names of code, so that the rest must look random.
const COMMON_PREFIXES: &[&str] = &["sk-", "key-", "SG.", "cio", "EAAA", "1//0", "glc_", "tskey-"];

pub(super) const INFIXES: &[InfixPattern] = &[
    // Telegram.
    (":AA", (TokenAlphabet::Digit, 8, 10), (TokenAlphabet::Url, 30)),
    // Terraform Cloud.
    (".atlasv1.", (TokenAlphabet::Alnum, 10, 20), (TokenAlphabet::Url, 40)),
    // Microsoft Entra.
    ("Q~", (TokenAlphabet::Url, 3, 4), (TokenAlphabet::Tilde, 30)),
    // Mailchimp.
    ("-us", (TokenAlphabet::Hex, 32, 32), (TokenAlphabet::Digit, 1)),
];

/// All tokens known by their prefix, from the services' own descriptions, with slightly shorter lengths.
pub(super) const TOKENS: &[PrefixPattern] = &[
    // Clouds.
    ("AKIA", TokenAlphabet::Upper, 16),
    ("ASIA", TokenAlphabet::Upper, 16),
    ("ABIA", TokenAlphabet::Upper, 16),
    ("ACCA", TokenAlphabet::Upper, 16),
    ("ABSK", TokenAlphabet::Base64, 80),
    ("amzn.mws.", TokenAlphabet::Url, 30),
    ("AIza", TokenAlphabet::Url, 30),
    ("GOCSPX-", TokenAlphabet::Url, 20),
    ("ya29.", TokenAlphabet::Url, 20),
    ("1//0", TokenAlphabet::Url, 28),
    ("dop_v1_", TokenAlphabet::Hex, 40),
    ("doo_v1_", TokenAlphabet::Hex, 40),
    ("dor_v1_", TokenAlphabet::Hex, 40),
    ("HRKU-", TokenAlphabet::Url, 30),
    ("fo1_", TokenAlphabet::Url, 40),
    ("tskey-", TokenAlphabet::Url, 20),
    ("LTAI", TokenAlphabet::Alnum, 17),
    ("AKID", TokenAlphabet::Alnum, 32),
    // Forges.
    ("ghp_", TokenAlphabet::Alnum, 30),
    ("gho_", TokenAlphabet::Alnum, 30),
    ("ghu_", TokenAlphabet::Alnum, 30),
    ("ghs_", TokenAlphabet::Alnum, 30),
    ("ghr_", TokenAlphabet::Alnum, 30),
    ("github_pat_", TokenAlphabet::Word, 40),
    ("glpat-", TokenAlphabet::Url, 20),
    ("gldt-", TokenAlphabet::Url, 20),
    ("glrt-", TokenAlphabet::Url, 20),
    ("glcbt-", TokenAlphabet::Url, 20),
    ("glptt-", TokenAlphabet::Url, 20),
    ("glft-", TokenAlphabet::Url, 20),
    ("glsoat-", TokenAlphabet::Url, 20),
    ("gloas-", TokenAlphabet::Url, 20),
    ("glimt-", TokenAlphabet::Url, 20),
    ("glagent-", TokenAlphabet::Url, 20),
    ("glffct-", TokenAlphabet::Url, 20),
    ("ATBB", TokenAlphabet::Alnum, 24),
    ("ATATT3", TokenAlphabet::Url, 50),
    ("ATCTT3", TokenAlphabet::Url, 50),
    // Registries of packages and images.
    ("npm_", TokenAlphabet::Alnum, 36),
    ("pypi-AgEI", TokenAlphabet::Url, 40),
    ("pypi-AgEN", TokenAlphabet::Url, 40),
    ("cio", TokenAlphabet::Alnum, 32),
    ("rubygems_", TokenAlphabet::Hex, 40),
    ("dckr_pat_", TokenAlphabet::Url, 20),
    ("dckr_oat_", TokenAlphabet::Url, 20),
    ("oy2", TokenAlphabet::Alnum, 43),
    ("CLOJARS_", TokenAlphabet::Hex, 40),
    ("AKCp", TokenAlphabet::Alnum, 60),
    // Chat and mail.
    ("xoxa-", TokenAlphabet::Url, 20),
    ("xoxb-", TokenAlphabet::Url, 20),
    ("xoxc-", TokenAlphabet::Url, 20),
    ("xoxd-", TokenAlphabet::Url, 20),
    ("xoxe-", TokenAlphabet::Url, 20),
    ("xoxe.", TokenAlphabet::Url, 20),
    ("xoxo-", TokenAlphabet::Url, 20),
    ("xoxp-", TokenAlphabet::Url, 20),
    ("xoxr-", TokenAlphabet::Url, 20),
    ("xoxs-", TokenAlphabet::Url, 20),
    ("xapp-", TokenAlphabet::Url, 20),
    ("hooks.slack.com/services/", TokenAlphabet::Path, 20),
    ("hooks.slack.com/workflows/", TokenAlphabet::Path, 20),
    ("hooks.slack.com/triggers/", TokenAlphabet::Path, 20),
    ("discord.com/api/webhooks/", TokenAlphabet::Path, 40),
    ("discordapp.com/api/webhooks/", TokenAlphabet::Path, 40),
    ("webhook.office.com/webhookb2/", TokenAlphabet::Path, 40),
    ("SG.", TokenAlphabet::Url, 40),
    ("SK", TokenAlphabet::Hex, 32),
    ("key-", TokenAlphabet::Alnum, 32),
    ("xkeysib-", TokenAlphabet::Url, 40),
    // Payment.
    ("sk_live_", TokenAlphabet::Alnum, 16),
    ("sk_test_", TokenAlphabet::Alnum, 16),
    ("rk_live_", TokenAlphabet::Alnum, 16),
    ("rk_test_", TokenAlphabet::Alnum, 16),
    ("whsec_", TokenAlphabet::Base64, 24),
    ("sq0atp-", TokenAlphabet::Url, 22),
    ("sq0csp-", TokenAlphabet::Url, 40),
    ("EAAA", TokenAlphabet::Url, 56),
    ("access_token$production$", TokenAlphabet::Path, 32),
    ("shpat_", TokenAlphabet::Hex, 32),
    ("shpca_", TokenAlphabet::Hex, 32),
    ("shppa_", TokenAlphabet::Hex, 32),
    ("shpss_", TokenAlphabet::Hex, 32),
    // Models.
    ("sk-ant-", TokenAlphabet::Url, 20),
    ("sk-proj-", TokenAlphabet::Url, 20),
    ("sk-svcacct-", TokenAlphabet::Url, 20),
    ("sk-admin-", TokenAlphabet::Url, 20),
    ("sk-or-v1-", TokenAlphabet::Hex, 40),
    ("sk-", TokenAlphabet::Url, 32),
    ("hf_", TokenAlphabet::Alnum, 30),
    ("api_org_", TokenAlphabet::Alnum, 30),
    ("gsk_", TokenAlphabet::Alnum, 40),
    ("xai-", TokenAlphabet::Alnum, 40),
    ("pplx-", TokenAlphabet::Alnum, 40),
    ("r8_", TokenAlphabet::Alnum, 37),
    // Infrastructure and tools.
    ("hvs.", TokenAlphabet::Url, 20),
    ("hvb.", TokenAlphabet::Url, 20),
    ("hvr.", TokenAlphabet::Url, 20),
    ("dapi", TokenAlphabet::Hex, 32),
    ("AGE-SECRET-KEY-1", TokenAlphabet::Upper, 40),
    ("glc_", TokenAlphabet::Base64, 32),
    ("glsa_", TokenAlphabet::Word, 32),
    ("NRAK-", TokenAlphabet::Upper, 27),
    ("sntrys_", TokenAlphabet::Url, 40),
    ("sntryu_", TokenAlphabet::Hex, 40),
    ("pscale_tkn_", TokenAlphabet::Url, 30),
    ("pscale_pw_", TokenAlphabet::Url, 30),
    ("PMAK-", TokenAlphabet::Url, 40),
    ("dp.pt.", TokenAlphabet::Alnum, 40),
    ("dp.st.", TokenAlphabet::Url, 40),
    ("sbp_", TokenAlphabet::Hex, 40),
    ("nfp_", TokenAlphabet::Alnum, 36),
    ("lin_api_", TokenAlphabet::Alnum, 36),
    ("ntn_", TokenAlphabet::Alnum, 40),
    ("figd_", TokenAlphabet::Url, 36),
    ("pul-", TokenAlphabet::Hex, 40),
    ("sgp_", TokenAlphabet::Word, 40),
    ("bkua_", TokenAlphabet::Hex, 40),
    ("CCIPAT_", TokenAlphabet::Word, 40),
    ("CFPAT-", TokenAlphabet::Url, 40),
    ("ops_eyJ", TokenAlphabet::Url, 100),
    ("sk.eyJ", TokenAlphabet::Url, 60),
    ("dt0c01.", TokenAlphabet::Url, 60),
    // Our own.
    ("codeinfo_pat_", TokenAlphabet::Url, 40),
    ("codeinfo_key_", TokenAlphabet::Url, 40),
    // Hashes of passwords.
    ("$2a$", TokenAlphabet::Hash, 50),
    ("$2b$", TokenAlphabet::Hash, 50),
    ("$2y$", TokenAlphabet::Hash, 50),
    ("$apr1$", TokenAlphabet::Hash, 20),
    ("$6$", TokenAlphabet::Hash, 40),
    ("$argon2id$", TokenAlphabet::Hash, 40),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twilio_tokens_are_whole_and_near_the_service_name() {
        let token = "9f3c7a1e5b8d2046c7e19a3f5d8b0264";
        for (gap, after, count) in [
            (1, "", 1),
            (MAX_TWILIO_GAP, "!", 1),
            (MAX_TWILIO_GAP, "a", 0),
            (MAX_TWILIO_GAP + 1, "!", 0),
        ] {
            let text = format!("{}{token}{after}", " ".repeat(gap));
            let mut found = Vec::new();
            find_twilio_tokens(text.as_bytes(), 0, &mut found);
            assert_eq!(found.len(), count, "{text}");
            assert!(found.iter().all(|range| text.get(range.clone()) == Some(token)));
        }
    }
}

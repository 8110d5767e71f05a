//! Finds secrets in addresses and request headers: `scheme://user:password@host`, `sig=…`,
//! `Authorization: Basic …`, `Bearer …`.

use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};

use super::{
    judge::{DetectionMode, MAX_LOGIN_BYTES, SecretKind, bounded_value, follows_name, is_secret},
    shape,
};

const MAX_GAP: usize = 24;
const MAX_JUDGED: usize = 256;
const MIN_COOKIE: usize = 24;
const MIN_SIGNATURE: usize = 40;

pub(super) fn find_address_password(
    text: &str,
    at: usize,
    mode: DetectionMode,
) -> Option<Range<usize>> {
    let start = at + "://".len();
    let ends = |byte: u8| byte.is_ascii_whitespace() || b"/\"'`<>\\|?#,".contains(&byte);
    let authority = bounded_value(text, start, MAX_LOGIN_BYTES, ends)?;
    let (who, host) = authority.rsplit_once('@')?;
    if host.is_empty() {
        return None;
    }
    let password = who.split_once(':').map(|(_, password)| password);
    let Some(password) = password else {
        // A token without a user name.
        let is_token =
            who.len() >= 20 && shape::is_random(who.as_bytes()) && !shape::is_placeholder(who);
        return is_token.then_some(start..start + who.len());
    };
    let from = start + who.len() - password.len();
    let has_digit = password.bytes().any(|byte| byte.is_ascii_digit());
    let is_made = has_digit || shape::is_drawn(password) || !shape::is_wordy(password);
    let is_literal =
        !password.contains(['{', '}', '(', ')', '[', ']']) && !password.starts_with('%');
    let is_long_enough = match mode {
        DetectionMode::Data => password.len() >= 4,
        DetectionMode::Script | DetectionMode::Loose => password.len() >= 6 && is_made,
        DetectionMode::Code => password.len() >= 8 && is_made,
    };
    (is_literal && is_long_enough && !shape::is_placeholder(password))
        .then_some(from..from + password.len())
}

pub(super) fn find_authorization_secret(
    text: &str,
    at: usize,
    mode: DetectionMode,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let count = |from: usize, set: &[u8]| {
        bytes.iter().skip(from).take(MAX_GAP).take_while(|byte| set.contains(byte)).count()
    };
    let signs = count(at, b"\\\"'`])");
    let mut start = at + signs;
    let gap = count(start, b" \t:=>,(\\\"'`+");
    if !bytes.get(start..start + gap)?.iter().any(|byte| b":=,".contains(byte)) {
        return None;
    }
    start += gap;
    let scheme =
        bytes.get(start..)?.iter().take(MAX_GAP).take_while(|byte| byte.is_ascii_alphabetic());
    let scheme = bytes.get(start..start + scheme.count())?.to_ascii_lowercase();
    let is_scheme =
        SCHEMES.contains(&scheme.as_slice()) && bytes.get(start + scheme.len()) == Some(&b' ');
    if is_scheme {
        start += scheme.len();
        start += count(start, b" ");
    }
    let value = value_range(bytes, start)?;
    let read = text.get(value.clone())?;
    let is_known = match scheme.as_slice() {
        b"basic" => is_login(read),
        _ => is_token(read, is_scheme, mode),
    };
    is_known.then_some(value)
}

const SCHEMES: &[&[u8]] =
    &[b"apikey", b"basic", b"bearer", b"bot", b"key", b"token", b"splunk", b"ssws"];

fn value_range(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(byte);
    let length = bytes.get(start..)?.iter().take_while(|byte| is_part(byte)).count();
    Some(start..start + length)
}

/// Returns whether a value is a name and a password that is not an example.
fn is_login(value: &str) -> bool {
    let (near, _) = value.split_at(value.floor_char_boundary(MAX_JUDGED));
    let decoded = STANDARD_NO_PAD.decode(near.trim_end_matches('='));
    let Some(login) = decoded.ok().and_then(|login| String::from_utf8(login).ok()) else {
        return value.len() >= 16 && shape::is_random(value.as_bytes());
    };
    let password = login.split_once(':').map_or(login.as_str(), |(_, password)| password);
    is_secret(password, SecretKind::Password, DetectionMode::Loose)
        || is_secret(password, SecretKind::Token, DetectionMode::Loose)
}

/// Returns whether the text after a scheme, or in its place, is a token.
fn is_token(value: &str, has_scheme: bool, mode: DetectionMode) -> bool {
    let (near, _) = value.split_at(value.floor_char_boundary(MAX_JUDGED));
    let mode = if mode == DetectionMode::Code || !has_scheme {
        DetectionMode::Code
    } else {
        DetectionMode::Loose
    };
    let is_plain = has_scheme && !near.contains(['.', '_', '-', '/']);
    is_secret(near, SecretKind::Token, mode)
        || (is_plain && near.len() >= 20 && shape::is_token(near.as_bytes()))
        || (is_plain && near.len() >= 12 && shape::is_drawn(near) && !shape::is_placeholder(near))
}

pub(super) fn find_cookie_values(text: &[u8], name: Range<usize>, into: &mut Vec<Range<usize>>) {
    let before = text.get(..name.start).unwrap_or_default();
    let is_known = [&b"et-"[..], b"ET-", b"--"].iter().any(|lead| before.ends_with(lead));
    let at = name.end;
    let Some(rest) = text.get(at..).filter(|_| is_known || !follows_name(text, name.start)) else {
        return;
    };
    let gap = rest.iter().take(MAX_GAP).take_while(|byte| b"\\\"'`]) \t:,".contains(byte)).count();
    let Some(value) = rest.get(gap..) else { return };
    let near = value.split_at(value.len().min(2 * MAX_JUDGED)).0;
    let line = near.split(|byte| b"\r\n\"'`".contains(byte)).next().unwrap_or_default();
    let mut start = at + gap;
    for pair in line.split(|byte| *byte == b';').filter(|_| gap > 0) {
        if let Some(sign) = pair.iter().position(|byte| *byte == b'=') {
            let value = find_bearer_token(text, start + sign + 1);
            into.extend(value.filter(|value| MIN_COOKIE <= value.len()));
        }
        start += pair.len() + 1;
    }
}

pub(super) fn find_bearer_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    let token = value_range(text, at)?;
    let near = text.get(at..token.end.min(at + MAX_JUDGED))?;
    let has_digit = near.iter().any(u8::is_ascii_digit);
    (near.len() >= 20 && has_digit && shape::is_random(near)).then_some(token)
}

/// Returns the signature after `sig=` in an address or a connection string.
pub(super) fn find_signature(text: &[u8], name: Range<usize>) -> Option<Range<usize>> {
    if follows_name(text, name.start) {
        return None;
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"%+/=_-".contains(byte);
    let length = text.get(name.end..)?.iter().take_while(|byte| is_part(byte)).count();
    let near = text.get(name.end..name.end + length.min(MAX_JUDGED))?;
    let has_digit = near.iter().any(u8::is_ascii_digit);
    let is_signature = length >= MIN_SIGNATURE && has_digit && shape::is_random(near);
    is_signature.then_some(name.end..name.end + length)
}

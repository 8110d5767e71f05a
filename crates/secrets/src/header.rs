//! Finds secrets in request headers and addresses: `Authorization: Basic …`, `Bearer …`, `sig=…`.

use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};

use super::{
    judge::{DetectionMode, SecretKind, is_secret},
    shape,
};

/// Maximum bytes of names, signs and schemes before a value.
const NEAR: usize = 24;
/// Maximum bytes of a value that are judged.
const FAR: usize = 256;
/// Minimum bytes of a session cookie.
const COOKIE: usize = 24;
/// Minimum bytes of a signature in an address.
const SIGNATURE: usize = 40;

/// Returns the secret of the header whose name ends at `at`.
pub(super) fn find_authorization_secret(
    text: &str,
    at: usize,
    reading: DetectionMode,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let count = |from: usize, set: &[u8]| {
        bytes.iter().skip(from).take(NEAR).take_while(|byte| set.contains(byte)).count()
    };
    let signs = count(at, b"\\\"'`])");
    let mut start = at + signs;
    let gap = count(start, b" \t:=>,(\\\"'`+");
    if !bytes.get(start..start + gap)?.iter().any(|byte| b":=,".contains(byte)) {
        return None;
    }
    start += gap;
    let scheme =
        bytes.get(start..)?.iter().take(NEAR).take_while(|byte| byte.is_ascii_alphabetic());
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
        _ => is_token(read, is_scheme, reading),
    };
    is_known.then_some(value)
}

/// Schemes before a secret, in lower case.
const SCHEMES: &[&[u8]] =
    &[b"apikey", b"basic", b"bearer", b"bot", b"key", b"token", b"splunk", b"ssws"];

fn value_range(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(byte);
    let length = bytes.get(start..)?.iter().take_while(|byte| is_part(byte)).count();
    Some(start..start + length)
}

/// Returns whether a value is a name and a password that is not an example.
fn is_login(value: &str) -> bool {
    let (near, _) = value.split_at(value.floor_char_boundary(FAR));
    let decoded = STANDARD_NO_PAD.decode(near.trim_end_matches('='));
    let Some(login) = decoded.ok().and_then(|login| String::from_utf8(login).ok()) else {
        return value.len() >= 16 && shape::is_random(value.as_bytes());
    };
    let password = login.split_once(':').map_or(login.as_str(), |(_, password)| password);
    is_secret(password, SecretKind::Password, DetectionMode::Loose)
        || is_secret(password, SecretKind::Token, DetectionMode::Loose)
}

/// Returns whether the text after a scheme, or in its place, is a token.
fn is_token(value: &str, has_scheme: bool, reading: DetectionMode) -> bool {
    let (near, _) = value.split_at(value.floor_char_boundary(FAR));
    let reading = if reading == DetectionMode::Code || !has_scheme {
        DetectionMode::Code
    } else {
        DetectionMode::Loose
    };
    let is_plain = has_scheme && !near.contains(['.', '_', '-', '/']);
    is_secret(near, SecretKind::Token, reading)
        || (is_plain && near.len() >= 20 && shape::is_token(near.as_bytes()))
        || (is_plain && near.len() >= 12 && shape::is_drawn(near) && !shape::is_placeholder(near))
}

/// Adds the values of cookies after the name of their header.
pub(super) fn find_cookie_values(text: &[u8], name: Range<usize>, into: &mut Vec<Range<usize>>) {
    let before = text.get(..name.start).unwrap_or_default();
    let is_part =
        before.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
    let is_known = [&b"et-"[..], b"ET-", b"--"].iter().any(|lead| before.ends_with(lead));
    let at = name.end;
    let Some(rest) = text.get(at..).filter(|_| is_known || !is_part) else { return };
    let gap = rest.iter().take(NEAR).take_while(|byte| b"\\\"'`]) \t:,".contains(byte)).count();
    let Some(value) = rest.get(gap..) else { return };
    let near = value.split_at(value.len().min(2 * FAR)).0;
    let line = near.split(|byte| b"\r\n\"'`".contains(byte)).next().unwrap_or_default();
    let mut start = at + gap;
    for pair in line.split(|byte| *byte == b';').filter(|_| gap > 0) {
        if let Some(sign) = pair.iter().position(|byte| *byte == b'=') {
            let value = find_bearer_token(text, start + sign + 1);
            into.extend(value.filter(|value| COOKIE <= value.len()));
        }
        start += pair.len() + 1;
    }
}

/// Returns the token after `Bearer `, if there is one.
pub(super) fn find_bearer_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    let token = value_range(text, at)?;
    let near = text.get(at..token.end.min(at + FAR))?;
    let has_digit = near.iter().any(u8::is_ascii_digit);
    (near.len() >= 20 && has_digit && shape::is_random(near)).then_some(token)
}

/// Returns the signature after `sig=` in an address or a connection string.
pub(super) fn find_signature(text: &[u8], name: Range<usize>) -> Option<Range<usize>> {
    let before = name.start.checked_sub(1).and_then(|before| text.get(before));
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)) {
        return None;
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"%+/=_-".contains(byte);
    let length = text.get(name.end..)?.iter().take_while(|byte| is_part(byte)).count();
    let near = text.get(name.end..name.end + length.min(FAR))?;
    let has_digit = near.iter().any(u8::is_ascii_digit);
    let is_signature = length >= SIGNATURE && has_digit && shape::is_random(near);
    is_signature.then_some(name.end..name.end + length)
}

//! Finds passwords in addresses, such as `scheme://user:password@host`, and in login options of
//! programs.

use std::ops::Range;

use super::{
    judge::{DetectionMode, SecretKind, is_secret},
    shape::{is_drawn, is_placeholder, is_random, is_wordy},
};

/// Maximum bytes of name and password together.
const NEAR: usize = 512;

/// Returns the password in `-u name:password`, where `option` is the range of the option.
pub(super) fn find_login_password(
    text: &str,
    option: Range<usize>,
    reading: DetectionMode,
) -> Option<Range<usize>> {
    let before = option.start.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)) {
        return None;
    }
    let start = option.end;
    let is_lead = |byte: &&u8| b" \\\"'`".contains(byte);
    let start = start + text.as_bytes().get(start..)?.iter().take(4).take_while(is_lead).count();
    let rest = text.as_bytes().get(start..)?;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>\\|".contains(byte);
    let length = rest.iter().take(NEAR).position(ends).unwrap_or(rest.len().min(NEAR));
    let login = text.get(start..text.floor_char_boundary(start + length))?;
    let (_, password) = login.split_once(':')?;
    let end = start + login.len();
    // Addresses have their own rule.
    let is_address = password.starts_with("//");
    let is_login = !is_address
        && is_secret(password, SecretKind::Password, reading.for_argument())
        && !is_number(password);
    is_login.then_some(end - password.len()..end)
}

/// Returns whether a value is the number of a group, as in `docker run -u 1000:1000`.
fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the password in the address whose `://` starts at `at`.
pub(super) fn find_address_password(
    text: &str,
    at: usize,
    reading: DetectionMode,
) -> Option<Range<usize>> {
    let start = at + "://".len();
    let rest = text.as_bytes().get(start..)?;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'`<>\\|?#,".contains(byte);
    let length = rest.iter().take(NEAR).position(ends).unwrap_or(rest.len().min(NEAR));
    let authority = text.get(start..text.floor_char_boundary(start + length))?;
    let (who, host) = authority.rsplit_once('@')?;
    if host.is_empty() {
        return None;
    }
    let password = who.split_once(':').map(|(_, password)| password);
    let Some(password) = password else {
        // A token without a user name.
        let is_token = who.len() >= 20 && is_random(who.as_bytes()) && !is_placeholder(who);
        return is_token.then_some(start..start + who.len());
    };
    let from = start + who.len() - password.len();
    let has_digit = password.bytes().any(|byte| byte.is_ascii_digit());
    let is_made = has_digit || is_drawn(password) || !is_wordy(password);
    let is_literal =
        !password.contains(['{', '}', '(', ')', '[', ']']) && !password.starts_with('%');
    let is_long_enough = match reading {
        DetectionMode::Data => password.len() >= 4,
        DetectionMode::Script | DetectionMode::Loose => password.len() >= 6 && is_made,
        DetectionMode::Code => password.len() >= 8 && is_made,
    };
    (is_literal && is_long_enough && !is_placeholder(password))
        .then_some(from..from + password.len())
}

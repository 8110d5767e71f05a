//! Finds passwords in options of programs: `curl -u name:SECRET`, `mysql -pSECRET`, `docker login -p SECRET`.

use std::ops::Range;

use super::judge::{
    DetectionMode, MAX_LOGIN_BYTES, SecretKind, bounded_value, follows_name, is_secret,
};

/// Bytes before an option that are searched for its program; also the maximum bytes of a password.
const MAX_COMMAND_BYTES: usize = 256;

/// Programs whose option takes a password; the flag tells whether a space may precede it.
const PROGRAMS: &[(&str, &str, bool)] = &[
    ("mysql", "-p", false),
    ("mysqldump", "-p", false),
    ("mysqladmin", "-p", false),
    ("mysqlimport", "-p", false),
    ("mysqlsh", "-p", false),
    ("mariadb", "-p", false),
    ("mariadb-dump", "-p", false),
    ("mariadb-admin", "-p", false),
    ("sshpass", "-p", true),
    ("mongo", "-p", true),
    ("mongosh", "-p", true),
    ("mongodump", "-p", true),
    ("mongorestore", "-p", true),
    ("login", "-p", true),
    ("ldapsearch", "-w", true),
    ("ldapmodify", "-w", true),
    ("ldapadd", "-w", true),
    ("redis-cli", "-a", true),
    ("sqlcmd", "-P", true),
];

pub(super) fn find_login_password(
    text: &str,
    option: Range<usize>,
    mode: DetectionMode,
) -> Option<Range<usize>> {
    if follows_name(text.as_bytes(), option.start) {
        return None;
    }
    let start = option.end;
    let is_lead = |byte: &&u8| b" \\\"'`".contains(byte);
    let start = start + text.as_bytes().get(start..)?.iter().take(4).take_while(is_lead).count();
    let ends = |byte: u8| byte.is_ascii_whitespace() || b"\"'`<>\\|".contains(&byte);
    let login = bounded_value(text, start, MAX_LOGIN_BYTES, ends)?;
    let (_, password) = login.split_once(':')?;
    let end = start + login.len();
    // Addresses have their own rule.
    let is_address = password.starts_with("//");
    // As in `docker run -u 1000:1000`.
    let is_group_number = password.bytes().all(|byte| byte.is_ascii_digit());
    let is_login = !is_address
        && is_secret(password, SecretKind::Password, mode.for_argument())
        && !is_group_number;
    is_login.then_some(end - password.len()..end)
}

/// Returns the password that the option at `option` takes. The range includes the space before the option.
pub(super) fn find_option_password(
    text: &str,
    option: Range<usize>,
    mode: DetectionMode,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let name = text.get(option.start + 1..option.end)?;
    let rest = bytes.get(option.end..)?;
    let spaces = rest.iter().take(8).take_while(|byte| **byte == b' ').count();
    let program = find_program(text, option.start)?;
    let may_follow = |(known, option, may_be_apart): &(&str, &str, bool)| {
        *known == program && *option == name && (*may_be_apart || spaces == 0)
    };
    if !PROGRAMS.iter().any(may_follow) {
        return None;
    }
    let mut start = option.end + spaces;
    let quote = bytes.get(start).copied().filter(|byte| b"\"'".contains(byte));
    start += usize::from(quote.is_some());
    let ends = |byte: u8| match quote {
        Some(quote) => byte == quote || byte == b'\n',
        None => byte.is_ascii_whitespace() || b"\"'`;|&<>)\\".contains(&byte),
    };
    let value = bounded_value(text, start, MAX_COMMAND_BYTES, ends)?;
    let is_password =
        !value.starts_with('-') && is_secret(value, SecretKind::Password, mode.for_argument());
    is_password.then_some(start..start + value.len())
}

/// Returns the last known program in the command that contains `at`, without its folder.
fn find_program(text: &str, at: usize) -> Option<&str> {
    let start = text.ceil_char_boundary(at.saturating_sub(MAX_COMMAND_BYTES));
    let before = text.get(start..at)?;
    // A line that ends with a backslash continues on the next one.
    let line = before.rmatch_indices('\n').find(|(end, _)| {
        !before.get(..*end).is_some_and(|line| line.trim_end_matches('\r').ends_with('\\'))
    });
    let commands = before.get(line.map_or(0, |(end, _)| end + 1)..)?;
    let command = commands.rsplit(['|', ';', '&']).next()?;
    let parts = |c: char| c.is_whitespace() || "\"'`/$(,[".contains(c);
    let mut words = command.split(parts);
    words.find(|word| PROGRAMS.iter().any(|(program, ..)| program == word))
}

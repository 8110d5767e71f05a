//! Finds passwords in short options of programs: `mysql -pSECRET`, `sshpass -p SECRET`, `docker
//! login -p SECRET`.

use std::ops::Range;

use super::judge::{DetectionMode, SecretKind, is_secret};

/// Bytes before an option that are searched for its program; also the maximum bytes of a password.
const NEAR: usize = 256;

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

/// Returns the password that the option at `option` takes. The range includes the space before the
/// option.
pub(super) fn find_option_password(
    text: &str,
    option: Range<usize>,
    reading: DetectionMode,
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
    let ends = |byte: &u8| match quote {
        Some(quote) => *byte == quote || *byte == b'\n',
        None => byte.is_ascii_whitespace() || b"\"'`;|&<>)\\".contains(byte),
    };
    let rest = bytes.get(start..)?;
    let length = rest.iter().take(NEAR).position(ends).unwrap_or(rest.len().min(NEAR));
    let value = text.get(start..text.floor_char_boundary(start + length))?;
    let is_password =
        !value.starts_with('-') && is_secret(value, SecretKind::Password, reading.for_argument());
    is_password.then_some(start..start + value.len())
}

/// Returns the last known program in the command that contains `at`, without its folder.
fn find_program(text: &str, at: usize) -> Option<&str> {
    let start = text.ceil_char_boundary(at.saturating_sub(NEAR));
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

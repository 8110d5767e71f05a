//! Parses commits as tolerantly as git does.

use std::{fmt, sync::Arc};

use codeinfo_worktree::decode::decode_text;

use crate::CommitId;

/// Maximum bytes of a message that are returned. A page of a book has three thousand.
const MAX_MESSAGE_BYTES: usize = 16 << 10;
/// Maximum bytes of a name or an address.
const MAX_NAME_BYTES: usize = 256;

/// Author, time and message of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDetails {
    pub id: CommitId,
    /// Two or more for a merge, none for a first commit and where a shallow clone was cut.
    pub parents: Vec<CommitId>,
    pub author_name: String,
    pub author_email: String,
    pub author_time: CommitTime,
    /// First paragraph of the message, in one line.
    pub subject: String,
    /// Message after the first paragraph.
    pub body: String,
    /// True if the end of the message was left out.
    pub is_truncated: bool,
}

impl CommitDetails {
    /// Returns the id, or its beginning, of the commit that the message says is reverted.
    pub fn reverted_commit(&self) -> Option<&str> {
        let (_, after) = self.body.split_once("This reverts commit ")?;
        let end = after.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(after.len());
        after.get(..end).filter(|id| (7..=64).contains(&id.len()))
    }
}

/// Time with the offset of the place where it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitTime {
    /// Seconds since 1970. Damaged repositories have any number.
    pub seconds: i64,
    pub offset_minutes: i32,
}

impl fmt::Display for CommitTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, offset_minutes } = *self;
        let local = seconds.checked_add(i64::from(offset_minutes) * 60);
        let date = local.and_then(|local| jiff::Timestamp::from_second(local).ok());
        match date {
            Some(date) => write!(formatter, "{}", date.strftime("%Y-%m-%d %H:%M:%S"))?,
            None => write!(formatter, "@{seconds}")?,
        }
        let sign = if offset_minutes < 0 { '-' } else { '+' };
        let minutes = offset_minutes.unsigned_abs();
        write!(formatter, " {sign}{:02}{:02}", minutes / 60, minutes % 60)
    }
}

/// Parts of a commit that walks need.
#[derive(Debug)]
pub(crate) struct CommitNode {
    pub(crate) tree: CommitId,
    pub(crate) parents: Vec<CommitId>,
    /// Time of the commit, by which walks are ordered.
    pub(crate) seconds: i64,
    /// True if the clone was cut here, so that the parents are not known.
    pub(crate) is_cut: bool,
}

pub(crate) struct ParsedCommit<'a> {
    id: CommitId,
    pub(crate) node: Arc<CommitNode>,
    author: &'a [u8],
    message: &'a [u8],
}

impl<'a> ParsedCommit<'a> {
    pub(crate) fn parse(id: CommitId, bytes: &'a [u8], is_cut: bool) -> Option<Self> {
        let mut node = CommitNode { tree: id, parents: Vec::new(), seconds: 0, is_cut };
        let mut author: &[u8] = b"";
        let mut rest = bytes.strip_prefix(b"tree ")?;
        node.tree = CommitId::from_hex(take_line(&mut rest)).ok()?;
        loop {
            let line = take_line(&mut rest);
            if line.is_empty() {
                break;
            } else if let Some(parent) = line.strip_prefix(b"parent ") {
                node.parents.push(CommitId::from_hex(parent).ok()?);
            } else if let Some(person) = line.strip_prefix(b"author ") {
                author = person;
            } else if let Some(person) = line.strip_prefix(b"committer ") {
                node.seconds = parse_time(person).seconds.max(0);
            }
        }
        if is_cut {
            node.parents.clear();
        }
        Some(Self { id, node: Arc::new(node), author, message: rest })
    }
}

impl From<&ParsedCommit<'_>> for CommitDetails {
    fn from(parsed: &ParsedCommit<'_>) -> Self {
        let mut parts = parsed.author.splitn(2, |byte| *byte == b'<');
        let name = parts.next().unwrap_or_default();
        let email = parts.next().unwrap_or_default().split(|byte| *byte == b'>').next();
        let message = parsed.message.get(..MAX_MESSAGE_BYTES).unwrap_or(parsed.message);
        let text = to_text(message);
        let (subject, body) = split_message(text.trim());
        CommitDetails {
            id: parsed.id,
            parents: parsed.node.parents.clone(),
            author_name: to_name(name),
            author_email: to_name(email.unwrap_or_default()),
            author_time: parse_time(parsed.author),
            subject,
            body: body.to_owned(),
            is_truncated: message.len() < parsed.message.len(),
        }
    }
}

fn take_line<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let (line, after) = rest.split_at_checked(end).unwrap_or_default();
    *rest = after.get(1..).unwrap_or_default();
    line
}

/// Parses the seconds and the offset at the end of a person's line. What is not a number is 0.
fn parse_time(person: &[u8]) -> CommitTime {
    let after = person.iter().rposition(|byte| *byte == b'>').map_or(0, |end| end + 1);
    let text = String::from_utf8_lossy(person.get(after..).unwrap_or_default());
    let mut words = text.split_ascii_whitespace();
    let seconds = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
    let zone: i32 = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
    let is_zone = zone.unsigned_abs() < 10_000;
    let offset_minutes = if is_zone { zone / 100 * 60 + zone % 100 } else { 0 };
    CommitTime { seconds, offset_minutes }
}

/// Splits a message into its first paragraph, as one line, and the rest.
fn split_message(text: &str) -> (String, &str) {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    let (first, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (first.lines().map(str::trim).collect::<Vec<_>>().join(" "), rest.trim())
}

fn to_name(bytes: &[u8]) -> String {
    to_text(bytes.get(..MAX_NAME_BYTES).unwrap_or(bytes)).trim().to_owned()
}

fn to_text(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) if error.error_len().is_none() => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => decode_text(bytes).map_or_else(
            || String::from_utf8_lossy(bytes).into_owned(),
            |decoded| decoded.text.into_owned(),
        ),
    }
}

//! Finds a request's id in a line that is too long or not text, in linear time and constant memory.

use serde_json::Value;

const MAX_ID_BYTES: usize = 256;
const MAX_NAME_BYTES: usize = b"\"method\"".len();

/// Scans an object byte by byte for its members `id` and `method`, not those of nested values.
#[derive(Debug, Default)]
pub(super) struct RequestIdScanner {
    /// Number of open objects and lists.
    depth: usize,
    string: StringState,
    member: MemberPart,
    /// Name of the member, or its value if it is the id.
    token: Vec<u8>,
    ids: Vec<Vec<u8>>,
    has_method: bool,
    /// True if something other than one object was read.
    is_other: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum StringState {
    #[default]
    Nothing,
    String,
    Escape,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum MemberPart {
    #[default]
    Name,
    Id,
    OtherValue,
}

impl RequestIdScanner {
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.read_byte(*byte);
        }
    }

    /// Returns the id as JSON; `None` unless exactly one whole request with one id was read.
    pub(super) fn finish(self) -> Option<String> {
        let is_request = self.depth == 0 && !self.is_other && self.has_method;
        let [id] = self.ids.as_slice() else { return None };
        let id: Value = serde_json::from_slice(id).ok()?;
        (is_request && (id.is_string() || id.is_number())).then(|| id.to_string())
    }

    fn read_byte(&mut self, byte: u8) {
        if self.string != StringState::Nothing {
            self.keep_byte(byte);
            self.string = match (self.string, byte) {
                (StringState::String, b'"') => StringState::Nothing,
                (StringState::String, b'\\') => StringState::Escape,
                _ => StringState::String,
            };
            return;
        }
        match (byte, self.depth) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => {}
            (b'{', 0) if !self.has_begun() => self.depth = 1,
            (_, 0) | (b']', 1) => self.is_other = true,
            (b':', 1) if self.member == MemberPart::Name => self.begin_value(),
            (b',' | b'}', 1) => self.end_member(byte == b'}'),
            _ => {
                self.keep_byte(byte);
                match byte {
                    b'"' => self.string = StringState::String,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth -= 1,
                    _ => {}
                }
            }
        }
    }

    /// Returns whether a request was read before: an object with `id` or `method`.
    fn has_begun(&self) -> bool {
        self.has_method || !self.ids.is_empty()
    }

    fn begin_value(&mut self) {
        let name = std::mem::take(&mut self.token);
        self.has_method |= name == b"\"method\"";
        self.member = if name == b"\"id\"" { MemberPart::Id } else { MemberPart::OtherValue };
    }

    fn end_member(&mut self, is_last: bool) {
        let value = std::mem::take(&mut self.token);
        self.is_other |= self.member == MemberPart::Name && !value.is_empty();
        // Two ids make the request invalid already.
        if self.member == MemberPart::Id && self.ids.len() < 2 {
            self.ids.push(value);
        }
        self.member = MemberPart::Name;
        self.depth -= usize::from(is_last);
    }

    /// Keeps one byte beyond the maximum, so that too long a token is neither name nor id.
    fn keep_byte(&mut self, byte: u8) {
        let max_bytes = match self.member {
            MemberPart::Name => MAX_NAME_BYTES,
            MemberPart::Id => MAX_ID_BYTES,
            MemberPart::OtherValue => return,
        };
        if self.token.len() <= max_bytes {
            self.token.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(line: &str) -> Option<String> {
        let mut id = RequestIdScanner::default();
        // The pieces of a line may have any size.
        line.as_bytes().chunks(3).for_each(|piece| id.read(piece));
        id.finish()
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_is() {
        for (line, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"id":8,"x":["}",{"id":9}]}}"#, "7"),
            (
                r#"{"method":"a","params":{"q":"\\\",\"id\":8,"},"jsonrpc":"2.0","id":"x-1"}"#,
                r#""x-1""#,
            ),
            (r#" { "id" : -3 , "method" : "a" } "#, "-3"),
            (r#"{"method":"a","params":{"q":"{[\\"},"id":"a\"}b"}"#, r#""a\"}b""#),
            (r#"{"x":"id","y":{"id":{"id":1}},"method":"id","id":2}"#, "2"),
        ] {
            assert_eq!(find(line).as_deref(), Some(id), "{line}");
        }
    }

    #[test]
    fn no_id_is_believed_that_is_not_that_of_one_whole_request() {
        let long = format!(r#"{{"method":"a","id":"{}"}}"#, "x".repeat(300));
        for line in [
            "",
            "7",
            r#"{"method":"a","params":{"id":8}}"#,
            r#"{"method":"a","params":"{\"id\":8}"}"#,
            r#"{"id":7,"result":{"method":"a"}}"#,
            r#"{"id":7,"method":"a","id":8}"#,
            r#"{"id":7,"method":"a""#,
            r#"{"id":7,"method":"a"}}"#,
            r#"{"id":7,"method":"a"}{"id":8,"method":"a"}"#,
            r#"{"id":7,"method":"a"]"#,
            r#"[{"id":7,"method":"a"}]"#,
            r#""{\"id\":7,\"method\":\"a\"}""#,
            r#"{"id":null,"method":"a"}"#,
            r#"{"id":{"a":1},"method":"a"}"#,
            r#"{"id":1,2,"method":"a"}"#,
            r#"{"idx":7,"method":"a"}"#,
            r#"{"id":7,"methods":"a"}"#,
            &long,
        ] {
            assert_eq!(find(line), None, "{line}");
        }
    }
}

//! Splits the path of a request.

use super::HttpError;

/// Returns the decoded parts of a path between its slashes; `/` has none. An encoded slash (`%2F`)
/// stays inside its part, so that a file path can be one part.
pub fn split_path(path: &str) -> Result<Vec<String>, HttpError> {
    let relative = path.strip_prefix('/').unwrap_or(path);
    if relative.is_empty() {
        return Ok(Vec::new());
    }
    relative.split('/').map(decode_segment).collect()
}

fn decode_segment(part: &str) -> Result<String, HttpError> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        let decoded = match byte {
            b'%' => {
                let digits = (parse_hex_digit(rest.next()), parse_hex_digit(rest.next()));
                let (Some(high), Some(low)) = digits else {
                    return Err(HttpError::BadRequest("the path holds a broken `%` escape"));
                };
                high * 16 + low
            }
            byte => byte,
        };
        if decoded == 0 {
            return Err(HttpError::BadRequest("the path holds a NUL character"));
        }
        bytes.push(decoded);
    }
    String::from_utf8(bytes).map_err(|_| HttpError::BadRequest("the path is not UTF-8"))
}

fn parse_hex_digit(digit: Option<u8>) -> Option<u8> {
    char::from(digit?).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::split_path;

    #[test]
    fn parts_are_decoded_one_by_one() {
        assert_eq!(split_path("/").unwrap(), Vec::<String>::new());
        assert_eq!(split_path("/a/b").unwrap(), ["a", "b"]);
        assert_eq!(split_path("/remove/%2Fsrv%2Fa%20b/").unwrap(), ["remove", "/srv/a b", ""]);
        assert_eq!(split_path("/%C3%A9+").unwrap(), ["é+"]);
        for broken in ["/%", "/%4", "/%zz", "/%00", "/%ff"] {
            assert!(split_path(broken).is_err(), "{broken}");
        }
    }
}

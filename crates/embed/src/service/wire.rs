//! Bodies of `/v1/embeddings`: requests, replies and errors.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};
use serde_json::Value;

use super::error::EmbeddingServiceError;

/// Maximum characters of a service's error message that are repeated.
const MAX_MESSAGE_CHARS: usize = 200;

/// Request for plain numbers, which every service understands; base64 replies are accepted as well.
#[derive(Debug, Serialize)]
pub(super) struct EmbeddingRequest<'a> {
    pub(super) model: &'a str,
    pub(super) input: &'a [String],
    pub(super) encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbeddingReply {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    /// Index of the input. If it is missing, the position in the list is the index.
    index: Option<usize>,
    embedding: EmbeddingNumbers,
}

/// Parses a reply to `wanted` inputs: one vector of unit length each, in the order of the inputs.
pub(super) fn parse_vectors(
    body: &[u8],
    wanted: usize,
) -> Result<Vec<Vec<f32>>, EmbeddingServiceError> {
    let reply: EmbeddingReply = serde_json::from_slice(body).map_err(|error| {
        EmbeddingServiceError::Malformed(format!("{error}{}", extract_error_message(body, None)))
    })?;
    let got = reply.data.len();
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; wanted];
    let mut placed = 0;
    for (place, item) in reply.data.into_iter().enumerate() {
        let slot = vectors.get_mut(item.index.unwrap_or(place));
        if let Some(slot @ None) = slot {
            *slot = Some(normalize_vector(item.embedding.0)?);
            placed += 1;
        }
    }
    if placed != wanted || got != wanted {
        return Err(EmbeddingServiceError::Count {
            got: if got == wanted { placed } else { got },
            wanted,
        });
    }
    Ok(vectors.into_iter().flatten().collect())
}

fn normalize_vector(mut vector: Vec<f32>) -> Result<Vec<f32>, EmbeddingServiceError> {
    // A sum of squares of finite `f32` numbers cannot overflow in 64 bits.
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err(EmbeddingServiceError::Vector("not made of numbers"));
    }
    if length == 0.0 {
        return Err(EmbeddingServiceError::Vector("all zeros"));
    }
    for value in &mut vector {
        #[expect(clippy::cast_possible_truncation, reason = "the quotient is at most 1")]
        let scaled = (f64::from(*value) / length) as f32;
        *value = scaled;
    }
    Ok(vector)
}

/// Numbers of a vector, sent as a list or as base64 of little-endian 32-bit numbers.
struct EmbeddingNumbers(Vec<f32>);

impl<'de> Deserialize<'de> for EmbeddingNumbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumbersVisitor)
    }
}

struct NumbersVisitor;

impl<'de> Visitor<'de> for NumbersVisitor {
    type Value = EmbeddingNumbers;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a list of numbers, or base64")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<EmbeddingNumbers, A::Error> {
        let mut numbers = Vec::with_capacity(1024);
        while let Some(number) = list.next_element()? {
            numbers.push(number);
        }
        numbers.shrink_to_fit();
        Ok(EmbeddingNumbers(numbers))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<EmbeddingNumbers, E> {
        let bytes = BASE64_STANDARD.decode(text).map_err(E::custom)?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(E::custom("the base64 is not of 32-bit numbers"));
        }
        Ok(EmbeddingNumbers(numbers.iter().copied().map(f32::from_le_bytes).collect()))
    }
}

/// Returns the message in the body of an error as `: ` and one line, or an empty text, without `key`.
pub(super) fn extract_error_message(body: &[u8], key: Option<&str>) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let message = match &json {
        Some(json) => ["/error/message", "/error", "/message", "/detail"]
            .iter()
            .find_map(|place| json.pointer(place)?.as_str())
            .unwrap_or_default()
            .to_owned(),
        None => {
            String::from_utf8_lossy(body.get(..4 * MAX_MESSAGE_CHARS).unwrap_or(body)).into_owned()
        }
    };
    let trimmed = message.trim();
    // An HTML page has no message in one line.
    if trimmed.is_empty() || trimmed.starts_with('<') {
        return String::new();
    }
    let text = key.map_or_else(|| trimmed.to_owned(), |key| trimmed.replace(key, "…"));
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line: String = words.join(" ").chars().take(MAX_MESSAGE_CHARS).collect();
    format!(": {line}")
}

/// Returns whether the message of a refusal is about the size of the request, so that a smaller one may pass.
pub(super) fn is_about_size(message: &str) -> bool {
    let lower = message.to_lowercase();
    let phrases = ["batch size", "context", "token", "too long", "too large", "too many", "exceed"];
    phrases.iter().any(|words| lower.contains(words)) && !lower.contains("dimension")
}

/// Returns whether the message of a failure (500) is about the size, in words of llama.cpp's server and others.
/// Other failures mention contexts, tokens or exceeded limits for temporary reasons.
pub(super) fn is_failure_about_size(message: &str) -> bool {
    let lower = message.to_lowercase();
    let phrases = [
        "too large to process",
        "physical batch size",
        "length exceeds",
        "larger than the max context size",
    ];
    phrases.iter().any(|words| lower.contains(words))
}

/// Returns whether the body of a 429 reports an exhausted quota, which waiting does not renew.
pub(super) fn is_about_quota(body: &[u8]) -> bool {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let is_quota = |place: &str| {
        json.as_ref().and_then(|json| json.pointer(place)?.as_str()) == Some("insufficient_quota")
    };
    is_quota("/error/code") || is_quota("/error/type")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, wanted: usize) -> Result<Vec<Vec<f32>>, String> {
        parse_vectors(body.as_bytes(), wanted).map_err(|error| error.to_string())
    }

    #[test]
    fn vectors_come_back_in_the_order_of_the_inputs_and_of_unit_length() {
        let body =
            r#"{"data":[{"index":1,"embedding":[0,-2]},{"index":0,"embedding":"AABAQAAAgEA="}]}"#;
        assert_eq!(read(body, 2).unwrap(), [[0.6, 0.8], [0.0, -1.0]]);
        let body = r#"{"object":"list","data":[{"embedding":[3e38,0]},{"embedding":[1e-30,0]}]}"#;
        assert_eq!(read(body, 2).unwrap(), [[1.0, 0.0], [1.0, 0.0]]);
    }

    #[test]
    fn what_cannot_be_a_vector_is_refused() {
        let one = |embedding: &str| {
            read(&format!(r#"{{"data":[{{"index":0,"embedding":{embedding}}}]}}"#), 1).unwrap_err()
        };
        insta::assert_snapshot!(
            [
                one("[0,0]"),
                one("[]"),
                one("[1e39]"),
                one("[null]"),
                one("\"AADAfw==\""),
                one("\"AAA=\""),
                read(r#"{"data":[]}"#, 1).unwrap_err(),
                read(r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#, 2)
                    .unwrap_err(),
                read(r#"{"error":"Unexpected endpoint"}"#, 1).unwrap_err(),
                read("<html>", 1).unwrap_err(),
            ]
            .join("\n"), @r"
        returned a vector that is all zeros; `EMBEDDING_MODEL` may not be an embedding model
        returned a vector that is all zeros; `EMBEDDING_MODEL` may not be an embedding model
        answers no list of embeddings: number out of range at line 1 column 37; check `EMBEDDING_URL`
        answers no list of embeddings: invalid type: null, expected f32 at line 1 column 37; check `EMBEDDING_URL`
        returned a vector that is not made of numbers; `EMBEDDING_MODEL` may not be an embedding model
        answers no list of embeddings: the base64 is not of 32-bit numbers at line 1 column 38; check `EMBEDDING_URL`
        returned 0 vectors for 1 texts
        returned 1 vectors for 2 texts
        answers no list of embeddings: missing field `data` at line 1 column 31: Unexpected endpoint; check `EMBEDDING_URL`
        answers no list of embeddings: expected value at line 1 column 1; check `EMBEDDING_URL`
        "
        );
    }

    #[test]
    fn an_error_is_told_in_one_line_without_the_key() {
        let message = |body: &str| extract_error_message(body.as_bytes(), Some("sk-secret"));
        assert_eq!(message(r#"{"error":{"message":"Bad key\n sk-secret!"}}"#), ": Bad key  …!");
        assert_eq!(message(r#"{"error":"batch size 64 > 32"}"#), ": batch size 64 > 32");
        assert_eq!(message("plain"), ": plain");
        assert_eq!(message("<html><body>nginx"), "");
        assert_eq!(message("{}"), "");
        assert_eq!(message(&"x".repeat(5000)).len(), 2 + MAX_MESSAGE_CHARS);
    }
}

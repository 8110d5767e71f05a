//! A request that passed the guard, with its id, its path and its unread body.

use std::{borrow::Cow, fmt, net::IpAddr, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use codeinfo_core::{Principal, Secret, task::Tasks};
use http_body_util::BodyExt;
use hyper::{
    HeaderMap, Method,
    body::{Body as _, Incoming},
    header::{CONTENT_TYPE, EXPECT, HeaderValue},
    http::request::Parts,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{AccessRights, AuthContext, HttpError, ServerActivity, gate, slots::ConnectionSlot};

const OWNER_NEEDED: &str = "only the owner of the server may do that: with the owner's key, as the command line \
                            shows it, on the page that `codeinfo open` opens, or \
                            with a token of `codeinfo token create NAME --admin`";

/// Maximum length of an id accepted from a client.
const MAX_ID_BYTES: usize = 128;

/// Maximum bytes read of an unwanted body, whose sender would see a reset instead of the reply.
const MAX_DISCARDED_BYTES: usize = 32 * 1024 * 1024;
/// Maximum silence during an unwanted body; the client has read the reply by then or never will.
const SILENCE: Duration = Duration::from_secs(2);

/// Id of a request in the log and in `x-request-id`, received and sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequestId(String);

impl HttpRequestId {
    pub const HEADER: &'static str = "x-request-id";

    /// Accepts the client's id if it is short and plain; otherwise generates one.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let given = headers.get(Self::HEADER).and_then(|value| value.to_str().ok());
        match given.filter(|text| is_plain(text)) {
            Some(text) => Self(text.to_owned()),
            None => Self(Uuid::new_v4().to_string()),
        }
    }

    pub(super) fn header_value(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

/// Returns whether an id contains nothing that could forge a log line or a header.
fn is_plain(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    !text.is_empty() && text.len() <= MAX_ID_BYTES && text.bytes().all(allowed)
}

impl fmt::Display for HttpRequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionPeer {
    pub(super) address: IpAddr,
    pub(super) is_another_account: bool,
}

/// Request whose host and origin were checked.
pub struct Request {
    pub(super) head: Parts,
    pub(super) body: Incoming,
    pub(super) max_body_bytes: usize,
    /// Maximum time for the body to arrive.
    pub(super) read_timeout: Duration,
    pub(super) slot: Arc<ConnectionSlot>,
    pub(super) admission: AuthContext,
    /// Interval of pings on a silent upgraded connection.
    pub(super) keep_alive: Duration,
    /// Activity to which an upgraded connection counts.
    pub(super) activity: ServerActivity,
    /// Owner of work that continues after the reply.
    pub(super) tasks: Tasks,
}

impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Request").field("head", &self.head).finish_non_exhaustive()
    }
}

impl Request {
    pub fn method(&self) -> &Method {
        &self.head.method
    }

    /// Returns the path as sent, without the query; `/mcp/`, which some clients send, as `/mcp`.
    pub fn path(&self) -> &str {
        let path = self.head.uri.path();
        if path == "/mcp/" { "/mcp" } else { path }
    }

    /// Returns the query after the question mark, as sent.
    pub fn query(&self) -> Option<&str> {
        self.head.uri.query()
    }

    /// Returns all headers with this name as one list, so that a second one is never missed. A
    /// value that is not text is present but equals nothing.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let values = self.head.headers.get_all(name).iter();
        let texts: Vec<&str> = values.map(|value| value.to_str().unwrap_or("\u{fffd}")).collect();
        match *texts {
            [] => None,
            [only] => Some(Cow::Borrowed(only)),
            [..] => Some(Cow::Owned(texts.join(", "))),
        }
    }

    /// Returns the address of the client or of a proxy.
    pub fn peer_address(&self) -> Option<IpAddr> {
        self.head.extensions.get::<ConnectionPeer>().map(|peer| peer.address)
    }

    /// Returns the caller: `None` for unnamed callers and for processes of the server.
    pub fn principal(&self) -> Option<&Principal> {
        self.admission.principal.as_ref()
    }

    pub fn auth_context(&self) -> &AuthContext {
        &self.admission
    }

    /// Refuses a caller with fewer rights than `needed`.
    pub fn require_rights(&self, needed: AccessRights) -> Result<(), HttpError> {
        if self.admission.rights >= needed {
            return Ok(());
        }
        Err(HttpError::Forbidden(OWNER_NEEDED.to_owned()))
    }

    pub fn bearer(&self) -> Option<Secret> {
        let bearer = gate::parse_bearer(&self.head.headers).ok().flatten();
        bearer.map(|bearer| Secret::new(bearer.to_owned()))
    }

    /// Returns the cookie with the browser's half of a session.
    pub fn session_cookie(&self, value: &str) -> Option<HeaderValue> {
        let name = gate::cookie_name(&self.head.headers);
        HeaderValue::from_str(&format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict")).ok()
    }

    /// Returns the token that is cancelled when the server stops. Replies that would last until
    /// their client leaves must end then.
    pub fn shutdown_token(&self) -> CancellationToken {
        self.tasks.stop_token().clone()
    }

    /// Lets a new client evict the connection during a reply that the client does not wait for.
    pub fn allow_eviction(&self) {
        self.slot.mark_idle();
    }

    /// Refuses a request that does not declare JSON, with or without a body. A browser cannot
    /// declare JSON to another site without asking it first, so web pages cannot drive the server.
    pub fn refuse_other_than_json(&self) -> Result<(), HttpError> {
        match self.header(CONTENT_TYPE.as_str()) {
            Some(kind) if is_json(&kind) => Ok(()),
            Some(_) | None => Err(HttpError::UnsupportedMediaType),
        }
    }

    /// Reads the whole body, which must be declared as JSON, within size and time limits, unparsed.
    pub async fn read_json_body(&mut self) -> Result<Bytes, HttpError> {
        self.refuse_other_than_json()?;
        self.slot.mark_idle();
        let body = read_body(&mut self.body, self.max_body_bytes, self.read_timeout).await;
        self.slot.mark_busy().await;
        body
    }

    /// Returns the next piece of a body of any kind; `None` at its end. Each piece must arrive within
    /// the time limit; the caller limits the size of the whole.
    pub async fn read_piece(&mut self) -> Result<Option<Bytes>, HttpError> {
        self.slot.mark_idle();
        let frame = tokio::time::timeout(self.read_timeout, self.body.frame()).await;
        self.slot.mark_busy().await;
        let Some(frame) = frame.map_err(|_| HttpError::Timeout)? else { return Ok(None) };
        // Trailers are not data.
        Ok(Some(frame.map_err(|_| HttpError::Incomplete)?.into_data().unwrap_or_default()))
    }

    /// Returns the rest of the body, unless its client waits for `100 Continue` or has sent it.
    pub(super) fn into_unread_body(self) -> Option<Incoming> {
        let is_sending = !self.body.is_end_stream() && !self.head.headers.contains_key(EXPECT);
        is_sending.then_some(self.body)
    }
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

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

async fn read_body(
    body: &mut Incoming,
    limit: usize,
    timeout: Duration,
) -> Result<Bytes, HttpError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if limit < announced {
        return Err(HttpError::BodyTooLarge { limit });
    }
    tokio::time::timeout(timeout, collect_frames(body, limit))
        .await
        .unwrap_or(Err(HttpError::Timeout))
}

async fn collect_frames(body: &mut Incoming, limit: usize) -> Result<Bytes, HttpError> {
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // Trailers are not data and are skipped.
        let Ok(piece) = frame.map_err(|_| HttpError::Incomplete)?.into_data() else { continue };
        if limit - collected.len() < piece.len() {
            return Err(HttpError::BodyTooLarge { limit });
        }
        collected.extend_from_slice(&piece);
    }
    Ok(collected.freeze())
}

/// Discards the rest of a body while the reply is sent. An endless body closes the connection.
pub(super) async fn discard_body(mut body: Incoming, timeout: Duration) {
    let discarding = async {
        let mut discarded = 0;
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE, body.frame()).await {
            discarded += frame.data_ref().map_or(0, Bytes::len);
            if discarded > MAX_DISCARDED_BYTES {
                return;
            }
        }
    };
    // A timeout counts as the end.
    drop(tokio::time::timeout(timeout, discarding).await);
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, header::HeaderValue};

    use super::{HttpRequestId, is_json, split_path};

    #[test]
    fn only_plain_ids_are_taken_over() {
        let id = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HttpRequestId::HEADER, HeaderValue::from_static(text));
            HttpRequestId::from_headers(&headers).to_string() == text
        };
        assert!(id("client-42_a.b:c"));
        assert!(!id(""));
        assert!(!id("a b"));
        assert!(!id("a\"b"));
        assert!(!id(Box::leak("x".repeat(129).into_boxed_str())));
    }

    #[test]
    fn json_may_carry_parameters() {
        assert!(is_json("application/json"));
        assert!(is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/plain"));
        assert!(!is_json("application/jsonp"));
        assert!(!is_json(""));
    }

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

//! Reads the credentials of a request, which are judged before its body is read.

use std::{net::IpAddr, sync::Arc};

use codeinfo_core::Principal;
use hyper::{
    HeaderMap,
    header::{AUTHORIZATION, COOKIE, HOST},
};
use tokio_util::sync::CancellationToken;

use super::HttpError;

const SCHEME: &str = "bearer";
/// Header with the page's half of a session.
const SESSION: &str = "x-codeinfo-session";

/// Credentials of a request that passed the guard.
#[derive(Debug, Clone, Copy)]
pub struct AuthRequest<'a> {
    /// Path as sent, without the query.
    pub path: &'a str,
    /// Bearer, if the request has one.
    pub bearer: Option<&'a str>,
    /// Session of the owner's page, if the request has one.
    pub session: Option<SessionProof<'a>>,
    pub peer_address: Option<IpAddr>,
    /// True for a loopback connection from an account other than the server's and root.
    pub is_another_account: bool,
}

/// Both halves of a page session.
#[derive(Debug, Clone, Copy)]
pub struct SessionProof<'a> {
    /// Value of the cookie; empty without one.
    pub cookie: &'a str,
    /// Value of the header [`SESSION`].
    pub key: &'a str,
}

/// Rights of a request. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessRights {
    /// May read the overall state and the files of the page.
    Monitor,
    /// May search, ask, and see its own data.
    Ask,
    /// May decide what is indexed, and see the data of others.
    Administer,
}

/// Admission of a request.
#[derive(Debug, Clone)]
pub struct AuthContext {
    /// Caller, if it has proved a name.
    pub principal: Option<Principal>,
    pub rights: AccessRights,
    /// Cancelled when the credentials are revoked; streams, sockets and turns end then.
    pub revoked: CancellationToken,
}

impl AuthContext {
    /// Admits a caller without a name.
    pub fn anonymous(rights: AccessRights) -> Self {
        Self { principal: None, rights, revoked: CancellationToken::new() }
    }
}

/// Decides which requests are admitted.
pub type AuthGate = Arc<dyn Fn(AuthRequest<'_>) -> Result<AuthContext, HttpError> + Send + Sync>;

/// Returns the bearer of a request. Ignores other schemes, such as the password for a proxy.
pub(super) fn parse_bearer(headers: &HeaderMap) -> Result<Option<&str>, HttpError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(HttpError::Unauthorized("there is more than one `Authorization` header"));
    }
    // A value that is not text counts as an unknown bearer.
    let text = value.to_str().unwrap_or(SCHEME).trim();
    let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
    Ok(scheme.eq_ignore_ascii_case(SCHEME).then(|| rest.trim()))
}

pub(super) fn parse_session(headers: &HeaderMap) -> Option<SessionProof<'_>> {
    let key = headers.get(SESSION)?.to_str().ok()?;
    let name = cookie_name(headers);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|text| text.split("; ")).filter_map(|pair| pair.split_once('='));
    let cookie = pairs.find(|(cookie, _)| *cookie == name).map_or("", |(_, value)| value);
    Some(SessionProof { cookie, key })
}

/// Returns the name of the session cookie, with the port, as all ports of a host share cookies.
pub(super) fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    format!("codeinfo-{}", port.unwrap_or(80))
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, header::AUTHORIZATION};

    use super::parse_bearer;

    fn headers(values: &[&[u8]]) -> HeaderMap {
        let pairs = values.iter().map(|value| (AUTHORIZATION, value[..].try_into().unwrap()));
        pairs.collect()
    }

    #[test]
    fn a_bearer_is_read_in_any_case_and_nothing_else_is_one() {
        for (value, wanted) in [
            ("Bearer abc", Some("abc")),
            ("bearer   abc ", Some("abc")),
            ("BEARER", Some("")),
            ("Basic YTpi", None),
            ("Bearerabc", None),
        ] {
            assert_eq!(parse_bearer(&headers(&[value.as_bytes()])), Ok(wanted), "{value}");
        }
        assert_eq!(parse_bearer(&headers(&[])), Ok(None));
        assert_eq!(parse_bearer(&headers(&[b"Bearer \xff"])), Ok(Some("")));
        assert!(parse_bearer(&headers(&[b"Bearer abc", b"Basic YTpi"])).is_err());
    }
}

//! Who asks: what a request says of that, to be judged before its body is read.

use std::{net::IpAddr, sync::Arc};

use codeinfo_core::Principal;
use hyper::{
    HeaderMap,
    header::{AUTHORIZATION, COOKIE, HOST},
};
use tokio_util::sync::CancellationToken;

use super::HttpError;

const SCHEME: &str = "bearer";
/// The header in which the page shows its half of a session.
const SESSION: &str = "x-codeinfo-session";

/// A request that passed the guard, as far as it matters for who is answered.
#[derive(Debug, Clone, Copy)]
pub struct AuthRequest<'a> {
    /// The path as sent, without the query.
    pub path: &'a str,
    /// What it proves itself with.
    pub bearer: Option<&'a str>,
    /// The same of the page of the owner.
    pub session: Option<SessionProof<'a>>,
    /// The address that it comes from.
    pub peer_address: Option<IpAddr>,
    /// Whether it comes over loopback from an account that is neither ours nor root's.
    pub is_another_account: bool,
}

/// Both halves of a session of the page.
#[derive(Debug, Clone, Copy)]
pub struct SessionProof<'a> {
    /// From the cookie; empty without one.
    pub cookie: &'a str,
    /// From the header [`SESSION`].
    pub key: &'a str,
}

/// Rights of a request, each with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessRights {
    /// Sees whether the server is well, and the files of the page.
    Monitor,
    /// Searches, asks, and sees what is its own.
    Ask,
    /// Decides what is indexed, and sees what is others'.
    Administer,
}

/// A request that is answered.
#[derive(Debug, Clone)]
pub struct AuthContext {
    /// Who asks, where that is proved and has a name.
    pub principal: Option<Principal>,
    pub rights: AccessRights,
    /// Cancelled when what proved it is revoked: streams, sockets and turns end then.
    pub revoked: CancellationToken,
}

impl AuthContext {
    /// Admits who has no name.
    pub fn anonymous(rights: AccessRights) -> Self {
        Self { principal: None, rights, revoked: CancellationToken::new() }
    }
}

/// Decides who is answered.
pub type AuthGate = Arc<dyn Fn(AuthRequest<'_>) -> Result<AuthContext, HttpError> + Send + Sync>;

/// Returns the bearer of a request. What is no bearer, such as the password of a proxy, is for others.
pub(super) fn parse_bearer(headers: &HeaderMap) -> Result<Option<&str>, HttpError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(HttpError::Unauthorized("there is more than one `Authorization` header"));
    }
    // What is not text is a bearer that nobody has.
    let text = value.to_str().unwrap_or(SCHEME).trim();
    let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
    Ok(scheme.eq_ignore_ascii_case(SCHEME).then(|| rest.trim()))
}

/// Returns the session that a page shows.
pub(super) fn parse_session(headers: &HeaderMap) -> Option<SessionProof<'_>> {
    let key = headers.get(SESSION)?.to_str().ok()?;
    let name = cookie_name(headers);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies =
        cookies.flat_map(|text| text.split("; ")).filter_map(|one| one.split_once('='));
    let cookie = cookies.find(|(one, _)| *one == name).map_or("", |(_, value)| value);
    Some(SessionProof { cookie, key })
}

/// Names the cookie by the port that the browser sees: all ports of a host share its cookies.
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
        let values = values.iter().map(|value| (AUTHORIZATION, value[..].try_into().unwrap()));
        values.collect()
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

//! Refuses requests that a web page of another site may have caused.
//!
//! A browser sends the page in `Origin` and the name it resolved in `Host`. Checking both stops
//! cross-site requests and DNS rebinding. Where a browser sends no `Origin`, as for an image or a
//! script, `Sec-Fetch-Site` still reveals another site. Command-line clients send neither.

use hyper::{
    HeaderMap, Uri,
    header::{HOST, HeaderValue, ORIGIN},
};

use super::HttpError;

/// Values of `Sec-Fetch-Site` for requests of the listener's own pages, or of a typed address.
const OWN_SITE: [&str; 2] = ["same-origin", "none"];
/// Path to which other sites may link.
const LANDING: &str = "/";
const FOREIGN_PAGE: &str = "a page of another site asked for this; open the address itself";

/// Port of an origin without one.
const HTTP_PORT: u16 = 80;

/// Hosts and origins that are accepted, besides those of the listener itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedNames {
    /// Additional host names, without port, in lower case.
    pub hosts: Vec<String>,
    /// Additional origins such as `https://tools.example`, in lower case.
    pub origins: Vec<String>,
}

/// Checks `Host` against loopback and configured names, and `Origin` against the listener's own and
/// configured ones. Pages of other programs of this machine count as foreign.
#[derive(Debug, Clone)]
pub(super) struct OriginGuard {
    allowed: AllowedNames,
    port: u16,
}

impl OriginGuard {
    pub(super) fn new(allowed: &AllowedNames, port: u16) -> Self {
        Self { allowed: allowed.clone(), port }
    }

    pub(super) fn check_request(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HttpError> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(value), None) = (hosts.next(), hosts.next()) else {
            return Err(HttpError::BadRequest("exactly one `Host` header is required"));
        };
        let host = value.to_str().unwrap_or_default();
        // A request line may contain a host as well, and a proxy would use that one.
        let named = uri.authority().map(hyper::http::uri::Authority::as_str);
        for host in [Some(host), named].into_iter().flatten() {
            if !self.knows_host(host) {
                return Err(forbidden_error("host", host, "ALLOWED_HOSTS"));
            }
        }
        for value in headers.get_all(ORIGIN) {
            let origin = value.to_str().unwrap_or_default();
            if !self.knows_origin(origin, host) {
                return Err(forbidden_error("origin", origin, "ALLOWED_ORIGINS"));
            }
        }
        if !headers.contains_key(ORIGIN) && is_of_another_site(headers) && !is_link(uri, headers) {
            return Err(HttpError::Forbidden(FOREIGN_PAGE.to_owned()));
        }
        Ok(())
    }

    fn knows_host(&self, host: &str) -> bool {
        match parse_host_name(host) {
            Some(name) => is_loopback(&name) || self.allowed.hosts.contains(&name),
            None => false,
        }
    }

    /// Accepts origins of the listener's own pages at `host`, which is known, and configured ones.
    fn knows_origin(&self, origin: &str, host: &str) -> bool {
        let lower_case = origin.to_lowercase();
        lower_case.strip_prefix("http://").is_some_and(|at| self.is_own(at, host))
            || self.allowed.origins.contains(&lower_case)
    }

    fn is_own(&self, at: &str, host: &str) -> bool {
        let is_here = name_and_port(at).is_some_and(|(name, port)| {
            is_loopback(&name) && port.unwrap_or(HTTP_PORT) == self.port
        });
        // A container may publish another port; the origin of the page then equals `Host`.
        is_here || at == host.to_lowercase()
    }
}

fn is_of_another_site(headers: &HeaderMap) -> bool {
    let own = |site: &HeaderValue| OWN_SITE.iter().any(|own| site == own);
    !headers.get_all("sec-fetch-site").iter().all(own)
}

/// Returns whether a person follows a link to the page, which opens in a separate tab.
fn is_link(uri: &Uri, headers: &HeaderMap) -> bool {
    let says = |name, what| headers.get(name).is_some_and(|value| value == what);
    uri.path() == LANDING
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
}

fn forbidden_error(what: &str, value: &str, variable: &str) -> HttpError {
    let start: String = value.chars().filter(|c| !c.is_control()).take(100).collect();
    HttpError::Forbidden(format!("the {what} `{start}` is not allowed; `{variable}` can add it"))
}

/// Returns the lower-case name of `name`, `name:port`, `[v6]` or `[v6]:port`.
fn parse_host_name(host: &str) -> Option<String> {
    name_and_port(host).map(|(name, _)| name)
}

fn name_and_port(host: &str) -> Option<(String, Option<u16>)> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => match host.find(':') {
            Some(colon) => host.split_at(colon),
            None => (host, ""),
        },
    };
    let port = match port {
        "" => None,
        port => Some(port.strip_prefix(':')?.parse().ok()?),
    };
    (!name.is_empty()).then(|| (name.to_lowercase(), port))
}

fn is_loopback(name: &str) -> bool {
    let address = name.parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{AllowedNames, OriginGuard};
    fn guard() -> OriginGuard {
        let allowed = AllowedNames {
            hosts: vec!["codeinfo".to_owned()],
            origins: vec!["https://tools.example".to_owned(), "http://localhost:6274".to_owned()],
        };
        OriginGuard::new(&allowed, 5010)
    }

    #[test]
    fn loopback_and_configured_hosts_are_known() {
        for host in
            ["localhost", "LOCALHOST:1", "127.0.0.1:5011", "[::1]:5011", "::1", "codeinfo:5011"]
        {
            assert_eq!(guard().knows_host(host), host != "::1", "{host}");
        }
        for host in [
            "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x",
            "localhost:", "user@localhost", "[::1]evil", "[::1", "localhost:1:2",
        ] {
            assert!(!guard().knows_host(host), "{host}");
        }
    }

    #[test]
    fn only_the_own_and_configured_origins_are_known() {
        let knows = |origin, host| guard().knows_origin(origin, host);
        for origin in [
            "http://localhost:5010", "http://127.0.0.1:5010", "HTTP://[::1]:5010",
            "HTTPS://tools.example", "http://localhost:6274",
        ] {
            assert!(knows(origin, "127.0.0.1:5010"), "{origin}");
        }
        for (origin, host) in [
            ("http://codeinfo:8080", "CodeInfo:8080"),
            ("http://localhost:8080", "localhost:8080"),
            ("http://localhost", "localhost"),
        ] {
            assert!(knows(origin, host), "{origin} at {host}");
            assert!(!knows(origin, "localhost:5010"), "{origin} at another host");
        }
        for origin in [
            "null",
            "",
            "file://",
            "http://localhost",
            "http://localhost:3000",
            "http://localhost:5011",
            "https://localhost:5010",
            "http://127.0.0.1:05011",
            "https://evil.example",
            "http://localhost.evil.example:5010",
            "https://tools.example.evil.example",
            "http://localhost:5010/x",
            "http://evil.example@localhost:5010",
            "chrome-extension://localhost",
        ] {
            assert!(!knows(origin, "localhost:5010"), "{origin}");
        }
    }
}

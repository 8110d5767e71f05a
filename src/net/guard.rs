//! Refuses requests that a web page of somebody else may have caused.
//!
//! A browser names the page in `Origin` and the name it resolved in `Host`. Checking both stops
//! cross-site requests and DNS rebinding. Command-line clients send no `Origin`.

use hyper::{
    HeaderMap, Uri,
    header::{HOST, ORIGIN},
};

use super::Fault;
use crate::config;

/// Checks `Host` and `Origin` against loopback names and the configured ones.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    allowed: config::Guard,
}

impl Guard {
    pub(super) fn new(allowed: &config::Guard) -> Self {
        Self { allowed: allowed.clone() }
    }

    /// Returns why the request is refused, if it is.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Fault::BadRequest("exactly one `Host` header is required"));
        };
        // A request line may name a host too; a proxy would believe that one.
        let named = uri.authority().map(hyper::http::uri::Authority::as_str);
        for host in [Some(host.to_str().unwrap_or_default()), named].into_iter().flatten() {
            if !self.knows_host(host) {
                return Err(forbidden("host", host, "ALLOWED_HOSTS"));
            }
        }
        for origin in headers.get_all(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !self.knows_origin(origin) {
                return Err(forbidden("origin", origin, "ALLOWED_ORIGINS"));
            }
        }
        Ok(())
    }

    fn knows_host(&self, host: &str) -> bool {
        match name(host) {
            Some(name) => is_loopback(&name) || self.allowed.hosts.contains(&name),
            None => false,
        }
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_lowercase();
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.and_then(name).is_some_and(|name| is_loopback(&name))
            || self.allowed.origins.contains(&origin)
    }
}

fn forbidden(what: &str, value: &str, variable: &str) -> Fault {
    let value: String = value.chars().filter(|c| !c.is_control()).take(100).collect();
    Fault::Forbidden(format!("the {what} `{value}` is not allowed; `{variable}` can add it"))
}

/// Returns the lower-case name of `name`, `name:port`, `[v6]` or `[v6]:port`.
fn name(host: &str) -> Option<String> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => match host.find(':') {
            Some(colon) => host.split_at(colon),
            None => (host, ""),
        },
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let is_port = port.is_empty() || (port.starts_with(':') && digits.parse::<u16>().is_ok());
    (is_port && !name.is_empty()).then(|| name.to_lowercase())
}

fn is_loopback(name: &str) -> bool {
    let address = name.parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Guard;
    use crate::config;

    fn guard() -> Guard {
        Guard::new(&config::Guard {
            hosts: vec!["codeinfo".to_owned()],
            origins: vec!["https://tools.example".to_owned()],
        })
    }

    #[test]
    fn loopback_and_configured_hosts_are_known() {
        for host in
            ["localhost", "LOCALHOST:1", "127.0.0.1:5011", "[::1]:5011", "::1", "codeinfo:5011"]
        {
            assert_eq!(guard().knows_host(host), host != "::1", "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:x",
            "localhost:",
            "user@localhost",
            "[::1]evil",
            "[::1",
            "localhost:1:2",
        ] {
            assert!(!guard().knows_host(host), "{host}");
        }
    }

    #[test]
    fn loopback_and_configured_origins_are_known() {
        for origin in [
            "http://localhost:3000",
            "https://127.0.0.1",
            "http://[::1]:1",
            "HTTPS://tools.example",
        ] {
            assert!(guard().knows_origin(origin), "{origin}");
        }
        for origin in [
            "null",
            "",
            "file://",
            "https://evil.example",
            "http://localhost.evil.example",
            "https://tools.example.evil.example",
            "http://localhost/x",
            "chrome-extension://localhost",
        ] {
            assert!(!guard().knows_origin(origin), "{origin}");
        }
    }
}

//! Builds connections over Streamable HTTP.
//!
//! Events have the same bound as lines. The library bounds plain JSON bodies at 16 MiB, error bodies at 64 KiB.

use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
    net::SocketAddr,
};

use codeinfo_core::{Secret, install_crypto_provider, is_internal_address};
use reqwest::{
    dns::{Addrs, Name, Resolve, Resolving},
    header::{HeaderName, HeaderValue},
    redirect,
};
use rmcp::transport::{
    DynamicTransportError, StreamableHttpClientTransport,
    streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
};
use tokio::net::lookup_host;
use url::{Host, Url};

use super::{ConnectionTiming, MAX_MESSAGE_BYTES};

const INTERNAL: &str = "its address is one of this machine or of the network around it, and only the owner of the \
                        server may have a toolkit there";
/// Message for a server that does not speak MCP. Its answer is omitted, because it may come from another service.
pub(super) const NO_MCP: &str = "its answer is not MCP";

/// Resolver that refuses names of this machine or its local network. Each connection resolves the name again,
/// so that changing its address later gains nothing.
struct OutsideResolver<R>(R);

struct SystemResolver;

/// Returns an unused connection to `url`. `is_confined` forbids this machine and its local network.
pub(super) fn build_transport(
    url: &str,
    headers: &BTreeMap<String, Secret>,
    timing: &ConnectionTiming,
    is_confined: bool,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let parsed = Url::parse(url).map_err(|error| format!("its `url` is none: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err("its `url` must start with `http://` or `https://`".to_owned());
    }
    let client = build_client(&parsed, timing, is_confined.then_some(SystemResolver))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(parse_headers(headers)?)
        .max_sse_event_size(MAX_MESSAGE_BYTES);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Builds the client for `url`. With a resolver, it connects only to external addresses.
fn build_client(
    url: &Url,
    timing: &ConnectionTiming,
    resolver: Option<impl Resolve + 'static>,
) -> Result<reqwest::Client, String> {
    install_crypto_provider();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("codeinfo/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timing.pong)
        // A redirect would send headers, which may be keys, to another server.
        .redirect(redirect::Policy::none())
        // Pooled connections cost more than new ones: a partly read answer delays the next one.
        .pool_max_idle_per_host(0);
    if is_loopback(url) {
        // Proxies of the environment are for external addresses only.
        builder = builder.no_proxy();
    }
    if let Some(resolver) = resolver {
        // IP addresses do not pass the resolver.
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) | None => None,
        };
        if address.is_some_and(is_internal_address) {
            return Err(INTERNAL.to_owned());
        }
        // A proxy would resolve the name itself and could reach internal addresses.
        builder = builder.no_proxy().dns_resolver(OutsideResolver(resolver));
    }
    if url.scheme() == "http" {
        // Plain HTTP verifies nothing, so no certificates are needed.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| format!("no HTTP client can be made: {error}"))
}

impl<R: Resolve> Resolve for OutsideResolver<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let resolving = self.0.resolve(name);
        Box::pin(async move {
            let found: Vec<SocketAddr> = resolving.await?.collect();
            if found.iter().any(|address| is_internal_address(address.ip())) {
                return Err(INTERNAL.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Returns the innermost message of `error`. Outer layers repeat addresses, and some do not expose their source.
pub(super) fn describe_root_cause(error: &DynamicTransportError) -> String {
    let mut innermost: &(dyn Error + 'static) = error;
    loop {
        let http = innermost.downcast_ref::<StreamableHttpError<reqwest::Error>>();
        innermost = match (http, innermost.source()) {
            (Some(StreamableHttpError::AuthRequired(_)), _) => {
                return "it asks who you are: put a header with a token into its `headers`"
                    .to_owned();
            }
            (Some(StreamableHttpError::Client(error)), _) => error,
            (Some(StreamableHttpError::UnexpectedServerResponse(answer)), _) => {
                return describe_answer(answer);
            }
            (
                Some(
                    StreamableHttpError::UnexpectedContentType(_)
                    | StreamableHttpError::Deserialize(_)
                    | StreamableHttpError::Sse(_),
                ),
                _,
            ) => return NO_MCP.to_owned(),
            (_, Some(source)) => source,
            (_, None) => return innermost.to_string(),
        };
    }
}

/// Returns the status of an answer that is not a reply, without its body.
fn describe_answer(answer: &str) -> String {
    let status = answer.strip_prefix("HTTP ").and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
    status.map_or_else(|| NO_MCP.to_owned(), |status| format!("it answered HTTP {status}"))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

fn parse_headers(
    headers: &BTreeMap<String, Secret>,
) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let mut named = HashMap::new();
    for (name, value) in headers {
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| format!("`{name}` in its `headers` is no name of a header"))?;
        let mut value = HeaderValue::try_from(value.expose()).map_err(|_| {
            format!("`{name}` in its `headers` has a value that no header can have")
        })?;
        value.set_sensitive(true);
        named.insert(key, value);
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::net::TcpListener;

    use super::*;

    /// Resolver that returns these addresses in turn, for any name.
    struct ChangingCatalogue(&'static [&'static str], AtomicUsize);

    impl Resolve for ChangingCatalogue {
        fn resolve(&self, _: Name) -> Resolving {
            let turn = self.1.fetch_add(1, Ordering::Relaxed).min(self.0.len() - 1);
            let address = SocketAddr::new(self.0[turn].parse().unwrap(), 0);
            Box::pin(async move { Ok(Box::new(std::iter::once(address)) as Addrs) })
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_later_is_refused_then() {
        let changing = ["93.184.216.34", "127.0.0.1", "::7f00:1", "93.184.216.34"];
        let changing = Box::leak(Box::new(changing));
        let resolver = OutsideResolver(ChangingCatalogue(changing, AtomicUsize::new(0)));
        for is_public in [true, false, false, true] {
            let found = resolver.resolve("kit.example".parse().unwrap()).await;
            assert_eq!(found.is_ok(), is_public);
        }
    }

    #[tokio::test]
    async fn no_connection_is_made_to_a_name_that_leads_to_this_machine() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = Url::parse(&format!("http://kit.example:{port}/mcp")).unwrap();
        let resolver = ChangingCatalogue(&["127.0.0.1"], AtomicUsize::new(0));
        let client = build_client(&url, &ConnectionTiming::default(), Some(resolver)).unwrap();
        let failed = client.get(url).send().await.unwrap_err();
        let mut innermost: &dyn Error = &failed;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        assert_eq!(innermost.to_string(), INTERNAL);
        let accepted = std::future::poll_fn(|context| {
            std::task::Poll::Ready(listener.poll_accept(context).is_ready())
        });
        assert!(!accepted.await);
    }

    #[test]
    fn an_address_is_refused_for_what_it_stands_for() {
        let refused = |url: &str| {
            build_transport(url, &BTreeMap::new(), &ConnectionTiming::default(), true)
                .err()
                .as_deref()
                == Some(INTERNAL)
        };
        for url in [
            "http://127.1/",
            "http://[::127.0.0.1]/",
            "https://[64:ff9b::7f00:1]/",
            "http://2130706433/",
        ] {
            assert!(refused(url), "{url}");
        }
    }

    #[test]
    fn the_body_of_an_answer_is_not_said() {
        assert_eq!(describe_answer("HTTP 404 Not Found: secret"), "it answered HTTP 404");
        assert_eq!(describe_answer("cannot parse secret"), NO_MCP);
    }
}

//! A connection over Streamable HTTP: where it goes, and what it carries.
//!
//! Events are bounded as lines are; a plain JSON body is bounded by the library (16 MiB, and 64 KiB for
//! an error).

use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
};

use reqwest::{
    header::{HeaderName, HeaderValue},
    redirect,
};
use rmcp::transport::{
    DynamicTransportError, StreamableHttpClientTransport,
    streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
};
use url::{Host, Url};

use super::{MAX_MESSAGE_BYTES, Timing};
use crate::{config::Secret, tls};

/// Returns a connection to `url` that has not been used yet.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, Secret>,
    timing: &Timing,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let parsed = Url::parse(url).map_err(|error| format!("its `url` is none: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err("its `url` must start with `http://` or `https://`".to_owned());
    }
    tls::install();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("codeinfo/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timing.pong)
        // A redirection would carry headers, which may be keys, elsewhere.
        .redirect(redirect::Policy::none())
        // Connections that are kept cost more than new ones: an answer that is not read to its end
        // delays the next one.
        .pool_max_idle_per_host(0);
    if is_loopback(&parsed) {
        // A proxy of the environment is for the outside world, not for this machine.
        builder = builder.no_proxy();
    }
    if parsed.scheme() == "http" {
        // Nothing to be verified, so that nothing need be there to verify with.
        builder = builder.tls_certs_only([]);
    }
    let client = builder.build().map_err(|error| format!("no HTTP client can be made: {error}"))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(named(headers)?)
        .max_sse_event_size(MAX_MESSAGE_BYTES);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Returns what is at the bottom of `error`. The layers above repeat addresses, and not each of them says
/// what it wraps.
pub(super) fn cause(error: &DynamicTransportError) -> String {
    let mut innermost: &(dyn Error + 'static) = error;
    loop {
        let http = innermost.downcast_ref::<StreamableHttpError<reqwest::Error>>();
        innermost = match (http, innermost.source()) {
            (Some(StreamableHttpError::AuthRequired(_)), _) => {
                return "it asks who you are: put a header with a token into its `headers`"
                    .to_owned();
            }
            (Some(StreamableHttpError::Client(error)), _) => error,
            (_, Some(source)) => source,
            (_, None) => return innermost.to_string(),
        };
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

fn named(headers: &BTreeMap<String, Secret>) -> Result<HashMap<HeaderName, HeaderValue>, String> {
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

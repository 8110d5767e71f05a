//! Reads the settings of an embedding service and of a Qdrant server.

use std::time::Duration;

use codeinfo_core::Secret;
use codeinfo_embed::EmbeddingSettings;
use codeinfo_store::QdrantSettings;
use url::Url;

use super::{ConfigError, RawSettings, invalid_setting, is_on, parse_positive, parse_seconds};

/// Maximum dimensions, the limit of the engines.
const MAX_DIMENSIONS: usize = 65_536;

/// Returns the service to embed with; `None` means the built-in model.
pub(super) fn parse_embedding_settings(
    raw: &RawSettings,
) -> Result<Option<EmbeddingSettings>, ConfigError> {
    let Some(url) = &raw.embedding_url else {
        return match raw.embedding_model {
            Some(_) => Err(invalid_setting(
                "EMBEDDING_MODEL",
                "is of no use without `EMBEDDING_URL`, the service",
            )),
            None => Ok(None),
        };
    };
    let Some(model) = raw.embedding_model.as_deref().map(str::trim) else {
        return Err(invalid_setting(
            "EMBEDDING_MODEL",
            "must name the model when `EMBEDDING_URL` is set",
        ));
    };
    let url = complete_endpoint(url.trim())?;
    let is_local = is_local(&url);
    let key = raw.embedding_api_key.as_deref().map(|key| key.trim().to_owned());
    if let Some(key) = &key {
        check_key(key, &url, is_local)?;
    }
    let dimensions = raw.embedding_dimensions;
    if dimensions.is_some_and(|length| length == 0 || MAX_DIMENSIONS < length) {
        return Err(invalid_setting("EMBEDDING_DIMENSIONS", "must be between 1 and 65536"));
    }
    Ok(Some(EmbeddingSettings {
        url: url.into(),
        is_local,
        model: model.to_owned(),
        key: key.map(Secret::new),
        dimensions,
        query_prefix: parse_prefix(raw.embedding_query_prefix.as_deref()),
        document_prefix: parse_prefix(raw.embedding_document_prefix.as_deref()),
        batch: parse_positive("EMBEDDING_BATCH", raw.embedding_batch, 32)?,
        batch_tokens: parse_positive(
            "EMBEDDING_BATCH_TOKENS",
            raw.embedding_batch_tokens,
            100_000,
        )?,
        max_tokens: parse_positive("EMBEDDING_MAX_TOKENS", raw.embedding_max_tokens, 2048)?,
        concurrency: parse_concurrency(raw.embedding_concurrency)?,
        timeout: parse_seconds("EMBEDDING_TIMEOUT_SECS", raw.embedding_timeout_secs, 120)?,
        backoff: Duration::from_millis(500),
    }))
}

/// Completes a base to the URL for embeddings. A bare host gets `/v1`, which all services have.
fn complete_endpoint(text: &str) -> Result<Url, ConfigError> {
    let bad = |reason: &str| invalid_setting("EMBEDDING_URL", reason);
    let mut url = Url::parse(text).map_err(|error| bad(&format!("is not a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("must begin with `http://` or `https://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("holds a password; put keys into `EMBEDDING_API_KEY`"));
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/');
    let path = match path {
        "" => "/v1/embeddings".to_owned(),
        whole if whole.ends_with("/embeddings") => whole.to_owned(),
        base => format!("{base}/embeddings"),
    };
    url.set_path(&path);
    Ok(url)
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Refuses a key that is invalid in a header, and one that would be sent unencrypted.
fn check_key(key: &str, url: &Url, is_local: bool) -> Result<(), ConfigError> {
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid_setting("EMBEDDING_API_KEY", "holds characters that no key has"));
    }
    if url.scheme() == "http" && !is_local {
        let host = url.host_str().unwrap_or_default();
        let reason = format!(
            "would be sent unencrypted to `{host}`; use `https://` in `EMBEDDING_URL`, or leave the key out"
        );
        return Err(invalid_setting("EMBEDDING_API_KEY", &reason));
    }
    Ok(())
}

/// Keeps blanks, which a model may need, and replaces `\n`, as setting files have no line breaks.
fn parse_prefix(text: Option<&str>) -> String {
    text.unwrap_or_default().replace("\\n", "\n")
}

/// Parses the number of concurrent requests; more than 64 would not help any service.
fn parse_concurrency(value: Option<usize>) -> Result<usize, ConfigError> {
    match parse_positive("EMBEDDING_CONCURRENCY", value, 4)? {
        65.. => Err(invalid_setting("EMBEDDING_CONCURRENCY", "must be at most 64")),
        value => Ok(value),
    }
}

/// Port of Qdrant's gRPC interface, the default of addresses without a port.
const GRPC: u16 = 6334;
/// Port of Qdrant's REST interface, which is better known.
const REST: u16 = 6333;
/// Time that a root belongs to a process after its last renewal. A holder renews four times in it
/// and stops at two thirds, which is longer than any change is retried.
const LEASE: Duration = Duration::from_mins(1);
/// Maximum length of a collection's name, with room for suffixes.
const MAX_PREFIX: usize = 64;
const MAX_COPIES: u32 = 64;
const MAX_SHARDS: u32 = 4096;

/// Reads the settings of the server; `None` without an address.
pub(super) fn parse_qdrant_settings(
    raw: &RawSettings,
) -> Result<Option<QdrantSettings>, ConfigError> {
    let Some(addresses) = &raw.qdrant_url else { return Ok(None) };
    let parsed: Result<Vec<String>, String> = addresses.split(',').map(parse_url).collect();
    let urls = parsed.map_err(|reason| invalid_setting("QDRANT_URL", &reason))?;
    let replication =
        check_range("QDRANT_REPLICATION", raw.qdrant_replication, MAX_COPIES)?.unwrap_or(1);
    let consistency = raw.qdrant_write_consistency;
    let consistency =
        check_range("QDRANT_WRITE_CONSISTENCY", consistency, MAX_COPIES)?.unwrap_or(1);
    if replication < consistency {
        let reason = format!("is {consistency}, more than the copies of `QDRANT_REPLICATION`");
        return Err(invalid_setting("QDRANT_WRITE_CONSISTENCY", &reason));
    }
    let retry = parse_seconds("QDRANT_RETRY_SECS", raw.qdrant_retry_secs, 30)?;
    if LEASE / 2 < retry {
        let max = (LEASE / 2).as_secs();
        return Err(invalid_setting(
            "QDRANT_RETRY_SECS",
            &format!("must be at most {max} seconds"),
        ));
    }
    Ok(Some(QdrantSettings {
        urls,
        api_key: raw.qdrant_api_key.as_deref().map(parse_api_key).transpose()?,
        collection: parse_collection(raw.qdrant_collection.as_deref().unwrap_or("codeinfo"))?,
        shared_paths: is_on("QDRANT_SHARED_PATHS", raw.qdrant_shared_paths.as_ref(), false)?,
        shards: check_range("QDRANT_SHARDS", raw.qdrant_shards, MAX_SHARDS)?,
        replication,
        write_consistency: consistency,
        timeout: parse_seconds("QDRANT_TIMEOUT_SECS", raw.qdrant_timeout_secs, 30)?,
        retry,
        lease: LEASE,
        hnsw_min_chunks: raw.hnsw_min_chunks.unwrap_or(200_000),
    }))
}

fn parse_url(address: &str) -> Result<String, String> {
    let text = address.trim().trim_end_matches('/');
    // Text before an `@` may be a password.
    let shown = text.rsplit_once('@').map_or(text, |(_, after)| after);
    let (scheme, authority) = text
        .split_once("://")
        .filter(|(scheme, _)| ["http", "https"].contains(scheme))
        .ok_or_else(|| format!("is `{shown}`: an address begins with http:// or https://"))?;
    if authority.contains('@') {
        return Err("must not hold a name or password; set `QDRANT_API_KEY`".to_owned());
    }
    let wrong = || format!("is `{shown}`: after the host and its port there must be nothing");
    let host_end = authority.rfind(']').unwrap_or(0);
    let (host, port) = match authority.rfind(':').filter(|colon| host_end < *colon) {
        Some(colon) => {
            let (host, port_text) = authority.split_at(colon);
            let port = port_text.trim_start_matches(':').parse().ok().filter(|port| *port != 0);
            (host, port.ok_or_else(wrong)?)
        }
        None => (authority, GRPC),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:%".contains(c);
    if host.is_empty() || !host.chars().all(is_plain) {
        return Err(wrong());
    }
    if port == REST {
        return Err(format!(
            "is `{shown}`: {REST} is Qdrant's REST port; give its gRPC port, {GRPC} unless it was \
             changed"
        ));
    }
    Ok(format!("{scheme}://{host}:{port}"))
}

/// Returns a key that a header can contain; the error does not repeat it.
fn parse_api_key(value: &str) -> Result<Secret, ConfigError> {
    let text = value.trim();
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid_setting("QDRANT_API_KEY", "holds a character that no key has"));
    }
    Ok(Secret::new(text.to_owned()))
}

fn parse_collection(value: &str) -> Result<String, ConfigError> {
    let text = value.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if MAX_PREFIX < text.len() || !text.chars().all(is_plain) {
        let reason = format!("must be at most {MAX_PREFIX} letters, digits, `-` and `_`");
        return Err(invalid_setting("QDRANT_COLLECTION", &reason));
    }
    Ok(text.to_owned())
}

fn check_range(
    variable: &'static str,
    value: Option<u32>,
    max: u32,
) -> Result<Option<u32>, ConfigError> {
    match value {
        Some(value) if value == 0 || max < value => {
            Err(invalid_setting(variable, &format!("must be between 1 and {max}")))
        }
        value => Ok(value),
    }
}

//! Reads the settings of an embedding service.

use std::time::Duration;

use codeinfo_core::Secret;
use codeinfo_embed::EmbeddingSettings;
use url::Url;

use super::{ConfigError, RawSettings, invalid_setting, parse_positive, parse_seconds};

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

/// Completes a base such as `http://127.0.0.1:11434/v1` to the URL for embeddings. A bare host gets
/// `/v1`, the path of every known service.
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

/// Keeps blanks, because a model may be trained with them, and replaces `\n`,
/// because setting files cannot contain line breaks.
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

//! `GET /` and `GET /page/{file}`: the files of the page and the documents, built into the program.
//!
//! Files are compressed at their first use: in the build, that would need a dependency, and at the
//! start, it would slow down short commands. Every client accepts `gzip`.

use std::{io::Write, sync::OnceLock};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use codeinfo_http::{HttpError, Request, Response, reply};
use flate2::{Compression, write::GzEncoder};
use hyper::{
    Method, StatusCode,
    header::{
        ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG,
        HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY,
    },
};
use sha2::{Digest, Sha256};
use tracing::error;

use super::error::ApiError;

/// Finds the text of a document for users by its name.
pub type FindDocument = fn(&str) -> Option<&'static str>;

pub(super) const INDEX: &str = "index.html";

const HTML: &str = "text/html";
const DOCUMENT: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
/// Markdown, which browsers show as plain text.
const TEXT: &str = "text/plain; charset=utf-8";
const DRAWING: &str = "image/svg+xml; charset=utf-8";

/// Headers of the page's files: it loads and runs only files of its server and cannot be framed.
const HEADERS: [(HeaderName, &str); 5] = [
    // Cached, but validated each time, so that a page never mixes two versions of the program.
    (CACHE_CONTROL, "no-cache"),
    (VARY, "accept-encoding"),
    (REFERRER_POLICY, "no-referrer"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         object-src 'none'",
    ),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

struct PageAsset {
    name: &'static str,
    content_type: &'static str,
    content: &'static [u8],
    /// SHA-256 of the content.
    hash: OnceLock<String>,
    packed: OnceLock<Bytes>,
}

macro_rules! assets {
    ($($name:literal: $content_type:expr,)*) => {
        static ASSETS: [PageAsset; [$($name),*].len()] = [$(PageAsset {
            name: $name,
            content_type: $content_type,
            content: include_bytes!(concat!("../../assets/page/", $name)),
            hash: OnceLock::new(),
            packed: OnceLock::new(),
        }),*];
    };
}

// Every file of `assets/page`, sorted by name.
assets! {
    "api.js": SCRIPT,
    "ask.js": SCRIPT,
    "commit.js": SCRIPT,
    "composer.js": SCRIPT,
    "conversation.js": SCRIPT,
    "copy.js": SCRIPT,
    "dialog.js": SCRIPT,
    "diff.js": SCRIPT,
    "file.js": SCRIPT,
    "files.js": SCRIPT,
    "folders.js": SCRIPT,
    "format.js": SCRIPT,
    "found.js": SCRIPT,
    "graph.js": SCRIPT,
    "h.js": SCRIPT,
    "history.js": SCRIPT,
    "icon.svg": DRAWING,
    "index.html": DOCUMENT,
    "json.js": SCRIPT,
    "keys.js": SCRIPT,
    "lines.js": SCRIPT,
    "main.js": SCRIPT,
    "map.js": SCRIPT,
    "marks.js": SCRIPT,
    "names.js": SCRIPT,
    "neighbourhood.js": SCRIPT,
    "notice.js": SCRIPT,
    "page.css": STYLE,
    "pane.js": SCRIPT,
    "parts.css": STYLE,
    "preview.js": SCRIPT,
    "repositories.js": SCRIPT,
    "repository-actions.js": SCRIPT,
    "repository.js": SCRIPT,
    "router.js": SCRIPT,
    "run.js": SCRIPT,
    "scroll.js": SCRIPT,
    "search.js": SCRIPT,
    "side.js": SCRIPT,
    "source.js": SCRIPT,
    "state.js": SCRIPT,
    "status.js": SCRIPT,
    "steps.js": SCRIPT,
    "storage.js": SCRIPT,
    "stream.js": SCRIPT,
    "symbols.js": SCRIPT,
    "toolkit-form.js": SCRIPT,
    "toolkits.js": SCRIPT,
    "treemap.js": SCRIPT,
    "trusted.js": SCRIPT,
    "turn.js": SCRIPT,
    "uses.js": SCRIPT,
    "verdicts.js": SCRIPT,
}

/// Returns whether a path, as sent, is the page or one of its files, which need no token.
pub fn is_of_page(path: &str, find_document: FindDocument) -> bool {
    let is_file =
        |name: &str| ASSETS.iter().any(|asset| asset.name == name) || find_document(name).is_some();
    path == "/" || path.strip_prefix("/page/").is_some_and(is_file)
}

/// Answers a browser at an unknown address with the page and status 404, others with `refusal`.
pub(super) async fn reply_missing_page(
    request: &Request,
    refusal: HttpError,
) -> Result<Response, ApiError> {
    let takes_pages = request.header(ACCEPT.as_str()).is_some_and(|types| types.contains(HTML));
    if request.method() != Method::GET || !takes_pages {
        return Err(refusal.into());
    }
    let mut response = reply_asset(request, INDEX).await?;
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(response)
}

pub(super) fn reply_document(text: &'static str) -> Response {
    let mut response = reply::bytes_response(TEXT, Bytes::from_static(text.as_bytes()));
    insert_headers(&mut response);
    response
}

pub(super) async fn reply_asset(request: &Request, name: &str) -> Result<Response, ApiError> {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    let asset = found.ok_or(HttpError::RouteNotFound)?;
    let header = |name: HeaderName| request.header(name.as_str());
    let is_packed = header(ACCEPT_ENCODING).is_some_and(|accepted| takes_gzip(&accepted));
    // The tag is strong, so the compressed form needs its own.
    let tag = format!("\"{}{}\"", asset.content_hash(), if is_packed { "-gzip" } else { "" });
    let mut response = match header(IF_NONE_MATCH) {
        Some(known) if is_among(&tag, &known) => reply::empty_response(StatusCode::NOT_MODIFIED),
        Some(_) | None if is_packed => {
            reply::bytes_response(asset.content_type, asset.compressed_content().await?)
        }
        Some(_) | None => {
            reply::bytes_response(asset.content_type, Bytes::from_static(asset.content))
        }
    };
    insert_headers(&mut response);
    let headers = response.headers_mut();
    if is_packed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    Ok(response)
}

fn insert_headers(response: &mut Response) {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

impl PageAsset {
    fn content_hash(&self) -> &str {
        self.hash.get_or_init(|| BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(self.content)))
    }

    async fn compressed_content(&'static self) -> Result<Bytes, HttpError> {
        if let Some(packed) = self.packed.get() {
            return Ok(packed.clone());
        }
        let pack = || self.packed.get_or_init(|| compress_gzip(self.content).into()).clone();
        tokio::task::spawn_blocking(pack).await.map_err(|cause| {
            error!(%cause, file = self.name, "a file of the page cannot be compressed");
            HttpError::Internal
        })
    }
}

fn compress_gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory cannot fail.
    encoder.write_all(content).ok();
    encoder.finish().unwrap_or_default()
}

/// Returns whether `Accept-Encoding` accepts `gzip`, by name or by `*`.
fn takes_gzip(accepted: &str) -> bool {
    let weights = accepted.split(',').map(|coding| {
        let (coding, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = parameters.trim().strip_prefix("q=");
        let is_wanted = weight.is_none_or(|weight| weight.parse().is_ok_and(|q: f32| 0.0 < q));
        (coding.trim(), is_wanted)
    });
    let mut by_any = false;
    for (coding, is_wanted) in weights {
        if coding.eq_ignore_ascii_case("gzip") {
            return is_wanted;
        }
        by_any |= coding == "*" && is_wanted;
    }
    by_any
}

/// Returns whether `If-None-Match` contains this tag, without the `W/` that a proxy may add.
fn is_among(tag: &str, known: &str) -> bool {
    let mut tags = known.split(',').map(|known| known.trim().trim_start_matches("W/"));
    tags.any(|known| known == tag || known == "*")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::{ASSETS, is_among, is_of_page, takes_gzip};

    fn find_settings(name: &str) -> Option<&'static str> {
        (name == "settings").then_some("# Settings")
    }

    #[test]
    fn every_file_of_the_page_is_listed_once_and_in_order() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/page");
        let entries = fs::read_dir(folder).unwrap();
        let files: BTreeSet<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let listed: Vec<&str> = ASSETS.iter().map(|asset| asset.name).collect();
        assert_eq!(listed, files.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_but_the_files_is_of_the_page() {
        for path in ["/", "/page/index.html", "/page/page.css", "/page/settings"] {
            assert!(is_of_page(path, find_settings), "{path}");
        }
        for path in [
            "", "//", "/page", "/page/", "/page/config", "/page/%69ndex.html", "/page/index.html/",
            "/page/../metrics", "/index.html", "/Page/index.html",
        ] {
            assert!(!is_of_page(path, find_settings), "{path}");
        }
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for accepted in ["gzip", "br, GZIP;q=0.5", "deflate, *", "*;q=1"] {
            assert!(takes_gzip(accepted), "{accepted}");
        }
        for accepted in ["", "br", "gzip;q=0", "gzip; q=0.0, *", "*;q=0", "xgzip", "gzip;q=x"] {
            assert!(!takes_gzip(accepted), "{accepted}");
        }
    }

    #[test]
    fn a_tag_is_known_whole() {
        for known in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            assert!(is_among("\"a\"", known), "{known}");
        }
        for known in ["", "a", "\"a-gzip\"", "\"A\""] {
            assert!(!is_among("\"a\"", known), "{known}");
        }
    }
}

//! Reads the body of a request within bounds.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use super::HttpError;

/// Maximum bytes of an unwanted body that are read. A client that is still sending would otherwise
/// see a reset instead of the reply; one that sends more gets the reset.
const MAX_DISCARDED_BYTES: usize = 32 * 1024 * 1024;
/// Maximum silence of a client during an unwanted body. After it, the client has read the reply or
/// never will.
const SILENCE: Duration = Duration::from_secs(2);

/// Reads at most `limit` bytes within `timeout`.
pub(super) async fn read_body(
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
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // Trailers are not data and are skipped.
        let Ok(piece) = frame.map_err(|_| HttpError::Incomplete)?.into_data() else { continue };
        if limit - whole.len() < piece.len() {
            return Err(HttpError::BodyTooLarge { limit });
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// Reads and discards the rest of a body while the reply is sent. A body that does not end closes
/// the connection.
pub(super) async fn discard_body(mut body: Incoming, timeout: Duration) {
    let rest = async {
        let mut discarded = 0;
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE, body.frame()).await {
            discarded += frame.data_ref().map_or(0, Bytes::len);
            if discarded > MAX_DISCARDED_BYTES {
                return;
            }
        }
    };
    // A timeout counts as the end.
    drop(tokio::time::timeout(timeout, rest).await);
}

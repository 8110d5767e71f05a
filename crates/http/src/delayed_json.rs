//! JSON that may take minutes, for clients that accept nothing but JSON.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};

use super::{Response, reply, sse};

/// White space in front of a JSON text means nothing to its reader but keeps the connection warm.
const SPACE: Bytes = Bytes::from_static(b" ");

/// Waits `keep_alive` for the text; after that the reply starts with white space, repeated every
/// `keep_alive` until the text is there. The status is 200 either way.
pub async fn delayed_json(
    text: impl Future<Output = String> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    let mut text = Box::pin(text);
    if let Ok(text) = tokio::time::timeout(keep_alive, text.as_mut()).await {
        return reply::json_text(200, text);
    }
    let pieces = sse::with_ticks(text.map(Bytes::from).into_stream(), keep_alive, SPACE);
    let first = stream::once(std::future::ready(SPACE));
    reply::stream_response("application/json", first.chain(pieces))
}

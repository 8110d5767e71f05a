//! Sends JSON that may take minutes to clients that accept only JSON.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};

use super::{Response, reply, sse};

/// White space before a JSON text. Parsers ignore it, and it keeps the connection alive.
const SPACE: Bytes = Bytes::from_static(b" ");

/// Waits `keep_alive` for the text. After that, the reply starts with white space and repeats it
/// every `keep_alive` until the text is ready. The status is 200 in both cases.
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

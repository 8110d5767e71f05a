//! The answer to one POST: which status, which form of reply.

use std::{sync::Arc, time::Duration};

use futures_util::{
    FutureExt, StreamExt,
    future::{self, BoxFuture},
    stream::{self, BoxStream},
};
use serde_json::Value;
use tracing::Span;

use super::{
    accept::Accepts,
    endpoint::Endpoint,
    era::{self, Era},
    message::{Error, Message, Payload, Request, answered, failed, message, read},
    method::{self, Answer},
    modern,
    post::Post,
    progress,
};

/// Bounds of what one POST may take.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Most messages in one batch.
    pub max_batch: usize,
    /// How often a call that takes long reports that it goes on.
    pub keep_alive: Duration,
}

/// What to send back.
pub enum Reply {
    /// 202 without a body.
    Accepted,
    /// JSON that is there.
    Json { status: u16, text: String },
    /// JSON that will be there, status 200.
    Deferred(BoxFuture<'static, String>),
    /// Server-sent events, one message each, status 200.
    Events(BoxStream<'static, String>),
}

impl Reply {
    fn json(status: u16, message: &Value) -> Self {
        Self::Json { status, text: message.to_string() }
    }

    fn refused(status: u16, error: &Error) -> Self {
        Self::json(status, &failed(None, error))
    }
}

/// Answers a POST. Faults of shape and of headers have a status of their own; whatever a
/// well-formed legacy request leads to travels on 200, which its clients rely on.
pub async fn answer(endpoint: &Arc<dyn Endpoint>, post: Post<'_>, bounds: &Bounds) -> Reply {
    let accepts = Accepts::read(post.accept.as_deref());
    if accepts == Accepts::Neither {
        let reason = "`Accept` must allow application/json or text/event-stream";
        return Reply::refused(406, &Error::invalid_request(reason));
    }
    let reply = match read(post.body) {
        Err(error) => Reply::refused(400, &error),
        Ok(Payload::Batch(elements)) => batch(endpoint, elements, &post, bounds),
        Ok(Payload::One(message)) => one(endpoint, message, &post, (accepts, bounds)).await,
    };
    match reply {
        Reply::Json { status: 200, text } if accepts == Accepts::EventsOnly => {
            Reply::Events(stream::once(future::ready(text)).boxed())
        }
        Reply::Deferred(text) if accepts == Accepts::EventsOnly => {
            Reply::Events(text.into_stream().boxed())
        }
        reply => reply,
    }
}

async fn one(
    endpoint: &Arc<dyn Endpoint>,
    message: Message,
    post: &Post<'_>,
    form: (Accepts, &Bounds),
) -> Reply {
    match message {
        Message::Invalid(id, error) => Reply::json(400, &failed(id.as_ref(), &error)),
        Message::Notification => match post.protocol_version.as_deref() {
            Some(version) if era::is_modern(version) => Reply::Accepted,
            version => match era::check_header(version) {
                Ok(()) => Reply::Accepted,
                Err(error) => Reply::refused(400, &error),
            },
        },
        Message::Response => match post.protocol_version.as_deref() {
            Some(version) if era::is_modern(version) => {
                Reply::refused(400, &Error::invalid_request("the server sends no requests"))
            }
            Some(_) | None => Reply::Accepted,
        },
        Message::Request(request) => match Era::of(&request, post.protocol_version.as_deref()) {
            Err(error) => Reply::json(400, &failed(Some(&request.id), &error)),
            Ok(era) => requested(endpoint, (era, request), post, form).await,
        },
    }
}

async fn requested(
    endpoint: &Arc<dyn Endpoint>,
    (era, request): (Era, Request),
    post: &Post<'_>,
    (accepts, bounds): (Accepts, &Bounds),
) -> Reply {
    if era == Era::Modern
        && let Err(error) = modern::check(&request, post)
    {
        return Reply::json(400, &failed(Some(&request.id), &error));
    }
    let operation: String = request.method.chars().take(64).collect();
    Span::current().record("operation", operation.as_str());
    let caller = progress::Caller::of(&request, era);
    match method::answer(&**endpoint, era, request).await {
        Answer::Now(outcome) => {
            let status = match &outcome {
                Err(error) if era == Era::Modern && error.code == -32601 => 404,
                Ok(_) | Err(_) => 200,
            };
            Reply::json(status, &answered(&caller.id, outcome))
        }
        Answer::Later(updates) => match accepts {
            Accepts::JsonAndEvents | Accepts::EventsOnly => {
                Reply::Events(progress::messages(caller, updates, bounds.keep_alive).boxed())
            }
            Accepts::Json | Accepts::Neither => {
                let ended = progress::ended(caller, updates);
                Reply::Deferred(ended.map(|message| message.to_string()).boxed())
            }
        },
    }
}

fn batch(
    endpoint: &Arc<dyn Endpoint>,
    elements: Vec<Value>,
    post: &Post<'_>,
    bounds: &Bounds,
) -> Reply {
    if let Err(error) = era::check_batch(post.protocol_version.as_deref()) {
        return Reply::refused(400, &error);
    }
    if elements.is_empty() {
        return Reply::refused(400, &Error::invalid_request("the batch is empty"));
    }
    if bounds.max_batch < elements.len() {
        let reason = format!("the batch has more than {} messages", bounds.max_batch);
        return Reply::refused(400, &Error::invalid_request(&reason));
    }
    let messages: Vec<Message> = elements.into_iter().map(message).collect();
    let is_silent =
        |message: &Message| matches!(message, Message::Notification | Message::Response);
    if messages.iter().all(is_silent) {
        return Reply::Accepted;
    }
    let endpoint = Arc::clone(endpoint);
    Reply::Deferred(
        async move {
            let mut answers = Vec::new();
            for message in messages {
                answers.extend(element(&*endpoint, message).await);
            }
            Value::Array(answers).to_string()
        }
        .boxed(),
    )
}

/// Answers one message of a batch, one after the other so that a batch is no more work at a time
/// than a request.
async fn element(endpoint: &dyn Endpoint, message: Message) -> Option<Value> {
    let request = match message {
        Message::Notification | Message::Response => return None,
        Message::Invalid(id, error) => return Some(failed(id.as_ref(), &error)),
        Message::Request(request) => request,
    };
    let is_modern = request.meta(era::VERSION_KEY).is_some();
    if is_modern || request.method == "initialize" {
        let error = Error::invalid_request("this request cannot be part of a batch");
        return Some(failed(Some(&request.id), &error));
    }
    let caller = progress::Caller::of(&request, Era::Legacy);
    Some(match method::answer(endpoint, Era::Legacy, request).await {
        Answer::Now(outcome) => answered(&caller.id, outcome),
        Answer::Later(updates) => progress::ended(caller, updates).await,
    })
}

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
    calls::{Calls, Sender},
    endpoint::Endpoint,
    era::{self, Era},
    listen,
    message::{self, Error, Message, Payload, Request, failed, read},
    method::{self, Answer},
    modern,
    post::Post,
    progress::{self, Caller},
};

/// What holds for all messages to an edge.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Most messages in one batch.
    pub max_batch: usize,
    /// How often a call that takes long reports that it goes on.
    pub keep_alive: Duration,
    /// The calls under way, each of which its client may cancel.
    pub calls: Calls,
}

/// What to send back.
pub enum Reply {
    /// 202 without a body.
    Accepted,
    /// JSON, status 200: the answer to `initialize`, where an edge may hand out a session, and the name that the
    /// client gives itself.
    Greeting { text: String, client: Option<String> },
    /// JSON that is there.
    Json { status: u16, text: String },
    /// JSON that will be there, status 200.
    Deferred(BoxFuture<'static, String>),
    /// Server-sent events, one message each, status 200.
    Events(BoxStream<'static, String>),
    /// The same, of a client that listens for changes and waits for nothing.
    Listening(BoxStream<'static, String>),
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
    let accepts = post.accepts();
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
        Reply::Json { status: 200, text } | Reply::Greeting { text, .. }
            if accepts == Accepts::EventsOnly =>
        {
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
        Message::Cancelled(id) => {
            form.1.calls.cancel(&post.sender, &id);
            notified(post)
        }
        Message::Notification => notified(post),
        Message::Response => match post.version() {
            Some(version) if era::is_modern(version) => {
                Reply::refused(400, &Error::invalid_request("the server sends no requests"))
            }
            Some(_) | None => Reply::Accepted,
        },
        Message::Request(request) => match Era::of(&request, post.version()) {
            Err(error) => Reply::json(400, &failed(Some(&request.id), &error)),
            Ok(era) => requested(endpoint, (era, request), post, form).await,
        },
    }
}

fn notified(post: &Post<'_>) -> Reply {
    match post.version() {
        Some(version) if era::is_modern(version) => Reply::Accepted,
        version => match era::check_header(version) {
            Ok(()) => Reply::Accepted,
            Err(error) => Reply::refused(400, &error),
        },
    }
}

async fn requested(
    endpoint: &Arc<dyn Endpoint>,
    (era, mut request): (Era, Request),
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
    if era == Era::Modern && request.method == "subscriptions/listen" {
        return subscribed(&**endpoint, &request, (post, accepts), bounds);
    }
    let is_greeting = era == Era::Legacy && operation == "initialize";
    let client = request.client_name();
    if let (Era::Legacy, Some(name)) = (era, &post.client) {
        request.name_client(name);
    }
    let caller = Caller::of(&request, era);
    let underway = bounds.calls.begin(post.sender.clone(), request.id.clone());
    let answer = tokio::select! {
        biased;
        answer = method::answer(&**endpoint, era, request) => answer,
        () = underway.cancelled() => return cancelled(&caller, accepts),
    };
    match answer {
        Answer::Now(Ok(greeting)) if is_greeting => {
            let text = message::answered(&caller.id, Ok(greeting)).to_string();
            Reply::Greeting { text, client }
        }
        Answer::Now(outcome) => Reply::json(
            outcome.as_ref().err().map_or(200, |error| status(era, error)),
            &message::answered(&caller.id, outcome),
        ),
        Answer::Later(updates) => match accepts {
            Accepts::JsonAndEvents | Accepts::EventsOnly => {
                let call = (updates, underway);
                Reply::Events(progress::messages(caller, call, bounds.keep_alive).boxed())
            }
            Accepts::Json | Accepts::Neither => {
                let ended = progress::ended(caller, (updates, underway));
                Reply::Deferred(ended.map(|message| message.to_string()).boxed())
            }
        },
    }
}

/// Returns the status of an error that answers a well-formed request.
fn status(era: Era, error: &Error) -> u16 {
    if era == Era::Modern && error.code == -32601 { 404 } else { 200 }
}

fn subscribed(
    endpoint: &dyn Endpoint,
    request: &Request,
    (post, accepts): (&Post<'_>, Accepts),
    bounds: &Bounds,
) -> Reply {
    let refused = |status, error: &Error| Reply::json(status, &failed(Some(&request.id), error));
    if accepts == Accepts::Json {
        let reason = "`Accept` must allow text/event-stream";
        return refused(406, &Error::invalid_request(reason));
    }
    let underway = bounds.calls.begin(post.sender.clone(), request.id.clone());
    match listen::subscribe(endpoint, request, underway) {
        Ok(messages) => Reply::Listening(messages),
        Err(error) => refused(status(Era::Modern, &error), &error),
    }
}

/// Ends a call that its client has cancelled. It expects no answer, but HTTP does where there is no stream.
fn cancelled(caller: &Caller, accepts: Accepts) -> Reply {
    match accepts {
        Accepts::JsonAndEvents | Accepts::EventsOnly => Reply::Events(stream::empty().boxed()),
        Accepts::Json | Accepts::Neither => {
            Reply::json(200, &failed(Some(&caller.id), &Error::cancelled()))
        }
    }
}

fn batch(
    endpoint: &Arc<dyn Endpoint>,
    elements: Vec<Value>,
    post: &Post<'_>,
    bounds: &Bounds,
) -> Reply {
    if let Err(error) = era::check_batch(post.version()) {
        return Reply::refused(400, &error);
    }
    if elements.is_empty() {
        return Reply::refused(400, &Error::invalid_request("the batch is empty"));
    }
    if bounds.max_batch < elements.len() {
        let reason = format!("the batch has more than {} messages", bounds.max_batch);
        return Reply::refused(400, &Error::invalid_request(&reason));
    }
    let messages: Vec<Message> = elements.into_iter().map(message::message).collect();
    for message in &messages {
        if let Message::Cancelled(id) = message {
            bounds.calls.cancel(&post.sender, id);
        }
    }
    let is_silent = |message: &Message| {
        matches!(message, Message::Notification | Message::Cancelled(_) | Message::Response)
    };
    if messages.iter().all(is_silent) {
        return Reply::Accepted;
    }
    let (endpoint, sender) = (Arc::clone(endpoint), post.sender.clone());
    let calls = bounds.calls.clone();
    Reply::Deferred(
        async move {
            let mut answers = Vec::new();
            for message in messages {
                answers.extend(element(&*endpoint, message, (&calls, &sender)).await);
            }
            Value::Array(answers).to_string()
        }
        .boxed(),
    )
}

/// Answers one message of a batch, one after the other so that a batch is no more work at a time
/// than a request.
async fn element(
    endpoint: &dyn Endpoint,
    message: Message,
    (calls, sender): (&Calls, &Sender),
) -> Option<Value> {
    let request = match message {
        Message::Notification | Message::Cancelled(_) | Message::Response => return None,
        Message::Invalid(id, error) => return Some(failed(id.as_ref(), &error)),
        Message::Request(request) => request,
    };
    let is_modern = request.meta(era::VERSION_KEY).is_some();
    if is_modern || request.method == "initialize" {
        let error = Error::invalid_request("this request cannot be part of a batch");
        return Some(failed(Some(&request.id), &error));
    }
    let caller = Caller::of(&request, Era::Legacy);
    let underway = calls.begin(sender.clone(), request.id.clone());
    let answer = tokio::select! {
        biased;
        answer = method::answer(endpoint, Era::Legacy, request) => answer,
        () = underway.cancelled() => Answer::Now(Err(Error::cancelled())),
    };
    Some(match answer {
        Answer::Now(outcome) => message::answered(&caller.id, outcome),
        Answer::Later(updates) => progress::ended(caller, (updates, underway)).await,
    })
}

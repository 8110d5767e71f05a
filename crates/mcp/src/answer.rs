//! Answers one POST: chooses the status and the form of the reply.

use std::{sync::Arc, time::Duration};

use futures_util::{
    FutureExt, StreamExt,
    future::{self, BoxFuture},
    stream::{self, BoxStream},
};
use serde_json::Value;
use tracing::Span;

use super::{
    calls::{CallRegistry, MessageSender},
    endpoint::Endpoint,
    era::{self, ProtocolEra},
    message::{
        self, JsonRpcError, JsonRpcMessage, JsonRpcPayload, JsonRpcRequest, build_error_response,
        parse_payload,
    },
    method::{self, MethodAnswer},
    post::{AcceptedFormats, McpPost},
    stream::{self as messages, ReplyTarget, RunningCall},
};

/// Limits and state shared by all messages to an edge.
#[derive(Debug, Clone)]
pub struct McpContext {
    /// Maximum messages in one batch.
    pub max_batch: usize,
    /// Interval between progress messages of a long-running call.
    pub keep_alive: Duration,
    /// Running calls, which their clients may cancel.
    pub calls: CallRegistry,
}

/// A reply to send.
pub enum McpReply {
    /// Status 202 without a body.
    Accepted,
    /// Status 200 with the answer to `initialize` and the client's name, for a session of the edge.
    Greeting {
        text: String,
        client: Option<String>,
    },
    Json {
        status: u16,
        text: String,
    },
    /// Status 200 with JSON that is computed later.
    Deferred(BoxFuture<'static, String>),
    /// Status 200 with server-sent events, one message each.
    Events(BoxStream<'static, String>),
    /// Status 200 with server-sent events for a client that only listens for changes.
    Listening(BoxStream<'static, String>),
}

impl McpReply {
    fn from_json(status: u16, message: &Value) -> Self {
        Self::Json { status, text: message.to_string() }
    }

    fn from_error(status: u16, error: &JsonRpcError) -> Self {
        Self::from_json(status, &build_error_response(None, error))
    }
}

/// Answers a POST. Malformed messages and invalid headers have their own status; any result of a
/// well-formed legacy request has status 200, on which its clients rely.
pub async fn answer_post(
    endpoint: &Arc<dyn Endpoint>,
    post: McpPost<'_>,
    context: &McpContext,
) -> McpReply {
    let accepts = post.accepted_formats();
    if accepts == AcceptedFormats::Neither {
        let reason = "`Accept` must allow application/json or text/event-stream";
        return McpReply::from_error(406, &JsonRpcError::invalid_request(reason));
    }
    let exchange = PostExchange { endpoint, post, accepts, context };
    let reply = match parse_payload(exchange.post.body) {
        Err(error) => McpReply::from_error(400, &error),
        Ok(JsonRpcPayload::Batch(elements)) => exchange.answer_batch(elements),
        Ok(JsonRpcPayload::One(message)) => exchange.answer_message(message).await,
    };
    match reply {
        McpReply::Json { status: 200, text } | McpReply::Greeting { text, .. }
            if accepts == AcceptedFormats::EventsOnly =>
        {
            McpReply::Events(stream::once(future::ready(text)).boxed())
        }
        McpReply::Deferred(text) if accepts == AcceptedFormats::EventsOnly => {
            McpReply::Events(text.into_stream().boxed())
        }
        reply => reply,
    }
}

/// A POST that is being answered.
struct PostExchange<'a> {
    endpoint: &'a Arc<dyn Endpoint>,
    post: McpPost<'a>,
    accepts: AcceptedFormats,
    context: &'a McpContext,
}

impl PostExchange<'_> {
    async fn answer_message(&self, message: JsonRpcMessage) -> McpReply {
        match message {
            JsonRpcMessage::Invalid(id, error) => {
                McpReply::from_json(400, &build_error_response(id.as_ref(), &error))
            }
            JsonRpcMessage::Cancelled(id) => {
                self.context.calls.cancel_call(&self.post.sender, &id);
                self.accept_notification()
            }
            JsonRpcMessage::Notification => self.accept_notification(),
            JsonRpcMessage::Response => match self.post.protocol_version() {
                Some(version) if era::is_modern(version) => McpReply::from_error(
                    400,
                    &JsonRpcError::invalid_request("the server sends no requests"),
                ),
                Some(_) | None => McpReply::Accepted,
            },
            JsonRpcMessage::Request(request) => {
                match ProtocolEra::detect_era(&request, self.post.protocol_version()) {
                    Err(error) => {
                        McpReply::from_json(400, &build_error_response(Some(&request.id), &error))
                    }
                    Ok(era) => self.answer_request(era, request).await,
                }
            }
        }
    }

    fn accept_notification(&self) -> McpReply {
        match self.post.protocol_version() {
            Some(version) if era::is_modern(version) => McpReply::Accepted,
            version => match era::check_header(version) {
                Ok(()) => McpReply::Accepted,
                Err(error) => McpReply::from_error(400, &error),
            },
        }
    }

    async fn answer_request(&self, era: ProtocolEra, mut request: JsonRpcRequest) -> McpReply {
        if era == ProtocolEra::Modern
            && let Err(error) = era::check_request(&request, &self.post)
        {
            return McpReply::from_json(400, &build_error_response(Some(&request.id), &error));
        }
        let operation: String = request.method.chars().take(64).collect();
        Span::current().record("operation", operation.as_str());
        if era == ProtocolEra::Modern && request.method == "subscriptions/listen" {
            return self.answer_subscription(&request);
        }
        let is_greeting = era == ProtocolEra::Legacy && operation == "initialize";
        let client = request.client_name();
        if let (ProtocolEra::Legacy, Some(name)) = (era, &self.post.client) {
            request.name_client(name);
        }
        let caller = ReplyTarget::from_request(&request, era);
        let underway = self.context.calls.begin_call(self.post.sender.clone(), request.id.clone());
        let answer = tokio::select! {
            biased;
            answer = method::answer_method(&**self.endpoint, era, request) => answer,
            () = underway.wait_until_cancelled() => return self.reply_to_cancelled(&caller),
        };
        match answer {
            MethodAnswer::Now(Ok(greeting)) if is_greeting => {
                let text = message::build_response(&caller.id, Ok(greeting)).to_string();
                McpReply::Greeting { text, client }
            }
            MethodAnswer::Now(outcome) => McpReply::from_json(
                outcome.as_ref().err().map_or(200, |error| error_status(era, error)),
                &message::build_response(&caller.id, outcome),
            ),
            MethodAnswer::Later(updates) => match self.accepts {
                AcceptedFormats::JsonAndEvents | AcceptedFormats::EventsOnly => {
                    let call = RunningCall { updates, guard: underway };
                    McpReply::Events(
                        messages::stream_messages(caller, call, self.context.keep_alive).boxed(),
                    )
                }
                AcceptedFormats::Json | AcceptedFormats::Neither => {
                    let call = RunningCall { updates, guard: underway };
                    let ended = messages::wait_for_answer(caller, call);
                    McpReply::Deferred(ended.map(|message| message.to_string()).boxed())
                }
            },
        }
    }

    fn answer_subscription(&self, request: &JsonRpcRequest) -> McpReply {
        let refused = |status, error: &JsonRpcError| {
            McpReply::from_json(status, &build_error_response(Some(&request.id), error))
        };
        if self.accepts == AcceptedFormats::Json {
            let reason = "`Accept` must allow text/event-stream";
            return refused(406, &JsonRpcError::invalid_request(reason));
        }
        let underway = self.context.calls.begin_call(self.post.sender.clone(), request.id.clone());
        match messages::open_subscription(&**self.endpoint, request, underway) {
            Ok(changes) => McpReply::Listening(changes),
            Err(error) => refused(error_status(ProtocolEra::Modern, &error), &error),
        }
    }

    /// Replies to a cancelled call, for which HTTP requires an answer if there is no stream.
    fn reply_to_cancelled(&self, caller: &ReplyTarget) -> McpReply {
        match self.accepts {
            AcceptedFormats::JsonAndEvents | AcceptedFormats::EventsOnly => {
                McpReply::Events(stream::empty().boxed())
            }
            AcceptedFormats::Json | AcceptedFormats::Neither => McpReply::from_json(
                200,
                &build_error_response(Some(&caller.id), &JsonRpcError::request_cancelled()),
            ),
        }
    }

    fn answer_batch(&self, elements: Vec<Value>) -> McpReply {
        if let Err(error) = era::check_batch(self.post.protocol_version()) {
            return McpReply::from_error(400, &error);
        }
        if elements.is_empty() {
            return McpReply::from_error(400, &JsonRpcError::invalid_request("the batch is empty"));
        }
        if self.context.max_batch < elements.len() {
            let reason = format!("the batch has more than {} messages", self.context.max_batch);
            return McpReply::from_error(400, &JsonRpcError::invalid_request(&reason));
        }
        let parsed: Vec<JsonRpcMessage> =
            elements.into_iter().map(message::parse_message).collect();
        for message in &parsed {
            if let JsonRpcMessage::Cancelled(id) = message {
                self.context.calls.cancel_call(&self.post.sender, id);
            }
        }
        let is_silent = |message: &JsonRpcMessage| {
            matches!(
                message,
                JsonRpcMessage::Notification
                    | JsonRpcMessage::Cancelled(_)
                    | JsonRpcMessage::Response
            )
        };
        if parsed.iter().all(is_silent) {
            return McpReply::Accepted;
        }
        let endpoint = Arc::clone(self.endpoint);
        let sender = self.post.sender.clone();
        let calls = self.context.calls.clone();
        McpReply::Deferred(
            async move {
                let mut answers = Vec::new();
                for message in parsed {
                    answers
                        .extend(answer_batch_element(&*endpoint, message, &calls, &sender).await);
                }
                Value::Array(answers).to_string()
            }
            .boxed(),
        )
    }
}

/// Returns the status of an error in reply to a well-formed request.
fn error_status(era: ProtocolEra, error: &JsonRpcError) -> u16 {
    if era == ProtocolEra::Modern && error.code == -32601 { 404 } else { 200 }
}

/// Answers one message of a batch, one at a time, so that a batch uses no more than a request.
async fn answer_batch_element(
    endpoint: &dyn Endpoint,
    message: JsonRpcMessage,
    calls: &CallRegistry,
    sender: &MessageSender,
) -> Option<Value> {
    let request = match message {
        JsonRpcMessage::Notification | JsonRpcMessage::Cancelled(_) | JsonRpcMessage::Response => {
            return None;
        }
        JsonRpcMessage::Invalid(id, error) => {
            return Some(build_error_response(id.as_ref(), &error));
        }
        JsonRpcMessage::Request(request) => request,
    };
    let is_modern = request.meta_value(era::VERSION_KEY).is_some();
    if is_modern || request.method == "initialize" {
        let error = JsonRpcError::invalid_request("this request cannot be part of a batch");
        return Some(build_error_response(Some(&request.id), &error));
    }
    let caller = ReplyTarget::from_request(&request, ProtocolEra::Legacy);
    let underway = calls.begin_call(sender.clone(), request.id.clone());
    let answer = tokio::select! {
        biased;
        answer = method::answer_method(endpoint, ProtocolEra::Legacy, request) => answer,
        () = underway.wait_until_cancelled() => MethodAnswer::Now(Err(JsonRpcError::request_cancelled())),
    };
    Some(match answer {
        MethodAnswer::Now(outcome) => message::build_response(&caller.id, outcome),
        MethodAnswer::Later(updates) => {
            let call = RunningCall { updates, guard: underway };
            messages::wait_for_answer(caller, call).await
        }
    })
}

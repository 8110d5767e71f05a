//! The life of one client: started, served, and started again until it is stopped or fails too often.

use std::sync::Arc;

use rmcp::{
    ClientServiceExt, RoleClient,
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode, RunningService},
    transport::async_rw::AsyncRwTransport,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    Catalogue, MAX_MESSAGE_BYTES, MAX_PROCESSES, MAX_SHARE, Start, ToolkitError, catalogue,
    handler::Handler,
    http,
    process::Process,
    session::{EXPLAINED, Session},
    state::{Inner, Next, Phase},
    usage::Bounds,
};
use crate::spec::Transport;

type Service = RunningService<RoleClient, Handler>;

/// A running server, and what belongs to it.
struct Connection {
    session: Arc<Session>,
    service: Service,
    changed: Arc<Notify>,
}

/// Why a server is no longer served.
enum Why {
    Asked,
    /// The phase has changed already.
    Idle,
    Ended(String),
}

/// What a run does next.
enum Then {
    Stop(Phase),
    Again,
}

/// Starts the server and serves it until `run` is cancelled, it is idle, or it ended too often.
pub(super) async fn supervise(inner: Arc<Inner>, run: CancellationToken) {
    loop {
        match attempt(&inner, &run).await {
            Then::Stop(phase) => return inner.enter(phase),
            Then::Again => inner.note_restart(),
        }
    }
}

/// Starts the server once and serves it to its end.
async fn attempt(inner: &Inner, run: &CancellationToken) -> Then {
    let name = inner.name.as_str();
    let room = match room(inner) {
        Ok(room) => room,
        Err(error) => {
            inner.note_error(error.clone());
            inner.enter(Phase::Stopping(Some(error)));
            return Then::Stop(Phase::Stopped);
        }
    };
    let mut process = None;
    let started = tokio::select! {
        () = run.cancelled() => None,
        started = timeout(inner.timing.start, start(inner, &mut process)) => Some(started),
    };
    let started = match started {
        None => Err(None),
        Some(Ok(Ok(started))) => Ok(started),
        Some(Ok(Err(error))) => Err(Some(error)),
        Some(Err(_)) => Err(Some(slow(inner, process.as_ref()))),
    };
    let (mut connection, found) = match started {
        Ok(started) => started,
        Err(error) => {
            let next = error.as_ref().map(|error| inner.note_failed_start(error));
            if let Some(error) = &error {
                warn!(toolkit.name = name, %error, "toolkit did not start");
            }
            inner.enter(Phase::Stopping(error));
            close(inner, process, None).await;
            let phase = if next == Some(Next::Fail) { Phase::Failing } else { Phase::Stopped };
            return Then::Stop(phase);
        }
    };
    info!(toolkit.name = name, toolkit.tools = found.tools.len(), "toolkit is ready");
    inner.publish(found);
    inner.note_start();
    inner.enter(Phase::Ready(Arc::clone(&connection.session)));
    let why = serve(inner, run, &mut connection, &mut process).await;
    let next = leave(inner, &connection.session, why);
    close(inner, process, Some(connection.service)).await;
    drop(room);
    match next {
        None => Then::Stop(Phase::Stopped),
        Some(Next::Fail) => Then::Stop(Phase::Failing),
        Some(Next::Restart(wait)) => tokio::select! {
            () = run.cancelled() => Then::Stop(Phase::Stopped),
            () = sleep(wait) => Then::Again,
        },
    }
}

/// Changes the phase before those who call hear that the connection ended, so that none of them meets
/// it again.
fn leave(inner: &Inner, session: &Session, why: Why) -> Option<Next> {
    let name = inner.name.as_str();
    match why {
        Why::Asked | Why::Idle => {
            debug!(toolkit.name = name, "toolkit stops");
            inner.enter(Phase::Stopping(None));
            session.finish("it was stopped".to_owned());
            None
        }
        Why::Ended(reason) => {
            warn!(toolkit.name = name, reason, "toolkit ended");
            let next = inner.note_end(inner.not_running(reason.as_str()));
            inner.enter(match next {
                Next::Restart(_) => Phase::Starting,
                Next::Fail => Phase::Stopping(Some(inner.failing())),
            });
            session.finish(reason);
            Some(next)
        }
    }
}

/// Takes room for a process.
fn room(inner: &Inner) -> Result<Vec<OwnedSemaphorePermit>, ToolkitError> {
    let Transport::Stdio { .. } = inner.spec.transport else { return Ok(Vec::new()) };
    let bounds = [(inner.share.as_ref(), MAX_SHARE), (Some(&inner.processes), MAX_PROCESSES)];
    let mut room = Vec::new();
    for (bound, most) in bounds {
        let Some(bound) = bound else { continue };
        let taken = Arc::clone(bound).try_acquire_owned();
        let full = |_| ToolkitError::TooMany { name: inner.name.to_string(), most };
        room.push(taken.map_err(full)?);
    }
    Ok(room)
}

fn slow(inner: &Inner, process: Option<&Process>) -> ToolkitError {
    let seconds = inner.timing.start.as_secs_f32();
    let mut reason = vec![format!("it did not start within {seconds} s")];
    if let Some(process) = process {
        let lines = process.output.malformed_lines();
        if lines > 0 {
            reason.push(format!(", and printed {lines} lines that are no messages of MCP"));
        }
        if let Some(words) = process.output.reason() {
            reason.push(format!(", saying: {}", inner.words.said(&words)));
        }
    }
    inner.not_running(reason.concat())
}

/// Starts the server and asks for its tools. A server that does not know `initialize` is of the later
/// protocol, and is started again for that.
async fn start(
    inner: &Inner,
    process: &mut Option<Process>,
) -> Result<(Connection, Catalogue), ToolkitError> {
    match connect(inner, process, ClientLifecycleMode::Initialize).await {
        Err(Refusal::Initialize(_)) => {
            if let Some(process) = process.take() {
                process.stop(&inner.grace).await;
            }
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            let discover = ClientLifecycleMode::Discover { preferred_versions };
            connect(inner, process, discover).await
        }
        connected => connected,
    }
    .map_err(|refusal| match refusal {
        Refusal::Initialize(reason) | Refusal::Other(reason) => inner.not_running(reason),
    })
}

/// Why no connection came about.
enum Refusal {
    /// The server answered that it does not do this.
    Initialize(String),
    Other(String),
}

async fn connect(
    inner: &Inner,
    process: &mut Option<Process>,
    mode: ClientLifecycleMode,
) -> Result<(Connection, Catalogue), Refusal> {
    let changed = Arc::new(Notify::new());
    let handler = Handler { changed: Arc::clone(&changed) };
    let (service, found) = match &inner.spec.transport {
        Transport::Http { url, headers } => {
            let is_confined = inner.is_of_token();
            let transport = http::transport(url, headers, &inner.timing, is_confined)
                .map_err(Refusal::Other)?;
            let service = handler.serve_with_lifecycle(transport, mode).await;
            let service = service.map_err(|error| refusal(inner, &error))?;
            listed(inner, service).await?
        }
        Transport::Stdio { .. } => {
            let asked =
                Start { owner: inner.owner.as_deref(), name: &inner.name, spec: &inner.spec };
            let launch = inner.launcher.launch(asked).await.map_err(Refusal::Other)?;
            let bounds = Bounds::new(&inner.spec, &launch, &inner.timing, &inner.tasks);
            let (started, (read, write)) =
                Process::start(&launch, bounds).map_err(Refusal::Other)?;
            let process = process.insert(started);
            let transport = AsyncRwTransport::new_client(read, write)
                .with_max_line_length(MAX_MESSAGE_BYTES + 1);
            let greeted = async {
                let service = handler.serve_with_lifecycle(transport, mode).await;
                listed(inner, service.map_err(|error| refusal(inner, &error))?).await
            };
            // A process that ends says why; that its output closed says less.
            tokio::select! {
                biased;
                greeted = greeted => match greeted {
                    Err(Refusal::Other(reason)) => {
                        let end = timeout(EXPLAINED, process.ended()).await;
                        return Err(Refusal::Other(end.map_or(reason, |end| inner.words.said(&end))));
                    }
                    greeted => greeted?,
                },
                end = process.ended() => return Err(Refusal::Other(inner.words.said(&end))),
            }
        }
    };
    let (id, output) = match process {
        Some(process) => (process.id(), Some(Arc::clone(&process.output))),
        None => (None, None),
    };
    let session = Arc::new(Session::new(service.peer().clone(), id, output));
    Ok((Connection { session, service, changed }, found))
}

/// Asks a server that has just been greeted for its tools.
async fn listed(inner: &Inner, service: Service) -> Result<(Service, Catalogue), Refusal> {
    // A list is kept here, and asked for again when it changed.
    service.peer().set_response_cache_config(rmcp::service::ClientCacheConfig::disabled()).await;
    match catalogue::fetch(service.peer()).await {
        Ok(found) => Ok((service, found)),
        Err(error) => {
            let reason = inner.words.fault(&error);
            Err(Refusal::Other(format!("its tools cannot be listed: {reason}")))
        }
    }
}

fn refusal(inner: &Inner, error: &ClientInitializeError) -> Refusal {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            Refusal::Initialize(format!("it refused: {}", inner.words.said(&error.message)))
        }
        ClientInitializeError::TransportError { error, .. } => {
            Refusal::Other(inner.words.transport_fault(error))
        }
        // It would repeat the answer.
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
            if matches!(inner.spec.transport, Transport::Http { .. }) =>
        {
            Refusal::Other(http::NO_MCP.to_owned())
        }
        error => Refusal::Other(inner.words.said(&error.to_string())),
    }
}

/// Serves the server until it ends or is to end.
async fn serve(
    inner: &Inner,
    run: &CancellationToken,
    connection: &mut Connection,
    process: &mut Option<Process>,
) -> Why {
    let ended = async {
        match process {
            Some(process) => inner.words.said(&process.ended().await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = run.cancelled() => Why::Asked,
        end = ended => Why::Ended(end),
        why = watch(inner, &connection.session, &connection.changed) => why,
    }
}

/// Sees to it that the server answers and is used, and that its list is the present one.
async fn watch(inner: &Inner, session: &Session, changed: &Notify) -> Why {
    let timing = &inner.timing;
    loop {
        let is_suspect = tokio::select! {
            () = session.suspect.notified() => true,
            () = changed.notified() => {
                renew(inner, session).await;
                // One that changes its list without end has it read at its pace, not at ours.
                sleep(timing.tick).await;
                false
            }
            () = sleep(timing.tick) => false,
        };
        if inner.leave_if_idle(session) {
            return Why::Idle;
        }
        if (is_suspect || session.heard().elapsed() >= timing.silence)
            && let Some(reason) = session.ping(timing, &inner.words).await
        {
            if session.process.is_some() && session.peer.is_transport_closed() {
                // It is ending, and says more of that itself.
                sleep(EXPLAINED).await;
            }
            return Why::Ended(reason);
        }
    }
}

/// Asks for the list again. The one before stays where that fails.
async fn renew(inner: &Inner, session: &Session) {
    let error = match timeout(inner.timing.start, catalogue::fetch(&session.peer)).await {
        Ok(Ok(found)) => {
            debug!(toolkit.name = inner.name.as_str(), "toolkit changed its tools");
            return inner.publish(found);
        }
        Ok(Err(error)) => inner.words.fault(&error),
        Err(_) => "it took too long".to_owned(),
    };
    session.suspect.notify_one();
    let reason = format!("its tools changed and cannot be listed: {error}");
    inner.note_error(inner.not_running(reason));
}

/// Closes the connection, and ends the process where there is one.
async fn close(inner: &Inner, process: Option<Process>, service: Option<Service>) {
    if let Some(mut service) = service {
        inner.grace.limit(service.close()).await;
    }
    if let Some(process) = process {
        inner.note_malformed(process.output.malformed_lines());
        process.stop(&inner.grace).await;
    }
}

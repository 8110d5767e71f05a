//! Starts, serves and restarts the server of one client, until it is stopped or fails too often.

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
    LaunchRequest, MAX_MESSAGE_BYTES, MAX_PROCESSES, MAX_SHARE, ToolCatalogue, ToolkitError,
    catalogue, http,
    process::ToolkitProcess,
    session::{MAX_EXPLANATION_WAIT, ToolkitClientHandler, ToolkitSession},
    state::{ClientInner, ClientPhase, RestartDecision},
    usage::ResourceLimits,
};
use crate::spec::ToolkitTransport;

type ClientService = RunningService<RoleClient, ToolkitClientHandler>;

struct ToolkitConnection {
    session: Arc<ToolkitSession>,
    service: ClientService,
    changed: Arc<Notify>,
}

enum ServeEnd {
    Asked,
    /// The phase has already changed.
    Idle,
    Ended(String),
}

enum SupervisorStep {
    Stop(ClientPhase),
    Again,
}

/// Runs the server until `run` is cancelled, the server is idle or it failed too often.
pub(super) async fn supervise_client(inner: Arc<ClientInner>, run: CancellationToken) {
    loop {
        match run_once(&inner, &run).await {
            SupervisorStep::Stop(phase) => return inner.enter_phase(phase),
            SupervisorStep::Again => inner.record_restart(),
        }
    }
}

async fn run_once(inner: &ClientInner, run: &CancellationToken) -> SupervisorStep {
    let name = inner.name.as_str();
    let room = match reserve_process_slots(inner) {
        Ok(room) => room,
        Err(error) => {
            inner.record_error(error.clone());
            inner.enter_phase(ClientPhase::Stopping(Some(error)));
            return SupervisorStep::Stop(ClientPhase::Stopped);
        }
    };
    let mut process = None;
    let started = tokio::select! {
        () = run.cancelled() => None,
        started = timeout(inner.timing.start, start_server(inner, &mut process)) => Some(started),
    };
    let started = match started {
        None => Err(None),
        Some(Ok(Ok(started))) => Ok(started),
        Some(Ok(Err(error))) => Err(Some(error)),
        Some(Err(_)) => Err(Some(build_start_timeout_error(inner, process.as_ref()))),
    };
    let (mut connection, found) = match started {
        Ok(started) => started,
        Err(error) => {
            let next = error.as_ref().map(|error| inner.record_failed_start(error));
            if let Some(error) = &error {
                warn!(toolkit.name = name, %error, "toolkit did not start");
            }
            inner.enter_phase(ClientPhase::Stopping(error));
            close_connection(inner, process, None).await;
            let phase = if next == Some(RestartDecision::Fail) {
                ClientPhase::Failing
            } else {
                ClientPhase::Stopped
            };
            return SupervisorStep::Stop(phase);
        }
    };
    info!(toolkit.name = name, toolkit.tools = found.tools.len(), "toolkit is ready");
    inner.publish_catalogue(found);
    inner.record_start();
    inner.enter_phase(ClientPhase::Ready(Arc::clone(&connection.session)));
    let why = serve_until_end(inner, run, &mut connection, &mut process).await;
    let next = end_session(inner, &connection.session, why);
    close_connection(inner, process, Some(connection.service)).await;
    drop(room);
    match next {
        None => SupervisorStep::Stop(ClientPhase::Stopped),
        Some(RestartDecision::Fail) => SupervisorStep::Stop(ClientPhase::Failing),
        Some(RestartDecision::Restart(wait)) => tokio::select! {
            () = run.cancelled() => SupervisorStep::Stop(ClientPhase::Stopped),
            () = sleep(wait) => SupervisorStep::Again,
        },
    }
}

/// Changes the phase before callers learn that the connection ended, so that none of them uses it again.
fn end_session(
    inner: &ClientInner,
    session: &ToolkitSession,
    why: ServeEnd,
) -> Option<RestartDecision> {
    let name = inner.name.as_str();
    match why {
        ServeEnd::Asked | ServeEnd::Idle => {
            debug!(toolkit.name = name, "toolkit stops");
            inner.enter_phase(ClientPhase::Stopping(None));
            session.mark_ended("it was stopped".to_owned());
            None
        }
        ServeEnd::Ended(reason) => {
            warn!(toolkit.name = name, reason, "toolkit ended");
            let next = inner.record_end(inner.not_running(reason.as_str()));
            inner.enter_phase(match next {
                RestartDecision::Restart(_) => ClientPhase::Starting,
                RestartDecision::Fail => ClientPhase::Stopping(Some(inner.failing_error())),
            });
            session.mark_ended(reason);
            Some(next)
        }
    }
}

fn reserve_process_slots(inner: &ClientInner) -> Result<Vec<OwnedSemaphorePermit>, ToolkitError> {
    let ToolkitTransport::Stdio { .. } = inner.spec.transport else { return Ok(Vec::new()) };
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

fn build_start_timeout_error(
    inner: &ClientInner,
    process: Option<&ToolkitProcess>,
) -> ToolkitError {
    let seconds = inner.timing.start.as_secs_f32();
    let mut reason = vec![format!("it did not start within {seconds} s")];
    if let Some(process) = process {
        let lines = process.output.malformed_lines();
        if lines > 0 {
            reason.push(format!(", and printed {lines} lines that are not messages of MCP"));
        }
        if let Some(words) = process.output.failure_reason() {
            reason.push(format!(", saying: {}", inner.redactor.redact_message(&words)));
        }
    }
    inner.not_running(reason.concat())
}

/// A server that refuses `initialize` speaks the later protocol and is started again with it.
async fn start_server(
    inner: &ClientInner,
    process: &mut Option<ToolkitProcess>,
) -> Result<(ToolkitConnection, ToolCatalogue), ToolkitError> {
    match connect_server(inner, process, ClientLifecycleMode::Initialize).await {
        Err(ConnectFailure::Initialize(_)) => {
            if let Some(process) = process.take() {
                process.stop(&inner.grace).await;
            }
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            let discover = ClientLifecycleMode::Discover { preferred_versions };
            connect_server(inner, process, discover).await
        }
        connected => connected,
    }
    .map_err(|refusal| match refusal {
        ConnectFailure::Initialize(reason) | ConnectFailure::Other(reason) => {
            inner.not_running(reason)
        }
    })
}

enum ConnectFailure {
    /// The server refused the request.
    Initialize(String),
    Other(String),
}

async fn connect_server(
    inner: &ClientInner,
    process: &mut Option<ToolkitProcess>,
    mode: ClientLifecycleMode,
) -> Result<(ToolkitConnection, ToolCatalogue), ConnectFailure> {
    let changed = Arc::new(Notify::new());
    let handler = ToolkitClientHandler { changed: Arc::clone(&changed) };
    let (service, found) = match &inner.spec.transport {
        ToolkitTransport::Http { url, headers } => {
            let is_confined = inner.is_owned_by_token();
            let transport = http::build_transport(url, headers, &inner.timing, is_confined)
                .map_err(ConnectFailure::Other)?;
            let service = handler
                .serve_with_lifecycle(transport, mode)
                .await
                .map_err(|error| classify_connect_error(inner, &error))?;
            fetch_initial_catalogue(inner, service).await?
        }
        ToolkitTransport::Stdio { .. } => {
            let asked = LaunchRequest {
                owner: inner.owner.as_deref(),
                name: &inner.name,
                spec: &inner.spec,
            };
            let launch =
                inner.launcher.build_command(asked).await.map_err(ConnectFailure::Other)?;
            let bounds = ResourceLimits::new(&inner.spec, &launch, &inner.timing, &inner.tasks);
            let (started, (read, write)) =
                ToolkitProcess::start(&launch, bounds).map_err(ConnectFailure::Other)?;
            let running = process.insert(started);
            let transport = AsyncRwTransport::new_client(read, write)
                .with_max_line_length(MAX_MESSAGE_BYTES + 1);
            let greeted = async {
                let service = handler.serve_with_lifecycle(transport, mode).await;
                fetch_initial_catalogue(
                    inner,
                    service.map_err(|error| classify_connect_error(inner, &error))?,
                )
                .await
            };
            // The exit of a process explains more than its closed output.
            tokio::select! {
                biased;
                greeted = greeted => match greeted {
                    Err(ConnectFailure::Other(reason)) => {
                        let end = timeout(MAX_EXPLANATION_WAIT, running.wait_for_end()).await;
                        return Err(ConnectFailure::Other(end.map_or(reason, |end| inner.redactor.redact_message(&end))));
                    }
                    greeted => greeted?,
                },
                end = running.wait_for_end() => return Err(ConnectFailure::Other(inner.redactor.redact_message(&end))),
            }
        }
    };
    let (id, output) = match process {
        Some(process) => (process.id(), Some(Arc::clone(&process.output))),
        None => (None, None),
    };
    let session = Arc::new(ToolkitSession::new(service.peer().clone(), id, output));
    Ok((ToolkitConnection { session, service, changed }, found))
}

async fn fetch_initial_catalogue(
    inner: &ClientInner,
    service: ClientService,
) -> Result<(ClientService, ToolCatalogue), ConnectFailure> {
    // The catalogue is stored here and refreshed when it changes.
    service.peer().set_response_cache_config(rmcp::service::ClientCacheConfig::disabled()).await;
    match catalogue::fetch_catalogue(service.peer()).await {
        Ok(found) => Ok((service, found)),
        Err(error) => {
            let reason = inner.redactor.describe_fault(&error);
            Err(ConnectFailure::Other(format!("its tools cannot be listed: {reason}")))
        }
    }
}

fn classify_connect_error(inner: &ClientInner, error: &ClientInitializeError) -> ConnectFailure {
    match error {
        ClientInitializeError::JsonRpcError(error) => ConnectFailure::Initialize(format!(
            "it refused: {}",
            inner.redactor.redact_message(&error.message)
        )),
        ClientInitializeError::TransportError { error, .. } => {
            ConnectFailure::Other(inner.redactor.transport_fault(error))
        }
        // The message of this error would repeat the answer.
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
            if matches!(inner.spec.transport, ToolkitTransport::Http { .. }) =>
        {
            ConnectFailure::Other(http::NO_MCP.to_owned())
        }
        error => ConnectFailure::Other(inner.redactor.redact_message(&error.to_string())),
    }
}

async fn serve_until_end(
    inner: &ClientInner,
    run: &CancellationToken,
    connection: &mut ToolkitConnection,
    process: &mut Option<ToolkitProcess>,
) -> ServeEnd {
    let ended = async {
        match process {
            Some(process) => inner.redactor.redact_message(&process.wait_for_end().await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = run.cancelled() => ServeEnd::Asked,
        end = ended => ServeEnd::Ended(end),
        why = watch_session(inner, &connection.session, &connection.changed) => why,
    }
}

/// Watches the session: pings the server, detects idleness and refreshes its list of tools.
async fn watch_session(
    inner: &ClientInner,
    session: &ToolkitSession,
    changed: &Notify,
) -> ServeEnd {
    let timing = &inner.timing;
    loop {
        let is_suspect = tokio::select! {
            () = session.suspect.notified() => true,
            () = changed.notified() => {
                refresh_catalogue(inner, session).await;
                // Limits how often a server that changes its list constantly is read.
                sleep(timing.tick).await;
                false
            }
            () = sleep(timing.tick) => false,
        };
        if inner.leave_if_idle(session) {
            return ServeEnd::Idle;
        }
        if (is_suspect || session.last_response_at().elapsed() >= timing.silence)
            && let Some(reason) = session.ping(timing, &inner.redactor).await
        {
            if session.process.is_some() && session.peer.is_transport_closed() {
                // The process is ending and will report a better reason.
                sleep(MAX_EXPLANATION_WAIT).await;
            }
            return ServeEnd::Ended(reason);
        }
    }
}

/// Refreshes the list of tools; the previous one stays if that fails.
async fn refresh_catalogue(inner: &ClientInner, session: &ToolkitSession) {
    let error = match timeout(inner.timing.start, catalogue::fetch_catalogue(&session.peer)).await {
        Ok(Ok(found)) => {
            debug!(toolkit.name = inner.name.as_str(), "toolkit changed its tools");
            return inner.publish_catalogue(found);
        }
        Ok(Err(error)) => inner.redactor.describe_fault(&error),
        Err(_) => "it took too long".to_owned(),
    };
    session.suspect.notify_one();
    let reason = format!("its tools changed and cannot be listed: {error}");
    inner.record_error(inner.not_running(reason));
}

async fn close_connection(
    inner: &ClientInner,
    process: Option<ToolkitProcess>,
    service: Option<ClientService>,
) {
    if let Some(mut service) = service {
        inner.grace.wait_for_step(service.close()).await;
    }
    if let Some(process) = process {
        inner.record_malformed(process.output.malformed_lines());
        process.stop(&inner.grace).await;
    }
}

//! The main HTTP API (port 5010).

mod chat;
mod conversations;
mod error;
mod folders;
mod for_page;
mod health;
mod ingest;
mod listing;
mod map;
mod mcp;
mod metrics;
mod page;
mod parameters;
mod repos;
mod repository;
mod route;
mod sessions;
mod settings;
mod source;
mod status;
mod stored;
mod tokens;
mod toolkits;
mod tools;
mod turns;
mod ws;

use std::{sync::Arc, time::Instant};

use codeinfo_mcp::{Endpoint, McpContext, Schema, SchemaError};
use hyper::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::mcp_http::{self, FolderEndpoint, RelayServices};
use codeinfo_chat::Chat;
use codeinfo_codex::Codex;
use codeinfo_core::{
    PathMap,
    telemetry::{FailureLog, ServerMetrics},
};
use codeinfo_credentials::CredentialStore;
use codeinfo_embed::Embedder;
use codeinfo_http::{
    AccessRights, HttpError, HttpSettings, Request, RequestHandler, Response, reply,
};
use codeinfo_ingest::Ingest;
use codeinfo_search::{DEFAULT_LIMIT, Search, evidence::Evidence};
use codeinfo_store::Store;
use codeinfo_toolkits::{ToolkitGateway, spec::SpecReader};
use error::ApiError;
use mcp::RawSearch;
use route::{ApiRoute, match_route};

pub use page::{FindDocument, is_of_page};
pub use settings::{EditorLink, EffectiveSetting, PageSettings, SettingSource};
pub use turns::TurnRegistry;

/// Services that the handlers call.
pub struct ApiServices {
    pub ingest: Ingest,
    pub search: Search,
    pub evidence: Evidence,
    pub store: Store,
    pub embedder: Arc<dyn Embedder>,
    pub codex: Codex,
    pub chat: Chat,
    pub turns: TurnRegistry,
    pub path_map: PathMap,
    pub page: PageSettings,
    pub settings: Vec<EffectiveSetting>,
    pub failures: FailureLog,
    /// Port of the MCP server, as `GET /health` reports it.
    pub mcp_port: u16,
    pub metrics: ServerMetrics,
    pub vault: CredentialStore,
    pub gateway: ToolkitGateway,
    pub relays: RelayServices,
    pub find_document: FindDocument,
}

#[derive(Clone)]
pub struct Api {
    parts: Arc<ApiState>,
}

struct ApiState {
    services: Arc<ApiServices>,
    http: HttpSettings,
    rpc: McpContext,
    started: Instant,
    start_schema: Schema,
    search_schema: Schema,
    listing_schema: Schema,
    chat_schema: Schema,
    create_token_schema: Schema,
    call_tool_schema: Schema,
    open_session_schema: Schema,
    allow_schema: Schema,
    specs: SpecReader,
    ws: ws::MessageSchemas,
    mcp: RawSearch,
}

impl Api {
    /// Builds the handler. Fails only when a built-in schema is invalid.
    pub fn new(services: ApiServices, http: &HttpSettings) -> Result<Self, SchemaError> {
        let services = Arc::new(services);
        let parts = ApiState {
            http: http.clone(),
            rpc: mcp_http::build_message_bounds(http),
            started: Instant::now(),
            start_schema: Schema::new(ingest::start_schema())?,
            search_schema: Schema::new(tools::standing_schema(DEFAULT_LIMIT))?,
            listing_schema: Schema::new(listing::listing_schema())?,
            chat_schema: Schema::new(chat::chat_schema())?,
            create_token_schema: Schema::new(tokens::create_schema())?,
            call_tool_schema: Schema::new(toolkits::call_schema())?,
            open_session_schema: Schema::new(sessions::open_schema())?,
            allow_schema: Schema::new(toolkits::allow_schema())?,
            specs: SpecReader::new()?,
            ws: ws::MessageSchemas::new()?,
            mcp: RawSearch::new(Arc::clone(&services))?,
            services,
        };
        Ok(Self { parts: Arc::new(parts) })
    }
}

impl RequestHandler for Api {
    async fn handle_request(&self, request: &mut Request) -> Response {
        let answered = self.parts.dispatch_request(request).await;
        answered.unwrap_or_else(|error| {
            self.parts.services.record_failure(&error, request.path());
            error.into()
        })
    }
}

/// Amount of status detail that a caller may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatusDetail {
    Whole,
    /// Only the overall state, for monitors.
    Bare,
}

impl StatusDetail {
    fn for_request(request: &Request) -> Self {
        if request.auth_context().rights == AccessRights::Monitor {
            Self::Bare
        } else {
            Self::Whole
        }
    }
}

impl ApiState {
    async fn dispatch_request(
        self: &Arc<Self>,
        request: &mut Request,
    ) -> Result<Response, ApiError> {
        let segments = codeinfo_http::split_path(request.path())?;
        let path: Vec<&str> = segments.iter().map(String::as_str).collect();
        let services = &*self.services;
        let route = match_route(request.method(), &path);
        request.require_rights(route.needed_rights())?;
        match route {
            ApiRoute::Asset { name } => Ok(mark_quiet(match (self.services.find_document)(name) {
                Some(text) => page::reply_document(text),
                None => page::reply_asset(request, name).await?,
            })),
            ApiRoute::Health => {
                Ok(mark_quiet(self.reply_health(StatusDetail::for_request(request)).await))
            }
            ApiRoute::Ready => Ok(mark_quiet(
                health::reply_ready(services, StatusDetail::for_request(request)).await?,
            )),
            ApiRoute::Metrics => Ok(mark_quiet(self.reply_metrics().await?)),
            ApiRoute::Version => Ok(reply_version(StatusDetail::for_request(request))),
            ApiRoute::StartIngest
            | ApiRoute::IngestStatus { .. }
            | ApiRoute::CancelIngest { .. }
            | ApiRoute::Reembed { .. }
            | ApiRoute::Remove { .. }
            | ApiRoute::Roots => self.answer_ingest_route(request, route).await,
            ApiRoute::IngestedRepos => tools::ingested_repos(services).await,
            ApiRoute::VectorSearch => {
                let search = parse_arguments(request, &self.search_schema).await?;
                tools::vector_search(services, search).await
            }
            ApiRoute::Chat => {
                let arguments = parse_arguments(request, &self.chat_schema).await?;
                let turn = chat::ask_question(services, arguments, request.auth_context()).await?;
                Ok(chat::stream_turn(services, turn, self.http.keep_alive))
            }
            ApiRoute::ForPage(route) => self.for_page(request, route).await,
            ApiRoute::WebSocket => {
                let parts = Arc::clone(self);
                let admission = request.auth_context().clone();
                Ok(codeinfo_http::accept_websocket(request, |socket| {
                    ws::serve_socket(parts, admission, socket)
                })?)
            }
            ApiRoute::ChatProviders => Ok(chat::list_providers(services)),
            ApiRoute::ChatModels => chat::list_models(services).await,
            ApiRoute::Mcp => {
                let search = self.mcp.with_address_query(request.query())?;
                let endpoint: Arc<dyn Endpoint> = Arc::new(search);
                Ok(mcp_http::answer_post(&endpoint, request, &self.rpc).await?)
            }
            ApiRoute::Relay => self.accept_relay(request),
            ApiRoute::ToolkitMcp { .. }
            | ApiRoute::Tools
            | ApiRoute::Toolkit { .. }
            | ApiRoute::CallTool { .. }
            | ApiRoute::AllowToolkits => self.answer_toolkit_route(request, route).await,
            ApiRoute::CreateToken
            | ApiRoute::Tokens
            | ApiRoute::RevokeToken { .. }
            | ApiRoute::RevokeTokens
            | ApiRoute::MakeSessionCode
            | ApiRoute::OpenSession
            | ApiRoute::StoreConfig
            | ApiRoute::StoredConfig => self.answer_credential_route(request, route).await,
            ApiRoute::NotAllowed { allow } => {
                page::reply_missing_page(request, HttpError::MethodNotAllowed { allow }).await
            }
            ApiRoute::NotFound => page::reply_missing_page(request, HttpError::RouteNotFound).await,
        }
    }

    async fn answer_ingest_route(
        &self,
        request: &mut Request,
        route: ApiRoute<'_>,
    ) -> Result<Response, ApiError> {
        let services = &*self.services;
        match route {
            ApiRoute::StartIngest => {
                let start = parse_arguments(request, &self.start_schema).await?;
                ingest::start_ingest(services, start, request.auth_context().rights).await
            }
            ApiRoute::IngestStatus { run } => {
                Ok(mark_quiet(ingest::show_run_status(services, run)?))
            }
            ApiRoute::CancelIngest { run } => {
                request.refuse_other_than_json()?;
                ingest::cancel_run(services, run)
            }
            ApiRoute::Reembed { root } => {
                request.refuse_other_than_json()?;
                ingest::reembed_root(services, root).await
            }
            ApiRoute::Remove { root } => {
                request.refuse_other_than_json()?;
                ingest::remove_root(services, root).await
            }
            ApiRoute::Roots => ingest::list_roots(services).await,
            _ => Err(HttpError::RouteNotFound.into()),
        }
    }

    /// Accepts the handshake of a relay for raw search.
    fn accept_relay(&self, request: &mut Request) -> Result<Response, ApiError> {
        let search = Arc::new(self.mcp.clone());
        let endpoint = |place| match place {
            Some(place) => Arc::new(FolderEndpoint::new(search, place)) as Arc<dyn Endpoint>,
            None => search,
        };
        Ok(mcp_http::accept_relay(endpoint, request, &self.services.relays, &self.rpc)?)
    }

    async fn answer_toolkit_route(
        &self,
        request: &mut Request,
        route: ApiRoute<'_>,
    ) -> Result<Response, ApiError> {
        let services = &*self.services;
        match route {
            ApiRoute::ToolkitMcp { name } => {
                let token = request.bearer();
                let bearer = token.as_ref().map(codeinfo_core::Secret::expose);
                let turn =
                    mcp::toolkits::ToolkitEndpoint::for_grant(&services.gateway, bearer, name)
                        .await?;
                let endpoint: Arc<dyn Endpoint> = Arc::new(turn);
                Ok(mcp_http::answer_post(&endpoint, request, &self.rpc).await?)
            }
            ApiRoute::Tools => {
                toolkits::list_toolkits(services, &self.mcp.endpoint_info().tools, request).await
            }
            ApiRoute::Toolkit { name, action } => {
                request.refuse_other_than_json()?;
                toolkits::apply_action(services, request, name, action).await
            }
            ApiRoute::CallTool { toolkit } => {
                let call = parse_arguments(request, &self.call_tool_schema).await?;
                toolkits::call_tool(services, request, toolkit, call).await
            }
            ApiRoute::AllowToolkits => {
                let allow = parse_arguments(request, &self.allow_schema).await?;
                toolkits::allow_toolkits(services, request, allow).await
            }
            _ => Err(HttpError::RouteNotFound.into()),
        }
    }

    /// Answers the routes about tokens, page sessions and stored configurations.
    async fn answer_credential_route(
        &self,
        request: &mut Request,
        route: ApiRoute<'_>,
    ) -> Result<Response, ApiError> {
        let services = &*self.services;
        match route {
            ApiRoute::CreateToken => {
                let by = tokens::require_bearer(request)?;
                let create = parse_arguments(request, &self.create_token_schema).await?;
                tokens::create_token(services, by, create).await
            }
            ApiRoute::Tokens => tokens::list_tokens(services, &tokens::require_bearer(request)?),
            ApiRoute::RevokeToken { name } => {
                request.refuse_other_than_json()?;
                tokens::revoke_token(services, tokens::require_bearer(request)?, name).await
            }
            ApiRoute::RevokeTokens => {
                request.refuse_other_than_json()?;
                tokens::revoke_all(services, tokens::require_bearer(request)?).await
            }
            ApiRoute::MakeSessionCode => {
                request.refuse_other_than_json()?;
                sessions::make_code(services, request)
            }
            ApiRoute::OpenSession => {
                let asked = parse_arguments(request, &self.open_session_schema).await?;
                sessions::open_session(services, request, asked)
            }
            ApiRoute::StoreConfig => {
                let who = stored::require_principal(request)?;
                let config =
                    stored::restore_secrets(services, &who, read_json_body(request).await?).await?;
                let config = stored::check_config(&self.specs, &who, config)?;
                stored::store_config(services, who, config).await
            }
            ApiRoute::StoredConfig => {
                let who = stored::require_principal(request)?;
                stored::read_config(services, who, request.query()).await
            }
            _ => Err(HttpError::RouteNotFound.into()),
        }
    }
}

fn reply_version(detail: StatusDetail) -> Response {
    let version = match detail {
        StatusDetail::Whole => json!({ "app": "codeinfo", "version": env!("CARGO_PKG_VERSION") }),
        StatusDetail::Bare => json!({ "app": "codeinfo" }),
    };
    reply::json_response(StatusCode::OK, &version)
}

/// Reads a JSON body and validates it.
async fn parse_arguments<T: DeserializeOwned>(
    request: &mut Request,
    schema: &Schema,
) -> Result<T, ApiError> {
    schema.validate_and_parse(read_json_body(request).await?).map_err(ApiError::Arguments)
}

async fn read_json_body(request: &mut Request) -> Result<Value, ApiError> {
    let body = request.read_json_body().await?;
    let read = serde_json::from_slice(&body);
    Ok(read.map_err(|error| HttpError::InvalidJson(error.to_string()))?)
}

fn mark_quiet(mut response: Response) -> Response {
    response.extensions_mut().insert(codeinfo_http::QuietReply);
    response
}

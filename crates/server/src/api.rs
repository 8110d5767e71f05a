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

use codeinfo_mcp::{Bounds, Endpoint, Schema, SchemaError};
use hyper::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::mcp_http::{self, Placed, Relays};
use codeinfo_chat::Chat;
use codeinfo_codex::Codex;
use codeinfo_core::{
    PathMap,
    telemetry::{Failures, Metrics},
};
use codeinfo_credentials::Vault;
use codeinfo_embed::Embedder;
use codeinfo_http::{Handler, HttpSettings, Request, Response, Rights, reply};
use codeinfo_ingest::Ingest;
use codeinfo_search::{DEFAULT_LIMIT, Search, evidence::Evidence};
use codeinfo_store::Store;
use codeinfo_toolkits::{Gateway, spec::SpecReader};
use error::ApiError;
use mcp::RawSearch;
use route::{Route, route};

pub use page::{FindDocument, is_of_page};
pub use settings::{EditorLink, EffectiveSetting, PageSettings, SettingSource};
pub use turns::Turns;

/// What the API stands on.
pub struct Services {
    pub ingest: Ingest,
    pub search: Search,
    pub evidence: Evidence,
    pub store: Store,
    pub embedder: Arc<dyn Embedder>,
    pub codex: Codex,
    pub chat: Chat,
    /// The turns that people watch on the page.
    pub turns: Turns,
    pub path_map: PathMap,
    pub page: PageSettings,
    pub settings: Vec<EffectiveSetting>,
    /// What went wrong of late.
    pub failures: Failures,
    /// Port of the MCP server, as `GET /health` reports it.
    pub mcp_port: u16,
    pub metrics: Metrics,
    pub vault: Vault,
    pub gateway: Gateway,
    pub relays: Relays,
    pub find_document: FindDocument,
}

/// The handler of the main listener.
#[derive(Clone)]
pub struct Api {
    parts: Arc<Parts>,
}

struct Parts {
    services: Arc<Services>,
    http: HttpSettings,
    rpc: Bounds,
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
    ws: ws::Schemas,
    mcp: RawSearch,
}

impl Api {
    /// Builds the handler; fails only when a schema of ours is invalid.
    pub fn new(services: Services, http: &HttpSettings) -> Result<Self, SchemaError> {
        let services = Arc::new(services);
        let parts = Parts {
            http: http.clone(),
            rpc: mcp_http::bounds(http),
            started: Instant::now(),
            start_schema: Schema::new(ingest::start_schema())?,
            search_schema: Schema::new(tools::standing_schema(DEFAULT_LIMIT))?,
            listing_schema: Schema::new(listing::schema())?,
            chat_schema: Schema::new(chat::schema())?,
            create_token_schema: Schema::new(tokens::create_schema())?,
            call_tool_schema: Schema::new(toolkits::call_schema())?,
            open_session_schema: Schema::new(sessions::open_schema())?,
            allow_schema: Schema::new(toolkits::allow_schema())?,
            specs: SpecReader::new()?,
            ws: ws::Schemas::new()?,
            mcp: RawSearch::new(Arc::clone(&services))?,
            services,
        };
        Ok(Self { parts: Arc::new(parts) })
    }
}

impl Handler for Api {
    async fn answer(&self, request: &mut Request) -> Response {
        let answered = self.parts.answer(request).await;
        answered.unwrap_or_else(|error| {
            self.parts.services.note(&error, request.path());
            error.into()
        })
    }
}

/// How much of the state of the server somebody sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Whole,
    /// Only how it goes, as monitors ask.
    Bare,
}

impl Detail {
    fn for_request(request: &Request) -> Self {
        if request.admission().rights == Rights::Monitor { Self::Bare } else { Self::Whole }
    }
}

impl Parts {
    async fn answer(self: &Arc<Self>, request: &mut Request) -> Result<Response, ApiError> {
        let path = codeinfo_http::segments(request.path())?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let services = &*self.services;
        let of = route(request.method(), &path);
        request.require(of.needed_rights())?;
        match of {
            Route::Asset { name } => Ok(quiet(match (self.services.find_document)(name) {
                Some(text) => page::document(text),
                None => page::asset(request, name).await?,
            })),
            Route::Health => Ok(quiet(self.health(Detail::for_request(request)).await)),
            Route::Ready => Ok(quiet(health::ready(services, Detail::for_request(request)).await?)),
            Route::Metrics => Ok(quiet(self.metrics().await?)),
            Route::Version => Ok(version(Detail::for_request(request))),
            Route::StartIngest
            | Route::IngestStatus { .. }
            | Route::CancelIngest { .. }
            | Route::Reembed { .. }
            | Route::Remove { .. }
            | Route::Roots => self.ingest(request, of).await,
            Route::IngestedRepos => tools::ingested_repos(services).await,
            Route::VectorSearch => {
                let search = arguments(request, &self.search_schema).await?;
                tools::vector_search(services, search).await
            }
            Route::Chat => {
                let arguments = arguments(request, &self.chat_schema).await?;
                let turn = chat::ask(services, arguments, request.admission()).await?;
                Ok(chat::streamed(services, turn, self.http.keep_alive))
            }
            Route::ForPage(of) => self.for_page(request, of).await,
            Route::WebSocket => {
                let (parts, admission) = (Arc::clone(self), request.admission().clone());
                Ok(codeinfo_http::websocket(request, |socket| ws::talk(parts, admission, socket))?)
            }
            Route::ChatProviders => Ok(chat::providers(services)),
            Route::ChatModels => chat::models(services).await,
            Route::Mcp => {
                let search = self.mcp.confined(request.query())?;
                let endpoint: Arc<dyn Endpoint> = Arc::new(search);
                Ok(mcp_http::post(&endpoint, request, &self.rpc).await?)
            }
            Route::Relay => self.relay(request),
            Route::ToolkitMcp { .. }
            | Route::Tools
            | Route::Toolkit { .. }
            | Route::CallTool { .. }
            | Route::AllowToolkits => self.toolkits(request, of).await,
            Route::CreateToken
            | Route::Tokens
            | Route::RevokeToken { .. }
            | Route::RevokeTokens
            | Route::MakeSessionCode
            | Route::OpenSession
            | Route::StoreConfig
            | Route::StoredConfig => self.kept(request, of).await,
            Route::NotAllowed { allow } => {
                page::missing(request, codeinfo_http::HttpError::MethodNotAllowed { allow }).await
            }
            Route::NotFound => {
                page::missing(request, codeinfo_http::HttpError::RouteNotFound).await
            }
        }
    }

    /// Answers what is about indexing.
    async fn ingest(&self, request: &mut Request, of: Route<'_>) -> Result<Response, ApiError> {
        let services = &*self.services;
        match of {
            Route::StartIngest => {
                let start = arguments(request, &self.start_schema).await?;
                ingest::start(services, start, request.admission().rights).await
            }
            Route::IngestStatus { run } => Ok(quiet(ingest::status(services, run)?)),
            Route::CancelIngest { run } => {
                request.refuse_other_than_json()?;
                ingest::cancel(services, run)
            }
            Route::Reembed { root } => {
                request.refuse_other_than_json()?;
                ingest::reembed(services, root).await
            }
            Route::Remove { root } => {
                request.refuse_other_than_json()?;
                ingest::remove(services, root).await
            }
            Route::Roots => ingest::roots(services).await,
            _ => Err(codeinfo_http::HttpError::RouteNotFound.into()),
        }
    }

    /// Answers the handshake of a relay of raw search.
    fn relay(&self, request: &mut Request) -> Result<Response, ApiError> {
        let search = Arc::new(self.mcp.clone());
        let endpoint = |place| match place {
            Some(place) => Arc::new(Placed::new(search, place)) as Arc<dyn Endpoint>,
            None => search,
        };
        let parts = (&self.services.relays, &self.rpc);
        Ok(mcp_http::relay(endpoint, request, parts)?)
    }

    /// Answers what is about toolkits.
    async fn toolkits(&self, request: &mut Request, of: Route<'_>) -> Result<Response, ApiError> {
        let services = &*self.services;
        match of {
            Route::ToolkitMcp { name } => {
                let bearer = request.bearer();
                let bearer = bearer.as_ref().map(codeinfo_core::Secret::expose);
                let turn = mcp::toolkits::Toolkits::of(&services.gateway, bearer, name).await?;
                let endpoint: Arc<dyn Endpoint> = Arc::new(turn);
                Ok(mcp_http::post(&endpoint, request, &self.rpc).await?)
            }
            Route::Tools => toolkits::list(services, &self.mcp.about().tools, request).await,
            Route::Toolkit { name, action } => {
                request.refuse_other_than_json()?;
                toolkits::act(services, request, (name, action)).await
            }
            Route::CallTool { toolkit } => {
                let call = arguments(request, &self.call_tool_schema).await?;
                toolkits::call(services, request, (toolkit, call)).await
            }
            Route::AllowToolkits => {
                let allow = arguments(request, &self.allow_schema).await?;
                toolkits::allow(services, request, allow).await
            }
            _ => Err(codeinfo_http::HttpError::RouteNotFound.into()),
        }
    }

    /// Answers what is about tokens, and what they keep.
    async fn kept(&self, request: &mut Request, of: Route<'_>) -> Result<Response, ApiError> {
        let services = &*self.services;
        match of {
            Route::CreateToken => {
                let by = tokens::bearer(request)?;
                let create = arguments(request, &self.create_token_schema).await?;
                tokens::create(services, by, create).await
            }
            Route::Tokens => tokens::list(services, &tokens::bearer(request)?),
            Route::RevokeToken { name } => {
                request.refuse_other_than_json()?;
                tokens::revoke(services, tokens::bearer(request)?, name).await
            }
            Route::RevokeTokens => {
                request.refuse_other_than_json()?;
                tokens::revoke_all(services, tokens::bearer(request)?).await
            }
            Route::MakeSessionCode => {
                request.refuse_other_than_json()?;
                sessions::make_code(services, request)
            }
            Route::OpenSession => {
                let asked = arguments(request, &self.open_session_schema).await?;
                sessions::open(services, request, asked)
            }
            Route::StoreConfig => {
                let who = stored::principal(request)?;
                let config = stored::restore_secrets(services, &who, body(request).await?).await?;
                let config = stored::checked(&self.specs, &who, config)?;
                stored::write(services, who, config).await
            }
            Route::StoredConfig => {
                let who = stored::principal(request)?;
                stored::read(services, who, request.query()).await
            }
            _ => Err(codeinfo_http::HttpError::RouteNotFound.into()),
        }
    }
}

fn version(detail: Detail) -> Response {
    let version = match detail {
        Detail::Whole => json!({ "app": "codeinfo", "version": env!("CARGO_PKG_VERSION") }),
        Detail::Bare => json!({ "app": "codeinfo" }),
    };
    reply::json(StatusCode::OK, &version)
}

/// Reads a JSON body and validates it.
async fn arguments<T: DeserializeOwned>(
    request: &mut Request,
    schema: &Schema,
) -> Result<T, ApiError> {
    schema.read(body(request).await?).map_err(ApiError::Arguments)
}

async fn body(request: &mut Request) -> Result<Value, ApiError> {
    let body = request.json().await?;
    let read = serde_json::from_slice(&body);
    Ok(read.map_err(|error| codeinfo_http::HttpError::InvalidJson(error.to_string()))?)
}

fn quiet(mut response: Response) -> Response {
    response.extensions_mut().insert(codeinfo_http::Quiet);
    response
}

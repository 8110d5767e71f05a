//! The main HTTP API (port 5010).

mod chat;
pub(crate) mod chat_frame;
mod conversations;
pub(crate) mod credentials;
mod dispatch;
mod error;
pub(crate) mod health;
pub(crate) mod ingest;
mod map;
mod mcp;
mod metrics;
mod page;
mod parameters;
pub(crate) mod repos;
mod route;
mod search;
mod settings;
pub(crate) mod source;
mod symbols;
pub(crate) mod toolkit_config;
pub(crate) mod toolkits;
pub(crate) mod turns;
mod ws;

use std::{sync::Arc, time::Instant};

use codeinfo_chat::Chat;
use codeinfo_codex::Codex;
use codeinfo_core::{
    PathMap,
    telemetry::{FailureLog, ServerMetrics},
};
use codeinfo_credentials::CredentialStore;
use codeinfo_embed::Embedder;
use codeinfo_evidence::Evidence;
use codeinfo_http::{HttpSettings, Request, RequestHandler, Response};
use codeinfo_ingest::Ingest;
use codeinfo_mcp::{McpContext, Schema, SchemaError};
use codeinfo_search::{DEFAULT_LIMIT, Search};
use codeinfo_store::Store;
use codeinfo_toolkits::{ToolkitGateway, spec::SpecReader};

use self::mcp::RawSearch;
use crate::mcp_http::{self, RelayServices};

pub use page::{FindDocument, is_of_page};
pub use settings::{EditorLink, EffectiveSetting, PageSettings, SettingSource};
pub use turns::TurnRegistry;

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
    pub credentials: CredentialStore,
    pub toolkits: ToolkitGateway,
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
            search_schema: Schema::new(search::schema_with_folder(DEFAULT_LIMIT))?,
            listing_schema: Schema::new(search::listing_schema())?,
            chat_schema: Schema::new(chat::chat_schema())?,
            create_token_schema: Schema::new(credentials::create_token_schema())?,
            call_tool_schema: Schema::new(toolkits::call_schema())?,
            open_session_schema: Schema::new(credentials::open_session_schema())?,
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

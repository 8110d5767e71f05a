//! Dispatches each request of the main API to the handler of its route.

use std::sync::Arc;

use codeinfo_core::{Principal, Secret};
use codeinfo_http::{AccessRights, HttpError, QuietReply, Request, Response, reply};
use codeinfo_mcp::Endpoint;
use hyper::StatusCode;
use serde_json::json;

use super::{
    ApiState, chat,
    conversations::{self, ConversationParameters, ExportParameters},
    credentials,
    error::ApiError,
    health::{self, StatusDetail},
    ingest, map,
    mcp::toolkits::ToolkitEndpoint,
    page,
    parameters::{parse_arguments, read_json_body},
    repos,
    route::{ApiRoute, PageRoute, match_route},
    search, settings, source, symbols, toolkit_config, toolkits, turns, ws,
};
use crate::mcp_http;

impl ApiState {
    pub(super) async fn dispatch_request(
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
            | ApiRoute::ScipIndex { .. }
            | ApiRoute::Roots => self.answer_ingest_route(request, route).await,
            ApiRoute::IngestedRepos => repos::reply_repos(services).await,
            ApiRoute::VectorSearch => {
                let search = parse_arguments(request, &self.search_schema).await?;
                search::vector_search(services, search).await
            }
            ApiRoute::Chat => {
                let arguments = parse_arguments(request, &self.chat_schema).await?;
                let turn = chat::ask_question(services, arguments, request.auth_context()).await?;
                Ok(chat::stream_turn(services, turn, self.http.keep_alive))
            }
            ApiRoute::ForPage(route) => self.answer_page_route(request, route).await,
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
                let endpoint: Arc<dyn Endpoint> = Arc::new(self.mcp.for_request(request)?);
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
            ApiRoute::ScipIndex { root, is_given } => {
                ingest::change_scip_index(services, request, root, is_given).await
            }
            ApiRoute::Roots => ingest::list_roots(services).await,
            _ => Err(HttpError::RouteNotFound.into()),
        }
    }

    fn accept_relay(&self, request: &mut Request) -> Result<Response, ApiError> {
        let endpoint = |context| Arc::new(self.mcp.with_context(context)) as Arc<dyn Endpoint>;
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
                let bearer = token.as_ref().map(Secret::expose);
                let turn = ToolkitEndpoint::for_grant(&services.toolkits, bearer, name).await?;
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

    async fn answer_credential_route(
        &self,
        request: &mut Request,
        route: ApiRoute<'_>,
    ) -> Result<Response, ApiError> {
        let services = &*self.services;
        match route {
            ApiRoute::CreateToken => {
                let by = credentials::require_bearer(request)?;
                let create = parse_arguments(request, &self.create_token_schema).await?;
                credentials::create_token(services, by, create).await
            }
            ApiRoute::Tokens => {
                credentials::list_tokens(services, &credentials::require_bearer(request)?)
            }
            ApiRoute::RevokeToken { name } => {
                request.refuse_other_than_json()?;
                credentials::revoke_token(services, credentials::require_bearer(request)?, name)
                    .await
            }
            ApiRoute::RevokeTokens => {
                request.refuse_other_than_json()?;
                credentials::revoke_all(services, credentials::require_bearer(request)?).await
            }
            ApiRoute::MakeSessionCode => {
                request.refuse_other_than_json()?;
                credentials::make_code(services, request)
            }
            ApiRoute::OpenSession => {
                let asked = parse_arguments(request, &self.open_session_schema).await?;
                credentials::open_session(services, request, asked)
            }
            ApiRoute::StoreConfig => {
                let who = toolkit_config::require_principal(request)?;
                let config =
                    toolkit_config::restore_secrets(services, &who, read_json_body(request).await?)
                        .await?;
                let config = toolkit_config::check_config(&self.specs, &who, config)?;
                toolkit_config::store_config(services, who, config).await
            }
            ApiRoute::StoredConfig => {
                let who = toolkit_config::require_principal(request)?;
                toolkit_config::read_config(services, who, request.query()).await
            }
            _ => Err(HttpError::RouteNotFound.into()),
        }
    }

    /// Answers the routes of the page: turns, their conversations, and views of code.
    async fn answer_page_route(
        &self,
        request: &mut Request,
        route: PageRoute<'_>,
    ) -> Result<Response, ApiError> {
        let services = &*self.services;
        // An administrator sees what the owner sees.
        let admission = request.auth_context().clone();
        let is_admin =
            admission.principal.is_some() && admission.rights == AccessRights::Administer;
        let principal =
            if is_admin { Some(Principal::owner()) } else { admission.principal.clone() };
        let who = principal.as_ref();
        match route {
            PageRoute::StartTurn => {
                let arguments = parse_arguments(request, &self.chat_schema).await?;
                turns::start_turn(services, arguments, &admission).await
            }
            PageRoute::WatchTurn { turn } => {
                let after = turns::parse_after(request)?;
                turns::watch_turn(services, turn.parse()?, after, who, self.http.keep_alive).await
            }
            PageRoute::StopTurn { turn } => {
                request.refuse_other_than_json()?;
                turns::stop_turn(services, turn.parse()?, who).await
            }
            PageRoute::Conversations => {
                let parameters = ConversationParameters::parse(request.query())?;
                conversations::list_conversations(services, parameters, who).await
            }
            PageRoute::Conversation { id } => {
                conversations::show_conversation(services, id.parse()?, who).await
            }
            PageRoute::Export { id } => {
                let parameters = ExportParameters::parse(request.query())?;
                conversations::export_conversation(services, id.parse()?, parameters, who).await
            }
            PageRoute::DeleteConversation { id } => {
                request.refuse_other_than_json()?;
                conversations::delete_conversation(services, id.parse()?, who).await
            }
            PageRoute::DeleteConversations => {
                request.refuse_other_than_json()?;
                conversations::delete_all(services, who).await
            }
            PageRoute::Config => Ok(settings::reply_page_config(services)),
            PageRoute::Folders => ingest::list_folders(services, request.query()).await,
            PageRoute::Repository { reference } => {
                repos::show_repository(services, reference).await
            }
            PageRoute::Settings => Ok(settings::list_settings(services)),
            PageRoute::Failures => Ok(settings::list_failures(services)),
            PageRoute::Search => {
                let search = parse_arguments(request, &self.listing_schema).await?;
                search::list_hits(services, search).await
            }
            PageRoute::Source => source::show_source(services, request.query()).await,
            PageRoute::Map => map::draw_map(services, request.query(), who).await,
            PageRoute::Symbols => symbols::find_relations(services, request.query()).await,
            PageRoute::Trace => symbols::trace_calls(services, request.query()).await,
            PageRoute::SymbolAt => symbols::find_definitions(services, request.query()).await,
            PageRoute::History => symbols::describe_history(services, request.query()).await,
            PageRoute::Impact => symbols::find_impact(services, request.query()).await,
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

fn mark_quiet(mut response: Response) -> Response {
    response.extensions_mut().insert(QuietReply);
    response
}

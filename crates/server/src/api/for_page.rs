//! Answers the routes of the page: turns that the server owns, their conversations, and views of
//! code.

use codeinfo_core::Principal;
use codeinfo_http::{AccessRights, Request, Response};

use super::{
    ApiState,
    conversations::{self, ConversationParameters},
    error::ApiError,
    folders, listing, map, parse_arguments, repository,
    route::PageRoute,
    source, status, turns,
};

impl ApiState {
    pub(super) async fn for_page(
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
                let parameters = ConversationParameters::from_list_query(request.query())?;
                conversations::list_conversations(services, parameters, who).await
            }
            PageRoute::Conversation { id } => {
                conversations::show_conversation(services, id.parse()?, who).await
            }
            PageRoute::Export { id } => {
                let parameters = ConversationParameters::from_export_query(request.query())?;
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
            PageRoute::Config => Ok(folders::reply_page_config(services)),
            PageRoute::Folders => folders::list_folders(services, request.query()).await,
            PageRoute::Repository { reference } => {
                repository::show_repository(services, reference).await
            }
            PageRoute::Settings => Ok(status::list_settings(services)),
            PageRoute::Failures => Ok(status::list_failures(services)),
            PageRoute::Search => {
                let search = parse_arguments(request, &self.listing_schema).await?;
                listing::list_hits(services, search).await
            }
            PageRoute::Source => source::show_source(services, request.query()).await,
            PageRoute::Map => map::draw_map(services, request.query(), who).await,
        }
    }
}

//! Answers what the page asks for: turns that the server owns, their conversations, and code to look at.

use codeinfo_core::Principal;
use codeinfo_http::{Request, Response, Rights};

use super::{
    Parts, arguments,
    conversations::{self, Parameters},
    error::ApiError,
    folders, listing, map, repository,
    route::ForPage,
    source, status, turns,
};

impl Parts {
    pub(super) async fn for_page(
        &self,
        request: &mut Request,
        of: ForPage<'_>,
    ) -> Result<Response, ApiError> {
        let services = &*self.services;
        // Who administers sees what the owner does.
        let admission = request.admission().clone();
        let is_admin = admission.principal.is_some() && admission.rights == Rights::Administer;
        let principal =
            if is_admin { Some(Principal::owner()) } else { admission.principal.clone() };
        let who = principal.as_ref();
        match of {
            ForPage::StartTurn => {
                let arguments = arguments(request, &self.chat_schema).await?;
                turns::start(services, arguments, &admission).await
            }
            ForPage::WatchTurn { turn } => {
                let after = turns::after(request)?;
                turns::watch(services, (turn.parse()?, after), (who, self.http.keep_alive)).await
            }
            ForPage::StopTurn { turn } => {
                request.refuse_other_than_json()?;
                turns::stop(services, turn.parse()?, who).await
            }
            ForPage::Conversations => {
                let parameters = Parameters::of_list(request.query())?;
                conversations::list(services, parameters, who).await
            }
            ForPage::Conversation { id } => conversations::read(services, id.parse()?, who).await,
            ForPage::Export { id } => {
                let parameters = Parameters::of_export(request.query())?;
                conversations::export(services, (id.parse()?, parameters), who).await
            }
            ForPage::DeleteConversation { id } => {
                request.refuse_other_than_json()?;
                conversations::delete(services, id.parse()?, who).await
            }
            ForPage::DeleteConversations => {
                request.refuse_other_than_json()?;
                conversations::delete_all(services, who).await
            }
            ForPage::Config => Ok(folders::config(services)),
            ForPage::Folders => folders::list(services, request.query()).await,
            ForPage::Repository { reference } => repository::read(services, reference).await,
            ForPage::Settings => Ok(status::settings(services)),
            ForPage::Failures => Ok(status::failures(services)),
            ForPage::Search => {
                let search = arguments(request, &self.listing_schema).await?;
                listing::search(services, search).await
            }
            ForPage::Source => source::show(services, request.query()).await,
            ForPage::Map => map::draw(services, request.query(), who).await,
        }
    }
}

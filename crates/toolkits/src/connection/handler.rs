//! Declines requests of servers and receives their notice of changed tools.

use std::sync::Arc;

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        self, ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsRequestMethod,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::sync::Notify;

/// Handler that declines sampling and elicitation (by default) and listing roots.
#[derive(Debug, Clone)]
pub(super) struct ToolkitClientHandler {
    pub(super) changed: Arc<Notify>,
}

impl ClientHandler for ToolkitClientHandler {
    fn get_info(&self) -> ClientConfig {
        let ourselves = Implementation::new("codeinfo", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), ourselves)
    }

    #[expect(deprecated, reason = "servers of today still ask")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

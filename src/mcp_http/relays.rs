//! Relays of standard streams as a server sees them: their version, and the repository they stand in.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    chat::Chat,
    config::PathMap,
    error::chain,
    ingest::{self, Ingest, RootStatus, State},
    net::{HttpError, Request},
    task::Tasks,
};

/// Where a relay listens on both listeners.
pub const PATH: &str = "/mcp/relay";
/// The header in which a relay says what it is, as JSON in ASCII.
pub const HEADER: &str = "codeinfo-relay";

/// What a relay says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Relay {
    /// The version of its program.
    pub version: String,
    /// The repository that it was started in, as its client sees it.
    pub folder: Option<PathBuf>,
    /// Whether that repository may be indexed where it is not.
    pub auto_index: bool,
    /// Whether its client has said `initialize`, over an earlier connection.
    pub is_greeted: bool,
}

/// What relays need of a server.
#[derive(Clone)]
pub struct Relays {
    chat: Chat,
    ingest: Ingest,
    paths: PathMap,
    /// Own what is prepared for relays.
    tasks: Tasks,
    /// Cancelled to have the server stop for a newer one; `None` where somebody else started it.
    gives_way: Option<CancellationToken>,
}

impl Relays {
    pub fn new(
        chat: Chat,
        ingest: Ingest,
        (paths, tasks): (PathMap, Tasks),
        gives_way: Option<CancellationToken>,
    ) -> Self {
        Self { chat, ingest, paths, tasks, gives_way }
    }

    /// Has work done that no handshake waits for.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Returns whether the client of the relay that sends this handshake was greeted before, and where it stands.
    ///
    /// # Errors
    /// The relay is newer than this server, which was started by an older one and stops for it.
    pub fn admit(&self, request: &Request) -> Result<(bool, Option<Arc<Place>>), HttpError> {
        let header = request.header(HEADER);
        let read = header.as_deref().and_then(|header| serde_json::from_str(header).ok());
        let Relay { version, folder, auto_index, is_greeted } = read.unwrap_or_default();
        let is_idle = self.chat.running() == 0 && self.ingest.running() == 0;
        if let Some(gives_way) = &self.gives_way
            && is_newer(&version, env!("CARGO_PKG_VERSION"))
            && is_idle
        {
            info!(relay.version = %version, "making room for a newer server");
            gives_way.cancel();
            return Err(HttpError::Stopping);
        }
        let place = folder.map(|folder| {
            let folder = self.paths.meant(&folder);
            let paths = self.paths.clone();
            Arc::new(Place { ingest: self.ingest.clone(), paths, folder, auto_index })
        });
        Ok((is_greeted, place))
    }
}

/// Where a relay stands.
pub struct Place {
    ingest: Ingest,
    paths: PathMap,
    /// As this server sees it.
    folder: PathBuf,
    auto_index: bool,
}

impl Place {
    /// Has the repository indexed where it is not, and that is wanted.
    pub async fn prepare(&self) {
        if !self.auto_index || self.status().await.is_some() {
            return;
        }
        let request = ingest::Request { path: self.folder.clone(), name: None, description: None };
        match self.ingest.start(request).await {
            Ok(run) => info!(run.id = %run, path = %self.folder.display(), "indexing of itself"),
            Err(error) => {
                warn!(error = %chain(&error), path = %self.folder.display(), "not indexed");
            }
        }
    }

    /// Says what answers about the repository miss, if they miss something.
    pub async fn notice(&self) -> Option<String> {
        let shown = self.paths.shown(&self.folder);
        let shown = shown.display();
        let Some(RootStatus { root, state, run_id }) = self.status().await else {
            return Some(format!(
                "`{shown}` is not indexed, so nothing of it was found; the user can index it with \
                 `codeinfo ingest {shown}`"
            ));
        };
        match state {
            State::Queued | State::Scanning | State::Embedding => {
                let status = run_id.and_then(|run| self.ingest.status(run).ok());
                let read = status
                    .filter(|status| status.file_total > 0)
                    .map_or_else(String::new, |status| {
                        format!(" ({} of {} files)", status.file_index, status.file_total)
                    });
                // What was indexed before is still found.
                let misses = match root.last_ingest_at {
                    None => "answers miss some of it until then",
                    Some(_) => return None,
                };
                Some(format!("`{shown}` is being indexed{read}; {misses}"))
            }
            State::Error if root.last_ingest_at.is_none() => {
                Some(format!("`{shown}` could not be indexed; `codeinfo ingest {shown}` says why"))
            }
            _ => None,
        }
    }

    /// Returns the innermost root around the folder.
    async fn status(&self) -> Option<RootStatus> {
        let roots = self.ingest.roots().await.ok()?.into_iter();
        let around = roots.filter(|status| self.folder.starts_with(&status.root.path));
        around.max_by_key(|status| status.root.path.components().count())
    }
}

/// Whether a version such as `1.10.0` is higher than another; what is no version is not.
fn is_newer(version: &str, than: &str) -> bool {
    let numbers = |version: &str| {
        let parts = version.split('.').map(|part| part.parse().ok());
        parts.collect::<Option<Vec<u64>>>()
    };
    numbers(version).zip(numbers(than)).is_some_and(|(version, than)| version > than)
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_are_compared_by_number() {
        for (version, than, wanted) in [
            ("0.2.0", "0.1.9", true),
            ("0.10.0", "0.9.0", true),
            ("0.1.0", "0.1.0", false),
            ("0.1.0", "0.2.0", false),
            ("", "0.1.0", false),
            ("1.0.0-rc1", "0.1.0", false),
        ] {
            assert_eq!(is_newer(version, than), wanted, "{version} {than}");
        }
    }
}

//! Both listeners over real parts, on ports of the system's choice.

use std::{net::SocketAddr, sync::Arc};

use codeinfo::{
    api::{Api, Services},
    chat::Chat,
    codex::Codex,
    config::{self, Config},
    embed::{Builtin, Embedder},
    ingest::Ingest,
    mcp::Mcp,
    net::{self, Handler},
    search::Search,
    store::{Embedded, OnMismatch, VectorStore},
    task::Tasks,
};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// A running server; it ends with the test's runtime.
pub(crate) struct Listeners {
    pub(crate) main: SocketAddr,
    pub(crate) mcp: SocketAddr,
    pub(crate) folder: TempDir,
    tasks: Tasks,
}

impl Listeners {
    /// Starts with an empty store and without Codex.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts with the settings of `pairs`.
    pub(crate) async fn start_with(pairs: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = settings(&folder, pairs);
        let tasks = Tasks::default();
        let main = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = (main.local_addr().unwrap(), mcp.local_addr().unwrap());
        let codex = Codex::new(config.codex.clone(), tasks.clone());
        codex.check().await;
        let search_url = format!("http://{}/mcp", addresses.0);
        let chat = Chat::new(codex.clone(), &config.codex, search_url, tasks.clone());
        let services = services(&config, codex.clone(), &tasks).await;
        serve(main, Api::new(services, &config.http).unwrap(), &config, &tasks);
        serve(mcp, Mcp::new(chat, codex, &config.http).unwrap(), &config, &tasks);
        Self { main: addresses.0, mcp: addresses.1, folder, tasks }
    }

    /// Writes a file below the folder of the test and returns the folder.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Stops as the program does.
    pub(crate) async fn stop(self) -> bool {
        self.tasks.stop(std::time::Duration::from_secs(20)).await
    }
}

fn settings(folder: &TempDir, pairs: &[(&str, &str)]) -> Config {
    let data_dir = folder.path().join("data").display().to_string();
    let usual = [("CODEX_BIN", "/nonexistent/codex"), ("DATA_DIR", data_dir.as_str())];
    let all: std::collections::HashMap<&str, &str> =
        usual.into_iter().chain(pairs.iter().copied()).collect();
    let owned = all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    config::from_pairs(owned, std::ffi::OsString::new()).unwrap()
}

async fn services(config: &Config, codex: Codex, tasks: &Tasks) -> Services {
    let embedder: Arc<dyn Embedder> = Arc::new(Builtin::load(tasks.clone()).unwrap());
    let model = embedder.model().clone();
    let folder = config.data_dir.join("store");
    let (id, dimensions, refuse) = (model.id(), model.dimensions, OnMismatch::Refuse);
    let store = Embedded::open(&folder, &id, dimensions, refuse, &config.store, tasks.clone());
    let store: Arc<dyn VectorStore> = Arc::new(store.await.unwrap());
    let parts = || (Arc::clone(&store), Arc::clone(&embedder));
    Services {
        ingest: Ingest::new(parts().0, parts().1, config.ingest.clone(), tasks.clone()),
        search: Search::new(parts().0, parts().1, config.path_map.clone()),
        store,
        embedder,
        codex,
        path_map: config.path_map.clone(),
        mcp_port: 5011,
    }
}

fn serve(listener: TcpListener, handler: impl Handler, config: &Config, tasks: &Tasks) {
    net::serve(listener, handler, &config.http, &config.guard, tasks.clone());
}

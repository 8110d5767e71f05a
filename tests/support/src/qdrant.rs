//! A fake Qdrant server: the calls that our store makes, over gRPC and with the messages that
//! `qdrant-client` ships, on the embedded engine. It can be made to refuse, delay, lose and cut calls,
//! and to be unreachable.

mod convert;
pub mod fixture;
pub mod process;
mod rounds;
mod service;
mod shards;

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use qdrant_client::qdrant::{
    collections_server::CollectionsServer, points_server::PointsServer, qdrant_server::QdrantServer,
};
use tokio::{net::TcpSocket, runtime::Runtime};
use tonic::{
    Code, Status,
    transport::{Identity, Server, ServerTlsConfig, server::TcpIncoming},
};

use rounds::RoundCounter;
use service::NodeServices;
use shards::FakeCollections;

/// The version that it reports.
pub const VERSION: &str = "1.19.0";

/// A running fake server. Dropping it stops it.
pub struct FakeQdrant {
    inner: Arc<FakeQdrantState>,
}

/// State that the nodes share: the data, the faults, and the calls.
struct FakeQdrantState {
    shards: FakeCollections,
    nodes: Vec<FakeNode>,
    faults: Mutex<Vec<FaultRule>>,
    has_failed: AtomicBool,
    rounds: RoundCounter,
    calls: Mutex<HashMap<String, usize>>,
    key: Mutex<Option<String>>,
    /// A certificate and its key, where connections are encrypted.
    identity: Option<Identity>,
}

/// One address; a node of a cluster whose nodes all have the same data.
struct FakeNode {
    address: SocketAddr,
    /// Socket that stays bound and never listens. It reserves the port while the node is closed.
    _reservation: TcpSocket,
    /// `None` while it is shut.
    open: Mutex<Option<Runtime>>,
    /// Whether it fails every call, as a node does that has lost its peers.
    is_cut_off: AtomicBool,
}

/// A fault of some calls.
pub struct FaultRule {
    /// The call, such as `upsert`; blank for each.
    pub call: &'static str,
    /// A part of the collection's name.
    pub of: &'static str,
    /// So many calls go well first.
    pub after: usize,
    /// So many calls go wrong.
    pub times: usize,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, Copy)]
pub enum FaultKind {
    /// The server refuses and does nothing.
    Refuse(Code),
    /// The server is slow.
    Delay(Duration),
    /// It is done, and the answer is lost with the connection.
    Lose,
    /// All connections end before the call is executed, and the nodes are closed.
    Cut,
}

impl FakeQdrant {
    /// Starts a server with one open node.
    pub fn start() -> Self {
        Self::start_nodes(1)
    }

    /// Starts one that has several addresses.
    pub fn start_nodes(nodes: usize) -> Self {
        Self::start_with_identity(nodes, None)
    }

    /// Starts one for encrypted connections, known as `localhost` to who trusts
    /// `tests/fixtures/tls/ca.pem`. These certificates were made for tests, the authority's key is gone.
    pub fn start_encrypted() -> Self {
        let read = |name| std::fs::read(find_tls_file(name)).unwrap();
        Self::start_with_identity(
            1,
            Some(Identity::from_pem(read("server.pem"), read("server.key"))),
        )
    }

    fn start_with_identity(nodes: usize, identity: Option<Identity>) -> Self {
        let node = |_| {
            let reservation = bind_shared_address(SocketAddr::from(([127, 0, 0, 1], 0)));
            FakeNode {
                address: reservation.local_addr().unwrap(),
                _reservation: reservation,
                open: Mutex::new(None),
                is_cut_off: AtomicBool::new(false),
            }
        };
        let inner = Arc::new(FakeQdrantState {
            shards: FakeCollections::with_nodes(u32::try_from(nodes).unwrap()),
            nodes: (0..nodes).map(node).collect(),
            faults: Mutex::default(),
            has_failed: AtomicBool::new(false),
            rounds: RoundCounter::default(),
            calls: Mutex::default(),
            key: Mutex::default(),
            identity,
        });
        let fake_qdrant = Self { inner };
        (0..nodes).for_each(|node| fake_qdrant.open_node(node));
        fake_qdrant
    }

    /// The addresses, as `QDRANT_URL` takes them.
    pub fn urls(&self) -> Vec<String> {
        let url = |node: &FakeNode| match self.inner.identity {
            None => format!("http://{}", node.address),
            Some(_) => format!("https://localhost:{}", node.address.port()),
        };
        self.inner.nodes.iter().map(url).collect()
    }

    /// Makes something go wrong.
    pub fn add_fault(&self, rule: FaultRule) {
        self.inner.faults.lock().unwrap().push(rule);
    }

    /// Lets everything go well again.
    pub fn clear_faults(&self) {
        self.inner.faults.lock().unwrap().clear();
        self.inner.has_failed.store(false, Ordering::SeqCst);
    }

    /// Returns whether any fault occurred since [`Self::clear_faults`].
    pub fn has_failed(&self) -> bool {
        self.inner.has_failed.load(Ordering::SeqCst)
    }

    /// From now on only calls with this key are served.
    pub fn require_key(&self, key: &str) {
        *self.inner.key.lock().unwrap() = Some(key.to_owned());
    }

    /// Counts the calls of a kind to collections with `of` in their name.
    pub fn count_calls(&self, call: &str, of: &str) -> usize {
        let calls = self.inner.calls.lock().unwrap();
        let matching = calls.iter().filter(|(name, _)| {
            let (made, collection) = name.split_once(' ').unwrap();
            made == call && collection.contains(of)
        });
        matching.map(|(_, count)| count).sum()
    }

    /// Starts counting round trips: all calls before an answer are one. Returns the number since the
    /// last call of this function.
    pub fn count_rounds(&self) -> usize {
        self.inner.rounds.take_count()
    }

    /// Names of the collections there are.
    pub fn list_collections(&self) -> Vec<String> {
        self.inner.shards.list_names()
    }

    /// Says that collections with `of` in their names have this number of whole copies of their last shard.
    pub fn set_copies(&self, of: &str, whole: u32) {
        self.inner.shards.set_copies(of, whole);
    }

    /// Deletes a collection, as another program may.
    pub fn delete_collection(&self, collection: &str) {
        assert!(self.inner.shards.delete_collection(collection));
    }

    /// Ends all connections of a node and accepts no more.
    pub fn close_node(&self, node: usize) {
        self.inner.close_node(node);
    }

    /// From now on one node answers each call with `INTERNAL`; the others serve.
    pub fn isolate_node(&self, node: usize) {
        self.inner.nodes[node].is_cut_off.store(true, Ordering::SeqCst);
    }

    /// Returns whether a node is open.
    pub fn is_node_open(&self, node: usize) -> bool {
        self.inner.nodes[node].open.lock().unwrap().is_some()
    }

    /// Takes connections again, at the same address.
    pub fn open_node(&self, node: usize) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let address = self.inner.nodes[node].address;
        let bound = {
            let _context = runtime.enter();
            bind_shared_address(address).listen(1024).unwrap()
        };
        let service = || NodeServices { inner: Arc::clone(&self.inner), door: node };
        let mut builder = Server::builder();
        if let Some(identity) = &self.inner.identity {
            let tls = ServerTlsConfig::new().identity(identity.clone());
            builder = builder.tls_config(tls).unwrap();
        }
        let server = builder
            .add_service(PointsServer::new(service()).max_decoding_message_size(64 << 20))
            .add_service(CollectionsServer::new(service()))
            .add_service(QdrantServer::new(service()));
        // As the real one does; else each answer waits 40 ms for the client's acknowledgement.
        let incoming = TcpIncoming::from(bound).with_nodelay(Some(true));
        let serving = server.serve_with_incoming(incoming);
        runtime.spawn(serving);
        *self.inner.nodes[node].open.lock().unwrap() = Some(runtime);
    }
}

/// Binds an address that several sockets of this process may be bound to.
fn bind_shared_address(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    #[cfg(unix)]
    socket.set_reuseport(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

/// Returns the path of a file that an encrypted server needs.
pub fn find_tls_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/tls").join(name)
}

impl Drop for FakeQdrant {
    fn drop(&mut self) {
        (0..self.inner.nodes.len()).for_each(|node| self.inner.close_node(node));
    }
}

impl FakeQdrantState {
    fn close_node(&self, node: usize) {
        let mut open = self.nodes[node].open.lock().unwrap();
        let Some(runtime) = open.take() else { return };
        // A listener that lives on would get a share of the connections to the next one. Another thread, because
        // this one may drive a runtime.
        let shut_down = || runtime.shutdown_timeout(Duration::from_mins(1));
        thread::scope(|scope| scope.spawn(shut_down).join().unwrap());
    }

    /// Fails as a node does that has lost its peers.
    fn check_node(&self, node: usize) -> Result<(), Status> {
        if self.nodes[node].is_cut_off.load(Ordering::SeqCst) {
            return Err(Status::internal("1 of 1 read operations failed"));
        }
        Ok(())
    }

    /// Counts a call and returns its fault, if there is one.
    fn find_fault(&self, call: &str, collection: &str) -> Option<FaultKind> {
        *self.calls.lock().unwrap().entry(format!("{call} {collection}")).or_default() += 1;
        let mut rules = self.faults.lock().unwrap();
        let matches = |rule: &&mut FaultRule| {
            (rule.call.is_empty() || rule.call == call)
                && collection.contains(rule.of)
                && 0 < rule.times
        };
        let rule = rules.iter_mut().find(matches)?;
        if rule.after > 0 {
            rule.after -= 1;
            return None;
        }
        rule.times -= 1;
        self.has_failed.store(true, Ordering::SeqCst);
        Some(rule.kind)
    }

    /// Ends every connection, from a separate thread, because the caller's one is about to end.
    async fn cut_connections(self: &Arc<Self>) -> Status {
        let inner = Arc::clone(self);
        thread::spawn(move || (0..inner.nodes.len()).for_each(|node| inner.close_node(node)));
        std::future::pending().await
    }
}

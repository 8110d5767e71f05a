//! An embedding service on loopback, which can be made to misbehave: `/v1/embeddings` over HTTP.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use codeinfo_core::task::Tasks;
use codeinfo_embed::EmbeddingSettings;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::watch,
    time::timeout,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::qdrant::find_tls_file;

/// Time limit of a test for something that must happen.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Length of the vectors, unless asked otherwise.
pub const DIMENSIONS: usize = 64;

/// Reaction of the service to one request.
#[derive(Debug, Clone)]
pub enum EmbeddingAnswer {
    /// Answers as it should.
    Vectors,
    /// Answers as it should, later.
    Late(Duration),
    /// Vectors of this length.
    Dimensions(usize),
    /// The last vector first, each with its index.
    Shuffled,
    /// Vectors in base64.
    Base64,
    /// One vector less than inputs.
    OneLess,
    /// Vectors of zeros.
    Zeros,
    /// An answer of this status and text.
    Text(u16, String),
    /// An answer of this status with a header.
    Header(u16, &'static str, String),
    /// The connection is closed without an answer.
    Cut,
    /// Sends nothing, until the client leaves.
    Silent,
}

type EmbeddingScript = Box<dyn FnMut(&Value) -> EmbeddingAnswer + Send>;

/// A listening service. Nobody listens any more when it is dropped.
pub struct FakeEmbeddingServer {
    /// For `EMBEDDING_URL`.
    pub url: String,
    pub address: SocketAddr,
    shared: Arc<EmbeddingServerState>,
    tasks: Tasks,
}

struct EmbeddingServerState {
    script: Mutex<EmbeddingScript>,
    requests: Mutex<Vec<Value>>,
    keys: Mutex<Vec<Option<String>>>,
    request_count: watch::Sender<usize>,
    active_requests: AtomicUsize,
    max_active_requests: AtomicUsize,
}

/// The settings of a program that uses a service, by its base URL, with a shorter wait between tries.
pub fn default_settings(url: &str) -> EmbeddingSettings {
    EmbeddingSettings {
        url: format!("{url}/embeddings"),
        is_local: true,
        model: "stand-in".to_owned(),
        key: None,
        dimensions: None,
        query_prefix: String::new(),
        document_prefix: String::new(),
        batch: 32,
        batch_tokens: 100_000,
        max_tokens: 2048,
        concurrency: 4,
        timeout: Duration::from_mins(2),
        backoff: Duration::from_millis(5),
    }
}

impl FakeEmbeddingServer {
    /// Answers each request as it should.
    pub async fn start() -> Self {
        Self::start_with_script(|_| EmbeddingAnswer::Vectors).await
    }

    /// Answers each request by what `script` makes of its body.
    pub async fn start_with_script(
        script: impl FnMut(&Value) -> EmbeddingAnswer + Send + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), script).await
    }

    /// Answers as it should, over connections encrypted for `localhost`, to who trusts
    /// `tests/fixtures/tls/ca.pem`.
    pub async fn start_encrypted() -> Self {
        codeinfo_core::install_crypto_provider();
        let certificate = CertificateDer::from_pem_file(find_tls_file("server.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(find_tls_file("server.key")).unwrap();
        let settings = ServerConfig::builder().with_no_client_auth();
        let settings = settings.with_single_cert(vec![certificate], key).unwrap();
        let encryption = Some(TlsAcceptor::from(Arc::new(settings)));
        Self::start_configured("127.0.0.1:0".parse().unwrap(), encryption, |_| {
            EmbeddingAnswer::Vectors
        })
        .await
    }

    /// Answers at an address, such as that of an earlier one.
    pub async fn start_at(
        address: SocketAddr,
        script: impl FnMut(&Value) -> EmbeddingAnswer + Send + 'static,
    ) -> Self {
        Self::start_configured(address, None, script).await
    }

    async fn start_configured(
        address: SocketAddr,
        encryption: Option<TlsAcceptor>,
        script: impl FnMut(&Value) -> EmbeddingAnswer + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = match encryption {
            None => format!("http://{address}/v1"),
            Some(_) => format!("https://localhost:{}/v1", address.port()),
        };
        let shared = Arc::new(EmbeddingServerState {
            script: Mutex::new(Box::new(script)),
            requests: Mutex::default(),
            keys: Mutex::default(),
            request_count: watch::Sender::new(0),
            active_requests: AtomicUsize::new(0),
            max_active_requests: AtomicUsize::new(0),
        });
        let tasks = Tasks::default();
        tasks.spawn(accept_connections(listener, encryption, Arc::clone(&shared), tasks.clone()));
        Self { url, address, shared, tasks }
    }

    /// From now on answers by another script.
    pub fn replace_script(&self, script: impl FnMut(&Value) -> EmbeddingAnswer + Send + 'static) {
        *self.shared.script.lock().unwrap() = Box::new(script);
    }

    /// Returns the bodies of all requests up to now.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Returns all inputs up to now.
    pub fn received_inputs(&self) -> Vec<String> {
        self.requests().iter().flat_map(read_inputs).collect()
    }

    /// Returns the number of inputs of each request up to now.
    pub fn batch_sizes(&self) -> Vec<usize> {
        self.requests().iter().map(|request| read_inputs(request).len()).collect()
    }

    /// Returns the `Authorization` header of each request up to now.
    pub fn authorization_headers(&self) -> Vec<Option<String>> {
        self.shared.keys.lock().unwrap().clone()
    }

    /// Returns how many requests were under way at most at a time.
    pub fn max_concurrent_requests(&self) -> usize {
        self.shared.max_active_requests.load(Ordering::SeqCst)
    }

    /// Waits until `count` requests came.
    pub async fn wait_for_requests(&self, count: usize) {
        let mut asked = self.shared.request_count.subscribe();
        timeout(TIMEOUT, asked.wait_for(|seen| *seen >= count)).await.unwrap().unwrap();
    }

    /// Stops, and waits until nothing listens.
    pub async fn stop(self) -> SocketAddr {
        assert!(self.tasks.stop(TIMEOUT).await);
        self.address
    }
}

impl Drop for FakeEmbeddingServer {
    fn drop(&mut self) {
        self.tasks.stop_token().cancel();
    }
}

/// The inputs of a request.
pub fn read_inputs(request: &Value) -> Vec<String> {
    let list = request["input"].as_array().unwrap();
    list.iter().map(|input| input.as_str().unwrap().to_owned()).collect()
}

/// A vector that has more in common with that of another text the more words they share.
pub fn embed_words(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.01; dimensions];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut hasher = DefaultHasher::new();
        word.to_lowercase().hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % dimensions as u64).unwrap();
        vector[place] += 3.0;
    }
    vector
}

async fn accept_connections(
    listener: TcpListener,
    encryption: Option<TlsAcceptor>,
    shared: Arc<EmbeddingServerState>,
    tasks: Tasks,
) {
    while let Some(Ok((stream, _))) =
        tasks.stop_token().run_until_cancelled(listener.accept()).await
    {
        let (encryption, shared, owner) = (encryption.clone(), Arc::clone(&shared), tasks.clone());
        let serving = async move {
            let Some(encryption) = encryption else {
                return serve_connection(stream, &shared).await;
            };
            // A client that does not trust the certificate leaves.
            if let Ok(stream) = encryption.accept(stream).await {
                serve_connection(stream, &shared).await;
            }
        };
        tasks.spawn(async move { owner.stop_token().run_until_cancelled(serving).await });
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    shared: &Arc<EmbeddingServerState>,
) {
    let service = service_fn(|request| respond_to_request(request, Arc::clone(shared)));
    // A connection that is cut is part of the scripts.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

/// Counts a request as long as it is under way.
struct RequestInProgress<'a>(&'a EmbeddingServerState);

impl<'a> RequestInProgress<'a> {
    fn begin(shared: &'a EmbeddingServerState) -> Self {
        let now = shared.active_requests.fetch_add(1, Ordering::SeqCst) + 1;
        shared.max_active_requests.fetch_max(now, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for RequestInProgress<'_> {
    fn drop(&mut self) {
        self.0.active_requests.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn respond_to_request(
    request: Request<Incoming>,
    shared: Arc<EmbeddingServerState>,
) -> io::Result<Response<Full<Bytes>>> {
    let _under_way = RequestInProgress::begin(&shared);
    let key = request.headers().get("authorization");
    let key = key.map(|key| key.to_str().unwrap().to_owned());
    let is_known = request.uri().path() == "/v1/embeddings" && request.method() == "POST";
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    if !is_known {
        return Ok(build_text_response(404, "page not found"));
    }
    let body: Value = serde_json::from_slice(&body).unwrap();
    let reply = (shared.script.lock().unwrap())(&body);
    shared.requests.lock().unwrap().push(body.clone());
    shared.keys.lock().unwrap().push(key);
    shared.request_count.send_modify(|asked| *asked += 1);
    let mut length =
        body["dimensions"].as_u64().map_or(DIMENSIONS, |set| usize::try_from(set).unwrap());
    match &reply {
        EmbeddingAnswer::Text(status, body) => return Ok(build_text_response(*status, body)),
        EmbeddingAnswer::Header(status, name, value) => {
            let reply = Response::builder().status(*status).header(*name, value);
            return Ok(reply.body(Full::default()).unwrap());
        }
        EmbeddingAnswer::Cut => return Err(io::Error::other("cut")),
        EmbeddingAnswer::Silent => std::future::pending().await,
        EmbeddingAnswer::Late(wait) => tokio::time::sleep(*wait).await,
        EmbeddingAnswer::Dimensions(other) => length = *other,
        EmbeddingAnswer::Vectors
        | EmbeddingAnswer::Shuffled
        | EmbeddingAnswer::Base64
        | EmbeddingAnswer::OneLess
        | EmbeddingAnswer::Zeros => {}
    }
    let item = |(index, input): (usize, &String)| {
        let vector = match reply {
            EmbeddingAnswer::Zeros => vec![0.0; length],
            _ => embed_words(input, length),
        };
        let embedding = match reply {
            EmbeddingAnswer::Base64 => {
                let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
                json!(BASE64_STANDARD.encode(bytes))
            }
            _ => json!(vector),
        };
        json!({ "object": "embedding", "index": index, "embedding": embedding })
    };
    let mut data: Vec<Value> = read_inputs(&body).iter().enumerate().map(item).collect();
    match reply {
        EmbeddingAnswer::Shuffled => data.reverse(),
        EmbeddingAnswer::OneLess => drop(data.pop()),
        _ => {}
    }
    let usage = json!({ "prompt_tokens": 1, "total_tokens": 1 });
    let list = json!({ "object": "list", "data": data, "model": body["model"], "usage": usage });
    Ok(build_text_response(200, &list.to_string()))
}

fn build_text_response(status: u16, body: &str) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::from(body.to_owned())).unwrap()
}

//! Search end to end: the built-in model, a real store, a few dozen chunks.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use codeinfo_chunk::ChunkKind;
use codeinfo_core::{ChunkRecord, PathMap, Root, RootId, error::ErrorCode, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder, EmbeddingDocument, lexical};
use codeinfo_lang::role;
use codeinfo_search::{
    Excerpt, ResultFreshness, Search, SearchError, SearchQuery, SearchResults, SearchWeights,
    render_excerpt,
};
use codeinfo_store::{ChunkVectors, EmbeddedEngine, NewChunk, OnMismatch, Store, StoreMode};
use tempfile::TempDir;
use uuid::Uuid;

/// A store with indexed repositories.
struct SearchLibrary {
    store: Store,
    embedder: Arc<BuiltinEmbedder>,
    _folder: TempDir,
}

impl SearchLibrary {
    async fn create() -> Self {
        let tasks = Tasks::default();
        let embedder = Arc::new(BuiltinEmbedder::load(tasks.clone()).unwrap());
        let folder = TempDir::new().unwrap();
        let (model, dimensions) = (embedder.model().clone(), embedder.dimensions().unwrap());
        let settings = codeinfo_store::EmbeddedStoreSettings {
            seal_chunks: 4096,
            background_merge: true,
            repairs: true,
        };
        let at = &folder.path().join("store");
        let (model, refuse) = (model.id(), OnMismatch::Refuse);
        let opening =
            EmbeddedEngine::open(at, &model, dimensions, refuse, &settings, tasks.clone());
        let store = Store::new(opening.await.unwrap(), StoreMode::Flat, tasks);
        Self { store, embedder, _folder: folder }
    }

    /// A shop's server in one repository, its web page in another.
    async fn with_shop() -> Self {
        let library = Self::create().await;
        library.index_chunks("server", 1, SERVER).await;
        library.index_chunks("page", 1, PAGE).await;
        library
    }

    /// Indexes `chunks`, each a path, a symbol and a text, as they were at `indexed_at_ms`.
    async fn index_chunks(&self, name: &str, indexed_at_ms: u64, chunks: &[(&str, &str, &str)]) {
        let path = PathBuf::from("/data/repos").join(name);
        let root = Root {
            name: name.to_owned(),
            model_id: self.embedder.model().id(),
            ..Root::from_folder(path)
        };
        let id = root.id;
        self.store.put_root(root).await.unwrap();
        let mut all = Vec::new();
        for ((path, symbol, text), line) in chunks.iter().zip((1..).step_by(10)) {
            all.push(self.embed_chunk(id, indexed_at_ms, line, path, symbol, text).await);
        }
        self.store.put_chunks(all).await.unwrap();
    }

    async fn embed_chunk(
        &self,
        root: RootId,
        indexed_at_ms: u64,
        start_line: u32,
        path: &str,
        symbol: &str,
        text: &str,
    ) -> NewChunk {
        let lines = u32::try_from(text.lines().count()).unwrap();
        let record = ChunkRecord {
            root,
            path: path.to_owned(),
            version: format!("version at {indexed_at_ms}"),
            indexed_at_ms,
            start_line,
            end_line: start_line + lines - 1,
            symbol: Some(symbol.to_owned()),
            kind: ChunkKind::Head,
            defines: vec![symbol.to_owned()],
            roles: role::detect_roles(path).collect(),
            language: Some("rust".to_owned()),
            text: text.to_owned(),
            ..codeinfo_test_support::store::make_chunk_record(path, path)
        };
        let place = format!("{path} {indexed_at_ms} {start_line}");
        let document = EmbeddingDocument { path, symbol, text };
        let dense =
            self.embedder.embed_documents(vec![document.to_owned()]).await.unwrap().remove(0);
        NewChunk {
            id: Uuid::new_v5(&root.0, place.as_bytes()),
            record,
            vectors: ChunkVectors { dense, sparse: lexical::weigh_document(&document) },
        }
    }

    fn build_search(&self, path_map: PathMap) -> Search {
        let embedder = Arc::clone(&self.embedder) as Arc<dyn Embedder>;
        Search::new(self.store.clone(), embedder, path_map)
    }

    async fn search_text(&self, text: &str) -> SearchResults {
        self.build_search(PathMap::default())
            .find_chunks(&SearchQuery::new(text, None, None).unwrap())
            .await
            .unwrap()
    }

    async fn search_repository(
        &self,
        text: &str,
        repository: &str,
    ) -> Result<SearchResults, SearchError> {
        self.build_search(PathMap::default())
            .find_chunks(&SearchQuery::new(text, Some(repository), Some(20)).unwrap())
            .await
    }
}

#[tokio::test]
async fn words_found_nowhere_and_names_of_documents_alone_are_reported() {
    let library = SearchLibrary::with_shop().await;
    let notes = [("docs/notes.md", "Plans", "# Plans\n\nSee LoyaltyMiddleware of another vendor.")];
    library.index_chunks("notes", 1, &notes).await;
    let query = "how does the LoyaltyMiddleware remove removable refunding giraffes from anti-basket totals";
    let found = library.search_text(query).await;
    assert_eq!((found.absent.len(), found.documented.len()), (0, 1), "{found:?}");
    let documented = &found.documented[0];
    assert_eq!(documented.name, "LoyaltyMiddleware");
    let place = (documented.place.path.as_str(), documented.place.line);
    assert_eq!(place, ("/data/repos/notes/docs/notes.md", 3));
    assert_eq!(found.absent_words, ["giraffes", "anti"]);
}

fn list_symbols(found: &SearchResults) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.symbol.as_deref().unwrap_or("")).collect()
}

const SERVER: &[(&str, &str, &str)] = &[
    (
        "src/basket.rs",
        "Basket::add_item",
        "pub fn add_item(&mut self, item: Item) {\n    self.items.push(item);\n    self.total += item.price;\n}",
    ),
    (
        "src/basket.rs",
        "Basket::remove_item",
        "pub fn remove_item(&mut self, id: ItemId) {\n    self.items.retain(|item| item.id != id);\n}",
    ),
    (
        "src/basket.rs",
        "Basket::total",
        "pub fn total(&self) -> Money {\n    self.items.iter().map(|item| item.price).sum()\n}",
    ),
    (
        "src/payment/card.rs",
        "charge_card",
        "/// Takes the money from the customer's credit card.\nfn charge_card(card: &Card, amount: Money) -> Result<Receipt> {\n    gateway.authorize(card, amount)?.capture()\n}",
    ),
    (
        "src/payment/refund.rs",
        "refund",
        "fn refund(receipt: &Receipt) -> Result<()> {\n    gateway.reverse(receipt.id)\n}",
    ),
    (
        "src/payment/retry.rs",
        "with_backoff",
        "/// Repeats a failed call, waiting twice as long each time.\nfn with_backoff(attempts: u32, call: impl Fn() -> Result<()>) {\n    let mut delay = START;\n    delay *= 2;\n}",
    ),
    (
        "src/login/session.rs",
        "Session::open",
        "fn open(user: &User, password: &str) -> Result<Session> {\n    verify_password(user, password)?;\n    Session::new(user)\n}",
    ),
    (
        "src/login/password.rs",
        "verify_password",
        "fn verify_password(user: &User, password: &str) -> Result<()> {\n    argon2::verify(user.hash, password)\n}",
    ),
    (
        "src/stock/warehouse.rs",
        "Warehouse::reserve",
        "fn reserve(&mut self, item: &Item, count: u32) -> Result<Reservation> {\n    self.shelves.take(item, count)\n}",
    ),
    (
        "src/stock/warehouse.rs",
        "Warehouse",
        "struct Warehouse {\n    shelves: Shelves,\n    address: Address,\n}",
    ),
    (
        "src/mail/template.rs",
        "render_template",
        "fn render_template(name: &str, values: &Values) -> String {\n    TEMPLATES.get(name).fill(values)\n}",
    ),
    (
        "src/mail/send.rs",
        "send_mail",
        "fn send_mail(to: &Address, body: &str) -> Result<()> {\n    smtp.connect()?.deliver(to, body)\n}",
    ),
    (
        "src/config.rs",
        "Settings::read",
        "fn read(path: &Path) -> Result<Settings> {\n    toml::from_str(&fs::read_to_string(path)?)\n}",
    ),
    (
        "src/server.rs",
        "serve",
        "async fn serve(listener: TcpListener) {\n    loop { spawn(connection(listener.accept().await)); }\n}",
    ),
    (
        "src/server.rs",
        "connection",
        "async fn connection(stream: TcpStream) {\n    let request = parse_request(&stream).await;\n    respond(route(request)).await;\n}",
    ),
    (
        "tests/payment.rs",
        "a_card_is_charged_once",
        "#[test]\nfn a_card_is_charged_once() {\n    charge_card(&card(), money(5)).unwrap();\n}",
    ),
    (
        "src/tax.rs",
        "value_added_tax",
        "fn value_added_tax(price: Money, country: Country) -> Money {\n    price * RATES[country]\n}",
    ),
    (
        "src/currency.rs",
        "convert_currency",
        "fn convert_currency(amount: Money, to: Currency) -> Money {\n    amount * rate(to)\n}",
    ),
];

const PAGE: &[(&str, &str, &str)] = &[
    (
        "web/basket.ts",
        "BasketView",
        "class BasketView {\n  render() { return this.items.map(row) }\n}",
    ),
    (
        "web/login.ts",
        "LoginForm",
        "class LoginForm {\n  submit() { return post('/login', this.fields) }\n}",
    ),
    (
        "web/http.ts",
        "post",
        "export async function post(url: string, body: object) {\n  return fetch(url, { method: 'POST', body: JSON.stringify(body) })\n}",
    ),
    ("web/theme.ts", "darkTheme", "export const darkTheme = { background: '#111', color: '#eee' }"),
    (
        "web/search.ts",
        "SearchBox",
        "class SearchBox {\n  suggest(prefix: string) { return this.index.startingWith(prefix) }\n}",
    ),
    (
        "web/router.ts",
        "navigate",
        "export function navigate(path: string) {\n  history.pushState(null, '', path)\n  show(routes[path])\n}",
    ),
];

#[tokio::test]
async fn an_exact_name_finds_its_definition_first() {
    let shop = SearchLibrary::with_shop().await;
    for (query, wanted) in [
        ("charge_card", "charge_card"),
        ("chargeCard", "charge_card"),
        ("Warehouse", "Warehouse"),
        ("Warehouse::reserve", "Warehouse::reserve"),
        ("where is verify_password defined?", "verify_password"),
        ("LoginForm", "LoginForm"),
    ] {
        assert_eq!(list_symbols(&shop.search_text(query).await).first(), Some(&wanted), "{query}");
    }
}

#[tokio::test]
async fn prose_finds_by_meaning() {
    let shop = SearchLibrary::with_shop().await;
    for (query, wanted) in [
        ("exponential retry delay after an error", "with_backoff"),
        ("dark mode colors", "darkTheme"),
        ("how are users authenticated", "verify_password"),
        ("load the configuration file", "Settings::read"),
    ] {
        let found = shop.search_text(query).await;
        let best = list_symbols(&found);
        assert!(best.iter().take(3).any(|symbol| *symbol == wanted), "{query}: {best:?}");
    }
}

#[tokio::test]
async fn a_path_finds_its_file() {
    let found = SearchLibrary::with_shop().await.search_text("src/payment/refund.rs").await;
    assert_eq!(found.hits[0].rel_path, "src/payment/refund.rs");
}

#[tokio::test]
async fn the_whole_text_of_a_report_finds_the_code_that_its_title_means() {
    let library = SearchLibrary::with_shop().await;
    let log = "12:00 INFO worker 7 waits for the basket of a customer\n".repeat(1_000);
    let report = format!(
        "Refund of a payment fails\n\nI expected it to work. It worked before the last update, \
         with the same settings and the same account, and I have a giraffe.\n\
         ```\n{log}at charge_card()\n```\n"
    );
    let found = library.search_text(&report).await;
    assert_eq!(found.hits[0].rel_path, "src/payment/refund.rs");
    assert_eq!(found.absent_words, [""; 0]);
    assert!(SearchQuery::new(&"x".repeat(65_536), None, None).is_ok());
}

#[tokio::test]
async fn a_path_with_a_line_finds_the_chunk_with_that_line() {
    let library = SearchLibrary::with_shop().await;
    let uses: Vec<String> =
        (0..150).map(|at| format!("fn use_{at}() {{\n    basket(basket, {at});\n}}")).collect();
    let uses: Vec<(&str, &str, &str)> =
        uses.iter().map(|text| ("src/uses/basket.rs", "basket", text.as_str())).collect();
    library.index_chunks("more", 1, &uses).await;
    for query in ["src/uses/basket.rs:1203", "uses/basket.rs:1203", "what is in basket.rs:1203?"] {
        let found = library.search_repository(query, "more").await.unwrap();
        let first = &found.hits[0];
        assert_eq!(
            (first.rel_path.as_str(), first.start_line),
            ("src/uses/basket.rs", 1201),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_hit_describes_its_whole_chunk() {
    let shop = SearchLibrary::with_shop().await;
    let found = shop.search_text("refund").await;
    let mut hit = serde_json::to_value(&found.hits[0]).unwrap();
    let score = hit["score"].take().as_f64().unwrap();
    assert!(0.5 < score && score <= 1.0, "{score}");
    insta::assert_snapshot!(serde_json::to_string_pretty(&hit).unwrap(), @r#"
    {
      "repo": "server",
      "relPath": "src/payment/refund.rs",
      "path": "/data/repos/server/src/payment/refund.rs",
      "startLine": 41,
      "endLine": 43,
      "symbol": "refund",
      "language": "rust",
      "score": null,
      "chunk": "fn refund(receipt: &Receipt) -> Result<()> {\n    gateway.reverse(receipt.id)\n}",
      "chunkId": "5349e11d-907b-56a3-9f45-1b3fc2604b71",
      "modelId": "code-static-1@1",
      "lineCount": 3
    }
    "#);
    assert_eq!(found.model_id, "code-static-1@1");
}

#[tokio::test]
async fn scores_fall_with_the_rank_and_the_order_never_changes() {
    let shop = SearchLibrary::with_shop().await;
    let first = shop.search_repository("item price total", "server").await.unwrap();
    assert!(first.hits.len() > 5);
    assert!(first.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
    assert!(first.hits.is_sorted_by(|a, b| b.score <= a.score));
    for _ in 0..5 {
        assert_eq!(shop.search_repository("item price total", "server").await.unwrap(), first);
    }
}

#[tokio::test]
async fn files_sum_up_the_hits() {
    let found =
        SearchLibrary::with_shop().await.search_repository("basket items", "server").await.unwrap();
    let basket = &found.files[0];
    assert_eq!(basket.rel_path, "src/basket.rs");
    assert_eq!((basket.chunks, basket.lines), (3, 10));
    assert!((basket.best - found.hits[0].score).abs() < 1e-6);
    let chunks: u32 = found.files.iter().map(|file| file.chunks).sum();
    assert_eq!(usize::try_from(chunks).unwrap(), found.hits.len());
}

#[tokio::test]
async fn a_repository_is_chosen_by_name_id_or_path() {
    let shop = SearchLibrary::with_shop().await;
    let id = RootId::from_path(&PathBuf::from("/data/repos/page")).to_string();
    for reference in ["page", id.as_str(), "/data/repos/page", "/data/repos/page/"] {
        let found = shop.search_repository("basket", reference).await.unwrap();
        assert!(!found.hits.is_empty());
        assert!(found.hits.iter().all(|hit| hit.repo == "page"), "{reference}");
    }
}

#[tokio::test]
async fn paths_are_shown_as_clients_see_them() {
    let shop = SearchLibrary::with_shop().await;
    let map = PathMap::new(PathBuf::from("/data"), PathBuf::from("/home/me"));
    let search = shop.build_search(map);
    let found = search.find_chunks(&SearchQuery::new("refund", None, None).unwrap()).await.unwrap();
    assert_eq!(found.hits[0].path, "/home/me/repos/server/src/payment/refund.rs");
    assert_eq!(found.files[0].path, found.hits[0].path);
    let query = SearchQuery::new("refund", Some("/home/me/repos/page"), None).unwrap();
    assert!(search.find_chunks(&query).await.unwrap().hits.iter().all(|hit| hit.repo == "page"));
}

#[tokio::test]
async fn an_unknown_repository_is_refused_with_the_known_ones() {
    let shop = SearchLibrary::with_shop().await;
    let failure = shop.search_repository("basket", "sever").await.unwrap_err();
    assert_eq!(failure.code(), ErrorCode::RepoNotFound);
    let message = "no repository `sever` is indexed; known are `page`, `server`";
    assert_eq!(failure.to_string(), message);
}

#[tokio::test]
async fn nothing_indexed_asks_for_an_ingest() {
    let library = SearchLibrary::create().await;
    let failure = library.search_repository("basket", "server").await.unwrap_err();
    assert_eq!(failure.code(), ErrorCode::IngestRequired);
}

#[tokio::test]
async fn a_query_without_any_known_word_finds_nothing() {
    let shop = SearchLibrary::with_shop().await;
    let found = shop.search_text("¿?").await;
    assert_eq!((found.hits, found.files), (vec![], vec![]));
    assert!(
        render_within(&shop.search_text("~~").await, 12_000)
            .text
            .starts_with("Nothing indexed fits")
    );
}

#[tokio::test]
async fn an_excerpt_keeps_to_its_limit_and_counts_what_is_left_out() {
    let found = SearchLibrary::with_shop()
        .await
        .search_repository("customer money", "server")
        .await
        .unwrap();
    let whole = render_within(&found, 12_000);
    let best = found.hits[0].score;
    let fitting = found.hits.iter().filter(|hit| hit.score >= 0.3 * best).count();
    let chunks: u32 = whole.files.iter().map(|file| file.chunks).sum();
    assert_eq!((whole.left_out, chunks as usize), (0, fitting));
    assert!(fitting < found.hits.len() && whole.text.len() > 450, "{}", whole.text);
    let short = render_within(&found, 450);
    assert!(short.text.len() <= 450);
    assert!(0 < short.left_out && short.text.contains(&format!("({} more", short.left_out)));
}

fn render_within(found: &SearchResults, max_bytes: usize) -> Excerpt {
    render_excerpt(
        found,
        "customer money",
        &ResultFreshness::default(),
        &BTreeSet::new(),
        max_bytes,
    )
}

#[tokio::test]
async fn a_synonym_counts_in_part() {
    let library = SearchLibrary::create().await;
    let login = ("src/login.rs", "login", "fn login(passwd: &str) -> bool {\n    check(passwd)\n}");
    let other = ("src/other.rs", "other", "fn other(password: &str) -> bool {\n    false\n}");
    library.index_chunks("server", 1, &[login, other]).await;
    let query = SearchQuery::new("where is the password checked", None, None).unwrap();
    let mut scores = Vec::new();
    for near in [0.0, 1.0] {
        let weights = SearchWeights { near, ..SearchWeights::SHIPPED };
        let search = library.build_search(PathMap::default()).with_weights(weights);
        let found = search.find_chunks(&query).await.unwrap();
        let hit = found.hits.iter().find(|hit| hit.rel_path == "src/login.rs");
        scores.push(hit.unwrap().score);
    }
    assert!(scores[0] < scores[1], "{scores:?}");
}

//! A chat with the real Codex, a scripted model and a scripted search, in a separate folder.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use codeinfo_chat::{Chat, ChatError, Turn, TurnOutcome, TurnRequest, collect_outcome};
use codeinfo_codex::{Codex, CodexAvailability};
use codeinfo_core::{
    ConversationId, FileRecord, IndexCounts, Root, Segment, Timestamp, hash, task::Tasks,
};
use codeinfo_store::{EmbeddedEngine, OnMismatch, Store, StoreMode};
use tempfile::TempDir;

use super::{
    codex,
    model::{FakeModel, ModelReply},
    search::FakeSearch,
};

pub(crate) struct ChatHarness {
    pub(crate) model: FakeModel,
    pub(crate) search: FakeSearch,
    pub(crate) codex: Codex,
    pub(crate) chat: Chat,
    pub(crate) tasks: Tasks,
    pub(crate) settings: codeinfo_codex::CodexSettings,
    /// The indexed content: the folder `repo`, see [`ChatHarness::repository_folder`].
    pub(crate) store: Store,
    folder: TempDir,
}

impl ChatHarness {
    /// Returns a harness whose model gives these replies, one for each request.
    pub(crate) async fn new(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        Self::with_settings(FakeModel::replay(replies).await, "", |_| ()).await
    }

    /// A harness with `more` in the user's `config.toml`, and settings changed by `change`.
    pub(crate) async fn with_settings(
        model: FakeModel,
        more: &str,
        change: impl FnOnce(&mut codeinfo_codex::CodexSettings),
    ) -> Self {
        let folder = create_folder();
        let mut settings = codex_settings(&folder);
        settings.home = Some(codex::write_codex_home(folder.path(), &model.url, more));
        change(&mut settings);
        let search = FakeSearch::start().await;
        let tasks = Tasks::default();
        let codex = Codex::new(settings.clone(), tasks.clone());
        let store = create_store(&folder).await;
        let (url, known) = (search.url.clone(), store.clone());
        let chat = Chat::new(codex.clone(), &settings, url, known, tasks.clone());
        Self { model, search, codex, chat, tasks, settings, store, folder }
    }

    /// Stops all tasks of CodeInfo and starts again in the same folder.
    pub(crate) async fn restart(&mut self) {
        assert!(self.tasks.stop(Duration::from_secs(20)).await, "stopping takes too long");
        self.tasks = Tasks::default();
        self.codex = Codex::new(self.settings.clone(), self.tasks.clone());
        let (codex, url) = (self.codex.clone(), self.search.url.clone());
        self.chat = Chat::new(codex, &self.settings, url, self.store.clone(), self.tasks.clone());
    }

    /// Has the same Codex search at `target`, such as `/mcp?more`, from the next question on.
    pub(crate) fn set_search_target(&mut self, target: &str) {
        let (codex, url) = (self.codex.clone(), self.search.url.replace("/mcp", target));
        self.chat = Chat::new(codex, &self.settings, url, self.store.clone(), self.tasks.clone());
    }

    /// The folder of the one repository that is indexed.
    pub(crate) fn repository_folder(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    pub(crate) async fn begin_turn(
        &self,
        question: &str,
        conversation: Option<ConversationId>,
    ) -> Result<Turn, ChatError> {
        // As both edges do.
        if let CodexAvailability::Unavailable(why) = self.chat.codex_availability().await {
            return Err(ChatError::Unavailable(why, conversation));
        }
        let question = question.parse().unwrap();
        self.chat.ask(TurnRequest::new(question, conversation)).await
    }

    /// Asks in a new conversation and waits for the outcome.
    pub(crate) async fn ask(&self, question: &str) -> TurnOutcome {
        collect_outcome(self.begin_turn(question, None).await.unwrap()).await
    }

    /// Asks in `conversation` and waits for the outcome.
    pub(crate) async fn follow_up(
        &self,
        conversation: ConversationId,
        question: &str,
    ) -> TurnOutcome {
        collect_outcome(self.begin_turn(question, Some(conversation)).await.unwrap()).await
    }

    pub(crate) fn codex_home(&self) -> PathBuf {
        self.settings.home.clone().unwrap()
    }
}

/// A folder outside the system's temporary folder, where Codex does not like to live.
pub(crate) fn create_folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The one file of the repository, `src/parse.rs`.
const PARSER: &str = "\
//! Parses.

/// Reads a number.
pub fn parse(text: &str) -> Result<u32, Fault> {
    text.trim().parse().map_err(|_| Fault::NoNumber)
}

pub enum Fault {
    NoNumber,
}
";

/// A store that knows one repository, `repo`, with [`PARSER`].
pub(crate) async fn create_store(folder: &TempDir) -> Store {
    let repository = folder.path().join("repo");
    fs::create_dir_all(&repository).unwrap();
    let settings = codeinfo_store::EmbeddedStoreSettings {
        seal_chunks: 4096,
        background_merge: false,
        repairs: true,
    };
    let (at, tasks) = (folder.path().join("data/store"), Tasks::default());
    let store = EmbeddedEngine::open(&at, "none", 4, OnMismatch::Refuse, &settings, tasks.clone());
    let store = Store::new(store.await.unwrap(), StoreMode::Flat, tasks);
    fs::create_dir_all(repository.join("src")).unwrap();
    fs::write(repository.join("src/parse.rs"), PARSER).unwrap();
    let root = make_root(&repository);
    let file = FileRecord {
        root: root.id,
        path: "src/parse.rs".to_owned(),
        version: hash::compute_file_version(PARSER.as_bytes(), hash::ChunkingMethod::Planned),
        size: PARSER.len() as u64,
        modified_ns: 0,
        chunks: 0,
    };
    store.put_root(root).await.unwrap();
    store.put_files(vec![file]).await.unwrap();
    store
}

/// A repository whose name is that of its folder, as it is after a run.
pub(crate) fn make_root(folder: &Path) -> Root {
    let folder = folder.canonicalize().unwrap();
    Root {
        model_id: "none".to_owned(),
        last_ingest_at: Some(Timestamp::now()),
        counts: IndexCounts { files: 1, chunks: 1, embedded: 1 },
        private_files: Some(Vec::new()),
        ..Root::from_folder(folder)
    }
}

pub(crate) fn codex_settings(folder: &TempDir) -> codeinfo_codex::CodexSettings {
    codeinfo_codex::CodexSettings {
        no_proxy: "127.0.0.1".to_owned(),
        bin: Some(codex::codex_binary().to_owned()),
        path: std::env::var_os("PATH").unwrap(),
        environment: codeinfo_codex::OtherVariables::default(),
        home: None,
        workdir: folder.path().join("workdir"),
        data_dir: folder.path().join("data"),
        model: None,
        effort: "high".to_owned(),
        claim_check: false,
        sandbox: codeinfo_codex::SandboxMode::WorkspaceWrite,
        approval: codeinfo_codex::ApprovalPolicy::OnFailure,
        shell: true,
        network: true,
        web_search: codeinfo_codex::WebSearchMode::Live,
        turn_timeout: Duration::from_mins(2),
        request_timeout: Duration::from_mins(1),
        presence_ttl: Duration::from_secs(30),
        max_turns: 4,
        max_waiting: 4,
    }
}

/// Shows an outcome in a line for each segment.
pub(crate) fn render_outcome(outcome: &TurnOutcome) -> String {
    let mut lines: Vec<String> = outcome.segments.iter().map(render_segment).collect();
    if let Some(failure) = &outcome.failure {
        lines.push(format!("failure: {}: {}", failure.code, failure.message));
    }
    lines.join("\n")
}

fn render_segment(segment: &Segment) -> String {
    match segment {
        Segment::Thinking { text } => format!("thinking: {text}"),
        Segment::VectorSummary { files } => {
            let names: Vec<&str> = files.iter().map(|file| file.rel_path.as_str()).collect();
            format!("vector_summary: {}", names.join(" "))
        }
        Segment::Answer { text, .. } => format!("answer: {text}"),
    }
}

//! The commits of a subject, as the page shows them.

use codeinfo_core::{PathMap, RootFilter};
use codeinfo_evidence::{
    CommitReport, Evidence, EvidenceError, FileChangeReport, HighlightedSource, HistoryReport,
    HistoryRequest, IndexedFileState, RequestedLines, render,
};
use codeinfo_test_support::{
    git::{commit_all, run_git, start_packing},
    ingest::{TestIndex, TestRepository},
};
use insta::assert_snapshot;

const PUMP: &str = "def start():\n    return 1\n\n\ndef pump():\n    rate = 10\n    return rate\n";
const TOKEN: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

struct PlantHistory {
    index: TestIndex,
    repository: TestRepository,
    evidence: Evidence,
}

impl PlantHistory {
    /// A repository whose commits add, edit, rename, delete and merge.
    async fn create() -> Self {
        let index = TestIndex::new().await;
        let repository = index.create_repository("plant", &[("pipe.py", PUMP), ("old.py", PUMP)]);
        let evidence = Evidence::new(index.store.clone(), PathMap::default());
        let plant = Self { index, repository, evidence };
        plant.commit("Add the pump");
        plant.write("pipe.py", &PUMP.replace("10", "20"));
        plant.commit("Pump faster\n\nThe boiler needs it.");
        plant.git(&["rm", "--quiet", "old.py"]);
        plant.git(&["mv", "pipe.py", "pump.py"]);
        plant.commit("Call the file what it is");
        plant.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
        plant.write("side.py", "def side():\n    return 3\n");
        plant.commit("Add a side");
        plant.git(&["checkout", "--quiet", "-"]);
        plant.git(&["merge", "--quiet", "--no-edit", "side"]);
        plant
    }

    fn write(&self, path: &str, text: &str) {
        self.repository.write(path, text);
    }

    fn commit(&self, message: &str) {
        commit_all(&self.repository.0, message);
    }

    fn git(&self, arguments: &[&str]) -> String {
        run_git(&self.repository.0, arguments).trim().to_owned()
    }

    async fn ingest(&self) {
        self.index.ingest(&self.repository).await;
    }

    async fn find(&self, request: HistoryRequest) -> Result<HistoryReport, EvidenceError> {
        let request = HistoryRequest { is_for_page: true, ..request };
        self.evidence.read_history(request, RootFilter::Everything).await
    }

    async fn find_path(&self, path: &str) -> HistoryReport {
        self.find(HistoryRequest { path: Some(path.to_owned()), ..HistoryRequest::default() })
            .await
            .unwrap()
    }

    async fn find_commit(&self, commit: &str, path: Option<&str>) -> CommitReport {
        let (commit, path) = (Some(commit.to_owned()), path.map(str::to_owned));
        let request = HistoryRequest { commit, path, ..HistoryRequest::default() };
        self.find(request).await.unwrap().commits.pop().unwrap()
    }

    async fn read_source(
        &self,
        path: &str,
        commit: &str,
    ) -> Result<HighlightedSource, EvidenceError> {
        let asked = RequestedLines::default();
        let commit = commit.to_owned();
        self.evidence.read_committed_source(path, commit, asked, RootFilter::Everything).await
    }
}

fn describe_commit(commit: &CommitReport) -> String {
    let change = commit.change.as_ref().map(describe_change).unwrap_or_default();
    let origin = if commit.is_origin { " origin" } else { "" };
    let note = commit.note.unwrap_or_default();
    format!("{}{origin}: {change}{note}", commit.subject)
}

fn describe_change(change: &FileChangeReport) -> String {
    let lines = change.diff.iter();
    let diff: Vec<_> =
        lines.map(|line| format!(" {}{} {}", line.sign, line.number, line.text)).collect();
    let state = if change.is_indexed { "indexed" } else { "not indexed" };
    let old_path = change.old_path.as_deref().unwrap_or("-");
    format!("{} {old_path} {} {state}{}", change.kind, change.path, diff.join("|"))
}

fn list_changes(report: &HistoryReport) -> String {
    report.commits.iter().map(describe_commit).collect::<Vec<_>>().join("\n")
}

fn list_lines(source: &HighlightedSource) -> Vec<&str> {
    source.lines.lines.iter().map(|(_, line)| line.as_str()).collect()
}

#[tokio::test]
async fn lines_and_files_are_followed_to_where_they_appeared() {
    let plant = PlantHistory::create().await;
    plant.ingest().await;
    let lines = plant.find_path("pump.py:6").await;
    assert_eq!((lines.subject.as_str(), lines.stop.as_deref()), ("pump.py:6-6", None));
    assert_snapshot!(list_changes(&lines), @r"
    Pump faster: modified - pipe.py not indexed -6     rate = 10| +6     rate = 20
    Add the pump origin: modified - pipe.py not indexed +6     rate = 10
    ");
    let marks = &lines.commits[0].change.as_ref().unwrap().diff[0].marks;
    assert_eq!(*marks, [(11, 13, 'n')]);
    let several = plant.find_path("pump.py:4-7").await;
    let present: Vec<_> = several.commits.iter().map(|commit| &commit.present_lines).collect();
    assert_eq!(present, [&vec![(6, 6)], &vec![(4, 5), (7, 7)]]);
    let file = plant.find_path("pump.py").await;
    assert_snapshot!(list_changes(&file), @r"
    Call the file what it is: renamed pipe.py pump.py indexed
    Pump faster: modified - pipe.py not indexed
    Add the pump: added - pipe.py not indexed
    ");
    // Two lines further down than in the commit, as the page counts them.
    plant.write("pump.py", &format!("import os\n\n{}", PUMP.replace("10", "20")));
    plant.ingest().await;
    let moved = plant.find_path("pump.py:8").await;
    assert_eq!((moved.subject.as_str(), moved.is_changed), ("pump.py:6-6", true));
    let added = HistoryRequest { path: Some("pump.py:1".to_owned()), ..HistoryRequest::default() };
    let refused = plant.find(added).await.unwrap_err().to_string();
    assert!(refused.contains("the commit does not have the lines yet"), "{refused}");
}

#[tokio::test]
async fn a_commit_has_its_files_and_each_its_lines() {
    let plant = PlantHistory::create().await;
    plant.ingest().await;
    let merge = plant.find_commit("HEAD", None).await;
    assert_eq!((merge.parent_count, merge.parents.len(), merge.id.len()), (2, 2, 40));
    let rename = plant.find_commit("HEAD^", None).await;
    let files = rename.files.unwrap();
    let listed: Vec<String> = files.listed.iter().map(describe_change).collect();
    assert_eq!(listed, ["deleted - old.py not indexed", "renamed pipe.py pump.py indexed"]);
    assert_eq!((files.count, files.hidden), (2, 0));
    // A file of the commit alone; its name is not completed to that of another one.
    plant.write("deep/old.py", "x = 1\n");
    plant.ingest().await;
    let deleted = plant.find_commit("HEAD^", Some("old.py")).await;
    assert!(deleted.files.is_none());
    assert!(describe_commit(&deleted).contains("deleted - old.py not indexed -1 def start():| -2"));
    let message = plant.find_commit("HEAD~2", None).await.message;
    assert_eq!(message, "The boiler needs it.");
    let earlier = plant.read_source("pipe.py", "HEAD~2").await.unwrap();
    assert_eq!(list_lines(&earlier)[5], "    rate = 20");
    assert_eq!((&earlier.lines.state, earlier.on_disk), (&IndexedFileState::Committed, false));
    assert!(!earlier.marks[0].is_empty());
    let gone = plant.read_source("pipe.py", "HEAD").await.unwrap_err().to_string();
    assert!(gone.contains("the commit has no file `pipe.py`"), "{gone}");
}

#[tokio::test]
async fn secrets_of_commits_are_not_shown() {
    let plant = PlantHistory::create().await;
    plant.write(".env", &format!("TOKEN={TOKEN}\n"));
    plant.write("call.py", &format!("def call():\n    token = \"{TOKEN}\"\n    return token\n"));
    plant.commit(&format!("Call {TOKEN}\n\nwith {TOKEN}"));
    plant.git(&["mv", ".env", "plain.txt"]);
    plant.commit("Rename it");
    plant.ingest().await;
    let commit = plant.find_commit("HEAD^", None).await;
    assert_eq!(format!("{} {}", commit.subject, commit.message), "Call [secret] with [secret]");
    let files = commit.files.unwrap();
    assert_eq!((files.listed.len(), files.count, files.hidden), (1, 2, 1));
    // The head of an encrypted key is a paragraph of its own.
    let line = "q9XZowIBAAKCAQEAq7B3k9QmZx8Vt2LpY5nRw1sDfGhJkLzXcVbNmQwErTyUiOpa";
    let marks = ["BEGIN", "END"].map(|part| format!("-----{part} RSA PRIVATE KEY-----"));
    let [begin, end] = &marks;
    let head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF";
    plant.commit(&format!("{begin}\n{head}\n\n{line}\n{line}\n{end}"));
    let key = plant.find_commit("HEAD", None).await;
    assert_eq!(key.message, format!("[secret]\n[secret]\n{end}"));
    plant.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    let renamed = plant.find_commit("HEAD", Some("plain.txt")).await;
    assert_snapshot!(describe_commit(&renamed), @"Rename it: its file is left out of the index, and not shown");
    let call = plant.find_commit("HEAD^", Some("call.py")).await;
    assert!(describe_commit(&call).contains("+2     token = \"[secret]\"|"));
    let source = plant.read_source("call.py", "HEAD^").await.unwrap();
    assert_eq!(list_lines(&source)[1], "    token = \"[secret]\"");
    for path in [".env", "../plant/call.py", "sub/.env"] {
        let refused = plant.read_source(path, "HEAD^").await.unwrap_err();
        assert!(refused.to_string().contains("is left out of the index"), "{path}: {refused}");
    }
}

#[tokio::test]
async fn files_that_ignore_files_leave_out_are_not_shown_even_if_they_are_gone() {
    let plant = PlantHistory::create().await;
    plant.write("private/plan.py", "lantern = 'violet'\n");
    plant.write("lantern.py", "lantern = 'green'\n");
    plant.commit("Plan the lantern");
    plant.git(&["rm", "--quiet", "-r", "private"]);
    plant.git(&["mv", "lantern.py", "lamp.py"]);
    plant.write(".codeinfoignore", "/private/\nlantern.py\n");
    plant.commit("Forget the plan");
    plant.ingest().await;
    let files = plant.find_commit("HEAD^", None).await.files.unwrap();
    assert_eq!((files.listed.len(), files.count, files.hidden), (0, 2, 2));
    let hidden = "its file is left out of the index, and not shown";
    let renamed = plant.find_commit("HEAD", Some("lamp.py")).await;
    assert_eq!(describe_commit(&renamed), format!("Forget the plan: {hidden}"));
    for path in ["private/plan.py", "lantern.py"] {
        let refused = plant.read_source(path, "HEAD^").await.unwrap_err();
        assert!(refused.to_string().contains("is left out of the index"), "{path}: {refused}");
        let report = plant.find_path(path).await;
        assert!(report.commits.iter().all(|commit| commit.change.is_none()), "{path}");
    }
    assert_eq!(list_changes(&plant.find_path("pump.py:6").await).lines().count(), 2);
}

#[tokio::test]
async fn lines_that_git_counts_in_another_way_are_not_shown() {
    let plant = PlantHistory::create().await;
    plant.write("mac.py", "a = 1\rb = 2\nc = 3\n");
    plant.commit("Add");
    plant.write("mac.py", "a = 1\rb = 2\nc = 4\n");
    plant.commit("Change");
    plant.ingest().await;
    let change = plant.find_commit("HEAD", Some("mac.py")).await;
    assert_snapshot!(describe_commit(&change), @"Change: modified - mac.py indexedits lines are not shown: some end with a carriage return alone");
}

#[test]
fn times_that_no_calendar_has_are_numbers_of_seconds() {
    let commit = CommitReport {
        id: "0123456789abcdef".to_owned(),
        date: "@253402300800 +0000".to_owned(),
        subject: "Later".to_owned(),
        ..CommitReport::default()
    };
    let report = HistoryReport { commits: vec![commit], ..HistoryReport::default() };
    let text = render::render_history(&report);
    assert!(text.contains("@0123456789 @253402300800 Later"), "{text}");
}

#[tokio::test]
async fn what_is_cut_is_said() {
    let plant = PlantHistory::create().await;
    let huge = "x = 1\n".repeat(40_000);
    plant.write("huge.py", &huge);
    plant.write("long.py", &format!("y = \"{}\"\n", "z".repeat(50_000)));
    plant.write("pump.py", &PUMP.replace("10", "30"));
    plant.commit("Add much");
    plant.ingest().await;
    let change = plant.find_commit("HEAD", Some("huge.py")).await.change.unwrap();
    assert_eq!((change.is_cut, change.diff.len()), (true, 2_000));
    let long = plant.find_commit("HEAD", Some("long.py")).await.change.unwrap();
    assert!(long.diff[0].text.len() <= 10_004 && long.diff[0].text.ends_with('…'));
    let few = HistoryRequest {
        path: Some("pump.py:6".to_owned()),
        limit: Some(1),
        ..HistoryRequest::default()
    };
    let gap = plant.find(few).await.unwrap();
    assert_eq!(gap.commits.iter().map(|one| one.is_origin).collect::<Vec<_>>(), [false, true]);
    let text = render::render_history(&gap);
    assert!(text.contains("(the lines appeared in)\nplant@"), "{text}");
    // A shallow clone lacks the commits in which the lines appeared.
    let from = format!("file://{}", plant.repository.0.display());
    let copy = plant.index.create_repository("copy", &[]);
    run_git(&copy.0, &["clone", "--quiet", "--depth", "2", &from, "."]);
    plant.index.ingest(&copy).await;
    let path = copy.join("pump.py:6").display().to_string();
    let shallow = plant.find_path(&path).await;
    assert!(shallow.stop.unwrap().contains("the clone is shallow and lacks earlier commits"));
    let origins: Vec<bool> = shallow.commits.iter().map(|commit| commit.is_origin).collect();
    assert_eq!(origins, [false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn git_may_pack_objects_while_questions_are_asked() {
    let plant = PlantHistory::create().await;
    for rate in 30..60 {
        plant.write("pump.py", &PUMP.replace("10", &rate.to_string()));
        plant.commit(&format!("Pump at {rate}"));
    }
    plant.ingest().await;
    let known = render::render_history(&plant.find_path("pump.py:6").await);
    let packing = start_packing(&plant.repository.0);
    let mut asked = 0;
    while !packing.is_finished() || asked < 10 {
        assert_eq!(render::render_history(&plant.find_path("pump.py:6").await), known);
        asked += 1;
    }
    packing.await.unwrap();
}

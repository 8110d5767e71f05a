//! Citations of commits, against repositories that git made.

use std::fmt::Write as _;

use codeinfo_citations::{
    ChangedLinesPolicy, CheckedCitation, CitationChecker, CitationState, CommitEvidence,
    DocumentChecker, DocumentTree, LookupScope, describe_faults,
};
use codeinfo_core::PathMap;
use codeinfo_test_support::{
    git::{add_worktree, run_git},
    ingest::{TestIndex, TestRepository, build_request},
};
use insta::assert_snapshot;

const PUMP: &str = "\
def open_valve(side):
    return side


def wait_for_boiler():
    timeout = 10
    return poll(timeout)
";

fn cut_id(id: &str, length: usize) -> &str {
    id.get(..length).unwrap()
}

/// Returns the beginning of an id with a letter, because digits alone are a number.
fn shorten_id(id: &str) -> &str {
    cut_id(id, id.find(char::is_alphabetic).unwrap().max(6) + 1)
}

struct BoilerHistory {
    index: TestIndex,
    repository: TestRepository,
}

impl BoilerHistory {
    async fn create(init: &[&str]) -> Self {
        let index = TestIndex::new().await;
        let repository = index.create_repository("boiler", &[("src/pump.py", PUMP)]);
        run_git(&repository.0, &[&["init", "--quiet"], init].concat());
        let history = Self { index, repository };
        history.commit("Add the pump", "2024-01-02T10:00:00+0000");
        history
    }

    fn commit(&self, message: &str, date: &str) -> String {
        run_git(&self.repository.0, &["add", "--all"]);
        let date = format!("--date={date}");
        run_git(&self.repository.0, &["commit", "--quiet", &date, "--message", message]);
        self.id("HEAD")
    }

    /// Writes a file and commits it in March.
    fn change(&self, path: &str, text: &str, message: &str) -> String {
        self.repository.write(path, text);
        self.commit(message, "2024-03-05T10:00:00+0000")
    }

    fn id(&self, name: &str) -> String {
        run_git(&self.repository.0, &["rev-parse", name]).trim().to_owned()
    }

    async fn check(&self, text: &str) -> Vec<CheckedCitation> {
        let checker = CitationChecker::new(self.index.store.clone(), PathMap::default());
        checker.check_text(text, &LookupScope::default()).await.unwrap().citations
    }

    /// Returns state, evidence, repository, path and reason of the only citation.
    async fn judge(&self, text: &str) -> String {
        let checked = self.check(text).await;
        let [one] = &checked[..] else { panic!("{text}: {checked:#?}") };
        let mut line = one.state.as_str().to_owned();
        let commit = one.commit.as_ref().unwrap();
        if let Some(evidence) = commit.shown_by {
            write!(line, " by {evidence:?}").unwrap();
        }
        let parts = [&one.repo, &one.rel_path, &one.reason];
        parts.into_iter().flatten().for_each(|part| write!(line, ", {part}").unwrap());
        line
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_confirms_what_its_message_or_its_changed_lines_say() {
    let boiler = BoilerHistory::create(&[]).await;
    let slower = PUMP.replace("10", "30");
    let message = "Be patient with cold water\n\nThe heater of the laboratory needs half a minute.";
    let id = boiler.change("src/pump.py", &slower, message);
    boiler.index.ingest(&boiler.repository).await;
    let short = cut_id(&id, 10);
    let by_diff = "confirmed by Diff, boiler";
    let by_message = "confirmed by Message, boiler";
    let not_said = "unconfirmed, boiler, neither its message nor its changes say this";
    for (sentence, expected) in [
        ("The `timeout` was raised from 10 to 30 (`boiler@ID`).", by_diff),
        ("`boiler@ID` set `timeout` to 30 on 5 March 2024.", by_diff),
        ("It was done on 2024-03-05 (`boiler@ID`).", by_message),
        (
            "The author says that the heater of the laboratory needs half a minute: boiler@ID",
            by_message,
        ),
        // The right words with a wrong number or date.
        ("The `timeout` was raised from 10 to 45 (`boiler@ID`).", not_said),
        ("`boiler@ID` set `timeout` to 30 on 6 March 2024.", not_said),
        ("The parser of invoices was rewritten in Rust (`boiler@ID`).", not_said),
        ("See `boiler@ID`.", not_said),
    ] {
        assert_eq!(boiler.judge(&sentence.replace("ID", short)).await, expected, "{sentence}");
    }
    for form in ["boiler@ID", "`ID`", "acme/boiler@ID", "[it](boiler@ID)", "`boiler@IDWHOLE`"] {
        let written = form.replace("IDWHOLE", &id).replace("ID", shorten_id(&id));
        let text = format!("The heater of the laboratory needs half a minute ({written}).");
        let checked = boiler.check(&text).await;
        assert_eq!(checked[0].commit.as_ref().unwrap().id, id, "{form}");
        assert_eq!(checked[0].state, CitationState::Confirmed, "{form}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_message_claims_is_told_from_what_the_lines_show() {
    let boiler = BoilerHistory::create(&[]).await;
    let id = boiler.change("src/pump.py", &PUMP.replace("10", "30"), "Halve the pressure of steam");
    boiler.index.ingest(&boiler.repository).await;
    let claimed = boiler.judge(&format!("It halves the pressure of steam (boiler@{id}).")).await;
    assert_eq!(claimed, "confirmed by Message, boiler");
    let shown = boiler.judge(&format!("The `timeout` grows from 10 to 30 (boiler@{id}).")).await;
    assert_eq!(shown, "confirmed by Diff, boiler");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_those_of_the_commit_and_removed_ones_those_of_its_parent() {
    let boiler = BoilerHistory::create(&[]).await;
    let added = boiler.id("HEAD");
    let moved = format!("import poll\n\n\n{}", PUMP.replace("timeout", "patience"));
    let id = boiler.change("src/pump.py", &moved, "Call the time-out patience");
    run_git(&boiler.repository.0, &["mv", "src/pump.py", "src/heat.py"]);
    let renamed = boiler.commit("Call the file what it is", "2024-04-01T10:00:00+0000");
    run_git(&boiler.repository.0, &["rm", "--quiet", "src/heat.py"]);
    boiler.repository.write("src/other.py", "x = 1\n");
    let deleted = boiler.commit("Buy hot water", "2024-05-01T10:00:00+0000");
    boiler.index.ingest(&boiler.repository).await;
    let pump = "confirmed by Lines, boiler, src/pump.py";
    let heat = "confirmed by Lines, boiler, src/heat.py";
    let gone = "neither the commit nor its first parent has this file";
    for (sentence, id, expected) in [
        ("`wait_for_boiler` polls (`boiler@ID:src/pump.py:5-7`).", &added, pump),
        ("`wait_for_boiler` polls (`boiler@ID src/pump.py:8-10`).", &id, pump),
        ("`wait_for_boiler` polls (boiler@ID/src/pump.py:8-10).", &id, pump),
        ("`wait_for_boiler` polls (boiler@ID:pump.py:8-10).", &id, pump),
        // The lines that the commit removed.
        ("The former name was `timeout` (boiler@ID:src/pump.py:6-7).", &id, pump),
        ("`wait_for_boiler` polls (boiler@ID:src/heat.py:8-10).", &renamed, heat),
        ("`wait_for_boiler` polled in boiler@ID:src/pump.py:8-10.", &renamed, pump),
        ("`wait_for_boiler` is gone (boiler@ID:src/heat.py:8-10).", &deleted, heat),
    ] {
        let text = sentence.replace("ID", cut_id(id, 7));
        assert_eq!(boiler.judge(&text).await, expected, "{sentence}");
    }
    for (place, id, reason) in [
        ("src/pump.py:5", &deleted, gone),
        ("src/heat.py", &id, gone),
        ("src/pump.py:90-95", &added, "the file has 7 lines, counted from 1"),
    ] {
        let path = place.split(':').next().unwrap();
        let text = format!("It is in boiler@{}:{place}.", cut_id(id, 7));
        assert_eq!(boiler.judge(&text).await, format!("wrong, boiler, {path}, {reason}"));
    }
    let text = format!("The file was renamed (boiler@{}:src/heat.py).", cut_id(&renamed, 7));
    assert_eq!(boiler.judge(&text).await, "confirmed by Diff, boiler, src/heat.py");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_a_commit_removed_is_no_mistake_beside_the_commit() {
    let boiler = BoilerHistory::create(&[]).await;
    boiler.change("src/valve.py", "def open_valve():\n    pass\n", "Add the valve");
    boiler.repository.write(".codeinfoignore", "lock.py\n");
    boiler.change("src/lock.py", "def unlock():\n    pass\n", "Add the lock");
    run_git(&boiler.repository.0, &["rm", "--quiet", "src/valve.py", "src/lock.py"]);
    let id = boiler.change("src/pump.py", &PUMP.replace("10", "30"), "Remove the valve");
    boiler.index.ingest(&boiler.repository).await;
    let short = cut_id(&id, 10);
    for (sentence, citations) in [
        ("The valve was in src/valve.py until it was removed (boiler@ID).", 1),
        ("In `src/valve.py` the valve was opened (boiler@ID:src/valve.py).", 1),
        ("Removed (boiler@ID):\n- src/valve.py\n- see src/pump.py", 2),
    ] {
        let checked = boiler.check(&sentence.replace("ID", short)).await;
        assert_eq!(checked.len(), citations, "{sentence}: {checked:#?}");
        assert!(checked.iter().all(|one| one.state != CitationState::Wrong), "{checked:#?}");
    }
    for sentence in [
        "The valve is in src/valve.py.",
        "The valve is in src/valve.py:1-2 (boiler@ID).",
        "The valve is in src/valves.py (boiler@ID).",
        "The valve is in src/valve.py.\n\nSee boiler@ID.",
        "The valve is in src/valve.py.\r\n\r\nSee boiler@ID.",
        "The lock was in src/lock.py (boiler@ID).",
    ] {
        let checked = boiler.check(&sentence.replace("ID", short)).await;
        assert_eq!(checked[0].state, CitationState::Wrong, "{sentence}: {checked:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_a_commit_adds_do_not_show_that_it_removed_them() {
    let boiler = BoilerHistory::create(&[]).await;
    boiler.change("valve.toml", "spring = 3\n", "Write down the valve");
    run_git(&boiler.repository.0, &["rm", "--quiet", "valve.toml"]);
    boiler.repository.write("src/pump.py", &PUMP.replace("timeout", "patience"));
    let id = boiler.change("setup.toml", "[whistle]\nvolume = 4\n", "Work on it");
    boiler.index.ingest(&boiler.repository).await;
    for (sentence, state) in [
        ("boiler@ID added `whistle`.", "confirmed"),
        ("boiler@ID removed `whistle`.", "unconfirmed"),
        ("The file with `volume` was deleted (boiler@ID).", "unconfirmed"),
        ("boiler@ID removed the `spring` of the valve.", "confirmed"),
        ("boiler@ID deletes valve.toml.", "confirmed"),
        ("boiler@ID added the valve.", "unconfirmed"),
        ("The timeout was removed or deleted by boiler@ID.", "confirmed"),
        ("boiler@ID introduced the `spring` of the valve.", "unconfirmed"),
        ("boiler@ID removed `timeout`.", "confirmed"),
        ("boiler@ID added `timeout`.", "unconfirmed"),
        ("boiler@ID removed `timeout` and added `patience`.", "confirmed"),
        ("boiler@ID has `patience` instead of `timeout`.", "confirmed"),
    ] {
        let judged = boiler.judge(&sentence.replace("ID", cut_id(&id, 10))).await;
        assert!(judged.starts_with(state), "{sentence}: {judged}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_commit_needs_no_folder() {
    let boiler = BoilerHistory::create(&[]).await;
    let id = boiler.change("setup.cfg", "[pump]\ntimeout = 30\n", "Configure the pump");
    boiler.change("src/pump.py", &PUMP.replace("10", "30"), "Be patient");
    boiler.index.ingest(&boiler.repository).await;
    let id = cut_id(&id, 10);
    for sentence in
        ["Configures the pump (boiler@ID:setup.cfg).", "Configures the pump: `boiler@ID:setup.cfg`"]
    {
        let judged = boiler.judge(&sentence.replace("ID", id)).await;
        assert!(judged.starts_with("confirmed") && judged.ends_with(", setup.cfg"), "{judged}");
    }
    for sentence in
        ["Before, boiler@ID^ had no setup.cfg.", "Before, `boiler@ID~1` had no setup.cfg."]
    {
        let checked = boiler.check(&sentence.replace("ID", id)).await;
        assert!(checked.iter().all(|one| one.commit.is_none()), "{sentence}: {checked:#?}");
    }
    for (sentence, state) in [
        ("Configures the pump (boiler@ID:setup.toml).", "wrong"),
        ("Configures the pump: boiler@ID:so it does.", "confirmed"),
        ("Configures the pump (boiler@ID:$x.cfg).", "confirmed"),
    ] {
        let judged = boiler.judge(&sentence.replace("ID", id)).await;
        assert!(judged.starts_with(state), "{sentence}: {judged}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_ids_are_wrong_only_with_the_name_of_a_repository() {
    let boiler = BoilerHistory::create(&[]).await;
    // Their ids begin alike.
    boiler.repository.write("a", "n23414\n");
    boiler.repository.write("b", "n32366\n");
    boiler.commit("Add two files", "2024-03-05T10:00:00+0000");
    run_git(&boiler.repository.0, &["branch", "deadbee"]);
    let blob = boiler.id("HEAD:src/pump.py");
    boiler.index.ingest(&boiler.repository).await;
    let unknown = "wrong, `boiler` has no commit with this id";
    assert_eq!(boiler.judge("It waits (boiler@deadbeef1).").await, unknown);
    assert_eq!(boiler.judge(&format!("It waits (boiler@{}).", "d".repeat(40))).await, unknown);
    assert_eq!(boiler.judge(&format!("It waits (boiler@{}).", "d".repeat(64))).await, unknown);
    assert_eq!(boiler.judge(&format!("It waits (boiler@{blob}).")).await, unknown);
    assert_eq!(
        boiler.judge("It waits (boiler@6bd4c0c).").await,
        "unconfirmed, several objects of the repository have ids that begin with this one"
    );
    for text in [
        "`deadbeef1`, `1a2b3c4d` and `facade1`",
        "other@deadbeef1 and pkg@1234567",
        // A branch, whose name is no id.
        "boiler@deadbee",
        &format!("`{blob}`"),
        "`6bd4c0c`",
    ] {
        assert_eq!(boiler.check(text).await, [], "{text}");
    }
    let place = boiler.check("other@deadbee/src/pump.py:5 and `1a2b3c4 src/pump.py:5`").await;
    let commits: Vec<_> = place.iter().map(|one| (one.path.as_str(), one.commit.clone())).collect();
    assert_eq!(commits.len(), 2);
    assert!(commits.iter().all(|(_, commit)| commit.is_none()), "{commits:?}");
    let text = "It waits (boiler@deadbeef1).";
    let checker = CitationChecker::new(boiler.index.store.clone(), PathMap::default());
    let report = checker.check_text(text, &LookupScope::default()).await.unwrap();
    assert_eq!(
        describe_faults(text, &report),
        ["`boiler@deadbeef1`: `boiler` has no commit with this id"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cited_commit_is_a_promise() {
    let boiler = BoilerHistory::create(&[]).await;
    let remote = "https://me:secret@gitlab.example/plant/boiler.git";
    run_git(&boiler.repository.0, &["remote", "add", "origin", remote]);
    boiler.index.ingest(&boiler.repository).await;
    let id = boiler.id("HEAD");
    let text = format!(
        "`wait_for_boiler` polls (boiler@{0}:src/pump.py:5-7) since boiler@{0}; boiler@deadbeef1.",
        cut_id(&id, 7)
    );
    let checked = boiler.check(&text).await;
    let json = serde_json::to_string_pretty(&checked).unwrap();
    assert_snapshot!(json.replace(&id, "WHOLE").replace(cut_id(&id, 7), "SHORT"), @r#"
    [
      {
        "path": "boiler@SHORT:src/pump.py",
        "relPath": "src/pump.py",
        "repo": "boiler",
        "lines": [
          "5-7"
        ],
        "state": "confirmed",
        "hash": "4c5830591901218d",
        "commit": {
          "id": "WHOLE",
          "url": "https://gitlab.example/plant/boiler/-/commit/WHOLE",
          "shownBy": "lines"
        }
      },
      {
        "path": "boiler@SHORT",
        "repo": "boiler",
        "lines": [],
        "state": "unconfirmed",
        "commit": {
          "id": "WHOLE",
          "url": "https://gitlab.example/plant/boiler/-/commit/WHOLE"
        },
        "reason": "neither its message nor its changes say this"
      },
      {
        "path": "boiler@deadbeef1",
        "lines": [],
        "state": "wrong",
        "commit": {
          "id": "deadbeef1"
        },
        "reason": "`boiler` has no commit with this id"
      }
    ]
    "#);
    let again: Vec<CheckedCitation> = serde_json::from_str(&json).unwrap();
    assert_eq!(again[0].commit.as_ref().unwrap().shown_by, Some(CommitEvidence::Lines));
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_and_ignored_files_are_not_compared_with() {
    let boiler = BoilerHistory::create(&[]).await;
    let token = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    boiler.repository.write(".env", "HARBOUR_LANTERN=violet\n");
    boiler.repository.write("notes/plan.md", "violet lantern of the harbour\n");
    boiler.repository.write(".codeinfoignore", "notes/\n");
    boiler.repository.write("src/keys.py", &format!("harbour = \"{token}\"\n"));
    let id = boiler.commit("Set up", "2024-03-05T10:00:00+0000");
    boiler.index.ingest(&boiler.repository).await;
    for sentence in [
        format!("It has the violet lantern of the harbour (boiler@{id})."),
        format!("`{token}` (boiler@{id})"),
    ] {
        let judged = boiler.judge(&sentence).await;
        assert!(judged.starts_with("unconfirmed"), "{sentence} {judged}");
    }
    for path in [".env", "notes/plan.md"] {
        let text = format!("It has the violet lantern of the harbour (boiler@{id}:{path}:1).");
        assert_eq!(boiler.check(&text).await, [], "{path}");
    }
    // The ignore file also counts for files that are gone.
    run_git(&boiler.repository.0, &["rm", "--quiet", "-r", "notes"]);
    boiler.index.ingest(&boiler.repository).await;
    let sentence = "It has the violet lantern of the harbour";
    let judged = boiler.judge(&format!("{sentence} (boiler@{id}).")).await;
    assert!(judged.starts_with("unconfirmed"), "{judged}");
    assert_eq!(boiler.check(&format!("{sentence} (boiler@{id}:notes/plan.md:1).")).await, []);
    let shown = boiler.judge(&format!("`harbour` is a key (boiler@{id}:src/keys.py:1).")).await;
    assert!(shown.ends_with("boiler, src/keys.py"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn merges_roots_and_huge_commits_are_judged() {
    let boiler = BoilerHistory::create(&[]).await;
    let root = boiler.id("HEAD");
    run_git(&boiler.repository.0, &["checkout", "--quiet", "-b", "side"]);
    boiler.change("src/side.py", "def bypass_radiator():\n    return 3\n", "Add a bypass");
    run_git(&boiler.repository.0, &["checkout", "--quiet", "-"]);
    boiler.change("src/main.py", "x = 1\n", "Add a start");
    run_git(&boiler.repository.0, &["merge", "--quiet", "--no-edit", "side"]);
    let merge = boiler.id("HEAD");
    boiler.index.ingest(&boiler.repository).await;
    for number in 0..3000 {
        boiler.repository.write(&format!("data/file_{number}.txt"), &"lorem\n".repeat(50));
    }
    let huge = boiler.change("src/last.py", "x = 2\n", "Import the catalogue of radiators");
    for (sentence, id, expected) in [
        ("`wait_for_boiler` came with boiler@ID.", &root, "confirmed by Diff, boiler"),
        ("`bypass_radiator` came with boiler@ID.", &merge, "confirmed by Diff, boiler"),
        (
            "The catalogue of radiators was imported (boiler@ID).",
            &huge,
            "confirmed by Message, boiler",
        ),
    ] {
        assert_eq!(boiler.judge(&sentence.replace("ID", id)).await, expected, "{sentence}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shallow_clones_and_folders_without_commits_leave_citations_open() {
    let boiler = BoilerHistory::create(&[]).await;
    let first = boiler.id("HEAD");
    let second = boiler.change("src/pump.py", &PUMP.replace("10", "30"), "Wait longer for water");
    let url = format!("file://{}", boiler.repository.0.display());
    let clone = boiler.repository.0.with_file_name("clone");
    let path = clone.to_str().unwrap();
    run_git(&boiler.repository.0, &["clone", "--quiet", "--depth", "1", &url, path]);
    let clone = TestRepository(clone.canonicalize().unwrap());
    let plain = boiler.index.create_repository("plain", &[("a.py", PUMP)]);
    boiler.index.ingest(&clone).await;
    boiler.index.ingest(&plain).await;
    let missing = "unconfirmed, the clone is shallow and lacks earlier commits";
    assert_eq!(boiler.judge(&format!("It is added by clone@{first}.")).await, missing);
    let known = boiler.judge(&format!("It waits longer for water (clone@{second}).")).await;
    assert_eq!(known, "confirmed by Message, clone");
    let lines = boiler.judge(&format!("`timeout` is 30 (clone@{second}:src/pump.py:6).")).await;
    assert_eq!(lines, "confirmed by Lines, clone, src/pump.py");
    assert_eq!(
        boiler.judge(&format!("It waits (plain@{first}).")).await,
        "unconfirmed, the commits of its repository are not on this machine"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_sha_256_are_found() {
    let boiler = BoilerHistory::create(&["--object-format=sha256"]).await;
    let id = boiler.change("src/pump.py", &PUMP.replace("10", "30"), "Wait longer for water");
    assert_eq!(id.len(), 64);
    boiler.index.ingest(&boiler.repository).await;
    for length in [7, 39, 40, 41, 64] {
        let text = format!("It waits longer for water (boiler@{}).", cut_id(&id, length));
        assert_eq!(boiler.judge(&text).await, "confirmed by Message, boiler", "{length}");
    }
    let unknown = format!("It waits (boiler@{}).", "d".repeat(40));
    assert_eq!(boiler.judge(&unknown).await, "wrong, `boiler` has no commit with this id");
}

#[tokio::test(flavor = "multi_thread")]
async fn worktrees_and_indexed_commits_share_their_commits() {
    let boiler = BoilerHistory::create(&[]).await;
    let id = boiler.change("src/pump.py", &PUMP.replace("10", "30"), "Wait longer for water");
    run_git(&boiler.repository.0, &["tag", "v1"]);
    // No branch leads to it any more.
    let lost = boiler.change("src/pump.py", PUMP, "Wait as before");
    run_git(&boiler.repository.0, &["reset", "--quiet", "--hard", "v1"]);
    let worktree = add_worktree(&boiler.repository, "boiler-side", &["-b", "side"]);
    let mut tagged = boiler.repository.0.clone().into_os_string();
    tagged.push("@v1");
    boiler.index.run_ingest(build_request(tagged.as_ref())).await;
    let by_tree = boiler.judge(&format!("It waits longer for water (boiler@{id}).")).await;
    assert_eq!(by_tree, "confirmed by Message, boiler@v1");
    boiler.index.ingest(&worktree).await;
    boiler.index.ingest(&boiler.repository).await;
    let roots = boiler.index.store.roots().await.unwrap();
    let folder = roots.iter().find(|root| root.revision.is_none()).unwrap();
    let only_tree = &*format!("confirmed by Message, {}", folder.name);
    for (sentence, expected) in [
        ("It waits longer for water (boiler@ID).", "confirmed by Message, boiler"),
        ("It waits longer for water (boiler-side@ID).", "confirmed by Message, boiler-side"),
        ("It waits longer for water (boiler@v1@ID).", "confirmed by Message, boiler@v1"),
        // One repository, though it has three trees.
        ("It waits longer for water (`ID`).", only_tree),
        ("It waits as before (boiler@LOST).", "confirmed by Message, boiler"),
    ] {
        let text = sentence.replace("ID", shorten_id(&id)).replace("LOST", &lost);
        assert_eq!(boiler.judge(&text).await, expected, "{sentence}");
    }
    // A path below an indexed commit is a place of that tree.
    let mut by_id = boiler.repository.0.clone().into_os_string();
    by_id.push(format!("@{}", cut_id(&id, 8)));
    boiler.index.run_ingest(build_request(by_id.as_ref())).await;
    let text = format!("`wait_for_boiler` polls (boiler@{}/src/pump.py:5-7).", cut_id(&id, 8));
    let checked = boiler.check(&text).await;
    assert_eq!(checked[0].commit, None);
    assert_eq!(checked[0].state, CitationState::Confirmed);
    // Two repositories have the commit.
    let copy = boiler.repository.0.with_file_name("copy");
    run_git(&boiler.repository.0, &["clone", "--quiet", ".", copy.to_str().unwrap()]);
    boiler.index.ingest(&TestRepository(copy.canonicalize().unwrap())).await;
    assert_eq!(boiler.check(&format!("It waits longer for water (`{id}`).")).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_may_cite_commits_and_former_lines() {
    let boiler = BoilerHistory::create(&[]).await;
    let text = "- Waits longer (boiler@1a2b3c4:src/pump.py:90, `boiler@1a2b3c4 src/gone.py:3`).\n\
                - The pump is in src/pump.py:90.\n";
    boiler.repository.write("CHANGELOG.md", text);
    let files = vec!["CHANGELOG.md".to_owned(), "src/pump.py".to_owned()];
    let tree = DocumentTree::open(&boiler.repository.0, files, Box::new(|_| false)).unwrap();
    let mut documents = DocumentChecker::open(tree, ChangedLinesPolicy::Report).unwrap();
    let checked = documents.check_document("CHANGELOG.md").unwrap();
    let found: Vec<_> = checked.findings.iter().map(|one| (one.line, &*one.written)).collect();
    assert_eq!(found, [(2, "src/pump.py:90")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_web_address_of_a_commit_is_that_of_its_forge() {
    let boiler = BoilerHistory::create(&[]).await;
    boiler.index.ingest(&boiler.repository).await;
    let id = boiler.id("HEAD");
    run_git(&boiler.repository.0, &["remote", "add", "origin", "/srv/boiler.git"]);
    for (remote, url) in [
        ("/srv/boiler.git", None),
        ("git@github.com:acme/boiler.git", Some("https://github.com/acme/boiler/commit/ID")),
        ("https://me:key@gitlab.com/a/b/c.git", Some("https://gitlab.com/a/b/c/-/commit/ID")),
        ("https://bitbucket.org/acme/boiler", Some("https://bitbucket.org/acme/boiler/commits/ID")),
        ("https://codeberg.org/acme/boiler", Some("https://codeberg.org/acme/boiler/commit/ID")),
    ] {
        run_git(&boiler.repository.0, &["remote", "set-url", "origin", remote]);
        let checked = boiler.check(&format!("It came with boiler@{id}.")).await;
        let found = checked[0].commit.as_ref().unwrap().url.clone();
        assert_eq!(found, url.map(|url| url.replace("ID", &id)), "{remote}");
    }
}

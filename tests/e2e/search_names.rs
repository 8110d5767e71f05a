//! Searches for names through the HTTP API of the real program: definitions before their overrides, and
//! files by their bare names.

use std::{fs, path::Path};

use serde_json::json;

use crate::support::process::{ProgramEnvironment, RunningServer, create_scratch_folder};

/// Starts the program on a folder with these files.
async fn start_indexed(data: &Path, folder: &Path, files: &[(&str, String)]) -> RunningServer {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let without_codex: ProgramEnvironment =
        vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    RunningServer::serve(data, &[folder], &without_codex).await
}

/// Returns the path and first line of each hit.
async fn search_names(server: &RunningServer, query: &str) -> Vec<(String, u64)> {
    let reply =
        server.post_api("/tools/vector-search", &json!({ "query": query, "limit": 20 })).await;
    let results = reply["results"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let place = |hit: &serde_json::Value| {
        (hit["relPath"].as_str().unwrap().to_owned(), hit["startLine"].as_u64().unwrap())
    };
    results.iter().map(place).collect()
}

#[tokio::test]
async fn a_definition_in_a_base_comes_before_its_overrides_unless_one_is_asked_for() {
    // Each override contains the name more often than the base.
    let class = |head: &str| {
        let call = "        self.settle_account(self.settle_account)\n".repeat(4);
        format!("class {head}:\n    def settle_account(self):\n{call}")
    };
    let base = "class Ledger:\n    def settle_account(self):\n        raise NotImplementedError\n";
    let test = "class Ledger:\n    def settle_account(self):\n        pass\n";
    let (data, work) = (create_scratch_folder(), create_scratch_folder());
    let files = [
        ("settle/account/ledger.py", base.to_owned()),
        ("settle/account/settle_account.py", class("CashLedger(base.Ledger)")),
        ("settle/settle_account/petty.py", class("PettyLedger(CashLedger)")),
        ("tests/test_ledger.py", test.to_owned()),
    ];
    let server = start_indexed(data.path(), work.path(), &files).await;
    let order = |found: Vec<(String, u64)>| -> Vec<String> {
        found.into_iter().map(|(path, _)| path.rsplit('/').next().unwrap().to_owned()).collect()
    };
    assert_eq!(
        order(search_names(&server, "settle_account").await),
        ["ledger.py", "settle_account.py", "petty.py", "test_ledger.py"]
    );
    assert_eq!(order(search_names(&server, "PettyLedger.settle_account").await)[0], "petty.py");
    server.terminate().await;
}

#[tokio::test]
async fn a_file_is_found_by_its_bare_name_and_a_line_in_it_too() {
    let (data, work) = (create_scratch_folder(), create_scratch_folder());
    // More chunks with the name than a search looks at.
    let about = |at: usize| {
        let text = format!("def graph_lock(graph_lock):\n    graph_lock(graph_lock, {at})\n");
        (format!("graph_lock/{at}.py"), text)
    };
    let many: Vec<(String, String)> = (0..250).map(about).collect();
    let one =
        |at: usize| format!("def walk_{at}():\n    total = {at}\n{}\n", "    step()\n".repeat(30));
    let mut files: Vec<(&str, String)> =
        many.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    files.push(("deep/down/graph_lock.py", (0..4).map(one).collect()));
    let server = start_indexed(data.path(), work.path(), &files).await;
    let wanted = |line: u64| ("deep/down/graph_lock.py".to_owned(), line);
    for query in ["graph_lock.py", "Graph_Lock.py", "what does down/graph_lock.py do?"] {
        assert_eq!(search_names(&server, query).await[0].0, wanted(1).0, "{query}");
    }
    for query in ["graph_lock.py:70", "graph_lock.py#L70", "see down/graph_lock.py:70:3"] {
        assert_eq!(search_names(&server, query).await[0], wanted(67), "{query}");
    }
    server.terminate().await;
}

#[tokio::test]
async fn equal_files_take_one_place_that_names_the_others() {
    let same = "def sort_rows(rows):\n    \"\"\"Sorts rows by their weight.\"\"\"\n    return sorted(rows)\n";
    let (data, work) = (create_scratch_folder(), create_scratch_folder());
    let mut files: Vec<(String, String)> =
        (0..120).map(|at| (format!("templates/t{at:03}/util.py"), same.to_owned())).collect();
    files.push(("core/load.py".to_owned(), "def load_rows(path):\n    return path\n".to_owned()));
    let files: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    let server = start_indexed(data.path(), work.path(), &files).await;
    let body = json!({ "query": "sort rows by their weight", "limit": 8 });
    let reply = server.post_api("/tools/vector-search", &body).await;
    let results = reply["results"].as_array().unwrap();
    let paths: Vec<&str> = results.iter().map(|hit| hit["relPath"].as_str().unwrap()).collect();
    assert!(paths.len() == 2 && paths[0].starts_with("templates/"), "{paths:?}");
    let also = results[0]["alsoIn"].as_array().unwrap();
    assert!(also.len() == 50 && also[0].as_str().unwrap().ends_with("/util.py:1"), "{also:?}");
    server.terminate().await;
}

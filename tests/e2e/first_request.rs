//! Bytes of the first request of a conversation, by part; secrets add none to them.

use std::{fs, path::PathBuf};

use codeinfo_test_support::git::run_git;
use serde_json::{Value, json};

use crate::support::{
    codex,
    model::{FakeModel, ModelReply, message_item},
    process::{RunningServer, create_scratch_folder},
};

/// Maximum bytes that the model service is sent before anything was searched.
const MAX_BYTES: usize = 14_400;
const REPOSITORIES: usize = 4;

/// Returns the first request for `REPOSITORIES` repositories with `secret_count` secret files in all.
async fn capture_first_request(secret_count: usize) -> Value {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Nowhere.")])]).await;
    let folder = create_scratch_folder();
    // Codex reports the checkout around its folder to the service, which would be that of this project.
    run_git(folder.path(), &["init", "--quiet"]);
    let names = (0..REPOSITORIES).map(|number| folder.path().join(format!("repository-{number}")));
    let repositories: Vec<PathBuf> = names.collect();
    for repository in &repositories {
        fs::create_dir_all(repository.join("src")).unwrap();
        fs::write(repository.join("src/valve.rs"), "pub fn relieve_pressure() {}\n").unwrap();
    }
    for (number, repository) in (0..secret_count).zip(repositories.iter().cycle()) {
        let stage = repository.join(format!("deploy/stage-{number:03}"));
        fs::create_dir_all(&stage).unwrap();
        fs::write(stage.join(".env"), "SECRET=1\n").unwrap();
    }
    let paths: Vec<_> = repositories.iter().map(PathBuf::as_path).collect();
    let environment = codex::codex_environment(folder.path(), &model.url);
    let server = RunningServer::serve(&folder.path().join("data"), &paths, &environment).await;
    server.ask_question(json!({ "question": "Where is the pressure relieved?" })).await;
    model.requests().remove(0)
}

/// The bytes of a request, by what they are for.
#[derive(Debug, PartialEq)]
struct RequestParts {
    /// Instructions of CodeInfo.
    instructions: usize,
    our_tools: usize,
    codex_tools: usize,
    /// All other parts that the model reads, the question included.
    surroundings: usize,
    /// Parts that only the service reads.
    envelope: usize,
}

impl RequestParts {
    fn new(request: &Value) -> Self {
        let sum = |values: &[&Value]| values.iter().map(|value| value.to_string().len()).sum();
        let (instructions, surroundings) =
            request["input"].as_array().unwrap().split_first().unwrap();
        let (our_tools, codex_tools): (Vec<_>, Vec<_>) =
            request["tools"].as_array().unwrap().iter().partition(|tool| {
                tool["name"].as_str().is_some_and(|name| name.starts_with("mcp__codeinfo_search"))
            });
        let mut parts = Self {
            instructions: sum(&[instructions]),
            our_tools: sum(&our_tools),
            codex_tools: sum(&codex_tools),
            surroundings: sum(&surroundings.iter().collect::<Vec<_>>()),
            envelope: 0,
        };
        parts.envelope = request.to_string().len()
            - (parts.instructions + parts.our_tools + parts.codex_tools + parts.surroundings);
        parts
    }
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "`cargo test -- --nocapture` shows the bytes of each part")]
async fn the_first_request_is_small_however_many_secrets_there_are() {
    let request = capture_first_request(0).await;
    let parts = RequestParts::new(&request);
    let total = request.to_string().len();
    eprintln!("{total} bytes: {parts:?}");
    for tool in request["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap();
        eprintln!("{} bytes: {name}", tool.to_string().len());
    }
    for secret_count in [36, 200] {
        let request = capture_first_request(secret_count).await;
        assert_eq!(RequestParts::new(&request), parts, "{secret_count} secrets");
        assert!(!request.to_string().contains(".env"), "{request:#}");
    }
    assert!(total <= MAX_BYTES, "{total} bytes: {parts:?}");
}

//! Turns that the server owns, and the conversations that they are of: `/turns` and `/conversations`.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};

use codeinfo_test_support::wire::{RawReply, send_get, send_post, send_request};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};

use crate::{
    listeners::InProcessServer,
    support::{
        codex,
        model::{FakeModel, ModelReply, answer_replies, message_item, search_item, thinking_item},
        process::{ProgramEnvironment, RunningServer, create_scratch_folder, http_client},
    },
};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Asks, and returns the ids of turn and conversation.
async fn ask_question(server: &InProcessServer, body: Value) -> (String, String) {
    let begun = send_post(server.main, "/turns", &body.to_string()).await;
    assert_eq!(begun.status, 202, "{begun:?}");
    let begun = begun.json();
    assert_eq!(begun["modelId"], "mock-model");
    let id = |name: &str| begun[name].as_str().unwrap().to_owned();
    (id("turnId"), id("conversationId"))
}

/// Returns the frames of a stream: number, name and data.
fn parse_frames(stream: &str) -> Vec<(usize, String, Value)> {
    let frames = stream.split("\n\n").filter(|frame| frame.starts_with("id: "));
    let read = |frame: &str| {
        let mut lines = frame.lines();
        let mut next = |start: &str| lines.next().unwrap().strip_prefix(start).unwrap().to_owned();
        let (id, name) = (next("id: ").parse().unwrap(), next("event: "));
        (id, name, serde_json::from_str(&next("data: ")).unwrap())
    };
    frames.map(read).collect()
}

fn frame_names(stream: &str) -> String {
    let frames = parse_frames(stream);
    assert!(frames.iter().map(|frame| frame.0).is_sorted_by(|a, b| a + 1 == *b), "{stream}");
    frames.into_iter().map(|(_, name, _)| name).collect::<Vec<_>>().join(" ")
}

async fn watch_turn(server: &InProcessServer, turn: &str) -> String {
    let path = format!("/turns/{turn}");
    timeout(Duration::from_mins(1), send_get(server.main, &path)).await.unwrap().body
}

async fn send_delete(server: &InProcessServer, path: &str) -> RawReply {
    send_request(server.main, "DELETE", path, &[JSON], "").await
}

async fn list_conversations(server: &InProcessServer, query: &str) -> Vec<Value> {
    let listed = send_get(server.main, &format!("/conversations{query}")).await.json();
    listed["conversations"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_turn_continues_without_watchers_and_is_watched_from_any_frame() {
    let finish = Arc::new(Notify::new());
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item("**Looking** <b>"), search_item("parse_config")]),
        ModelReply::Held(
            Arc::clone(&finish),
            vec![message_item("It is `parse_config` (src/parse.rs:1-4), *not* [x](javascript:a).")],
        ),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let question = "Where is it?\nAnd why?";
    let (turn, conversation) =
        ask_question(&server, json!({ "question": question, "repository": "demo" })).await;
    // One watches from the start and leaves, another stays.
    let url = format!("http://{}/turns/{turn}", server.main);
    let mut first = http_client().get(&url).send().await.unwrap();
    let chunk = String::from_utf8(first.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    assert!(chunk.starts_with("id: 1\nevent: question\ndata: {"), "{chunk}");
    drop(first);
    model.wait_for_requests(2).await;
    let one = &list_conversations(&server, "").await[0];
    assert_eq!((&one["running"], &one["turns"]), (&json!(turn), &json!(1)), "{one}");
    let running = send_get(server.main, &format!("/conversations/{conversation}")).await.json();
    assert_eq!(running["turns"][0]["state"], "running");
    finish.notify_one();
    let whole = watch_turn(&server, &turn).await;
    let expected = "question thread thinking tool-request tool-result vector_summary answer final";
    assert_eq!(frame_names(&whole), expected);
    let all = parse_frames(&whole);
    assert_eq!(all[0].2["question"], question);
    assert_eq!(all[0].2["repository"], "demo");
    assert_eq!(all[2].2["html"], "<p><strong>Looking</strong> &lt;b&gt;</p>\n");
    let found = all[4].2["html"].as_str().unwrap();
    assert!(found.contains("\n2|<span class=\"m-k\">pub</span> <span class"), "{found}");
    let path = server.folder.path().canonicalize().unwrap().display().to_string();
    let html = all[7].2["html"].as_str().unwrap().replace(&path, "FOLDER");
    assert_snapshot!(html.replace(&path.replace('/', "%2F"), "FOLDER"), @r##"<p>It is <code>parse_config</code> (<a class="cite" data-state="confirmed" data-path="FOLDER/demo/src/parse.rs" data-first="1" data-last="4" data-repo="demo" href="#/source?path=FOLDER%2Fdemo%2Fsrc%2Fparse.rs&amp;first=1&amp;last=4">src/parse.rs:1-4</a>), <em>not</em> x.</p>"##);
    assert!(all[7].2["endedAt"].as_str().unwrap() >= all[0].2["askedAt"].as_str().unwrap());
    // From any frame on, given in the address or by the browser.
    let rest = send_get(server.main, &format!("/turns/{turn}?after=6")).await.body;
    assert_eq!(frame_names(&rest), "answer final");
    let last = [("last-event-id", "7")];
    let path = format!("/turns/{turn}?after=3");
    let again = send_request(server.main, "GET", &path, &last, "").await.body;
    assert_eq!(frame_names(&again), "final");
    let last = send_request(server.main, "GET", &format!("/turns/{turn}"), &last, "").await.body;
    assert_eq!(frame_names(&last), "final");
    assert_eq!(send_get(server.main, &format!("/turns/{turn}?after=99")).await.body, "");
    // The same from disk.
    let kept = send_get(server.main, &format!("/conversations/{conversation}")).await.json();
    let shown = kept["turns"][0]["frames"].as_array().unwrap();
    let same = |(frame, (id, name, data)): (&Value, &(usize, String, Value))| {
        frame["id"] == *id && frame["name"] == *name && frame["data"] == *data
    };
    assert!(shown.len() == all.len() && shown.iter().zip(&all).all(same), "{kept}");
    assert_eq!(
        (&kept["title"], &kept["turns"][0]["state"]),
        (&json!("Where is it?"), &json!("answered"))
    );
    for (query, fault) in [("after=x", "`after` must"), ("from=1", "`from` is no parameter")] {
        let refused = send_get(server.main, &format!("/turns/{turn}?{query}")).await;
        assert_eq!((refused.status, refused.body.contains(fault)), (400, true), "{refused:?}");
    }
    let unknown = send_get(server.main, "/turns/00000000-0000-4000-8000-000000000000").await;
    assert_eq!((unknown.status, &unknown.json()["error"]), (404, &json!("TURN_NOT_FOUND")));
}

#[tokio::test]
async fn a_stopped_turn_stops_the_model_and_keeps_its_text() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item("Looking"), search_item("parse_config")]),
        ModelReply::Silent(vec![]),
        ModelReply::Items(vec![message_item("Again.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (turn, conversation) = ask_question(&server, json!({ "question": "Where?" })).await;
    model.wait_for_requests(2).await;
    let path = format!("/turns/{turn}/stop");
    assert_eq!(send_request(server.main, "POST", &path, &[], "{}").await.status, 415);
    let stopped = send_post(server.main, &path, "{}").await.json();
    assert_eq!(stopped, json!({ "turnId": turn, "state": "stopped" }));
    let all = watch_turn(&server, &turn).await;
    assert!(frame_names(&all).starts_with("question thread thinking tool-request"), "{all}");
    let (_, name, end) = parse_frames(&all).pop().unwrap();
    assert_eq!((name.as_str(), &end["code"]), ("error", &json!("CANCELLED")), "{end}");
    assert_eq!(end["message"], "the turn was stopped");
    model.wait_for_abandoned_streams(1).await;
    // A second request is no fault, and changes nothing.
    let again = send_post(server.main, &path, "{}").await.json();
    assert_eq!(again["state"], "stopped");
    let follow_up = json!({ "question": "Now?", "conversationId": conversation });
    let (second, same) = ask_question(&server, follow_up).await;
    assert_eq!(same, conversation);
    assert_eq!(frame_names(&watch_turn(&server, &second).await), "question thread answer final");
    let states = |kept: &Value| -> Vec<Value> {
        kept["turns"].as_array().unwrap().iter().map(|turn| turn["state"].clone()).collect()
    };
    let kept = send_get(server.main, &format!("/conversations/{conversation}")).await.json();
    assert_eq!(states(&kept), ["stopped", "answered"]);
    let exported = send_get(server.main, &format!("/conversations/{conversation}/export")).await;
    let name = format!("attachment; filename=\"codeinfo-{conversation}.md\"");
    assert_eq!(exported.header("content-disposition"), Some(name.as_str()));
    let asked =
        |kept: &Value, place: usize| kept["turns"][place]["askedAt"].as_str().unwrap().to_owned();
    let folder = server.folder.path().canonicalize().unwrap().display().to_string();
    let document =
        exported.body.replace(&asked(&kept, 0), "TIME").replace(&asked(&kept, 1), "TIME");
    assert_snapshot!(document.replace(&folder, "FOLDER"), @r"
    # Where?

    ## Where?

    Asked TIME; mock-model.

    Searched:

    * VectorSearch: parse_config
      * `FOLDER/demo/src/parse.rs:1-4`

    *the turn was stopped*

    ## Now?

    Asked TIME; mock-model.

    Again.
    ");
    let one = format!("/conversations/{conversation}/export?format=json&turn={second}");
    let one = send_get(server.main, &one).await.json();
    assert_eq!(
        (one["turns"].as_array().unwrap().len(), &one["turns"][0]["question"]),
        (1, &json!("Now?"))
    );
    assert!(!one.to_string().contains("\"html\""), "{one}");
    let wrong =
        send_get(server.main, &format!("/conversations/{conversation}/export?format=pdf")).await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
}

#[tokio::test]
async fn conversations_are_listed_searched_and_removed() {
    let mut script = answer_replies(&["Äpfel are sorted by weight.", "Pears are **not** sorted."]);
    script.push(ModelReply::Silent(vec![]));
    let model = FakeModel::replay(script).await;
    let data = create_scratch_folder();
    let path = data.path().display().to_string();
    let server = InProcessServer::start_with_codex(&model, &[("DATA_DIR", &path)]).await;
    server.ingest_demo().await;
    let mut ids = Vec::new();
    for question in ["How are apples sorted?", "And pears?"] {
        let (turn, conversation) = ask_question(&server, json!({ "question": question })).await;
        watch_turn(&server, &turn).await;
        ids.push(conversation);
    }
    let titles = |listed: Vec<Value>| -> Vec<String> {
        listed.iter().map(|one| one["title"].as_str().unwrap().to_owned()).collect()
    };
    let both = ["And pears?", "How are apples sorted?"];
    assert_eq!(titles(list_conversations(&server, "").await), both);
    assert_eq!(titles(list_conversations(&server, "?limit=1").await), both[..1]);
    for (query, more) in [("limit=1", true), ("limit=2", false), ("q=sorted&limit=1", true)] {
        let reply = send_get(server.main, &format!("/conversations?{query}")).await.json();
        assert_eq!(reply["more"], more, "{query}");
    }
    assert_eq!(titles(list_conversations(&server, "?q=SORTED").await), both);
    assert_eq!(titles(list_conversations(&server, "?q=%C3%84PFEL+how").await), both[1..]);
    assert!(list_conversations(&server, "?q=plums").await.is_empty());
    let found = &list_conversations(&server, "?q=weight").await[0];
    assert_eq!(found["excerpt"], "Äpfel are sorted by weight.");
    for query in ["limit=0", "limit=10001", "limit=x", "sort=up"] {
        assert_eq!(
            send_get(server.main, &format!("/conversations?{query}")).await.status,
            400,
            "{query}"
        );
    }
    // One that cannot be read hides no other.
    let (file, aside) = (data.path().join("conversations"), data.path().join("aside"));
    let file = file.join(format!("{}.jsonl", ids[1]));
    fs::rename(&file, &aside).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(titles(list_conversations(&server, "?q=sorted").await), both[1..]);
    fs::remove_dir(&file).unwrap();
    fs::rename(&aside, &file).unwrap();
    let path = format!("/conversations/{}", ids[0]);
    assert_eq!(send_request(server.main, "DELETE", &path, &[], "").await.status, 415);
    assert_eq!(send_delete(&server, &path).await.json(), json!({ "deleted": ids[0] }));
    assert_eq!(send_delete(&server, &path).await.status, 404);
    assert_eq!(send_get(server.main, &path).await.json()["error"], "CONVERSATION_NOT_FOUND");
    // A conversation with a running turn is stopped, and does not come back when the turn ends.
    let (turn, running) = ask_question(&server, json!({ "question": "Late?" })).await;
    model.wait_for_requests(3).await;
    assert_eq!(send_delete(&server, "/conversations").await.json(), json!({ "deleted": 2 }));
    model.wait_for_abandoned_streams(1).await;
    assert_eq!(send_get(server.main, &format!("/turns/{turn}")).await.status, 404);
    assert!(server.stop().await);
    let kept = data.path().join("conversations");
    assert_eq!(fs::read_dir(kept).unwrap().count(), 0, "{running}");
}

#[tokio::test]
async fn conversations_are_visible_to_their_principal_and_to_the_owner() {
    for kept in ["200", "0"] {
        check_visibility(kept).await;
    }
}

async fn check_visibility(kept: &str) {
    let model = FakeModel::replay(answer_replies(&["One.", "Two."])).await;
    let server = InProcessServer::start_with_codex(&model, &[("CONVERSATIONS_KEPT", kept)]).await;
    server.ingest_demo().await;
    let key = fs::read_to_string(server.folder.path().join("data/owner.key")).unwrap();
    let owner = format!("Bearer {}", key.trim());
    let mut tokens = Vec::new();
    for name in ["ann", "bob"] {
        let made = json!({ "name": name }).to_string();
        let headers = [JSON, ("authorization", owner.as_str())];
        let made =
            send_request(server.main, "POST", "/auth/mcp-tokens", &headers, &made).await.json();
        tokens.push(format!("Bearer {}", made["token"].as_str().unwrap()));
    }
    let [ann, bob] = &tokens[..] else { panic!() };
    let send = async |method: &str, path: &str, bearer: &str, body: &str| {
        let headers = [JSON, ("authorization", bearer)];
        send_request(server.main, method, path, &headers, body).await
    };
    let begun = send("POST", "/turns", ann, r#"{"question":"One?"}"#).await.json();
    let (turn, conversation) =
        (begun["turnId"].as_str().unwrap(), begun["conversationId"].as_str().unwrap());
    let (one, stop, whole) = (
        format!("/turns/{turn}"),
        format!("/turns/{turn}/stop"),
        format!("/conversations/{conversation}"),
    );
    let follow_up = json!({ "question": "Two?", "conversationId": conversation }).to_string();
    // In memory, and then from disk.
    for _ in 0..2 {
        assert_eq!(
            frame_names(&send("GET", &one, ann, "").await.body),
            "question thread answer final"
        );
        for (method, path, body) in [
            ("GET", &one, ""),
            ("POST", &stop, "{}"),
            ("GET", &whole, ""),
            ("GET", &format!("{whole}/export"), ""),
            ("DELETE", &whole, ""),
            ("POST", &"/turns".to_owned(), follow_up.as_str()),
            ("POST", &"/chat".to_owned(), follow_up.as_str()),
        ] {
            assert_eq!(send(method, path, bob, body).await.status, 404, "{method} {path}");
            let nobody = send_request(server.main, method, path, &[JSON], body).await;
            assert_eq!(nobody.status, 404, "{method} {path}");
        }
        let count = async |bearer: &str| {
            let listed = send("GET", "/conversations", bearer, "").await.json();
            listed["conversations"].as_array().unwrap().len()
        };
        assert_eq!((count(ann).await, count(bob).await, count(&owner).await), (1, 0, 1));
        let found = send("GET", "/conversations?q=one", bob, "").await.json();
        assert_eq!(found["conversations"], json!([]));
        assert_eq!(send("DELETE", "/conversations", bob, "").await.json(), json!({ "deleted": 0 }));
        assert_eq!(send("GET", &whole, &owner, "").await.status, 200);
    }
    assert_eq!(send("DELETE", &whole, ann, "").await.status, 200);
}

/// A data folder with a conversation, and what a program of it needs.
async fn start_with_conversation(
    model: &FakeModel,
    folder: &Path,
    settings: &[(&str, &str)],
) -> (RunningServer, ProgramEnvironment) {
    let mut environment = codex::codex_environment(folder, &model.url);
    environment.extend(settings.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    let repository = folder.join("demo");
    fs::create_dir_all(&repository).unwrap();
    fs::write(repository.join("parse.rs"), "pub fn parse() {}\n").unwrap();
    let program = RunningServer::serve(&folder.join("data"), &[&repository], &environment).await;
    (program, environment)
}

async fn list_titles(program: &RunningServer) -> Vec<String> {
    let listed = program.get_api("/conversations").await;
    let listed = listed["conversations"].as_array().unwrap().clone();
    listed.iter().map(|one| one["title"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn conversations_outlive_the_server_and_a_kill_in_the_middle_of_a_turn() {
    let held = ModelReply::Held(Arc::default(), vec![message_item("Never.")]);
    let mut script = answer_replies(&["One.", "Two.", "Three."]);
    script.insert(1, held);
    let model = FakeModel::replay(script).await;
    let folder = create_scratch_folder();
    let (server, environment) =
        start_with_conversation(&model, folder.path(), &[("CONVERSATIONS_KEPT", "2")]).await;
    let ask = async |server: &RunningServer, question: &str| {
        server.post_api("/turns", &json!({ "question": question })).await
    };
    let ended = async |server: &RunningServer, turn: &Value| {
        let url = format!("{}/turns/{}", server.main, turn["turnId"].as_str().unwrap());
        http_client().get(url).send().await.unwrap().text().await.unwrap()
    };
    let first = ask(&server, "One?").await;
    ended(&server, &first).await;
    let cut = ask(&server, "Cut?").await;
    model.wait_for_requests(2).await;
    let kept = folder.path().join("data/conversations");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = kept.join(format!("{}.jsonl", cut["conversationId"].as_str().unwrap()));
    timeout(Duration::from_mins(1), async {
        while fs::metadata(&file).is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!((mode(&kept), mode(&file)), (0o700, 0o600));
    server.kill().await;
    // A file that is no conversation is moved aside, and affects no other.
    let foreign = kept.join("00000000-0000-4000-8000-000000000000.jsonl");
    fs::write(&foreign, "{\"id\":").unwrap();
    let data = folder.path().join("data");
    let server = RunningServer::serve(&data, &[], &environment).await;
    assert_eq!(list_titles(&server).await, ["Cut?", "One?"]);
    assert!(foreign.with_extension("damaged").is_file() && !foreign.is_file());
    let stream = ended(&server, &cut).await;
    assert!(stream.contains("the server ended in the middle of the turn"), "{stream}");
    // A watcher that had more of it than was stored receives the end as well.
    let rest = format!("/turns/{}?after=9", cut["turnId"].as_str().unwrap());
    let rest = http_client().get(format!("{}{rest}", server.main)).send().await.unwrap();
    assert_eq!(parse_frames(&rest.text().await.unwrap())[0].0, 10);
    assert!(ended(&server, &first).await.contains("<p>One.</p>"));
    // A file that is damaged later is moved aside when it is read.
    fs::write(&file, "nonsense").unwrap();
    let whole = format!("/conversations/{}", cut["conversationId"].as_str().unwrap());
    assert_eq!(server.get_api(&whole).await["error"], "CONVERSATION_NOT_FOUND");
    assert_eq!(list_titles(&server).await, ["One?"]);
    // The oldest go.
    for question in ["Two?", "Three?"] {
        let turn = ask(&server, question).await;
        ended(&server, &turn).await;
    }
    assert_eq!(list_titles(&server).await, ["Three?", "Two?"]);
    assert!(server.terminate().await.success());
    let mut none = environment.clone();
    none.extend([("CONVERSATIONS_KEPT".into(), "0".into())]);
    let server = RunningServer::serve(&data, &[], &none).await;
    assert!(list_titles(&server).await.is_empty());
    let kept = fs::read_dir(&kept).unwrap().filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "jsonl")
    });
    assert_eq!(kept.count(), 0);
}

#[tokio::test]
async fn without_storage_a_conversation_lasts_while_its_turns_are_in_memory() {
    let model = FakeModel::replay(answer_replies(&["One.", "Two."])).await;
    let server = InProcessServer::start_with_codex(&model, &[("CONVERSATIONS_KEPT", "0")]).await;
    server.ingest_demo().await;
    let (first, conversation) = ask_question(&server, json!({ "question": "One?" })).await;
    watch_turn(&server, &first).await;
    let follow_up = json!({ "question": "Two?", "conversationId": conversation });
    let (second, _) = ask_question(&server, follow_up).await;
    watch_turn(&server, &second).await;
    let list = list_conversations(&server, "").await;
    assert_eq!((list.len(), &list[0]["title"], &list[0]["turns"]), (1, &json!("One?"), &json!(2)));
    // Listed conversations are found as well.
    let found = list_conversations(&server, "?q=TWO+one").await;
    assert_eq!((found.len(), &found[0]["excerpt"]), (1, &json!("Two?")));
    assert!(list_conversations(&server, "?q=three").await.is_empty());
    let whole = send_get(server.main, &format!("/conversations/{conversation}")).await.json();
    assert_eq!(whole["turns"].as_array().unwrap().len(), 2);
    assert!(!server.folder.path().join("data/conversations").is_dir());
    assert_eq!(send_delete(&server, &format!("/conversations/{conversation}")).await.status, 200);
    assert!(list_conversations(&server, "").await.is_empty());
}

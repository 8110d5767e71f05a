//! `codeinfo serve` in place of a server that a relay started.

use std::sync::Arc;

use tokio::sync::Notify;

use super::*;
use crate::support::process::spawn_command;

#[tokio::test]
async fn a_server_started_by_hand_replaces_the_one_for_relays() {
    let held = Arc::new(Notify::new());
    let replies = [
        ModelReply::Held(Arc::clone(&held), vec![message_item("First.")]),
        ModelReply::Items(vec![message_item("Second.")]),
    ];
    let setup = CodexSetup::replay(replies).await;
    let data = setup.index_repository().await;
    let patient = vec![("SHUTDOWN_GRACE_SECS".to_owned(), "60".to_owned())];
    let environment = [setup.environment(), patient].concat();
    let mut relay = RelayClient::start(&data, setup.folder.path(), &environment, &[]);
    let ask = json!({ "question": "What is there?" });
    relay.call_tool(1, "codebase_question", ask.clone()).await;
    setup.model.wait_for_requests(1).await;
    let first = read_lock_holder(&data);
    let stops = || read_lock_holder(&data).main_url.is_none();
    let finishing = async {
        wait_until("it serves on", stops).await;
        assert_eq!(read_lock_holder(&data).pid, first.pid);
        held.notify_one();
    };
    let serving = RunningServer::serve_logged(&data, &environment);
    let ((program, mut log), ()) = tokio::join!(serving, finishing);
    let output_text = log.next_line().await.unwrap().unwrap();
    let of = format!("process {} at {}", first.pid, first.main_url.unwrap());
    assert!(
        output_text.starts_with("taking the place of") && output_text.contains(&of),
        "{output_text}"
    );
    // Running work was finished.
    let answer = read_result(&relay.read_answer(1).await);
    assert_eq!(answer["segments"][0]["text"], "First.", "{answer:#}");
    relay.call_tool(2, "codebase_question", ask).await;
    let answer = read_result(&relay.read_answer(2).await);
    assert_eq!(answer["segments"][0]["text"], "Second.", "{answer:#}");
    let second = read_lock_holder(&data);
    assert_eq!((second.pid, second.until_idle), (program.pid(), false));
    // This one keeps running.
    let refused = run_command(&data, &environment, &["serve"]).await;
    let output_text = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && output_text.contains(&format!("process {}", second.pid)),
        "{output_text}"
    );
    assert!(!output_text.contains("taking the place"), "{output_text}");
    program.terminate().await;
}

#[tokio::test]
async fn a_turn_longer_than_the_grace_period_fails_when_its_server_is_replaced() {
    let replies = [
        ModelReply::Silent(vec![thinking_item("hm")]),
        ModelReply::Items(vec![message_item("Here.")]),
    ];
    let setup = CodexSetup::replay(replies).await;
    let data = setup.index_repository().await;
    let hasty = vec![("SHUTDOWN_GRACE_SECS".to_owned(), "1".to_owned())];
    let environment = [setup.environment(), hasty].concat();
    let mut relay = RelayClient::start(&data, setup.folder.path(), &environment, &[]);
    let ask = json!({ "question": "What is there?" });
    relay.call_tool(1, "codebase_question", ask.clone()).await;
    setup.model.wait_for_requests(1).await;
    let program = RunningServer::serve(&data, &[], &environment).await;
    let failed = read_result(&relay.read_answer(1).await);
    assert_eq!(failed["error"]["code"], "CANCELLED", "{failed:#}");
    relay.call_tool(2, "codebase_question", ask).await;
    let answer = read_result(&relay.read_answer(2).await);
    assert_eq!(answer["segments"][0]["text"], "Here.", "{answer:#}");
    assert_eq!(read_lock_holder(&data).pid, program.pid());
    program.terminate().await;
}

#[tokio::test]
async fn a_server_whose_port_is_taken_replaces_none() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let mut relay = RelayClient::start(data.path(), folder.path(), &without_codex(), &["--search"]);
    relay.send_request(1, "ping", json!({})).await;
    relay.read_answer(1).await;
    let first = read_lock_holder(data.path()).pid;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for variable in ["PORT", "MCP_PORT"] {
        let taken = vec![(variable.to_owned(), port.clone())];
        let environment = [without_codex(), taken].concat();
        let refused = run_command(data.path(), &environment, &["serve"]).await;
        let output_text = String::from_utf8(refused.stderr).unwrap();
        let reason = format!("(set `{variable}` to another port");
        assert!(!refused.status.success() && output_text.contains(&reason), "{output_text}");
    }
    relay.send_request(2, "ping", json!({})).await;
    assert_eq!(relay.read_answer(2).await["result"], json!({}));
    assert_eq!(read_lock_holder(data.path()).pid, first);
}

#[tokio::test]
async fn one_of_several_servers_started_at_once_takes_over() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let mut relay = RelayClient::start(data.path(), folder.path(), &without_codex(), &["--search"]);
    relay.send_request(1, "ping", json!({})).await;
    relay.read_answer(1).await;
    let first = read_lock_holder(data.path()).pid;
    let mut started: Vec<_> =
        (0..3).map(|_| spawn_command(data.path(), &without_codex(), &["serve"])).collect();
    let serves =
        || find_lock_holder(data.path()).unwrap().is_some_and(|now| now.main_url.is_some());
    wait_until("it stays", || {
        find_lock_holder(data.path()).unwrap().is_none_or(|now| now.pid != first)
    })
    .await;
    // A request in the meantime starts no server.
    relay.send_request(2, "ping", json!({})).await;
    assert_eq!(relay.read_answer(2).await["result"], json!({}));
    wait_until("none serves", serves).await;
    let winner = read_lock_holder(data.path());
    assert!(!winner.until_idle);
    let place = started.iter().position(|child| child.id() == Some(winner.pid)).unwrap();
    let winner = started.remove(place);
    for loser in started {
        let ended = loser.wait_with_output().await.unwrap();
        let output_text = String::from_utf8(ended.stderr).unwrap();
        assert!(
            output_text.contains(&format!("process {}", winner.id().unwrap())),
            "{output_text}"
        );
    }
    drop(winner);
}

#[tokio::test]
async fn a_new_server_waits_for_one_that_is_already_ending() {
    let held = Arc::new(Notify::new());
    let setup =
        CodexSetup::replay([ModelReply::Held(Arc::clone(&held), vec![message_item("Here.")])])
            .await;
    let data = setup.index_repository().await;
    let patient = vec![("SHUTDOWN_GRACE_SECS".to_owned(), "60".to_owned())];
    let environment = [setup.environment(), patient].concat();
    let mut relay = RelayClient::start(&data, setup.folder.path(), &environment, &[]);
    relay.call_tool(1, "codebase_question", json!({ "question": "What is there?" })).await;
    setup.model.wait_for_requests(1).await;
    send_signal("TERM", read_lock_holder(&data).pid).await;
    wait_until("it serves on", || read_lock_holder(&data).main_url.is_none()).await;
    let waits = || {
        let starting = fs::File::options().write(true).open(data.join("lock.starting")).unwrap();
        starting.try_lock().is_err()
    };
    let finishing = async {
        wait_until("no relay waits", waits).await;
        held.notify_one();
    };
    let (program, ()) = tokio::join!(RunningServer::serve(&data, &[], &environment), finishing);
    assert_eq!(read_lock_holder(&data).pid, program.pid());
    let answer = read_result(&relay.read_answer(1).await);
    assert_eq!(answer["segments"][0]["text"], "Here.", "{answer:#}");
    program.terminate().await;
}

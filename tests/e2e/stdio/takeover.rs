//! `codeinfo serve` in place of a server that a relay started.

use std::sync::Arc;

use tokio::sync::Notify;

use super::*;
use crate::support::process::begin;

#[tokio::test]
async fn a_server_that_is_started_by_hand_takes_the_place_of_the_one_for_relays() {
    let held = Arc::new(Notify::new());
    let replies =
        [Reply::Held(Arc::clone(&held), vec![says("First.")]), Reply::Items(vec![says("Second.")])];
    let world = World::replay(replies).await;
    let data = world.indexed().await;
    let patient = vec![("SHUTDOWN_GRACE_SECS".to_owned(), "60".to_owned())];
    let environment = [world.environment(), patient].concat();
    let mut relay = Relay::start(&data, world.folder.path(), &environment, &[]);
    let ask = json!({ "question": "What is there?" });
    relay.call(1, "codebase_question", ask.clone()).await;
    world.model.wait_for_requests(1).await;
    let first = server(&data);
    let stops = || server(&data).main_url.is_none();
    let finishing = async {
        until("it serves on", stops).await;
        assert_eq!(server(&data).pid, first.pid);
        held.notify_one();
    };
    let serving = Program::serve_logged(&data, &environment);
    let ((program, mut log), ()) = tokio::join!(serving, finishing);
    let said = log.next_line().await.unwrap().unwrap();
    let of = format!("process {} at {}", first.pid, first.main_url.unwrap());
    assert!(said.starts_with("taking the place of") && said.contains(&of), "{said}");
    // What was under way was finished.
    let answer = result(&relay.answer(1).await);
    assert_eq!(answer["segments"][0]["text"], "First.", "{answer:#}");
    relay.call(2, "codebase_question", ask).await;
    let answer = result(&relay.answer(2).await);
    assert_eq!(answer["segments"][0]["text"], "Second.", "{answer:#}");
    let second = server(&data);
    assert_eq!((second.pid, second.until_idle), (program.pid(), false));
    // This one is left alone.
    let refused = run(&data, &environment, &["serve"]).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && said.contains(&format!("process {}", second.pid)),
        "{said}"
    );
    assert!(!said.contains("taking the place"), "{said}");
    program.terminate().await;
}

#[tokio::test]
async fn a_turn_that_outlasts_the_grace_of_its_server_fails_when_another_takes_the_place() {
    let replies = [Reply::Silent(vec![thinks("hm")]), Reply::Items(vec![says("Here.")])];
    let world = World::replay(replies).await;
    let data = world.indexed().await;
    let hasty = vec![("SHUTDOWN_GRACE_SECS".to_owned(), "1".to_owned())];
    let environment = [world.environment(), hasty].concat();
    let mut relay = Relay::start(&data, world.folder.path(), &environment, &[]);
    let ask = json!({ "question": "What is there?" });
    relay.call(1, "codebase_question", ask.clone()).await;
    world.model.wait_for_requests(1).await;
    let program = Program::serve(&data, &[], &environment).await;
    let failed = result(&relay.answer(1).await);
    assert_eq!(failed["error"]["code"], "CANCELLED", "{failed:#}");
    relay.call(2, "codebase_question", ask).await;
    let answer = result(&relay.answer(2).await);
    assert_eq!(answer["segments"][0]["text"], "Here.", "{answer:#}");
    assert_eq!(server(&data).pid, program.pid());
    program.terminate().await;
}

#[tokio::test]
async fn a_server_whose_port_is_taken_takes_no_place() {
    let (data, folder) = (fresh(), fresh());
    let mut relay = Relay::start(data.path(), folder.path(), &without_codex(), &["--search"]);
    relay.send(1, "ping", json!({})).await;
    relay.answer(1).await;
    let first = server(data.path()).pid;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for variable in ["PORT", "MCP_PORT"] {
        let taken = vec![(variable.to_owned(), port.clone())];
        let environment = [without_codex(), taken].concat();
        let refused = run(data.path(), &environment, &["serve"]).await;
        let said = String::from_utf8(refused.stderr).unwrap();
        let reason = format!("(set `{variable}` to another port");
        assert!(!refused.status.success() && said.contains(&reason), "{said}");
    }
    relay.send(2, "ping", json!({})).await;
    assert_eq!(relay.answer(2).await["result"], json!({}));
    assert_eq!(server(data.path()).pid, first);
}

#[tokio::test]
async fn of_servers_started_by_hand_at_once_one_takes_the_place() {
    let (data, folder) = (fresh(), fresh());
    let mut relay = Relay::start(data.path(), folder.path(), &without_codex(), &["--search"]);
    relay.send(1, "ping", json!({})).await;
    relay.answer(1).await;
    let first = server(data.path()).pid;
    let mut started: Vec<_> =
        (0..3).map(|_| begin(data.path(), &without_codex(), &["serve"])).collect();
    let serves =
        || find_lock_holder(data.path()).unwrap().is_some_and(|now| now.main_url.is_some());
    until("it stays", || find_lock_holder(data.path()).unwrap().is_none_or(|now| now.pid != first))
        .await;
    // Meanwhile it is asked, and starts none itself.
    relay.send(2, "ping", json!({})).await;
    assert_eq!(relay.answer(2).await["result"], json!({}));
    until("none serves", serves).await;
    let winner = server(data.path());
    assert!(!winner.until_idle);
    let place = started.iter().position(|child| child.id() == Some(winner.pid)).unwrap();
    let winner = started.remove(place);
    for loser in started {
        let ended = loser.wait_with_output().await.unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(said.contains(&format!("process {}", winner.id().unwrap())), "{said}");
    }
    drop(winner);
}

#[tokio::test]
async fn a_server_for_relays_that_ends_already_is_waited_for() {
    let held = Arc::new(Notify::new());
    let world = World::replay([Reply::Held(Arc::clone(&held), vec![says("Here.")])]).await;
    let data = world.indexed().await;
    let patient = vec![("SHUTDOWN_GRACE_SECS".to_owned(), "60".to_owned())];
    let environment = [world.environment(), patient].concat();
    let mut relay = Relay::start(&data, world.folder.path(), &environment, &[]);
    relay.call(1, "codebase_question", json!({ "question": "What is there?" })).await;
    world.model.wait_for_requests(1).await;
    signal("TERM", server(&data).pid).await;
    until("it serves on", || server(&data).main_url.is_none()).await;
    let waits = || {
        let starting = fs::File::options().write(true).open(data.join("lock.starting")).unwrap();
        starting.try_lock().is_err()
    };
    let finishing = async {
        until("nobody waits", waits).await;
        held.notify_one();
    };
    let (program, ()) = tokio::join!(Program::serve(&data, &[], &environment), finishing);
    assert_eq!(server(&data).pid, program.pid());
    let answer = result(&relay.answer(1).await);
    assert_eq!(answer["segments"][0]["text"], "Here.", "{answer:#}");
    program.terminate().await;
}

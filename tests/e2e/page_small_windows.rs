//! The page in windows that are not wide, in a real browser: what covers what, and where one was.

use std::fmt::Write;

use crate::{
    listeners::InProcessServer,
    page_ask::{ask_question, wait_for_turns},
    page_browser::{check_appearance, open_page},
    support::{
        browser::{BrowserPage, TestBrowser},
        model::{FakeModel, ModelReply, message_item, search_item},
    },
};

const TO_CITATION: &str =
    "void document.querySelector('a.cite').scrollIntoView({ block: 'center' })";

/// Returns a script for whether an element is visible.
fn visibility_script(selector: &str) -> String {
    format!("document.querySelector('{selector}').checkVisibility()")
}

/// A page with an answer that is longer than its window, and cites lines at its end.
async fn open_long_answer() -> (FakeModel, InProcessServer, TestBrowser, BrowserPage) {
    let mut answer = String::new();
    for number in 0..60 {
        writeln!(answer, "Part {number} is read line by line, each with the name before the first sign of equality and the value after it.\n").unwrap();
    }
    answer.push_str("See src/parse.rs:1-4.");
    let script = [
        ModelReply::Items(vec![search_item("parse_config")]),
        ModelReply::Items(vec![message_item(&answer)]),
    ];
    let model = FakeModel::replay(script).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (browser, page) = open_page(&server).await;
    let words = "Which words of a configuration file are read, and ".repeat(4);
    ask_question(&page, &format!("{words}where?")).await;
    wait_for_turns(&page, 1).await;
    (model, server, browser, page)
}

#[tokio::test]
async fn a_conversation_keeps_its_position_while_its_source_is_open() {
    let (_model, server, _browser, page) = open_long_answer().await;
    let top = "document.documentElement.scrollTop + document.querySelector('#main').scrollTop";
    for width in [360, 1000] {
        page.set_size(width, 800).await;
        page.eval::<()>(TO_CITATION).await;
        let before = page.eval::<f64>(top).await;
        assert!(before > 500.0, "{width}: {before}");
        page.click("a.cite").await;
        page.wait_for("document.querySelector('#source .line')", "the lines").await;
        page.wait_for(&format!("!{}", visibility_script("#main")), "the source alone").await;
        page.press_key("Escape").await;
        page.wait_for(&visibility_script("#main"), "the answer").await;
        assert!(
            (page.eval::<f64>(top).await - before).abs() < 1.0,
            "{width}: {before}, {}",
            page.eval::<f64>(top).await
        );
    }
    // Another view begins at its start.
    page.set_size(360, 800).await;
    page.eval::<()>(TO_CITATION).await;
    page.eval::<()>("void (location.hash = '#/status')").await;
    page.wait_for_text("Recent failures").await;
    assert!(page.eval::<f64>(top).await < 1.0);
    assert!(server.stop().await);
}

#[tokio::test]
async fn on_a_phone_esc_closes_the_menu_and_then_the_source_below_it() {
    let (_model, _server, _browser, page) = open_long_answer().await;
    page.set_size(360, 800).await;
    page.click("a.cite").await;
    page.wait_for("document.querySelector('#source .line')", "the lines").await;
    page.click_text("button", "Menu").await;
    page.wait_for(&visibility_script("#side"), "the menu").await;
    check_appearance(&page, "menu-source").await;
    page.set_size(360, 800).await;
    page.wait_for(
        &format!("{} && !{}", visibility_script("#side"), visibility_script("#source")),
        "the menu alone",
    )
    .await;
    page.press_key("Escape").await;
    page.wait_for(
        &format!("!{} && {}", visibility_script("#side"), visibility_script("#source")),
        "the source alone",
    )
    .await;
    page.press_key("Escape").await;
    page.wait_for(
        &format!("!{} && {}", visibility_script("#source"), visibility_script("#main")),
        "the answer",
    )
    .await;
    // An open menu is folded when something opens below it.
    page.click_text("button", "Menu").await;
    page.click("a.cite").await;
    page.wait_for(
        &format!("!{} && {}", visibility_script("#side"), visibility_script("#source")),
        "the source alone",
    )
    .await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn between_a_phone_and_a_wide_window_the_source_takes_the_place_of_the_answer() {
    let (_model, _server, _browser, page) = open_long_answer().await;
    let box_of = async |selector: &str| -> [f64; 4] {
        let script = format!(
            "(({{ left, top, width, height }}) => [left, top, width, height])(document.querySelector('{selector}').getBoundingClientRect())"
        );
        page.eval(&script).await
    };
    for width in [720_u32, 1000, 1199] {
        page.set_size(width, 800).await;
        assert!(!page.eval::<bool>(&visibility_script("#menu")).await, "{width}");
        let [side, main, evidence] =
            [box_of("#side").await, box_of("#main").await, box_of("#evidence").await];
        // The files of the search are below the answer, both beside the left column.
        assert_eq!((side[0], side[2], main[0], evidence[0]), (0.0, 232.0, 232.0, 232.0), "{width}");
        assert!(main[1] + main[3] <= evidence[1] + 0.5, "{width}: {main:?} {evidence:?}");
        assert!((evidence[1] + evidence[3] - 800.0).abs() < 1.0, "{width}: {evidence:?}");
        assert_eq!(page.find_overflow().await, <[&str; 0]>::default(), "{width}");
        assert_eq!(page.find_accessibility_faults().await, <[&str; 0]>::default(), "{width}");
        page.save_screenshot(&format!("middle-{width}")).await;
        page.eval::<()>("void document.querySelector('a.cite').click()").await;
        page.wait_for("document.querySelector('#source .line')", "the lines").await;
        assert!(
            !page
                .eval::<bool>(&format!(
                    "{} || {}",
                    visibility_script("#main"),
                    visibility_script("#files")
                ))
                .await,
            "{width}"
        );
        let source = box_of("#source").await;
        assert_eq!((source[0], source[2]), (232.0, f64::from(width) - 232.0), "{width}");
        assert_eq!(page.find_overflow().await, <[&str; 0]>::default(), "{width}");
        assert_eq!(page.find_accessibility_faults().await, <[&str; 0]>::default(), "{width}");
        page.save_screenshot(&format!("middle-source-{width}")).await;
        page.press_key("Escape").await;
        page.wait_for(&visibility_script("#main"), "the answer").await;
    }
    page.assert_faultless().await;
}

#[tokio::test]
async fn lines_of_text_have_at_most_seventy_five_characters() {
    let (_model, _server, _browser, page) = open_long_answer().await;
    page.set_size(1900, 900).await;
    page.eval::<()>(
        "void import('/page/notice.js').then(({ problem }) => document.querySelector('.turn').append(problem({
            code: 'TURN_FAILED', message: 'the model did not answer and said nothing of why it did not, which is as long as such messages get' })))",
    )
    .await;
    page.wait_for("document.querySelector('.problem')", "a problem").await;
    let longest =
        "(selector => Math.max(...[...document.querySelectorAll(selector)].flatMap(one => {
        const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
        const lines = new Map();
        const range = document.createRange();
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
            for (let at = 0; at < node.length; at += 1) {
                range.setStart(node, at);
                range.setEnd(node, at + 1);
                const { top } = range.getBoundingClientRect();
                lines.set(top, (lines.get(top) ?? 0) + 1);
            }
        }
        return [...lines.values()];
    })))";
    for selector in [".question", ".answer", ".problem", "main p.about"] {
        let letters = page.eval::<u32>(&format!("{longest}('{selector}')")).await;
        assert!((10..=75).contains(&letters), "{selector}: {letters}");
    }
    page.assert_faultless().await;
}

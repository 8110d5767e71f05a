//! The page in windows that are not wide, in a real browser: what covers what, and where one was.

use std::fmt::Write;

use crate::{
    listeners::Listeners,
    page_ask::{ask, ended},
    page_browser::{looks_right, open},
    support::{
        browser::{Browser, Page},
        model::{Model, Reply as Said, says, searches},
    },
};

const TO_CITATION: &str =
    "void document.querySelector('a.cite').scrollIntoView({ block: 'center' })";

/// Whether an element can be seen.
fn seen(selector: &str) -> String {
    format!("document.querySelector('{selector}').checkVisibility()")
}

/// A page with an answer that is longer than its window, and cites lines at its end.
async fn answered() -> (Model, Listeners, Browser, Page) {
    let mut answer = String::new();
    for number in 0..60 {
        writeln!(answer, "Part {number} is read line by line, each with the name before the first sign of equality and the value after it.\n").unwrap();
    }
    answer.push_str("See src/parse.rs:1-4.");
    let script = [Said::Items(vec![searches("parse_config")]), Said::Items(vec![says(&answer)])];
    let model = Model::replay(script).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (browser, page) = open(&server).await;
    let words = "Which words of a configuration file are read, and ".repeat(4);
    ask(&page, &format!("{words}where?")).await;
    ended(&page, 1).await;
    (model, server, browser, page)
}

#[tokio::test]
async fn the_place_of_a_conversation_is_there_again_after_its_source_was_looked_at() {
    let (_model, server, _browser, page) = answered().await;
    let top = "document.documentElement.scrollTop + document.querySelector('#main').scrollTop";
    for width in [360, 1000] {
        page.size(width, 800).await;
        page.eval::<()>(TO_CITATION).await;
        let before = page.eval::<f64>(top).await;
        assert!(before > 500.0, "{width}: {before}");
        page.click("a.cite").await;
        page.wait("document.querySelector('#source .line')", "the lines").await;
        page.wait(&format!("!{}", seen("#main")), "the source alone").await;
        page.press("Escape").await;
        page.wait(&seen("#main"), "the answer").await;
        assert!(
            (page.eval::<f64>(top).await - before).abs() < 1.0,
            "{width}: {before}, {}",
            page.eval::<f64>(top).await
        );
    }
    // Another view begins at its start.
    page.size(360, 800).await;
    page.eval::<()>(TO_CITATION).await;
    page.eval::<()>("void (location.hash = '#/status')").await;
    page.sees("Recent failures").await;
    assert!(page.eval::<f64>(top).await < 1.0);
    assert!(server.stop().await);
}

#[tokio::test]
async fn on_a_phone_esc_closes_the_menu_and_then_the_source_below_it() {
    let (_model, _server, _browser, page) = answered().await;
    page.size(360, 800).await;
    page.click("a.cite").await;
    page.wait("document.querySelector('#source .line')", "the lines").await;
    page.click_text("button", "Menu").await;
    page.wait(&seen("#side"), "the menu").await;
    looks_right(&page, "menu-source").await;
    page.size(360, 800).await;
    page.wait(&format!("{} && !{}", seen("#side"), seen("#source")), "the menu alone").await;
    page.press("Escape").await;
    page.wait(&format!("!{} && {}", seen("#side"), seen("#source")), "the source alone").await;
    page.press("Escape").await;
    page.wait(&format!("!{} && {}", seen("#source"), seen("#main")), "the answer").await;
    // A menu that is open is folded by what is opened below it.
    page.click_text("button", "Menu").await;
    page.click("a.cite").await;
    page.wait(&format!("!{} && {}", seen("#side"), seen("#source")), "the source alone").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn between_a_phone_and_a_wide_window_the_source_takes_the_place_of_the_answer() {
    let (_model, _server, _browser, page) = answered().await;
    let box_of = async |selector: &str| -> [f64; 4] {
        let script = format!(
            "(({{ left, top, width, height }}) => [left, top, width, height])(document.querySelector('{selector}').getBoundingClientRect())"
        );
        page.eval(&script).await
    };
    for width in [720_u32, 1000, 1199] {
        page.size(width, 800).await;
        assert!(!page.eval::<bool>(&seen("#menu")).await, "{width}");
        let [side, main, evidence] =
            [box_of("#side").await, box_of("#main").await, box_of("#evidence").await];
        // The files of the search stand below the answer, both beside the left column.
        assert_eq!((side[0], side[2], main[0], evidence[0]), (0.0, 232.0, 232.0, 232.0), "{width}");
        assert!(main[1] + main[3] <= evidence[1] + 0.5, "{width}: {main:?} {evidence:?}");
        assert!((evidence[1] + evidence[3] - 800.0).abs() < 1.0, "{width}: {evidence:?}");
        assert_eq!(page.sticks_out().await, <[&str; 0]>::default(), "{width}");
        assert_eq!(page.axe().await, <[&str; 0]>::default(), "{width}");
        page.screenshot(&format!("middle-{width}")).await;
        page.eval::<()>("void document.querySelector('a.cite').click()").await;
        page.wait("document.querySelector('#source .line')", "the lines").await;
        assert!(
            !page.eval::<bool>(&format!("{} || {}", seen("#main"), seen("#files"))).await,
            "{width}"
        );
        let source = box_of("#source").await;
        assert_eq!((source[0], source[2]), (232.0, f64::from(width) - 232.0), "{width}");
        assert_eq!(page.sticks_out().await, <[&str; 0]>::default(), "{width}");
        assert_eq!(page.axe().await, <[&str; 0]>::default(), "{width}");
        page.screenshot(&format!("middle-source-{width}")).await;
        page.press("Escape").await;
        page.wait(&seen("#main"), "the answer").await;
    }
    page.is_faultless().await;
}

#[tokio::test]
async fn lines_of_text_have_at_most_seventy_five_characters() {
    let (_model, _server, _browser, page) = answered().await;
    page.size(1900, 900).await;
    page.eval::<()>(
        "void import('/page/notice.js').then(({ problem }) => document.querySelector('.turn').append(problem({
            code: 'TURN_FAILED', message: 'the model did not answer and said nothing of why it did not, which is as long as such messages get' })))",
    )
    .await;
    page.wait("document.querySelector('.problem')", "a problem").await;
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
    page.is_faultless().await;
}

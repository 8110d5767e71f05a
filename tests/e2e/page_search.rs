//! Search on the page, in a real browser: as one types, by repository and language, with the keyboard.

use std::fmt::Write;

use codeinfo_test_support::{
    git::{add_worktree, commit_all},
    ingest::TestRepository,
};
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    page_browser::{check_appearance, open_page, write_figure},
    support::browser::BrowserPage,
};

async fn start_server() -> InProcessServer {
    let server = InProcessServer::start().await;
    server.write("shop/src/price.rs", "/// The price of a basket.\npub fn price(basket: &[u32]) -> u32 {\n    basket.iter().sum()\n}\n");
    server.write(
        "shop/web/price.py",
        "def price_of(basket):\n    \"\"\"The price of a basket.\"\"\"\n    return sum(basket)\n",
    );
    server.write("shop/notes.md", "# Prices\n\nThe price of a basket is the sum of its parts.\n");
    server.ingest("shop", "where things are sold").await;
    server.write(
        "bank/src/interest.rs",
        "/// The price of money.\npub fn interest(sum: u32) -> u32 {\n    sum / 20\n}\n",
    );
    server.ingest("bank", "where money is kept").await;
    server
}

async fn list_files(page: &BrowserPage) -> Vec<String> {
    page.read_texts(".result-file > h2").await
}

/// Waits until the results are of these files alone, in any order.
async fn wait_for_results(page: &BrowserPage, wanted: &[&str]) {
    let mut wanted: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
    wanted.sort();
    page.retry_until("results", async || {
        let mut all = list_files(page).await;
        all.sort();
        if all == wanted { Ok(()) } else { Err(format!("{all:?}")) }
    })
    .await;
}

#[tokio::test]
async fn search_answers_as_one_types_and_is_narrowed_by_repository_and_language() {
    let server = start_server().await;
    let (_browser, page) = open_page(&server).await;
    page.click_text("link", "Search").await;
    page.wait_for_text("Write what to search for").await;
    check_appearance(&page, "search-empty").await;
    page.click("#search").await;
    page.type_text("price of a basket").await;
    page.wait_for_text("results in").await;
    page.wait_for("document.querySelectorAll('.result-file').length > 2", "results").await;
    assert!(page.url().await.contains("q=price"), "{}", page.url().await);
    page.wait_for("document.querySelector('.result-code .m-k')", "marked code").await;
    check_appearance(&page, "search").await;
    let choose = async |select: &str, value: &str| {
        page.eval::<()>(&format!(
            "void (document.querySelector('{select}').value = '{value}',
                document.querySelector('{select}').dispatchEvent(new Event('change')))"
        ))
        .await;
    };
    choose("#search-repository", "bank").await;
    wait_for_results(&page, &["src/interest.rs"]).await;
    choose("#search-repository", "shop").await;
    wait_for_results(&page, &["src/price.rs", "web/price.py", "notes.md"]).await;
    page.click("#search-language").await;
    page.wait_for("[...document.querySelector('#search-language').options].some(one => one.value === 'python')", "languages").await;
    page.press_key("Escape").await;
    choose("#search-language", "python").await;
    wait_for_results(&page, &["web/price.py"]).await;
    let address = page.url().await;
    assert!(
        address.contains("repository=shop") && address.contains("language=python"),
        "{address}"
    );
    page.reload().await;
    wait_for_results(&page, &["web/price.py"]).await;
    assert_eq!(
        page.eval::<String>("document.querySelector('#search').value").await,
        "price of a basket"
    );
    // The parts of the score, on demand.
    page.click(".result-head summary").await;
    page.wait_for("document.querySelector('.parts tr')", "the parts of the score").await;
    let parts = page.read_texts(".parts tr").await;
    assert!(!parts.is_empty(), "{parts:?}");
    page.save_screenshot("search-parts").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn results_are_walked_and_opened_by_the_keyboard() {
    let server = start_server().await;
    let (_browser, page) = open_page(&server).await;
    page.goto(&format!("http://{}/#/search", server.main)).await;
    page.wait_for("document.activeElement.id === 'search'", "the field").await;
    page.press_key("Escape").await;
    page.wait_for("document.activeElement.id === 'main'", "no field").await;
    page.press_key("/").await;
    page.wait_for("document.activeElement.id === 'search'", "the field").await;
    page.type_text("basket").await;
    assert_eq!(page.eval::<String>("document.querySelector('#search').value").await, "basket");
    page.wait_for("document.querySelectorAll('.result').length > 2", "results").await;
    page.press_key("ArrowDown").await;
    let at = "[...document.querySelectorAll('.result .place')].indexOf(document.activeElement)";
    page.wait_for(&format!("{at} === 0"), "the first result").await;
    for (key, place) in [("j", 1), ("j", 2), ("k", 1)] {
        page.press_key(key).await;
        page.wait_for(&format!("{at} === {place}"), &format!("result {place}")).await;
    }
    let (path, first): (String, String) = page
        .eval("[document.activeElement.dataset.path, document.activeElement.dataset.first]")
        .await;
    page.press_key("o").await;
    page.wait_for("document.querySelector('#source .line[aria-current=true]')", "the source").await;
    let line =
        page.eval::<String>("document.querySelector('.line[aria-current=true]').dataset.line");
    assert_eq!(line.await, first);
    assert!(path.ends_with(&page.read_text("#source h2").await), "{path}");
    check_appearance(&page, "search-source").await;
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('#source').checkVisibility()", "no source").await;
    page.wait_for(&format!("{at} === 1"), "the result again").await;
    page.press_key("/").await;
    page.wait_for("document.activeElement.id === 'search'", "the field").await;
    page.eval::<()>("void (globalThis.former = document.querySelector('.result'))").await;
    page.fill_field("#search", "zzqx").await;
    page.wait_for("location.hash.includes('q=zzqx') && !former.isConnected", "other results").await;
    page.wait_for("document.querySelector('.results').innerText.includes('Try fewer') || document.querySelector('.result')", "an answer").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn enter_leads_to_the_results_of_what_was_typed_just_before_it() {
    let server = start_server().await;
    let (_browser, page) = open_page(&server).await;
    page.goto(&format!("http://{}/#/search?q=basket", server.main)).await;
    page.wait_for("document.querySelectorAll('.result').length > 2", "results").await;
    page.click("#search").await;
    // Faster than a person types.
    page.eval::<()>(
        "void (() => {
            const field = document.querySelector('#search');
            field.value = 'interest';
            field.dispatchEvent(new Event('input'));
            field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
        })()",
    )
    .await;
    page.wait_for("document.activeElement.matches('.result .place')", "the first result").await;
    assert_eq!(page.read_text(".result-file > h2").await, "bank src/interest.rs");
    let at = "document.activeElement.closest('.result-file').querySelector('h2').innerText";
    assert_eq!(page.eval::<String>(at).await, "bank src/interest.rs");
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_thousand_results_are_shown() {
    let server = InProcessServer::start().await;
    for file in 0..400 {
        let mut text = String::new();
        for part in 0..4 {
            writeln!(text, "/// The price of basket {file} in shop {part}.\npub fn price_{file}_{part}(basket: &[u32]) -> u32 {{").unwrap();
            for step in 0..12 {
                writeln!(
                    text,
                    "    let sum_{step} = basket.iter().skip({step}).sum::<u32>() + {file};"
                )
                .unwrap();
            }
            writeln!(text, "    sum_0\n}}\n").unwrap();
        }
        server.write(&format!("shop/src/price_{file}.rs"), &text);
    }
    server.ingest("shop", "many prices").await;
    let (_browser, page) = open_page(&server).await;
    page.goto(&format!("http://{}/#/search?q=price+of+a+basket", server.main)).await;
    page.wait_for_text("40 results").await;
    // The focus stays where a button was that is gone.
    page.click_text("button", "Show all 16 lines").await;
    page.wait_for("document.activeElement.matches('.result-code')", "the focus in the code").await;
    let shown = async {
        page.click_text("button", "Show up to 1,000").await;
        page.wait_for_text("1,000 results").await;
        page.wait_for("document.querySelectorAll('.result').length === 1000", "all").await;
    };
    let tasks = page.measure_slow_tasks(50, shown).await;
    write_figure("1,000 results are shown: tasks over 50 ms of the processor", &json!(tasks));
    page.wait_for("document.activeElement.matches('.results')", "the focus in the results").await;
    let scrolled = "new Promise(done => {
        const main = document.querySelector('#main');
        const box = main.scrollHeight > main.clientHeight ? main : document.scrollingElement;
        let top = 0;
        requestAnimationFrame(function next() {
            box.scrollTop = top;
            top += 1500;
            top < box.scrollHeight ? requestAnimationFrame(next) : done(null);
        });
    })";

    let scroll = async || {
        page.eval::<Value>(scrolled).await;
    };
    let tasks = page.measure_slow_tasks(50, scroll()).await;
    write_figure("1,000 results are scrolled: tasks over 50 ms of the processor", &json!(tasks));
    let frames = page.measure_slow_frames(50.0, scroll()).await;
    write_figure("1,000 results are scrolled: frames over 50 ms", &json!(frames));
    page.assert_faultless().await;
}

#[tokio::test]
async fn code_that_worktrees_share_is_shown_once_with_where_else_it_is() {
    let server = start_server().await;
    let shop = TestRepository(server.folder.path().join("shop"));
    commit_all(&shop.0, "Begin");
    server.ingest("shop", "where things are sold").await;
    add_worktree(&shop, "branch", &["-b", "topic"]);
    server.write(
        "branch/src/price.rs",
        "/// The price of a basket.\npub fn price() -> u32 {\n    0\n}\n",
    );
    server.ingest("branch", "where things are changed").await;
    let (_browser, page) = open_page(&server).await;
    page.click_text("link", "Search").await;
    page.click("#search").await;
    page.type_text("price_of basket").await;
    page.wait_for_text("also in branch").await;
    // Only the better one of two versions of a function appears.
    let shown = list_files(&page).await;
    assert_eq!(shown.iter().filter(|file| file.ends_with("price.rs")).count(), 1, "{shown:?}");
    assert_eq!(shown.iter().filter(|file| file.ends_with("price.py")).count(), 1, "{shown:?}");
    page.assert_faultless().await;
}

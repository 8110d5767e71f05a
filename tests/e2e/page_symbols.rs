//! Names in shown sources: where they are defined, and what uses these definitions, over HTTP and in a real browser.

use std::fmt::Write;

use codeinfo_test_support::wire::send_get;
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    listeners::InProcessServer,
    page_browser::{check_appearance, open_page},
    page_hostile::assert_inert,
    support::browser::{BrowserPage, TestBrowser},
};

const STORE: &str = "\
class Store:
    def __init__(self, path):
        self.path = path

    def open(self):
        return self.load()

    def load(self):
        return read(self.path)

def read(path):
    return path
";
const APP: &str = "\
from store import Store, read as read_file
import door as doors
def run(door):
    store = Store('open')
    store.open()
    door.open()
    return read_file('b')

run(None)
";
const DOOR: &str = "\
class Door:
    def open(self):
        return self

def enter():
    return Door().open()
";
const PICK: &str = "\
import sys

if sys.version_info > (3, 12):
    def pick(): ...
else:
    def pick(): ...

pick()
";
const TEST: &str = "\
from store import Store

def test_open():
    assert Store('c').open()
";

/// Starts with a shop whose definitions call each other, and opens a view of the page.
async fn open_shop(view: &str) -> (InProcessServer, TestBrowser, BrowserPage) {
    let server = InProcessServer::start().await;
    let files = [
        ("store.py", STORE),
        ("app.py", APP),
        ("door.py", DOOR),
        ("pick.py", PICK),
        ("tests/test_store.py", TEST),
    ];
    for (path, text) in files {
        server.write(&format!("shop/{path}"), text);
    }
    server.ingest("shop", "where things are sold").await;
    let (browser, page) = open_page(&server).await;
    page.goto(&format!("http://{}/#/{view}", server.main)).await;
    (server, browser, page)
}

/// Returns the selector of a line of code.
fn line_selector(number: u32) -> String {
    format!(".line[data-line='{number}'] code")
}

/// Waits until lines of a file are open.
pub(crate) async fn wait_for_open_lines(page: &BrowserPage, place: &str) {
    let (file, number) = place.split_once(':').unwrap();
    let is_open = format!(
        "document.querySelector('.source-head h2')?.innerText.endsWith('{file}')
            && document.querySelector('.line[aria-current=true]')?.dataset.line === '{number}'"
    );
    page.wait_for(&is_open, place).await;
}

/// Waits for the entries of the uses: the name, the place and the mark of each, then its lines.
async fn wait_for_uses(page: &BrowserPage, summary: &str, wanted: &[&str]) {
    page.retry_until("uses", async || {
        let found = page.read_texts(".uses [role=status], .use > p, .use li, .uses h4").await;
        let found: Vec<String> = found.iter().map(|text| text.trim().to_owned()).collect();
        let is_wanted = found.iter().eq([summary].iter().chain(wanted));
        if is_wanted { Ok(()) } else { Err(format!("{found:#?}")) }
    })
    .await;
}

#[tokio::test]
async fn the_routes_of_definitions_answer_with_places_and_certainties() {
    let (server, _browser, _page) = open_shop("").await;
    let folder = server.folder.path().canonicalize().unwrap().display().to_string();
    let mut replies = String::new();
    for (name, path) in [
        ("symbols", "/symbols?name=Store.open&kind=callees&repository=shop"),
        ("uses", "/symbols?name=load"),
        ("trace", "/symbols/trace?from=Store.open&to=Store.load"),
        ("at", "/symbols/at?path=app.py&line=5&column=10"),
        ("possible", "/symbols/at?path=app.py&line=6&column=10"),
    ] {
        let reply = send_get(server.main, path).await;
        writeln!(replies, "{name} {}", reply.body.replace(&folder, "FOLDER")).unwrap();
    }
    assert_snapshot!(replies, @r#"
    symbols {"asked":"Store.open","kind":"callees","definitions":[{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop","line":5,"lines":[5,6],"name":"Store.open","isTest":false}],"related":[{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop","line":8,"lines":[8,9],"name":"Store.load","isTest":false,"certainty":"certain","count":1,"references":[{"number":6,"text":"return self.load()","certainty":"certain"}],"referencesIn":{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop"}}],"more":0,"isIncomplete":false,"recorded":[0,0]}
    uses {"name":"load","asked":null,"bare":null,"count":2,"files":1,"groups":[{"group":"definitions","count":1,"files":[{"file":{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop"},"lines":[{"number":8,"text":"def load(self):","count":1,"enclosing":null}]}]},{"group":"uses","count":1,"files":[{"file":{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop"},"lines":[{"number":6,"text":"return self.load()","count":1,"enclosing":"Store.open"}]}]}],"unread":0,"definitions":[{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop","line":8,"lines":[8,9],"name":"Store.load","isTest":false,"byCertainty":[1,0,0]}],"spellings":[],"unsearched":null}
    trace {"starts":[{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop","line":5,"lines":[5,6],"name":"Store.open","isTest":false}],"steps":[{"before":null,"depth":1,"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop","line":8,"lines":[8,9],"name":"Store.load","isTest":false,"callLine":6,"certainty":"certain"}],"ends":[{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop","line":8,"lines":[8,9],"name":"Store.load","isTest":false}],"isReached":true,"isCut":false}
    at {"definitions":[{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop","line":5,"lines":[5,6],"name":"Store.open","isTest":false,"certainty":"certain"}]}
    possible {"definitions":[{"path":"FOLDER/shop/store.py","relPath":"store.py","repo":"shop","line":5,"lines":[5,6],"name":"Store.open","isTest":false,"certainty":"possible"},{"path":"FOLDER/shop/door.py","relPath":"door.py","repo":"shop","line":2,"lines":[2,3],"name":"Door.open","isTest":false,"certainty":"possible"}]}
    "#);
    for (path, fault) in [
        ("/symbols", "`name` is missing"),
        ("/symbols?name=run&kind=friends", "`kind` must be"),
        ("/symbols?name=", "blank or too long"),
        ("/symbols/trace?from=run&depth=13", "`depth` must be a number from 1 to 12"),
        ("/symbols/trace?from=run&direction=up", "`direction` must be"),
        ("/symbols/at?path=app.py&line=5", "`column` one from 0"),
        ("/symbols/at?path=app.py&line=5&column=1&row=2", "`row` is no parameter"),
    ] {
        let refused = send_get(server.main, path).await;
        assert_eq!((refused.status, refused.body.contains(fault)), (400, true), "{refused:?}");
    }
}

#[tokio::test]
async fn a_name_in_a_source_leads_to_its_definition() {
    let (_server, _browser, page) = open_shop("search?at=app.py:4").await;
    wait_for_open_lines(&page, "app.py:4").await;
    page.click_word(&line_selector(5), "open", "left").await;
    wait_for_open_lines(&page, "store.py:5").await;
    page.go_back().await;
    wait_for_open_lines(&page, "app.py:4").await;
    page.eval::<()>("history.forward()").await;
    wait_for_open_lines(&page, "store.py:5").await;
    page.go_back().await;
    wait_for_open_lines(&page, "app.py:4").await;
    // A word that is no name, then a name without a known definition.
    page.click_word(&line_selector(4), "open", "left").await;
    page.click_word(&line_selector(3), "door", "left").await;
    page.wait_for_text("No definition of door is known.").await;
    let asked = page.requests().into_iter().filter(|one| one.url.contains("/symbols/at"));
    assert_eq!(asked.count(), 2);
    // What a member of an unknown value may be is listed.
    page.click_word(&line_selector(6), "open", "left").await;
    page.wait_for_text("may be one of these definitions").await;
    let listed = page.read_texts(".definitions li").await;
    assert_eq!(listed, ["Store.open store.py:5 possible", "Door.open door.py:2 possible"]);
    // The reader chooses between two definitions.
    page.goto(&page.url().await.replace("app.py", "pick.py")).await;
    wait_for_open_lines(&page, "pick.py:4").await;
    page.click_word(&line_selector(8), "pick", "left").await;
    page.wait_for_text("may be one of these definitions").await;
    let listed = page.read_texts(".definitions li").await;
    assert_eq!(listed, ["pick pick.py:4 likely", "pick pick.py:6 likely"]);
    check_appearance(&page, "symbols-definitions").await;
    page.click_text("link", "pick, pick.py, line 6").await;
    wait_for_open_lines(&page, "pick.py:6").await;
    // In a new tab, as links do.
    page.goto(&page.url().await.replace("pick.py:6", "app.py:4")).await;
    wait_for_open_lines(&page, "app.py:4").await;
    let address = page.url().await;
    for (button, tabs) in [("Control+left", 2), ("middle", 3)] {
        page.click_word(&line_selector(7), "read_file", button).await;
        page.retry_until("a tab", async || {
            let mut found = page.list_tabs().await;
            found.retain(|url| *url == address || url.ends_with("store.py:11"));
            if found.len() == tabs { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
    }
    assert_eq!(page.url().await, address);
    page.assert_faultless().await;
}

#[tokio::test]
async fn the_uses_of_a_definition_are_listed_with_what_is_not_certain() {
    let (_server, _browser, page) = open_shop("search?at=door.py:3").await;
    page.click_text("link", "What uses this").await;
    let certain = ["enter door.py:5", "6 return Door().open()"];
    let possible = ["run app.py:3 possible", "6 door.open()"];
    wait_for_uses(&page, "2 callers.", &[certain, possible].concat()).await;
    let styles =
        "[...document.querySelectorAll('.use')].map(one => getComputedStyle(one).borderLeftStyle)";
    assert_eq!(page.eval::<Vec<String>>(styles).await, ["solid", "dotted"]);
    assert_eq!(page.read_text(".uses h3").await, "Uses of Door.open");
    check_appearance(&page, "symbols-uses").await;
    // An entry leads to its lines, and the list stays.
    page.click_text("link", "app.py, line 6").await;
    wait_for_open_lines(&page, "app.py:6").await;
    assert_eq!(page.read_text(".uses h3").await, "Uses of Door.open");
    // The name of a definition itself leads to its uses; tests are apart.
    page.goto(&page.url().await.replace("app.py:6", "store.py:1")).await;
    wait_for_open_lines(&page, "store.py:1").await;
    page.click_word(&line_selector(5), "open", "left").await;
    let run = ["run app.py:3", "5 store.open()", "6 door.open() possible"];
    let tests = ["In tests", "test_open tests/test_store.py:3", "4 assert Store('c').open()"];
    wait_for_uses(&page, "2 callers, 1 in tests.", &[run, tests].concat()).await;
    let choose = async |kind: &str| {
        let select = "document.querySelector('.uses select')";
        let change = "dispatchEvent(new Event('change'))";
        page.eval::<()>(&format!("void ({select}.value = '{kind}', {select}.{change})")).await;
    };
    choose("callees").await;
    let load = ["Store.load store.py:8", "6 return self.load()"];
    wait_for_uses(&page, "1 callee.", &load).await;
    choose("overrides").await;
    wait_for_uses(&page, "No overrides found.", &[]).await;
    page.reload().await;
    wait_for_uses(&page, "No overrides found.", &[]).await;
    page.click_text("button", "Close uses").await;
    page.wait_for("!document.querySelector('.uses').checkVisibility()", "no uses").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_search_result_leads_to_what_calls_it() {
    let (server, _browser, page) = open_shop("search?q=Store.load").await;
    page.click_text("link", "What calls this: Store.load").await;
    let open = ["Store.open store.py:5", "6 return self.load()"];
    wait_for_uses(&page, "1 caller.", &open).await;
    page.wait_for("document.querySelector('.line[aria-current=true]')", "the lines").await;
    // Another result is about something else.
    page.click(".result-head .place").await;
    page.wait_for("!document.querySelector('.uses').checkVisibility()", "no uses").await;
    // A name that several definitions have, and one that none has.
    let address = format!("http://{}/#/source?path=app.py&first=4&uses=callers&of=", server.main);
    page.goto(&format!("{address}open")).await;
    page.wait_for_text("2 definitions have this name").await;
    page.click(".uses ul.about a").await;
    page.wait_for("document.querySelector('.uses h3').innerText.includes('.open')", "only one")
        .await;
    check_appearance(&page, "symbols-alone").await;
    page.goto(&format!("{address}nothing_such")).await;
    page.wait_for_text("No definition of this name is known").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn the_calls_around_a_definition_are_drawn() {
    let (server, _browser, page) =
        open_shop("search?at=store.py:5&of=Store.load&uses=callers").await;
    page.click(".uses summary").await;
    page.wait_for("document.querySelector('.uses .graph text')", "the picture").await;
    let nodes = "[...document.querySelectorAll('.graph-box a')].map(one => one.querySelector('text').textContent)";
    assert_eq!(
        page.eval::<Vec<String>>(nodes).await,
        ["Store.open", "run", "test_open", "Store.load", "read"]
    );
    let lines = "[...document.querySelectorAll('.graph-box path[class]:not(.arrow)')].map(one => one.getAttribute('class'))";
    assert_eq!(page.eval::<Vec<String>>(lines).await, ["certain"; 4]);
    let ends = "[...document.querySelectorAll('.graph-box a text')].map(one => Number(one.getAttribute('x')))";
    let [open, run, _, load, read] = page.eval::<Vec<f64>>(ends).await[..] else { panic!() };
    assert!(run < open && open < load && load < read, "{run} {open} {load} {read}");
    check_appearance(&page, "symbols-picture").await;
    page.goto(&format!("http://{}/#/search?at=door.py:2&of=Door.open&uses=callers", server.main))
        .await;
    page.wait_for("document.querySelector('.graph-box path.possible')", "a line that is possible")
        .await;
    let dashes = "[...document.querySelectorAll('figcaption path')].map(one => getComputedStyle(one).strokeDasharray)";
    assert_eq!(page.eval::<Vec<String>>(dashes).await, ["none", "4px, 3px", "0px, 4px"]);
    let legend = page.read_text(".uses figcaption").await;
    for words in ["solid: certain", "dashed: likely", "dotted: possible"] {
        assert!(legend.contains(words), "{legend}");
    }
    // A node is a link, also for the keyboard.
    page.eval::<()>("document.querySelector('.graph-box a').focus()").await;
    page.press_key("Enter").await;
    wait_for_open_lines(&page, "door.py:5").await;
    // Some of many are drawn.
    let mut many = "def called():\n    pass\n\n".to_owned();
    for number in 0..40 {
        write!(many, "def caller_{number}():\n    called()\n\n").unwrap();
    }
    server.write("shop/many.py", &many);
    server.ingest("shop", "where things are sold").await;
    page.goto(&format!("http://{}/#/search?at=many.py:1&of=called&uses=callers", server.main))
        .await;
    page.wait_for_text("29 more are not drawn").await;
    assert_eq!(page.eval::<Vec<String>>(nodes).await.len(), 12);
    page.assert_faultless().await;
}

#[tokio::test]
async fn names_are_followed_by_the_keyboard_alone() {
    let (_server, _browser, page) = open_shop("repositories?at=app.py:4").await;
    wait_for_open_lines(&page, "app.py:4").await;
    page.wait_for("document.activeElement.matches('h1')", "the view").await;
    page.press_key("s").await;
    page.wait_for("document.activeElement.matches('.lines')", "the lines").await;
    page.press_key("ArrowDown").await;
    wait_for_open_lines(&page, "app.py:5").await;
    for (key, name) in [("l", "store"), ("l", "open"), ("l", "open"), ("h", "store"), ("l", "open")]
    {
        page.press_key(key).await;
        page.wait_for(&format!("getSelection().toString() === '{name}'"), name).await;
    }
    page.press_key("Enter").await;
    wait_for_open_lines(&page, "store.py:5").await;
    page.wait_for("document.activeElement.matches('.lines')", "the focus in the other file").await;
    page.press_key("u").await;
    page.wait_for("document.activeElement.ariaLabel === 'run, app.py, line 3'", "the first use")
        .await;
    page.press_key("j").await;
    page.wait_for("document.activeElement.innerText === '5'", "its line").await;
    page.press_key("o").await;
    wait_for_open_lines(&page, "app.py:5").await;
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('.uses').checkVisibility()", "no uses").await;
    page.wait_for("document.activeElement.matches('.lines')", "the lines again").await;
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('#source').checkVisibility()", "no source").await;
    // The first of several definitions has the focus.
    page.goto(&page.url().await.replace("#/repositories", "#/source?path=pick.py&first=8")).await;
    wait_for_open_lines(&page, "pick.py:8").await;
    page.wait_for("document.activeElement.matches('h1')", "the view").await;
    page.press_key("s").await;
    page.press_key("Enter").await;
    page.wait_for("document.activeElement.closest('.definitions')", "the definitions").await;
    page.press_key("Enter").await;
    wait_for_open_lines(&page, "pick.py:4").await;
    // And from a result.
    page.press_key("/").await;
    page.wait_for("document.activeElement.id === 'search'", "the field").await;
    page.type_text("Store.load").await;
    page.press_key("Enter").await;
    page.wait_for("document.activeElement.matches('.result .place')", "a result").await;
    page.press_key("u").await;
    page.wait_for("document.activeElement.closest('.uses')", "its uses").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn names_and_lines_of_hostile_repositories_stay_text() {
    const IMAGE: &str = "<img src=x onerror='window.ran = 1'>";
    let server = InProcessServer::start().await;
    let code = format!(
        "class Shop {{\n  \"{IMAGE}\"() {{ return sell(\"{IMAGE}\"); }}\n}}\n\
         function sell(what) {{ return what; }}\n"
    );
    server.write(&format!("shop/{IMAGE}.js"), &code);
    server.ingest("shop", "where things are sold").await;
    let (_browser, page) = open_page(&server).await;
    let path = server.folder.path().canonicalize().unwrap().join(format!("shop/{IMAGE}.js"));
    page.eval::<()>(&format!(
        "void (location.hash = '#/search?' + new URLSearchParams({{ at: {0} + ':4', of: {0} + ':4', uses: 'callers' }}))",
        json!(path)
    ))
    .await;
    page.wait_for("document.querySelector('.use')", "a use").await;
    page.click(".uses summary").await;
    page.wait_for("document.querySelector('.uses .graph text')", "the picture").await;
    let line = format!("sell(\"{IMAGE}\")");
    assert_inert(&page, &[IMAGE, &line]).await;
    page.assert_faultless().await;
}

//! Tests that texts of models become links to their citations, and never tags.

use codeinfo_core::LineRange;
use proptest::prelude::*;

use super::*;
use crate::{CitationState, CitedCommit};

fn checked(path: &str, lines: &[(u32, u32)], state: CitationState) -> CheckedCitation {
    CheckedCitation {
        path: format!("/home/me/demo/{path}"),
        rel_path: Some(path.to_owned()),
        repo: Some("demo".to_owned()),
        lines: lines.iter().map(|(first, last)| LineRange { first: *first, last: *last }).collect(),
        state,
        moved_to: Vec::new(),
        hash: None,
        commit: None,
        reason: None,
        range: 0..0,
        whole: 0..0,
        fault: None,
    }
}

/// Returns text, state and target of each citation link.
fn links(html: &str) -> Vec<String> {
    let link = |piece: &str| {
        let (tag, rest) = piece.split_once('>').unwrap();
        let state = tag.split('"').nth(1).unwrap();
        let href = tag.split("href=\"").nth(1).map_or("", |href| href.split('"').next().unwrap());
        format!("{} {state} {href}", rest.split("</a>").next().unwrap())
    };
    html.split("<a class=\"cite\" data-state=").skip(1).map(link).collect()
}

#[test]
fn citations_become_links_in_prose_code_links_and_after_what_was_struck_out() {
    let text = "Read in `src/net.rs:12-40` (~~src/old.rs:9~~ (not found)), **src/net.rs:7**, \
                [the *guard*](src/guard.rs#L3-L5), `main.rs` (lines 2-4) and other.rs:1.\n\n\
                | a |\n|:-:|\n| src/net.rs:7 |\n";
    let citations = [
        checked("src/net.rs", &[(12, 40)], CitationState::Confirmed),
        CheckedCitation {
            repo: None,
            rel_path: None,
            path: "src/old.rs".to_owned(),
            ..checked("", &[(9, 9)], CitationState::Wrong)
        },
        checked("src/net.rs", &[(7, 7)], CitationState::Unconfirmed),
        checked("src/guard.rs", &[(3, 5)], CitationState::Confirmed),
        CheckedCitation {
            moved_to: vec![LineRange { first: 5, last: 8 }],
            ..checked("src/main.rs", &[(2, 4)], CitationState::Wrong)
        },
        checked("src/net.rs", &[(7, 7)], CitationState::Confirmed),
    ];
    let html = render_cited_html(text, &citations);
    let to = |path: &str, first: u32, last: u32| {
        format!(
            "#/source?path=%2Fhome%2Fme%2Fdemo%2F{}&amp;first={first}&amp;last={last}",
            path.replace('/', "%2F")
        )
    };
    assert_eq!(
        links(&html),
        [
            format!("<code>src/net.rs:12-40</code> confirmed {}", to("src/net.rs", 12, 40)),
            "src/old.rs:9 wrong ".to_owned(),
            format!("src/net.rs:7 unconfirmed {}", to("src/net.rs", 7, 7)),
            format!("the <em>guard</em> confirmed {}", to("src/guard.rs", 3, 5)),
            format!("<code>main.rs</code> (lines 2-4) wrong {}", to("src/main.rs", 5, 8)),
            format!("src/net.rs:7 confirmed {}", to("src/net.rs", 7, 7)),
        ]
    );
    assert!(html.contains("<del><a class"), "{html}");
    assert!(!html.contains("style="), "{html}");
}

#[test]
fn a_citation_of_several_places_leads_to_all_of_them() {
    let both = checked("src/net.rs", &[(3, 5), (20, 30)], CitationState::Confirmed);
    let html = render_cited_html("See src/net.rs:3-5,20-30.", &[both]);
    for expected in [
        "data-first=\"3\" data-last=\"5\" data-ranges=\"3-5,20-30\"",
        "&amp;first=3&amp;last=5&amp;ranges=3-5%2C20-30\"",
    ] {
        assert!(html.contains(expected), "{html}");
    }
}

#[test]
fn a_commit_leads_to_its_page_with_the_cited_place() {
    let id = "1a2b3c4d5e".repeat(4);
    let commit = CheckedCitation {
        path: "app@1a2b3c4d5e".to_owned(),
        rel_path: None,
        repo: Some("my \"app\"/x".to_owned()),
        commit: Some(CitedCommit { id: id.clone(), url: None, shown_by: None }),
        ..checked("", &[], CitationState::Confirmed)
    };
    let place = CheckedCitation {
        path: "app@1a2b3c4d5e:src/a.rs".to_owned(),
        rel_path: Some("src/a.rs".to_owned()),
        lines: vec![LineRange { first: 3, last: 5 }],
        ..commit.clone()
    };
    let text = "In app@1a2b3c4d5e, that is (~~app@deadbeef1~~) `app@1a2b3c4d5e src/a.rs:3-5`.";
    let html = render_cited_html(text, &[commit, place]);
    let page = format!("#/commit/my%20%22app%22%2Fx/{id}");
    assert_eq!(
        links(&html),
        [
            format!("app@1a2b3c4d5e confirmed {page}"),
            format!(
                "<code>app@1a2b3c4d5e src/a.rs:3-5</code> confirmed \
                 {page}?path=src%2Fa.rs&amp;first=3&amp;last=5"
            ),
        ]
    );
    assert!(html.contains(&format!("data-commit=\"{id}\" data-path=\"src/a.rs\"")), "{html}");
}

#[test]
fn nothing_of_a_text_becomes_a_tag_and_links_lead_to_the_web_alone() {
    for (text, expected) in [
        ("a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n"),
        ("<script>\nalert(1)\n</script>", "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>\n"),
        ("[a](javascript:alert(1))", "<p>a</p>\n"),
        ("[a](data:text/html,x) [b](//x.example)", "<p>a b</p>\n"),
        (
            "[a](HTTPS://x.example/\"b)",
            "<p><a href=\"HTTPS://x.example/&quot;b\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">a</a></p>\n",
        ),
        (
            "![see ![b](http://y.example)](http://x.example/i.png)",
            "<p><a href=\"http://x.example/i.png\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">see b</a></p>\n",
        ),
        ("# One", "<h3>One</h3>\n"),
        ("##### Five {#id .x}", "<h6>Five {#id .x}</h6>\n"),
        (
            "```Rust,ignore\nlet a = 𝄞 < \"b\";\n```",
            "<pre><code class=\"language-rust\"><span class=\"m-k\">let</span> a = 𝄞 &lt; \
             <span class=\"m-s\">&quot;b&quot;</span>;\n</code></pre>\n",
        ),
        ("```a\"b\nx\n```", "<pre><code>x\n</code></pre>\n"),
        ("a <del>b", "<p>a <del>b</del></p>\n"),
        ("a </del>b", "<p>a b</p>\n"),
    ] {
        assert_eq!(render_html(text), expected, "{text}");
    }
}

/// Returns whether each tag is one that the renderer writes, and no other markup remains.
fn is_plain(html: &str) -> bool {
    const TAGS: [&str; 27] = [
        "p", "em", "strong", "del", "code", "pre", "ul", "ol", "li", "table", "thead", "tbody",
        "tr", "th", "td", "blockquote", "h3", "h4", "h5", "h6", "br", "hr", "input", "a", "span",
        "dl", "dd",
    ];
    let mut pieces = html.split('<');
    pieces.next().is_some_and(|text| !text.contains('>'))
        && pieces.all(|piece| {
            let Some((tag, text)) = piece.split_once('>') else { return false };
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            let attributes = tag.split('"').step_by(2).all(|between| {
                let name = between.rsplit(' ').next().unwrap_or_default().trim_end_matches('=');
                [
                    "", "/", "class", "data-state", "data-path", "data-first", "data-last",
                    "data-ranges", "data-repo", "href", "rel", "target", "start", "type",
                    "disabled", "checked",
                ]
                .contains(&name)
                    || TAGS.contains(&name.trim_start_matches('/'))
            });
            TAGS.contains(&name) && attributes && !text.contains('>')
        })
}

proptest! {
    #[test]
    fn any_text_is_written_in_plain_tags(
        text in "([a-z/.]{0,6}|src/net\\.rs:1|[\\[\\]()<>\"'`*_~|#!:&;=\\-\\n ]{1,3}|<del>|</del>|<b|```|\\[a\\]\\(|javascript:|https://){0,40}"
    ) {
        let citations = vec![checked("src/net.rs", &[(1, 1)], CitationState::Confirmed); 3];
        for html in [render_html(&text), render_cited_html(&text, &citations)] {
            prop_assert!(is_plain(&html), "{html}");
            prop_assert_eq!(html.matches("<a ").count(), html.matches("</a>").count());
            prop_assert_eq!(html.matches("<del>").count(), html.matches("</del>").count());
        }
    }
}

#[test]
fn tags_take_no_more_than_a_few_times_the_text_and_much_code_is_not_marked() {
    let quotes = format!("{}a\n\n", "> ".repeat(200)).repeat(1000);
    let written = render_html(&quotes);
    assert!(written.len() < quotes.len() * 5, "{}", written.len());
    assert!(written.starts_with("<pre><code>&gt; &gt; ") && is_plain(&written));
    // Ordinary nesting is rendered.
    let list = "- a\n  - b\n    > c\n".repeat(500);
    assert!(render_html(&list).starts_with("<ul>\n<li>"), "{}", render_html(&list));
    let block = format!("```rust\n{}```\n\n", "let a = 1;\n".repeat(10_000));
    let blocks = render_html(&block.repeat(5));
    let marked = blocks.matches("<span").count();
    assert!((20_000..=60_000).contains(&marked), "{marked}");
}

#[test]
fn code_is_coloured_by_the_language_of_its_file_and_the_rest_stays_text() {
    let text = "[demo] <b>\n/srv/src/a.rs:1-2 `f`\n1|fn f() {} // \"<i>\"\n2|\nmore\n9|fn g()\na.py:7\n7|def g():\n";
    assert_eq!(
        render_code_listing(text).unwrap(),
        "<pre><code>[demo] &lt;b&gt;\n/srv/src/a.rs:1-2 `f`\n1|<span class=\"m-k\">fn</span> \
         <span class=\"m-f\">f</span>() {} <span class=\"m-c\">// &quot;&lt;i&gt;&quot;</span>\n2|\nmore\n9|fn g()\n\
         a.py:7\n7|<span class=\"m-k\">def</span> <span class=\"m-f\">g</span>():\n</code></pre>\n"
    );
    assert_eq!(render_code_listing("nothing\n|x\na|b\n"), None);
}

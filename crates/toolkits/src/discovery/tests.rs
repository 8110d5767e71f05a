//! Tests of ranking, suggested names and signatures.

use std::sync::LazyLock;

use serde_json::json;

use super::*;

fn model() -> StaticModel {
    static MODEL: LazyLock<StaticModel> = LazyLock::new(|| StaticModel::load().unwrap());
    MODEL.clone()
}

fn index(entries: Vec<ToolIndexEntry>) -> ToolIndex {
    ToolIndex::new(entries, model())
}

fn entry(id: &str, description: &str) -> ToolIndexEntry {
    let (toolkit, name) = match id.split_once(':') {
        Some((toolkit, name)) => (Some(toolkit.parse().unwrap()), name),
        None => (None, id),
    };
    ToolIndexEntry {
        id: if toolkit.is_some() { format!("mcp:{id}") } else { id.to_owned() },
        toolkit,
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        parameters: Vec::new(),
    }
}

fn takes(mut entry: ToolIndexEntry, name: &str, kind: &str, required: bool) -> ToolIndexEntry {
    let (name, kind) = (name.to_owned(), kind.to_owned());
    entry.parameters.push(ToolParameter { name, kind, description: None, required });
    entry
}

fn catalogue() -> ToolIndex {
    index(vec![
        entry("git:log", "Shows the commit history."),
        entry("git:diff", "Compares two commits."),
        entry("github:create_issue", "Creates an issue in a repository."),
        entry("github:create_issue_comment", "Creates a comment on an issue in a repository."),
        entry("github:delete_branch", "Deletes a branch."),
        entry("gitlab:create_issue", "Creates an issue in a project."),
        entry("slack:post_message", "Posts text to a channel."),
        entry("maps:geocode", "Turns an address into coordinates."),
        entry("VectorSearch", "Searches the indexed code."),
    ])
}

fn first(index: &ToolIndex, query: &str) -> String {
    index.search(query, None, 1)[0].entry.id.clone()
}

#[test]
fn a_tool_is_found_by_its_words_by_its_meaning_and_by_its_name() {
    let index = catalogue();
    for (query, wanted) in [
        ("commit history", "mcp:git:log"),
        ("latitude and longitude of a place", "mcp:maps:geocode"),
        ("write to somebody in chat", "mcp:slack:post_message"),
        ("create_issue_comment", "mcp:github:create_issue_comment"),
        ("mcp:maps:geocode", "mcp:maps:geocode"),
        ("VectorSearch", "VectorSearch"),
    ] {
        assert_eq!(first(&index, query), wanted, "{query}");
    }
}

#[test]
fn the_toolkit_that_a_query_names_leads() {
    let index = catalogue();
    assert!(first(&index, "new issue on gitlab").starts_with("mcp:gitlab:"));
    assert!(first(&index, "new issue on github").starts_with("mcp:github:"));
    // In addition to the score of the words in its name.
    let entries = vec![entry("alpha:send", "Sends."), entry("beta:send", "Sends.")];
    let alone = ToolRankingWeights {
        toolkit: 0.0,
        dense: 0.0,
        coverage: 0.0,
        ..ToolRankingWeights::SHIPPED
    };
    let index = ToolIndex::with_weights(entries, model(), alone);
    assert_eq!(first(&index, "send with beta"), "mcp:beta:send");
}

#[test]
fn other_words_for_the_same_find_a_tool() {
    assert_eq!(first(&catalogue(), "throw the branch away, remove it"), "mcp:github:delete_branch");
    assert_eq!(words::find_synonyms("Close the TICKETS"), "edit issue update");
    assert_eq!(words::find_synonyms("geocode"), "");
}

#[test]
fn parameters_and_titles_are_searched_too() {
    let plain = |name: &str| entry(&format!("kit:{name}"), "Does a thing.");
    let mut titled = plain("y");
    titled.title = Some("Thermometer".to_owned());
    let entries = vec![takes(plain("z"), "barometer", "string", true), titled, plain("a")];
    // By words, and by meaning.
    for dense in [0.0, 1.0] {
        let weights = ToolRankingWeights { dense, ..ToolRankingWeights::SHIPPED };
        let index = ToolIndex::with_weights(entries.clone(), model(), weights);
        assert_eq!(first(&index, "barometer"), "mcp:kit:z", "{dense}");
        assert_eq!(first(&index, "thermometer"), "mcp:kit:y", "{dense}");
    }
}

#[test]
fn a_domain_and_a_limit_bound_what_is_found() {
    let index = catalogue();
    let found = index.search("create issue", Some("gitlab"), 5);
    let ids: Vec<&str> = found.iter().map(|ranked| ranked.entry.id.as_str()).collect();
    assert_eq!(ids, ["mcp:gitlab:create_issue"]);
    assert_eq!(index.search("create issue", None, 3).len(), 3);
    assert!(index.search("create issue", Some("none"), 3).is_empty());
    let scores: Vec<f32> =
        index.search("issue", None, 9).iter().map(|ranked| ranked.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| score.is_finite()));
    for odd in ["", "¿?", "日本語", "the of and"] {
        let found = index.search(odd, None, 9);
        assert!(found.len() == 9 && found.iter().all(|ranked| ranked.score.is_finite()), "{odd}");
    }
}

#[test]
fn what_stands_far_down_in_a_description_is_not_indexed() {
    let long = format!("{} barometer", "filler ".repeat(10_000));
    let index = index(vec![entry("kit:a", &long), entry("kit:b", "Has a barometer.")]);
    assert_eq!(first(&index, "barometer"), "mcp:kit:b");
    let lexical = ToolRankingWeights { dense: 0.0, coverage: 0.0, ..ToolRankingWeights::SHIPPED };
    let index = ToolIndex::with_weights(vec![entry("kit:a", &long)], model(), lexical);
    assert!(index.search("barometer", None, 1)[0].score <= 0.0);
}

#[test]
fn of_two_tools_with_one_id_the_first_counts() {
    let index = index(vec![entry("kit:a", "First"), entry("kit:a", "Second")]);
    assert_eq!(index.len(), 1);
    assert_eq!(index.find_entry("mcp:kit:a").unwrap().description, "First");
}

#[test]
fn a_wrong_name_leads_to_names_of_its_spelling_and_then_of_its_meaning() {
    let index = catalogue();
    assert_eq!(index.nearest_ids("mcp:git:lgo")[..1], ["mcp:git:log"]);
    assert_eq!(index.nearest_ids("mcp:github:createIssue")[..1], ["mcp:github:create_issue"]);
    // The correct name in the wrong toolkit.
    let near = index.nearest_ids("mcp:jira:create_issue");
    assert_eq!(near[..2], ["mcp:github:create_issue", "mcp:gitlab:create_issue"]);
    // No name has a similar spelling.
    assert_eq!(index.nearest_ids("mcp:kit:find_latitude_of_address")[..1], ["mcp:maps:geocode"]);
    for odd in ["", "mcp:git:log", &"x".repeat(100_000), "\u{202e}\n"] {
        let near = index.nearest_ids(odd);
        let mut distinct = near.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!((near.len(), distinct.len()), (3, 3), "{near:?}");
    }
    assert!(self::index(Vec::new()).nearest_ids("a").is_empty());
    assert_eq!(index.nearest_domains("slak")[..1], ["slack"]);
    assert_eq!(index.nearest_domains("geocode an address")[..1], ["maps"]);
    assert_eq!(index.nearest_domains("zzz").len(), 3);
}

#[test]
fn domains_have_their_tools_by_name() {
    let index = catalogue();
    let domains: Vec<(&str, usize)> =
        index.domains().map(|domain| (domain.name, domain.tools.len())).collect();
    let wanted =
        [("git", 2), ("github", 3), ("gitlab", 1), ("local", 1), ("maps", 1), ("slack", 1)];
    assert_eq!(domains, wanted);
    let names = |cursor| {
        let tools = index.browse_domain("github", cursor).unwrap();
        tools.iter().map(|tool| tool.entry().name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(names(None), ["create_issue", "create_issue_comment", "delete_branch"]);
    assert_eq!(names(Some("create_issue")), ["create_issue_comment", "delete_branch"]);
    assert_eq!(names(Some("create_issue_a")), ["create_issue_comment", "delete_branch"]);
    assert!(names(Some("zzz")).is_empty());
    assert!(index.browse_domain("none", None).is_none());
}

#[test]
fn a_tool_is_found_by_its_id_as_it_is_or_as_it_is_shown() {
    let index = index(vec![entry("kit:a b\n(c)", "Odd"), entry("kit:größe", "Plain")]);
    assert_eq!(index.find_entry("mcp:kit:a_b__c_").unwrap().description, "Odd");
    assert_eq!(index.find_entry("mcp:kit:a b\n(c)").unwrap().description, "Odd");
    assert_eq!(index.find_entry("mcp:kit:größe").unwrap().shown_id(), "mcp:kit:größe");
    assert!(index.find_entry("mcp:kit:none").is_none());
}

#[test]
fn a_signature_is_one_line_with_the_first_sentence() {
    let log = entry("git:log", "  Shows commits,\n e.g. of a branch. Newest first.");
    let log = takes(takes(log, "path", "string", true), "limit", "integer", false);
    let signature = |entry: &ToolIndexEntry| render_signature(entry);
    assert_eq!(
        signature(&log),
        "mcp:git:log(path: string, limit?: integer)  \"Shows commits, e.g. of a branch.\""
    );
    assert_eq!(signature(&entry("status", "")), "status()");
    let mut titled = entry("status", " \n");
    titled.title = Some("State".to_owned());
    assert_eq!(signature(&titled), "status()  \"State\"");
    assert_eq!(signature(&entry("a", "Version 1.2 of it\n\nMore")), "a()  \"Version 1.2 of it\"");
    assert_eq!(signature(&entry("a", "説明です。次")), "a()  \"説明です。\"");
    let cut = signature(&entry("a", &"word ".repeat(20_000)));
    assert!(cut.chars().count() < 220 && cut.ends_with("…\""), "{cut}");
    let many = (0..40).fold(entry("a", ""), |entry, n| takes(entry, &format!("p{n}"), "any", true));
    assert!(signature(&many).ends_with("p11: any, …)"), "{}", signature(&many));
    let inner =
        takes(takes(entry("a", ""), "params", "object", true), "params.path", "string", true);
    assert_eq!(signature(&inner), "a(params: object)");
    assert_eq!(
        signature(&takes(entry("a", ""), "dotted.name", "string", true)),
        "a(dotted.name: string)"
    );
}

#[test]
fn parameters_are_a_promise() {
    let entry = takes(entry("a", ""), "path", "string", true);
    assert_eq!(
        json!(entry.parameters),
        json!([{"name": "path", "type": "string", "required": true}])
    );
}

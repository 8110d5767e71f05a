//! Synonyms for words in queries.
//!
//! A tool names its action and object with one word each, and a query often uses another: `remove the ticket`
//! is `delete_issue`. The table contains general vocabulary of developers, and no words of any product.

use codeinfo_lang::words::{find_identifiers, stem_word};

/// Words of queries in lower case, and the words of tools with the same meaning.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["remove", "erase", "drop", "discard", "purge", "trash"], "delete remove"),
    (&["delete"], "remove"),
    (&["new", "make", "add", "start", "open", "file", "write", "insert"], "create add"),
    (&["create"], "add new"),
    (&["change", "edit", "modify", "rename", "adjust", "set", "close"], "update edit"),
    (&["update"], "edit modify"),
    (&["find", "look", "where"], "search find"),
    (&["search"], "find query"),
    (&["show", "view", "see", "display", "read", "what", "which"], "get list"),
    (&["who", "people", "person", "colleague", "teammate", "everybody", "member"], "user member"),
    (&["abort", "kill", "end", "halt", "quit"], "stop cancel terminate"),
    (&["restart", "retry", "rerun"], "reboot rerun restart"),
    (&["begin", "launch", "execute", "trigger"], "run start"),
    (&["send", "post", "tell"], "send message"),
    (&["copy", "duplicate", "clone"], "copy fork"),
    (&["save", "store", "keep", "remember"], "create write store"),
    (&["undo", "revert"], "reset restore rollback"),
    (&["fail", "broken", "crash", "wrong", "error"], "failure error"),
    (&["fast", "slow", "speed", "latency"], "performance"),
    (&["mute", "quiet"], "silence"),
    (&["ticket", "bug"], "issue"),
    (&["pr"], "pull request"),
    (&["mr"], "merge request"),
    (&["repo"], "repository"),
    (&["ci"], "pipeline build"),
    (&["k8s", "cluster"], "kubernetes"),
    (&["db"], "database"),
    (&["folder"], "directory"),
    (&["picture", "photo", "icon"], "image screenshot"),
    (&["screenshot"], "image"),
    (&["mail", "mailbox"], "email message gmail"),
    (&["meeting", "appointment"], "event calendar"),
    (&["todo", "chore", "reminder", "remind"], "task"),
    (&["vm", "machine", "server"], "instance server"),
    (&["graph", "diagram"], "chart dashboard"),
    (&["website", "site", "link"], "page url"),
    (&["internet", "online"], "web"),
    (&["wiki"], "page"),
    (&["toggle", "switch"], "flag"),
    (&["survey"], "form"),
    (&["answer", "reply", "respond"], "reply response"),
    (&["password", "lock"], "protect"),
    (&["cost", "bill", "price", "expense"], "cost pricing"),
    (&["access", "right", "allow"], "permission"),
    (&["phone"], "mobile device"),
    (&["column"], "field"),
    (&["row", "entry"], "record item"),
    (&["revision"], "version"),
];

/// Returns the distinct synonyms of a query's words.
pub(super) fn other_words(query: &str) -> String {
    let asked: Vec<String> = find_identifiers(query)
        .map(|word| String::from_utf8_lossy(stem_word(word)).to_ascii_lowercase())
        .collect();
    let is_asked = |word: &str| {
        let stem = String::from_utf8_lossy(stem_word(word.as_bytes())).into_owned();
        asked.contains(&stem)
    };
    let mut others: Vec<&str> = Vec::new();
    for (words, tools) in SYNONYMS {
        if words.iter().any(|word| is_asked(word)) {
            others.extend(tools.split(' '));
        }
    }
    others.retain(|word| !is_asked(word));
    others.sort_unstable();
    others.dedup();
    others.join(" ")
}

//! The tools `VectorSearch` and `ListIngestedRepositories`, and the roots that a call may see.

use std::{
    collections::BTreeSet,
    fmt::Write,
    num::NonZero,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{
    FILES_META, Hit, LineRange, MAX_TOOL_TEXT_BYTES, Root, RootFilter, UnknownRoot, count_things,
    plain_name,
};
use codeinfo_evidence::{FoundPiece, Outline, RequestedLines, render, split_lines};
use codeinfo_lang::detect;
use codeinfo_mcp::{McpToolResult, ToolCallError};
use codeinfo_search::{SearchError, SearchResults};
use codeinfo_worktree::roots::find_root;
use lru::LruCache;
use serde_json::json;
use tracing::{info, warn};

use super::{DEFAULT_LIMIT, RawSearch, evidence::PATH_MATCH};
use crate::api::{
    repos::{IngestedRepo, build_repos},
    search::SearchArguments,
};

/// Maximum characters of the line that describes what was not searched.
const MAX_UNSEARCHED_CHARS: usize = 600;
/// Maximum bytes of the lines with what the shown chunks call and what calls them.
const MAX_NEIGHBOUR_BYTES: usize = 1_200;
/// Maximum bytes of the lines with callers that differ between two trees.
const MAX_CALLER_BYTES: usize = 600;
/// Maximum number of remembered conversations; the least recently used one is forgotten first.
const MAX_CONVERSATIONS: NonZero<usize> = NonZero::new(256).unwrap();
/// Maximum chunks remembered of a conversation; with more, the first ones are lost to compaction.
const MAX_CHUNKS: usize = 500;
/// Maximum bytes of a conversation's name; longer ones are not remembered. Codex uses a UUID.
const MAX_NAME: usize = 100;

impl RawSearch {
    /// Answers a search: with what the query names, if it is a path, else with the best chunks.
    pub(super) async fn answer_search(
        &self,
        arguments: SearchArguments,
        conversation: Option<&str>,
    ) -> Result<McpToolResult, ToolCallError> {
        if arguments.asks_for_commits() {
            return self.search_commits(&arguments).await;
        }
        match self.search_at_path(&arguments).await? {
            Some(result) => Ok(result),
            None => self.search_code(arguments, conversation).await,
        }
    }

    async fn search_commits(
        &self,
        arguments: &SearchArguments,
    ) -> Result<McpToolResult, ToolCallError> {
        let within = match self.resolve_scope(arguments.repository()).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let (query, limit) = (arguments.query_text(), arguments.limit().or(Some(DEFAULT_LIMIT)));
        match self.services.evidence.find_commits(query, limit, within).await {
            Ok(found) => Ok(McpToolResult::text(render::render_commits(&found))),
            Err(failure) => self.explain_failure(&failure),
        }
    }

    /// Answers a search that is a path with an outline or the named lines; `None` for other queries.
    async fn search_at_path(
        &self,
        arguments: &SearchArguments,
    ) -> Result<Option<McpToolResult>, ToolCallError> {
        let query = arguments.query_text().trim().trim_matches('`');
        let (path, lines) = match split_lines(query) {
            Some((path, first, last)) => (path, Some((first, last))),
            None => (query, None),
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_path = path.contains('/') || detect::is_file_name(name);
        if !is_path || path.contains(char::is_whitespace) || path.contains("://") {
            return Ok(None);
        }
        let within = match self.resolve_scope(arguments.repository()).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure).map(Some),
        };
        let evidence = &self.services.evidence;
        let (text, files) = if let Some((first, last)) = lines {
            let asked = surrounding_lines(first, last);
            let Ok(read) = evidence.read_lines(path, asked, within).await else { return Ok(None) };
            let (text, shown) = render::render_lines(&read);
            (text, vec![render::summarize_file(&read.file, vec![shown], PATH_MATCH)])
        } else {
            let Ok(found) = evidence.load_outline(path, within).await else { return Ok(None) };
            let files = match &found {
                Outline::File { file, lines, .. } => {
                    let all_lines = LineRange { first: 1, last: *lines };
                    vec![render::summarize_file(file, vec![all_lines], PATH_MATCH)]
                }
                Outline::Folder(_) => Vec::new(),
            };
            (render::render_outline(&found), files)
        };
        info!(search.bytes = text.len(), "search for a path answered");
        Ok(Some(McpToolResult::text(text).with_meta(FILES_META, json!(files))))
    }

    async fn search_code(
        &self,
        arguments: SearchArguments,
        conversation: Option<&str>,
    ) -> Result<McpToolResult, ToolCallError> {
        let only = match arguments.compared_trees() {
            Some(trees) => self.check_compared_trees(trees).await.map(|()| Ok(None))?,
            None => self.find_only_root(arguments.repository()).await,
        };
        let arguments = match only {
            Ok(None) => arguments,
            Ok(Some(root)) => arguments.with_root(&root),
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let named = arguments.repository().map(str::to_owned);
        let query = arguments
            .query_or(DEFAULT_LIMIT)
            .map_err(|error| ToolCallError::Arguments(vec![error.to_string()]))?
            .within_tree(self.tree);
        let within = self.resolve_scope(named.as_deref()).await.unwrap_or(RootFilter::Everything);
        let found = match self.services.search_and_count(&query).await {
            Ok(found) => found,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let freshness = match self.services.search.check_freshness(&found).await {
            Ok(freshness) => freshness,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let known = self.shown.get(conversation);
        let unsearched = self.describe_unsearched(&found, within).await;
        let max_bytes = MAX_TOOL_TEXT_BYTES - unsearched.len();
        let excerpt =
            codeinfo_search::render_excerpt(&found, query.text(), &freshness, &known, max_bytes);
        let whole: Vec<FoundPiece> =
            list_pieces(&found, |hit| excerpt.whole.contains(&hit.chunk_id));
        self.shown.add_chunks(conversation, excerpt.whole);
        info!(
            search.hits = found.hits.len(),
            search.files = excerpt.files.len(),
            search.left_out = excerpt.left_out,
            search.bytes = excerpt.text.len(),
            "search answered"
        );
        let neighbours = self
            .render_neighbours(&found, &whole, query.text(), max_bytes - excerpt.text.len())
            .await;
        let text = excerpt.text + &neighbours + &unsearched;
        Ok(McpToolResult::text(text).with_meta(FILES_META, json!(excerpt.files)))
    }

    /// Renders what the chunks that are shown whole call, and what calls them. A failure costs only these lines.
    async fn render_neighbours(
        &self,
        found: &SearchResults,
        whole: &[FoundPiece],
        query: &str,
        max_bytes: usize,
    ) -> String {
        if found.hits.iter().any(|hit| hit.only_in.is_some()) {
            return self.render_caller_changes(found, max_bytes).await;
        }
        if whole.is_empty() {
            return String::new();
        }
        match self.services.evidence.find_neighbours(whole, query).await {
            Ok(neighbours) => {
                render::render_neighbours(&neighbours, max_bytes.min(MAX_NEIGHBOUR_BYTES))
            }
            Err(failure) => {
                warn!(error = %failure, "neighbours not found");
                String::new()
            }
        }
    }

    /// Renders which callers of the definitions in the results differ between two trees.
    async fn render_caller_changes(&self, found: &SearchResults, max_bytes: usize) -> String {
        let before = found.diffs.iter().find_map(|diff| diff.before.as_deref());
        let now = found.diffs.iter().find_map(|diff| diff.after.as_deref());
        let Some(trees) = before.zip(now) else { return String::new() };
        let pieces = list_pieces(found, |_| true);
        match self.services.evidence.compare_callers(trees.into(), pieces).await {
            Ok((changes, is_incomplete)) => {
                let max_bytes = max_bytes.min(MAX_CALLER_BYTES);
                render::render_caller_changes(&changes, is_incomplete, max_bytes)
            }
            Err(failure) => {
                warn!(error = %failure, "callers not compared");
                String::new()
            }
        }
    }

    /// Describes in one line what was not searched for the names that are absent from the index.
    async fn describe_unsearched(&self, found: &SearchResults, within: RootFilter) -> String {
        let names: Vec<&str> = found.absent.iter().map(String::as_str).collect();
        if names.is_empty() {
            return String::new();
        }
        let unsearched = self.services.evidence.describe_unsearched(&names, within).await;
        unsearched
            .map(|line| format!("\n({})", plain_name(&line, MAX_UNSEARCHED_CHARS)))
            .unwrap_or_default()
    }

    /// Returns the only repository of a restricted endpoint; naming another one is an error.
    async fn find_only_root(&self, named: Option<&str>) -> Result<Option<Root>, SearchError> {
        let Some(only) = &self.only else { return Ok(None) };
        let paths = &self.services.path_map;
        let roots = self.services.search.list_roots().await?;
        let found = paths.find_root(&roots, only).cloned();
        let root = found.ok_or_else(|| UnknownRoot::new(only, &[]))?;
        match named.map(|named| paths.find_root(&roots, named.trim())) {
            Some(other) if other.is_none_or(|other| other.id != root.id) => {
                Err(UnknownRoot::new(named.unwrap_or_default(), &[root]).into())
            }
            Some(_) | None => Ok(Some(root)),
        }
    }

    /// Refuses to compare trees of other repositories than the only one.
    async fn check_compared_trees(&self, trees: [&str; 2]) -> Result<(), ToolCallError> {
        let Ok(Some(only)) = self.find_only_root(None).await else { return Ok(()) };
        let roots = self.services.search.list_roots().await.unwrap_or_default();
        for named in trees {
            let root = find_root(&self.services.path_map, &roots, named).await;
            if root.is_ok_and(|root| root.chunk_owner() == only.chunk_owner()) {
                continue;
            }
            let refused = format!("only trees of `{}` can be compared here", only.name);
            return Err(ToolCallError::Arguments(vec![refused]));
        }
        Ok(())
    }

    pub(super) async fn list_repositories(&self) -> Result<McpToolResult, ToolCallError> {
        let only = match self.find_only_root(None).await {
            Ok(only) => only,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        match self.services.list_roots().await {
            Ok(roots) => {
                let mut repos = build_repos(&self.services, &roots).await;
                repos.retain(|repo| only.as_ref().is_none_or(|root| repo.id == root.id));
                Ok(McpToolResult::text(render_repositories(&repos)))
            }
            Err(failure) => self.report_failure(failure.code(), &failure),
        }
    }

    /// Returns the roots that a call may see: the only one, the named one, or those of its tree.
    pub(super) async fn resolve_scope(
        &self,
        named: Option<&str>,
    ) -> Result<RootFilter, SearchError> {
        if let Some(only) = self.find_only_root(named).await? {
            return Ok(RootFilter::Only(only.id));
        }
        Ok(match named.map(str::trim) {
            Some(named) => RootFilter::Only(self.services.resolve_root(named).await?.id),
            None => self.tree.map_or(RootFilter::Everything, RootFilter::Tree),
        })
    }
}

fn list_pieces(found: &SearchResults, is_wanted: impl Fn(&Hit) -> bool) -> Vec<FoundPiece> {
    let wanted = found.hits.iter().filter(|hit| is_wanted(hit));
    let piece = |hit: &Hit| FoundPiece {
        repo: hit.repo.clone(),
        rel_path: hit.rel_path.clone(),
        lines: LineRange { first: hit.start_line, last: hit.end_line },
    };
    wanted.map(piece).collect()
}

fn surrounding_lines(first: u32, last: Option<u32>) -> RequestedLines {
    const BEFORE: u32 = 20;
    const AFTER: u32 = 40;
    let (from, to) = match last {
        Some(last) => (first, last),
        None => (first.saturating_sub(BEFORE), first.saturating_add(AFTER)),
    };
    RequestedLines { first: Some(from), last: Some(to) }
}

fn render_repositories(repos: &[IngestedRepo]) -> String {
    const RESERVE: usize = 100;
    if repos.is_empty() {
        return "No repository is indexed yet. The user can index one with `codeinfo ingest PATH`."
            .to_owned();
    }
    let mut text = String::new();
    for (place, repo) in repos.iter().enumerate() {
        let line = render_repository(repo);
        if text.len() + line.len() + RESERVE > MAX_TOOL_TEXT_BYTES {
            let rest = repos.len() - place;
            // Writing to a `String` cannot fail.
            let _ = write!(text, "({rest} more are indexed; VectorSearch finds in them, too)");
            break;
        }
        text.push_str(&line);
    }
    text.trim_end().to_owned()
}

fn render_repository(repo: &IngestedRepo) -> String {
    // Maximum characters of each part.
    const NAME: usize = 100;
    const PATH: usize = 500;
    const DESCRIPTION: usize = 300;
    // Names and descriptions come from people; `plain_name` keeps them from starting a line.
    let name = plain_name(&repo.name, NAME);
    let description = plain_name(repo.description.as_deref().unwrap_or_default(), DESCRIPTION);
    let path = plain_name(&repo.path.display().to_string(), PATH);
    let host = repo.host.as_deref().map(|host| format!("on {}, ", plain_name(host, NAME)));
    let tree = repo.tree_of.as_deref().map(|tree| format!("tree of {}, ", plain_name(tree, NAME)));
    let gone = repo.folder_gone.then(|| "its folder is gone, ".to_owned());
    let is = [host, tree, gone].into_iter().flatten().collect::<Vec<_>>().concat();
    let files = count_things(repo.counts.files, "file");
    let chunks = count_things(repo.counts.chunks, "chunk");
    let line = format!("{name}: {path} ({is}{files}, {chunks}) {description}");
    format!("{}\n", line.trim_end())
}

/// Ids of the chunks that each conversation has received. Clones share it; a restart forgets it.
#[derive(Debug, Clone)]
pub(super) struct ShownChunks(Arc<Mutex<LruCache<String, BTreeSet<String>>>>);

impl Default for ShownChunks {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(LruCache::new(MAX_CONVERSATIONS))))
    }
}

impl ShownChunks {
    /// Returns the chunks that a conversation has received; none without a name.
    pub(super) fn get(&self, conversation: Option<&str>) -> BTreeSet<String> {
        let known = conversation.and_then(|name| self.lock().get(name).cloned());
        known.unwrap_or_default()
    }

    /// Records chunks that a conversation receives. Forgets earlier ones if there are too many.
    pub(super) fn add_chunks(&self, conversation: Option<&str>, chunks: Vec<String>) {
        let Some(name) = conversation.filter(|name| name.len() <= MAX_NAME) else { return };
        let mut shown = self.lock();
        let known = shown.get_or_insert_mut_ref(name, BTreeSet::new);
        if known.len() + chunks.len() > MAX_CHUNKS {
            known.clear();
        }
        known.extend(chunks);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<String, BTreeSet<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_keeps_what_it_was_shown_until_that_is_too_much() {
        let shown = ShownChunks::default();
        let ids = |count: usize| (0..count).map(|id| id.to_string()).collect::<Vec<String>>();
        shown.add_chunks(Some("one"), ids(MAX_CHUNKS));
        assert_eq!(shown.get(Some("one")).len(), MAX_CHUNKS);
        shown.add_chunks(Some("one"), vec!["another".to_owned()]);
        assert_eq!(shown.get(Some("one")), BTreeSet::from(["another".to_owned()]));
        for other in [Some("two"), None] {
            assert!(shown.get(other).is_empty());
        }
    }

    #[test]
    fn the_conversations_that_searched_last_are_kept() {
        let shown = ShownChunks::default();
        let add = |name: &str| shown.add_chunks(Some(name), vec!["a".to_owned()]);
        add("first");
        add("second");
        for other in 0..MAX_CONVERSATIONS.get() - 2 {
            add(&other.to_string());
        }
        assert_eq!(shown.get(Some("first")).len(), 1);
        add("one more");
        assert_eq!((shown.get(Some("first")).len(), shown.get(Some("second")).len()), (1, 0));
        add(&"x".repeat(MAX_NAME + 1));
        assert!(shown.get(Some(&"x".repeat(MAX_NAME + 1))).is_empty());
    }
}

//! Tools that show evidence: `FindUses`, `ReadLines` and `Outline`.

use codeinfo_core::{FILES_META, LineRange, OmissionRule, RootFilter, RootId};
use codeinfo_lang::detect;
use codeinfo_mcp::{McpTool, McpToolResult, SchemaError, ToolCallError, ToolIdempotence};
use codeinfo_search::{
    SearchError,
    evidence::{EvidenceError, NamePattern, Outline, RequestedLines, split_lines},
    render,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tracing::info;

use super::RawSearch;
use crate::api::tools::SearchArguments;

const USES: &str = "FindUses";
const LINES: &str = "ReadLines";
const OUTLINE: &str = "Outline";
/// `match` of a file that was requested by its path.
const MATCH_OF_PATH: f64 = 1.0;

const USES_DESCRIPTION: &str = "\
Finds every place of a name in the index: whole words, case-sensitive, counted exactly as definitions, uses, tests, documents, \
comments and strings. Call it for callers, and before you say that nothing else uses it. Shows 40 lines at most. \
Of `on_*` or a `pattern`, it lists the names that match.";

const LINES_DESCRIPTION: &str = "\
Reads up to 200 numbered lines of an indexed file, also of a commit, and says which changed since indexing. Call it to see more around \
what a search shows.";

const OUTLINE_DESCRIPTION: &str = "\
Lists what a file defines, with line ranges, or what the files of a folder or repository define. Call it before reading a long file, \
or to learn a layout.";

#[derive(Deserialize)]
struct UsesArguments {
    name: Option<String>,
    pattern: Option<String>,
    repository: Option<String>,
}

#[derive(Deserialize)]
struct LinesArguments {
    path: String,
    first: Option<u32>,
    last: Option<u32>,
}

#[derive(Deserialize)]
struct OutlineArguments {
    path: String,
}

/// Returns the tools. Models pay for each byte of a description in every turn.
pub(super) fn build_tools() -> Result<[McpTool; 3], SchemaError> {
    let text = |description: &str| json!({ "type": "string", "minLength": 1, "maxLength": 4096, "description": description });
    let number = |description: &str| json!({ "type": "integer", "description": description });
    let schema = |required: &[&str], properties: Value| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": required,
            "properties": properties,
        })
    };
    let repeatable = ToolIdempotence::Idempotent;
    let path = "Absolute, or below a repository.";
    let uses = schema(
        &[],
        json!({
            "name": text("As spelled; `*` stands for any part of a word."),
            "pattern": { "type": "string", "description": "Instead: a regular expression within a line." },
            "repository": text("Only this one."),
        }),
    );
    let lines = schema(
        &["path"],
        json!({
            "path": text(path),
            "first": number("First line; 1 if left out."),
            "last": number("Last line."),
        }),
    );
    let outline = schema(&["path"], json!({ "path": text(path) }));
    Ok([
        McpTool::new(USES, "Find uses of a name", USES_DESCRIPTION, uses, repeatable)?,
        McpTool::new(LINES, "Read lines", LINES_DESCRIPTION, lines, repeatable)?,
        McpTool::new(
            OUTLINE,
            "Outline a file or folder",
            OUTLINE_DESCRIPTION,
            outline,
            repeatable,
        )?,
    ])
}

impl RawSearch {
    /// Calls one of these tools; returns `None` for any other tool.
    pub(super) async fn call_evidence_tool(
        &self,
        tool: &McpTool,
        sent: &Value,
        tree: Option<RootId>,
    ) -> Option<Result<McpToolResult, ToolCallError>> {
        let arguments = sent.clone();
        let answered = match tool.name() {
            USES => self.find_uses(tool, arguments, tree).await,
            LINES => self.read_lines(tool, arguments, tree).await,
            OUTLINE => self.show_outline(tool, arguments, tree).await,
            _ => return None,
        };
        Some(answered)
    }

    /// Answers a search whose whole query is a path: with the outline of an indexed file or folder,
    /// or with the lines that the path names. Returns `None` for other queries.
    pub(super) async fn search_at_path(
        &self,
        arguments: &SearchArguments,
        tree: Option<RootId>,
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
        let within = match self.resolve_scope(arguments.repository(), tree).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure).map(Some),
        };
        let evidence = &self.services.evidence;
        let (text, files) = if let Some((first, last)) = lines {
            let asked = surrounding_lines(first, last);
            let Ok(read) = evidence.read_lines(path, asked, within).await else { return Ok(None) };
            let (text, shown) = render::render_lines(&read);
            (text, vec![render::summarize_file(&read.file, vec![shown], MATCH_OF_PATH)])
        } else {
            let Ok(found) = evidence.load_outline(path, within).await else { return Ok(None) };
            let files = match &found {
                Outline::File { file, lines, .. } => {
                    let all_lines = LineRange { first: 1, last: *lines };
                    vec![render::summarize_file(file, vec![all_lines], MATCH_OF_PATH)]
                }
                Outline::Folder(_) => Vec::new(),
            };
            (render::render_outline(&found), files)
        };
        info!(search.bytes = text.len(), "search for a path answered");
        Ok(Some(McpToolResult::text(text).with_meta(FILES_META, json!(files))))
    }

    /// Returns the roots that a call may see: the only one, else the named one, else those that a
    /// client in `tree` sees.
    pub(super) async fn resolve_scope(
        &self,
        named: Option<&str>,
        tree: Option<RootId>,
    ) -> Result<RootFilter, SearchError> {
        if let Some(only) = self.find_only_root(named).await? {
            return Ok(RootFilter::Only(only.id));
        }
        Ok(match named.map(str::trim) {
            Some(named) => RootFilter::Only(self.services.resolve_root(named).await?.id),
            None => tree.map_or(RootFilter::Everything, RootFilter::Tree),
        })
    }

    async fn find_uses(
        &self,
        tool: &McpTool,
        arguments: Value,
        tree: Option<RootId>,
    ) -> Result<McpToolResult, ToolCallError> {
        let UsesArguments { name, pattern, repository } = parse_arguments(tool, arguments)?;
        let within = match self.resolve_scope(repository.as_deref(), tree).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let (name, pattern) = match (name, pattern) {
            (Some(name), None) => (name.clone(), NamePattern::from_name(&name)),
            (None, Some(pattern)) => (String::new(), Some(NamePattern::parse_regex(&pattern))),
            _ => {
                let fault = "give `name` or `pattern`, one of them".to_owned();
                return Err(ToolCallError::Arguments(vec![fault]));
            }
        };
        let evidence = &self.services.evidence;
        let found = match pattern {
            None => {
                evidence.find_uses(&name, within).await.map(|found| render::render_uses(&found))
            }
            Some(Ok(pattern)) => evidence
                .find_matches(pattern, within)
                .await
                .map(|found| render::render_matches(&found)),
            Some(Err(fault)) => Err(fault),
        };
        match found {
            Ok((text, files)) => Ok(build_result(tool, text).with_meta(FILES_META, json!(files))),
            Err(failure) => self.explain_failure(&failure),
        }
    }

    async fn read_lines(
        &self,
        tool: &McpTool,
        arguments: Value,
        tree: Option<RootId>,
    ) -> Result<McpToolResult, ToolCallError> {
        let LinesArguments { path, first, last } = parse_arguments(tool, arguments)?;
        let within = match self.resolve_scope(None, tree).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let (path, asked) = match split_lines(&path) {
            Some((path, ..)) if first.or(last).is_some() => (path, RequestedLines { first, last }),
            Some((path, first, last)) => (path, RequestedLines { first: Some(first), last }),
            None => (path.as_str(), RequestedLines { first, last }),
        };
        match self.services.evidence.read_lines(path, asked, within).await {
            Ok(read) => {
                let (text, shown) = render::render_lines(&read);
                let file = render::summarize_file(&read.file, vec![shown], MATCH_OF_PATH);
                Ok(build_result(tool, text).with_meta(FILES_META, json!([file])))
            }
            Err(failure) => self.explain_failure(&failure),
        }
    }

    async fn show_outline(
        &self,
        tool: &McpTool,
        arguments: Value,
        tree: Option<RootId>,
    ) -> Result<McpToolResult, ToolCallError> {
        let OutlineArguments { path } = parse_arguments(tool, arguments)?;
        let within = match self.resolve_scope(None, tree).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let path = split_lines(&path).map_or(path.as_str(), |(path, ..)| path);
        match self.services.evidence.load_outline(path, within).await {
            Ok(found) => Ok(build_result(tool, render::render_outline(&found))),
            Err(failure) => self.explain_failure(&failure),
        }
    }
}

/// Requests the lines around a single line, or the given range.
fn surrounding_lines(first: u32, last: Option<u32>) -> RequestedLines {
    const BEFORE: u32 = 20;
    const AFTER: u32 = 40;
    let (from, to) = match last {
        Some(last) => (first, last),
        None => (first.saturating_sub(BEFORE), first.saturating_add(AFTER)),
    };
    RequestedLines { first: Some(from), last: Some(to) }
}

fn parse_arguments<T: DeserializeOwned>(
    tool: &McpTool,
    arguments: Value,
) -> Result<T, ToolCallError> {
    tool.arguments().validate_and_parse(arguments).map_err(ToolCallError::Arguments)
}

fn build_result(tool: &McpTool, text: String) -> McpToolResult {
    info!(tool.name = tool.name(), tool.bytes = text.len(), "evidence given");
    McpToolResult::text(text)
}

impl RawSearch {
    /// Converts a failure into one line that says what to do next.
    fn explain_failure(&self, failure: &EvidenceError) -> Result<McpToolResult, ToolCallError> {
        let advice = match failure {
            EvidenceError::Name(_) => "Give one name as the code spells it.",
            EvidenceError::Pattern(_) => {
                "Write `pattern` as for ripgrep, with a backslash before each of `.()[]{}*+?|^$` that stands for \
                 itself; or give a `name`, such as `on_*`."
            }
            EvidenceError::NoContent(_, Some(OmissionRule::Generated)) => {
                "Look for what it is made from."
            }
            EvidenceError::NotFound { omitted: Some(_), .. }
            | EvidenceError::NoContent(_, Some(_)) => "It is not searched, either.",
            EvidenceError::NotFound { .. } => {
                "Call Outline with the name of a repository to see its files, or VectorSearch to find one."
            }
            EvidenceError::Ambiguous { .. } => "Give a whole path.",
            EvidenceError::IsFolder(_) => "Call Outline to see its files.",
            EvidenceError::NoContent(_, None) => "There is nothing to read.",
            EvidenceError::InProgress(_) => "Try again in a moment.",
            EvidenceError::RepoNotFound(_)
            | EvidenceError::IngestRequired
            | EvidenceError::Stalled
            | EvidenceError::Store(_) => return self.report_failure(failure.code(), failure),
        };
        Ok(McpToolResult::error(format!("{failure}. {advice}")))
    }
}

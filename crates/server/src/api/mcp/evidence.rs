//! Tools that show evidence: `FindUses`, `Trace`, `Impact`, `History`, `ReadLines` and `Outline`.

use codeinfo_core::{FILES_META, OmissionRule};
use codeinfo_evidence::{
    DEFAULT_SINCE, DEFAULT_TRACE_DEPTH, EvidenceError, HistoryRequest, ImpactRequest,
    MAX_TRACE_DEPTH, NamePattern, RelationKind, RequestedLines, TraceDirection, TraceRequest,
    render, split_lines,
};
use codeinfo_mcp::{McpTool, McpToolResult, SchemaError, ToolCallError, ToolIdempotence};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::info;

use super::RawSearch;

pub(super) const USES: &str = "FindUses";
pub(super) const TRACE: &str = "Trace";
pub(super) const IMPACT: &str = "Impact";
pub(super) const HISTORY: &str = "History";
pub(super) const LINES: &str = "ReadLines";
pub(super) const OUTLINE: &str = "Outline";
pub(super) const PATH_MATCH: f64 = 1.0;

pub(super) const USES_DESCRIPTION: &str = "\
Finds every place of a name: whole words, case-sensitive, counted exactly as definitions, uses, tests, documents, comments and \
strings. Call it before you say that nothing else uses it. With a `kind`: what calls a definition, what it calls, what implements, \
overrides or imports it. Of `on_*` or a `pattern`, it lists the names that match.";

const TRACE_DESCRIPTION: &str = "\
Follows calls from a definition: what it reaches, what reaches it, or a shortest path to another one. Call it for flows across files.";

const IMPACT_DESCRIPTION: &str = "\
Lists the definitions that changed since a commit, and what reaches them: callers, and the tests to run. Call it to review a change.";

const HISTORY_DESCRIPTION: &str = "\
Lists the commits that changed a file, lines or a definition, or what one commit changed. Ask it when or why code changed, not what \
code does: it costs more than code. A message is its author's claim; the diff is what changed.";

const LINES_DESCRIPTION: &str = "\
Reads up to 200 numbered lines of an indexed file, also of a commit, and says which changed since indexing. Call it to see more around \
what a search shows.";

const OUTLINE_DESCRIPTION: &str = "\
Lists what a file defines, with line ranges, or what the files of a folder or repository define. Call it before reading a long file, \
or to learn a layout.";

#[derive(Deserialize)]
pub(super) struct UsesArguments {
    name: Option<String>,
    pattern: Option<String>,
    kind: Option<String>,
    repository: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct TraceArguments {
    from: String,
    to: Option<String>,
    direction: Option<String>,
    depth: Option<usize>,
    repository: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ImpactArguments {
    since: Option<String>,
    depth: Option<usize>,
    repository: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct LinesArguments {
    path: String,
    first: Option<u32>,
    last: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct OutlineArguments {
    path: String,
}

/// Returns the tools. Models pay for each byte of a description in every turn.
pub(super) fn build_tools() -> Result<[McpTool; 6], SchemaError> {
    let number = |description: &str| json!({ "type": "integer", "description": description });
    let depth = |description: &str| json!({ "type": "integer", "minimum": 1, "maximum": MAX_TRACE_DEPTH, "description": description });
    let text = describe_text;
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
            "kind": {
                "enum": ["uses", "callers", "callees", "implementations", "overrides", "importers"],
                "description": "Of the definition `Type.name` or `path:line`.",
            },
            "repository": text("Only this one."),
        }),
    );
    let trace = schema(
        &["from"],
        json!({
            "from": text("`Type.name` or `path:line`."),
            "to": text("Where the path ends; a tree of calls if left out."),
            "direction": { "enum": ["callees", "callers"], "description": "`callees` if left out." },
            "depth": depth("Maximum steps: 3 if left out, with `to` 12."),
            "repository": text("Only this one."),
        }),
    );
    let impact = schema(
        &[],
        json!({
            "since": text("Branch, tag or commit; `HEAD` if left out."),
            "depth": depth("Maximum steps; 3 if left out."),
            "repository": text("Needed if there are several."),
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
        McpTool::new(TRACE, "Follow calls", TRACE_DESCRIPTION, trace, repeatable)?,
        McpTool::new(IMPACT, "Find what a change reaches", IMPACT_DESCRIPTION, impact, repeatable)?,
        build_history_tool()?,
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

fn build_history_tool() -> Result<McpTool, SchemaError> {
    let text = describe_text;
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": [],
        "properties": {
            "path": text("All files if left out."),
            "lines": { "type": "string", "description": "`12-40`" },
            "symbol": text("Instead: `Type.name`."),
            "commit": text("One commit: id, branch or tag."),
            "limit": { "type": "integer" },
            "repository": text("Needed if there are several."),
        },
    });
    let repeatable = ToolIdempotence::Idempotent;
    McpTool::new(HISTORY, "Read history", HISTORY_DESCRIPTION, schema, repeatable)
}

fn describe_text(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 4096, "description": description })
}

impl RawSearch {
    pub(super) async fn find_uses(
        &self,
        arguments: UsesArguments,
    ) -> Result<McpToolResult, ToolCallError> {
        let UsesArguments { name, pattern, kind, repository } = arguments;
        let within = match self.resolve_scope(repository.as_deref()).await {
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
        // The schema allows no other kinds than `uses` and these.
        let relation = kind.as_deref().and_then(RelationKind::from_name);
        if let (Some(relation), None) = (relation, &pattern) {
            return match evidence.find_relations(&name, relation, within).await {
                Ok(found) => {
                    let (text, files) = render::render_relations(&found);
                    Ok(build_result(USES, text).with_meta(FILES_META, json!(files)))
                }
                Err(failure) => self.explain_failure(&failure),
            };
        }
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
            Ok((text, files)) => Ok(build_result(USES, text).with_meta(FILES_META, json!(files))),
            Err(failure) => self.explain_failure(&failure),
        }
    }

    pub(super) async fn trace_calls(
        &self,
        arguments: TraceArguments,
    ) -> Result<McpToolResult, ToolCallError> {
        let TraceArguments { from, to, direction, depth, repository } = arguments;
        let within = match self.resolve_scope(repository.as_deref()).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let default_depth = if to.is_some() { MAX_TRACE_DEPTH } else { DEFAULT_TRACE_DEPTH };
        let direction = match direction.as_deref() {
            Some("callers") => TraceDirection::Callers,
            _ => TraceDirection::Callees,
        };
        let depth = depth.unwrap_or(default_depth);
        let request = TraceRequest { from, to, direction, depth };
        match self.services.evidence.trace_calls(request.clone(), within).await {
            Ok(trace) => {
                let (text, files) = render::render_trace(&trace, &request);
                Ok(build_result(TRACE, text).with_meta(FILES_META, json!(files)))
            }
            Err(failure) => self.explain_failure(&failure),
        }
    }

    pub(super) async fn find_impact(
        &self,
        arguments: ImpactArguments,
    ) -> Result<McpToolResult, ToolCallError> {
        let ImpactArguments { since, depth, repository } = arguments;
        let within = match self.resolve_scope(repository.as_deref()).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let since = since.unwrap_or_else(|| DEFAULT_SINCE.to_owned());
        let request = ImpactRequest { since, depth: depth.unwrap_or(DEFAULT_TRACE_DEPTH) };
        match self.services.evidence.find_impact(request.clone(), within).await {
            Ok(impact) => {
                let (text, files) = render::render_impact(&impact, &request);
                Ok(build_result(IMPACT, text).with_meta(FILES_META, json!(files)))
            }
            Err(failure) => self.explain_failure(&failure),
        }
    }

    pub(super) async fn describe_history(
        &self,
        request: HistoryRequest,
    ) -> Result<McpToolResult, ToolCallError> {
        let within = match self.resolve_scope(request.repository.as_deref()).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        match self.services.evidence.read_history(request, within).await {
            Ok(report) => Ok(build_result(HISTORY, render::render_history(&report))),
            Err(failure) => self.explain_failure(&failure),
        }
    }

    pub(super) async fn read_lines(
        &self,
        arguments: LinesArguments,
    ) -> Result<McpToolResult, ToolCallError> {
        let LinesArguments { path, first, last } = arguments;
        let within = match self.resolve_scope(None).await {
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
                let file = render::summarize_file(&read.file, vec![shown], PATH_MATCH);
                Ok(build_result(LINES, text).with_meta(FILES_META, json!([file])))
            }
            Err(failure) => self.explain_failure(&failure),
        }
    }

    pub(super) async fn show_outline(
        &self,
        arguments: OutlineArguments,
    ) -> Result<McpToolResult, ToolCallError> {
        let OutlineArguments { path } = arguments;
        let within = match self.resolve_scope(None).await {
            Ok(within) => within,
            Err(failure) => return self.report_failure(failure.code(), &failure),
        };
        let path = split_lines(&path).map_or(path.as_str(), |(path, ..)| path);
        match self.services.evidence.load_outline(path, within).await {
            Ok(found) => Ok(build_result(OUTLINE, render::render_outline(&found))),
            Err(failure) => self.explain_failure(&failure),
        }
    }
}

fn build_result(tool: &str, text: String) -> McpToolResult {
    info!(tool.name = tool, tool.bytes = text.len(), "evidence given");
    McpToolResult::text(text)
}

impl RawSearch {
    pub(super) fn explain_failure(
        &self,
        failure: &EvidenceError,
    ) -> Result<McpToolResult, ToolCallError> {
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
            EvidenceError::Commit(..)
            | EvidenceError::History(..)
            | EvidenceError::SeveralRepositories => {
                return Ok(McpToolResult::error(failure.to_string()));
            }
            EvidenceError::RepoNotFound(_)
            | EvidenceError::IngestRequired
            | EvidenceError::Stalled
            | EvidenceError::Store(_) => return self.report_failure(failure.code(), failure),
        };
        Ok(McpToolResult::error(format!("{failure}. {advice}")))
    }
}

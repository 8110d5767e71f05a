//! The tools that give evidence: `FindUses`, `ReadLines` and `Outline`.

use codeinfo_core::{FILES_META, LineRange, OmissionRule, RootId, Within};
use codeinfo_lang::detect;
use codeinfo_mcp::{CallError, Idempotence, SchemaError, Tool, ToolResult};
use codeinfo_search::{
    SearchError,
    evidence::{Asked, EvidenceError, NamePattern, Outline, split_lines},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tracing::info;

use super::{RawSearch, lines, matches, outline, uses};
use crate::api::tools::SearchArguments;

const USES: &str = "FindUses";
const LINES: &str = "ReadLines";
const OUTLINE: &str = "Outline";
/// `match` of a file that was asked for by its path.
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

/// Returns the tools; the descriptions are for models, which pay for each byte in every turn.
pub(super) fn tools() -> Result<[Tool; 3], SchemaError> {
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
    let repeatable = Idempotence::Idempotent;
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
        Tool::new(USES, "Find uses of a name", USES_DESCRIPTION, uses, repeatable)?,
        Tool::new(LINES, "Read lines", LINES_DESCRIPTION, lines, repeatable)?,
        Tool::new(OUTLINE, "Outline a file or folder", OUTLINE_DESCRIPTION, outline, repeatable)?,
    ])
}

impl RawSearch {
    /// Calls one of the tools; `None` for others.
    pub(super) async fn evidence(
        &self,
        tool: &Tool,
        arguments: &Value,
        tree: Option<RootId>,
    ) -> Option<Result<ToolResult, CallError>> {
        let arguments = arguments.clone();
        let answered = match tool.name() {
            USES => self.find_uses(tool, arguments, tree).await,
            LINES => self.read_lines(tool, arguments, tree).await,
            OUTLINE => self.outline(tool, arguments, tree).await,
            _ => return None,
        };
        Some(answered)
    }

    /// Answers a search whose whole query is the path of an indexed file or folder, or of lines of a file: with its
    /// outline, or these lines. Returns `None` for others.
    pub(super) async fn at_path(
        &self,
        arguments: &SearchArguments,
        tree: Option<RootId>,
    ) -> Result<Option<ToolResult>, CallError> {
        let query = arguments.text().trim().trim_matches('`');
        let (path, lines) = match split_lines(query) {
            Some((path, first, last)) => (path, Some((first, last))),
            None => (query, None),
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_path = path.contains('/') || detect::is_file_name(name);
        if !is_path || path.contains(char::is_whitespace) || path.contains("://") {
            return Ok(None);
        }
        let within = match self.within(arguments.repository(), tree).await {
            Ok(within) => within,
            Err(failure) => return self.failed(failure.code(), &failure).map(Some),
        };
        let evidence = &self.services.evidence;
        let (text, files) = if let Some((first, last)) = lines {
            let asked = around(first, last);
            let Ok(read) = evidence.lines(path, asked, within).await else { return Ok(None) };
            let (text, shown) = lines::text(&read);
            (text, vec![lines::summarize_file(&read.file, vec![shown], MATCH_OF_PATH)])
        } else {
            let Ok(found) = evidence.outline(path, within).await else { return Ok(None) };
            let files = match &found {
                Outline::File { file, lines, .. } => {
                    let all_lines = LineRange { first: 1, last: *lines };
                    vec![lines::summarize_file(file, vec![all_lines], MATCH_OF_PATH)]
                }
                Outline::Folder(_) => Vec::new(),
            };
            (outline::text(&found), files)
        };
        info!(search.bytes = text.len(), "search for a path answered");
        Ok(Some(ToolResult::text(text).with_meta(FILES_META, json!(files))))
    }

    /// Returns the roots that a call may show: the only one, or that which it names, or what a client sees that stands
    /// in `tree`.
    pub(super) async fn within(
        &self,
        named: Option<&str>,
        tree: Option<RootId>,
    ) -> Result<Within, SearchError> {
        if let Some(only) = self.only(named).await? {
            return Ok(Within::Only(only.id));
        }
        Ok(match named.map(str::trim) {
            Some(named) => Within::Only(self.services.root(named).await?.id),
            None => tree.map_or(Within::Everything, Within::Tree),
        })
    }

    async fn find_uses(
        &self,
        tool: &Tool,
        arguments: Value,
        tree: Option<RootId>,
    ) -> Result<ToolResult, CallError> {
        let UsesArguments { name, pattern, repository } = read(tool, arguments)?;
        let within = match self.within(repository.as_deref(), tree).await {
            Ok(within) => within,
            Err(failure) => return self.failed(failure.code(), &failure),
        };
        let (name, pattern) = match (name, pattern) {
            (Some(name), None) => (name.clone(), NamePattern::from_name(&name)),
            (None, Some(pattern)) => (String::new(), Some(NamePattern::parse_regex(&pattern))),
            _ => {
                let fault = "give `name` or `pattern`, one of them".to_owned();
                return Err(CallError::Arguments(vec![fault]));
            }
        };
        let evidence = &self.services.evidence;
        let found = match pattern {
            None => evidence.uses(&name, within).await.map(|found| uses::text(&found)),
            Some(Ok(pattern)) => evidence
                .find_matches(pattern, within)
                .await
                .map(|found| matches::render_matches(&found)),
            Some(Err(fault)) => Err(fault),
        };
        match found {
            Ok((text, files)) => Ok(said(tool, text).with_meta(FILES_META, json!(files))),
            Err(failure) => self.refused(&failure),
        }
    }

    async fn read_lines(
        &self,
        tool: &Tool,
        arguments: Value,
        tree: Option<RootId>,
    ) -> Result<ToolResult, CallError> {
        let LinesArguments { path, first, last } = read(tool, arguments)?;
        let within = match self.within(None, tree).await {
            Ok(within) => within,
            Err(failure) => return self.failed(failure.code(), &failure),
        };
        let (path, asked) = match split_lines(&path) {
            Some((path, ..)) if first.or(last).is_some() => (path, Asked { first, last }),
            Some((path, first, last)) => (path, Asked { first: Some(first), last }),
            None => (path.as_str(), Asked { first, last }),
        };
        match self.services.evidence.lines(path, asked, within).await {
            Ok(read) => {
                let (text, shown) = lines::text(&read);
                let file = lines::summarize_file(&read.file, vec![shown], MATCH_OF_PATH);
                Ok(said(tool, text).with_meta(FILES_META, json!([file])))
            }
            Err(failure) => self.refused(&failure),
        }
    }

    async fn outline(
        &self,
        tool: &Tool,
        arguments: Value,
        tree: Option<RootId>,
    ) -> Result<ToolResult, CallError> {
        let OutlineArguments { path } = read(tool, arguments)?;
        let within = match self.within(None, tree).await {
            Ok(within) => within,
            Err(failure) => return self.failed(failure.code(), &failure),
        };
        let path = split_lines(&path).map_or(path.as_str(), |(path, ..)| path);
        match self.services.evidence.outline(path, within).await {
            Ok(found) => Ok(said(tool, outline::text(&found))),
            Err(failure) => self.refused(&failure),
        }
    }
}

/// One line is asked for to see what is around it.
fn around(first: u32, last: Option<u32>) -> Asked {
    const BEFORE: u32 = 20;
    const AFTER: u32 = 40;
    let (from, to) = match last {
        Some(last) => (first, last),
        None => (first.saturating_sub(BEFORE), first.saturating_add(AFTER)),
    };
    Asked { first: Some(from), last: Some(to) }
}

fn read<T: DeserializeOwned>(tool: &Tool, arguments: Value) -> Result<T, CallError> {
    tool.arguments().read(arguments).map_err(CallError::Arguments)
}

fn said(tool: &Tool, text: String) -> ToolResult {
    info!(tool.name = tool.name(), tool.bytes = text.len(), "evidence given");
    ToolResult::text(text)
}

impl RawSearch {
    /// Says in one line what to do next.
    fn refused(&self, failure: &EvidenceError) -> Result<ToolResult, CallError> {
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
            | EvidenceError::Store(_) => return self.failed(failure.code(), failure),
        };
        Ok(ToolResult::error(format!("{failure}. {advice}")))
    }
}

//! Picks the line of standard error that explains why a server ended, and redacts what servers say.
//!
//! The last line is often a stack frame, a version or a hint, and lines of normal operation explain nothing.

use codeinfo_core::{Secret, plain_line};
use codeinfo_secrets::redact_message;
use rmcp::{service::ServiceError, transport::DynamicTransportError};
use url::Url;

use super::http;
use crate::spec::{ToolkitSpec, ToolkitTransport};

const FAILURE_WORDS: &str = "error, exception, fatal, fail, cannot, can't, could not, unable to, denied, required, \
     not set, please, not found, no such, does not exist";
/// Words of lines that servers print in normal operation.
const BANNER_WORDS: &str = "running on, listening, started, starting, waiting for, connected, initialized, ready, \
     shutting down, shutdown";
/// Prefixes of lines that accompany or precede any failure.
const FURNITURE: &str = "node.js v, (use `node, traceback (most recent, during handling of the above, the above \
     exception, note: run with `rust_backtrace, usage:, try ', for more information, reading additional input from \
     stdin, warn, [warn, npm warn, npm notice";
/// Words of warnings, which do not end a process.
const WARNING_WORDS: &str = "warning:, [warn, npm warn";
/// Fields of npm's report that only repeat or locate its message.
const NPM_FIELDS: &str = "code, errno, syscall, path, dest, command, cwd";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineRank {
    Words,
    Failure,
}

/// Picker that keeps the best line of a process's output.
#[derive(Debug, Default)]
pub(super) struct FailureLinePicker {
    chosen: Option<(LineRank, String)>,
    /// Set after the first line of a panic; the next line has the message.
    after_panic: bool,
    is_npm: bool,
}

impl FailureLinePicker {
    pub(super) fn line(&self) -> Option<&str> {
        self.chosen.as_ref().map(|(_, line)| line.as_str())
    }

    /// Reads the next line. Of equally ranked lines the last one wins; of npm's messages the first one.
    pub(super) fn read_line(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = strip_exception_bars(&line);
        let after_panic = std::mem::take(&mut self.after_panic);
        if line.contains("panicked at") {
            self.after_panic = true;
        }
        if let Some(message) = npm_message(line) {
            if !self.is_npm && !message.is_empty() {
                self.is_npm = true;
                self.chosen = Some((LineRank::Failure, message.to_owned()));
            }
            return;
        }
        let rank = if after_panic && !line.trim().is_empty() {
            Some(LineRank::Failure)
        } else {
            rank_line(line)
        };
        let chosen = self.chosen.as_ref().map(|(rank, _)| *rank);
        if let Some(rank) = rank.filter(|rank| Some(*rank) >= chosen) {
            self.chosen = Some((rank, line.trim().to_owned()));
        }
    }
}

/// Strips the bars that Python prints around exceptions of a group.
fn strip_exception_bars(line: &str) -> &str {
    let mut inner = line.trim_start();
    if !inner.starts_with("| ") {
        return line;
    }
    while let Some(rest) = inner.strip_prefix("| ") {
        inner = rest;
    }
    inner
}

/// Returns the message in a line of npm's report, or an empty text if the line has none.
fn npm_message(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("npm error").or_else(|| line.strip_prefix("npm ERR!"))?.trim();
    let field = rest.split_whitespace().next().unwrap_or_default();
    let is_message = !split_words(NPM_FIELDS).any(|name| name == field)
        && rest != field
        && !rest.starts_with("A complete log of this run");
    Some(if is_message { rest } else { "" })
}

/// Returns the rank of a line, or `None` if it explains nothing.
fn rank_line(line: &str) -> Option<LineRank> {
    // Frames, code and details are indented; box drawings are decoration.
    let is_apart =
        |first: char| first.is_whitespace() || first == '}' || ('─'..='╿').contains(&first);
    if line.starts_with(is_apart) || !line.contains(char::is_alphabetic) {
        return None;
    }
    let lower = line.to_lowercase();
    let has = |list| split_words(list).any(|word| lower.contains(word));
    if split_words(FURNITURE).any(|words| lower.starts_with(words)) || has(WARNING_WORDS) {
        return None;
    }
    if has(FAILURE_WORDS) {
        return Some(LineRank::Failure);
    }
    (!has(BANNER_WORDS)).then_some(LineRank::Words)
}

fn split_words(list: &str) -> impl Iterator<Item = &str> {
    list.split(", ")
}

/// Maximum characters of a refusal, which the model reads and which may name paths and tools.
const MAX_REFUSAL_CHARS: usize = 2_000;
/// Minimum bytes of a secret; shorter values of variables and headers also occur in ordinary words.
const MIN_SECRET_BYTES: usize = 4;

/// Redactor for the values of a spec's variables and headers.
#[derive(Clone)]
pub(super) struct MessageRedactor {
    secrets: Vec<String>,
    /// Scheme, host and port of a remote server.
    address: Option<String>,
}

impl MessageRedactor {
    pub(super) fn from_spec(spec: &ToolkitSpec) -> Self {
        let (ToolkitTransport::Stdio { env: values, .. }
        | ToolkitTransport::Http { headers: values, .. }) = &spec.transport;
        let exposed = values.values().map(Secret::expose);
        // A message may contain only the key of `Bearer KEY`.
        let mut secrets: Vec<String> = exposed
            .flat_map(|value| value.split_whitespace().chain([value]))
            .filter(|value| value.len() >= MIN_SECRET_BYTES)
            .map(str::to_owned)
            .collect();
        // Longest first, because one secret may contain another.
        secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
        let address = match &spec.transport {
            ToolkitTransport::Stdio { .. } => None,
            ToolkitTransport::Http { url, .. } => Url::parse(url).ok(),
        };
        Self { secrets, address: address.map(|url| url.origin().ascii_serialization()) }
    }

    /// Redacts a log line or error of a server: removes secrets, paths, addresses and keys.
    pub(super) fn redact_message(&self, text: &str) -> String {
        redact_message(&self.hide_secrets(text))
    }

    pub(super) fn redact_refusal(&self, text: &str) -> String {
        let text =
            plain_line(&codeinfo_secrets::redact_secrets("", None, &self.hide_secrets(text)).text);
        match text.char_indices().nth(MAX_REFUSAL_CHARS) {
            None => text,
            Some((end, _)) => format!("{}…", text.split_at(end).0),
        }
    }

    pub(super) fn describe_fault(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::TransportSend(error) => self.transport_fault(error),
            error => self.redact_message(&error.to_string()),
        }
    }

    /// Describes a transport error, with the address of a remote server.
    pub(super) fn transport_fault(&self, error: &DynamicTransportError) -> String {
        let reason = self.redact_message(&http::describe_root_cause(error));
        match &self.address {
            Some(address) => format!("{reason} ({address})"),
            None => reason,
        }
    }

    fn hide_secrets(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| text.replace(secret, "[key]");
        self.secrets.iter().fold(text.to_owned(), hide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(output: &str) -> Option<String> {
        let mut reason = FailureLinePicker::default();
        output.lines().for_each(|line| reason.read_line(line.as_bytes()));
        reason.line().map(str::to_owned)
    }

    /// Output of real programs, each with the line that explains its end.
    const OUTPUTS: [(&str, Option<&str>); 22] = [
        // Node: an uncaught error, a missing module, a thrown string.
        (
            "/srv/index.js:1\nPromise.reject(new Error(\"Please set GITHUB_TOKEN\"))\n               ^\n\n\
             Error: Please set GITHUB_TOKEN\n    at Object.<anonymous> (/srv/index.js:1:16)\n    at \
             node:internal/main/run_main_module:28:49\n\nNode.js v20.20.2",
            Some("Error: Please set GITHUB_TOKEN"),
        ),
        (
            "node:internal/modules/esm/resolve:873\n  throw new ERR_MODULE_NOT_FOUND(packageName);\n        \
             ^\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'nope' imported from /srv/a.mjs\n    at \
             moduleResolve (node:internal/modules/esm/resolve:946:18) {\n  code: 'ERR_MODULE_NOT_FOUND'\n}\n\n\
             Node.js v20.20.2",
            Some(
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'nope' imported from /srv/a.mjs",
            ),
        ),
        (
            "\n/srv/c.js:1\nthrow \"just a string\"\n^\njust a string\n(Use `node --trace-uncaught ...` to show \
             where the exception was thrown)\n\nNode.js v20.20.2",
            Some("just a string"),
        ),
        (
            "/srv/d.js:1\nthrow e\n^\n\nError: boom\nsecond line\n    at Module._compile \
             (node:internal/modules/cjs/loader:1521:14) {\n  cause: Error: root cause\n      at Object.<anonymous> \
             (/srv/d.js:1:59)\n}\n\nNode.js v20.20.2",
            Some("Error: boom"),
        ),
        // Published servers on Node.
        (
            "Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables\n",
            Some("Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables"),
        ),
        (
            "Error: BRAVE_API_KEY environment variable is required\n",
            Some("Error: BRAVE_API_KEY environment variable is required"),
        ),
        (
            "Warning: Cannot access directory /nonexistent, skipping\nError: None of the specified directories are \
             accessible",
            Some("Error: None of the specified directories are accessible"),
        ),
        (
            "[Redis Error] Error: connect ECONNREFUSED 127.0.0.1:6379\n[Redis Error] Stack: Error: connect \
             ECONNREFUSED 127.0.0.1:6379\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)\n\
             [Redis Retry] Next attempt in 2000ms",
            Some("[Redis Error] Stack: Error: connect ECONNREFUSED 127.0.0.1:6379"),
        ),
        ("GitHub MCP Server running on stdio\n", None),
        // npx: a missing package, and a package without a command.
        (
            "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/server-x\nnpm error 404\n\
             npm error 404  The requested resource 'server-x@*' could not be found\nnpm error 404 Note that you can \
             also install from a\nnpm error 404 tarball, folder, http url, or git url.\nnpm error A complete log of \
             this run can be found in: /root/.npm/_logs/debug-0.log",
            Some("404 Not Found - GET https://registry.example/server-x"),
        ),
        (
            "npm ERR! code ENOENT\nnpm ERR! syscall open\nnpm ERR! path /srv/package.json\nnpm ERR! errno -2\nnpm \
             ERR! enoent Could not read package.json\n\nnpm ERR! A complete log of this run can be found in: /x",
            Some("enoent Could not read package.json"),
        ),
        (
            "npm warn deprecated inflight@1.0.6: not supported\nnpm error could not determine executable to run\nnpm \
             notice New version of npm available!",
            Some("could not determine executable to run"),
        ),
        // Python: a chain of exceptions, an exception group, argparse, click, a missing module, `sys.exit`.
        (
            "Traceback (most recent call last):\n  File \"<string>\", line 3, in f\nValueError: set API_KEY\n\nThe \
             above exception was the direct cause of the following exception:\n\nTraceback (most recent call \
             last):\n  File \"<string>\", line 7, in <module>\n    sys.exit(main())\n             ^^^^^^\n\
             RuntimeError: cannot start",
            Some("RuntimeError: cannot start"),
        ),
        (
            "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 1\n  | \
             ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 \
             ----------------\n    | Traceback (most recent call last):\n    |   File \"a.py\", line 2\n    | \
             OSError: no route\n    +------------------------------------",
            Some("OSError: no route"),
        ),
        (
            "usage: mcp-server-x [-h] --repo REPO\nmcp-server-x: error: the following arguments are required: --repo",
            Some("mcp-server-x: error: the following arguments are required: --repo"),
        ),
        (
            "Usage: mcp-server-git [OPTIONS]\nTry 'mcp-server-git --help' for help.\n\nError: No such option \
             '--wrong'.",
            Some("Error: No such option '--wrong'."),
        ),
        (
            "/usr/bin/python3: No module named no_such_mod",
            Some("/usr/bin/python3: No module named no_such_mod"),
        ),
        (
            "ERROR:mcp_server_git.server:/nonexistent does not exist\nINFO: Shutting down",
            Some("ERROR:mcp_server_git.server:/nonexistent does not exist"),
        ),
        // Rust and the sandbox.
        (
            "\nthread 'main' (7) panicked at src/main.rs:2:5:\nset the token\nnote: run with `RUST_BACKTRACE=1` \
             environment variable to display a backtrace",
            Some("set the token"),
        ),
        (
            "WARNING: proceeding, even though we could not create PATH aliases: Refusing to create helper binaries \
             under temporary dir\nbwrap: Can't find source path /srv/gone: No such file or directory",
            Some("bwrap: Can't find source path /srv/gone: No such file or directory"),
        ),
        (
            "WARNING: proceeding, even though we could not update PATH: permission denied\nReading additional input \
             from stdin...",
            None,
        ),
        (
            "(node:7) [DEP0040] DeprecationWarning: The `punycode` module is deprecated.\n(Use `node \
             --trace-deprecation ...` to show where the warning was created)\nServer v1.2 ready",
            None,
        ),
    ];

    #[test]
    fn the_reason_of_an_end_is_the_line_that_says_why() {
        for (output, reason) in OUTPUTS {
            assert_eq!(choose(output).as_deref(), reason, "of:\n{output}");
        }
    }
}

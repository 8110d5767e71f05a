//! Arguments of the `codeinfo` command line.
#![expect(clippy::doc_markdown, reason = "doc comments are help texts here")]

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::{Shell, generate};

use crate::{
    install::{InstallCommand, UninstallCommand},
    service::ServiceCommand,
};

/// Answers questions about your repositories, grounded in an index of their code.
///
/// Settings come from environment variables (PORT, MCP_PORT, DATA_DIR, CODEX_BIN, …); `codeinfo docs settings` lists
/// them. Commands use the server that already runs on DATA_DIR; without one, they work alone.
#[derive(Debug, Parser)]
#[command(name = "codeinfo", version, propagate_version = true)]
pub struct CliArguments {
    /// On a terminal, print the log instead of writing it to DATA_DIR/codeinfo.log
    #[arg(long, global = true)]
    pub log: bool,
    #[command(subcommand)]
    pub command: CliCommand,
}

/// Arguments of `codeinfo search`.
#[derive(Debug, Args)]
pub struct SearchCommand {
    /// What to look for; words without quotes are joined
    #[arg(required = true, value_name = "QUERY")]
    pub words: Vec<String>,
    /// Search only this repository (name, id or path)
    #[arg(long, short)]
    pub repository: Option<String>,
    /// Search only what differs between two trees of one repository; name the older one first
    #[arg(long, num_args = 2, value_names = ["TREE", "TREE"], conflicts_with = "repository")]
    pub between: Option<Vec<String>>,
    /// Find commits by their messages instead
    #[arg(long, conflicts_with_all = ["between", "locations", "context"])]
    pub commits: bool,
    /// Maximum number of results, 1 to 20
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u64).range(1..=20))]
    pub limit: Option<u64>,
    /// Print only the places, one on each line
    #[arg(long, short = 'l')]
    pub locations: bool,
    /// Also print up to LINES lines before and after each result, 0 to 50
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0, conflicts_with = "locations",
        value_parser = clap::value_parser!(u32).range(0..=50))]
    pub context: u32,
    /// Print the API's JSON
    #[arg(long, conflicts_with_all = ["locations", "context"])]
    pub json: bool,
}

/// Arguments of `codeinfo uses`, `callers` and `callees`.
#[derive(Debug, Args)]
pub struct SymbolCommand {
    /// The definition: a name, TYPE.NAME, PATH:NAME or PATH:LINE
    pub name: String,
    /// Search only this repository (name, id or path)
    #[arg(long, short)]
    pub repository: Option<String>,
    /// Print the API's JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `codeinfo trace`.
#[derive(Debug, Args)]
pub struct TraceCommand {
    /// The definition to begin with: a name, TYPE.NAME, PATH:NAME or PATH:LINE
    pub from: String,
    /// The definition to end with; without it, all calls are followed
    pub to: Option<String>,
    /// Follow callers instead of callees
    #[arg(long)]
    pub callers: bool,
    /// Maximum number of steps, 1 to 12 [default: 3, with TO 12]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=12))]
    pub depth: Option<u8>,
    /// Search only this repository (name, id or path)
    #[arg(long, short)]
    pub repository: Option<String>,
    /// Print the API's JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `codeinfo impact`.
#[derive(Debug, Args)]
pub struct ImpactCommand {
    /// The branch, tag or commit to compare the files with
    #[arg(long, value_name = "REF", default_value = "HEAD")]
    pub since: String,
    /// Maximum number of steps from a changed definition, 1 to 12
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=12))]
    pub depth: u8,
    /// Compare this repository (name, id or path) [default: the one around the folder]
    #[arg(long, short)]
    pub repository: Option<String>,
    /// Print the API's JSON
    #[arg(long)]
    pub json: bool,
}

/// A command with its arguments.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Index the given folders and serve: HTTP API on PORT (5010), MCP on MCP_PORT (5011)
    Serve {
        /// Folders to index first
        paths: Vec<PathBuf>,
        /// Keep every repository's index up to date while its files change (as WATCH=true does)
        #[arg(long)]
        watch: bool,
        /// Embed every repository again; needed after a change of the embedding model
        #[arg(long)]
        reembed: bool,
        /// Refuse to start with a damaged index instead of repairing it from the repositories
        #[arg(long)]
        no_repair: bool,
        /// Stop once nobody has used the server for IDLE_EXIT_SECS; as `codeinfo stdio` starts it
        #[arg(long, hide = true)]
        until_idle: bool,
    },
    /// Speak MCP over standard input and output, for clients that start their servers themselves
    ///
    /// Forwards to the server that runs on DATA_DIR. If none runs, starts one, which stops by itself. Its log is
    /// DATA_DIR/server.log.
    Stdio(StdioCommand),
    /// Index folders and commits, or bring their indexes up to date
    Ingest {
        /// The folders; PATH@NAME is a branch, tag or commit of the git repository at PATH
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Name to show instead of the folder's; needs a single folder
        #[arg(long)]
        name: Option<String>,
        /// Description of the repository, for agents that choose among several
        #[arg(long)]
        description: Option<String>,
        /// Believe this SCIP index of a compiler from now on, wherever it lies; '' forgets it. Needs a single folder
        #[arg(long, value_name = "FILE")]
        scip: Option<OsString>,
        /// Index nothing; list the files that are not indexed, each with its reason, or give the reason for one file
        #[arg(long, conflicts_with_all = ["name", "description", "scip"])]
        explain: bool,
    },
    /// Find code by meaning, words or symbol names
    Search(SearchCommand),
    /// Find every place of a name, and tell the uses of one definition from others
    Uses(SymbolCommand),
    /// Find what calls or uses a definition
    Callers(SymbolCommand),
    /// Find what a definition calls
    Callees(SymbolCommand),
    /// Follow calls from a definition, or find a path of calls between two
    Trace(TraceCommand),
    /// Find the definitions that changed since a commit, and the callers and tests that reach them
    Impact(ImpactCommand),
    /// Find the commits that changed a file or lines, or print what one commit changed
    History {
        /// The file or lines: PATH, PATH:LINE or PATH:LINE-LINE; without it, the whole repository
        path: Option<String>,
        /// Print what this commit changed (a branch, tag or id)
        #[arg(long, value_name = "ID")]
        commit: Option<String>,
        /// Read the history of this repository (name, id or path) [default: the one around the folder]
        #[arg(long, short)]
        repository: Option<String>,
    },
    /// Ask Codex a question about the indexed repositories
    Ask {
        /// The question; words without quotes are joined
        #[arg(required = true, value_name = "QUESTION")]
        words: Vec<String>,
        /// Continue this conversation
        #[arg(long, short)]
        conversation: Option<String>,
        /// Ask only about this repository (name, id or path)
        #[arg(long, short)]
        repository: Option<String>,
        /// Whether a second reader checks the answer's sentences [default: the server's CLAIM_CHECK]
        #[arg(long, value_enum)]
        claim_check: Option<SwitchArgument>,
        /// Print the final result as JSON instead of the stream
        #[arg(long)]
        json: bool,
    },
    /// List the indexed repositories
    Repos {
        /// Print the API's JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a repository from the index (its files are not touched)
    Remove {
        /// Name, id or path
        name: String,
    },
    /// Let answers use other MCP servers: list, start, try, allow and store toolkits
    ///
    /// `codeinfo docs toolkits` explains what a toolkit is and what it may do.
    #[command(subcommand)]
    Mcp(ToolkitsCommand),
    /// Check the citations and links of documents against the files of their repository
    ///
    /// Every `path:12-40`, link and `path` in backticks of a Markdown document is checked, without a server and
    /// without an index. A line `FILE:LINE:COLUMN: CITATION: PROBLEM` is printed for each one that moved, changed or
    /// vanished. Hashes of the cited lines are kept in citations.lock.
    ///
    /// Exit codes: 0, all are right; 1, some are not; 2, a document cannot be read, or wrong usage.
    #[command(after_help = "In CI, after a checkout:\n\n  codeinfo check\n\n\
        After lines moved, or with the first citations:\n\n  codeinfo check --fix && git diff\n\n\
        `codeinfo docs check` explains what counts as a citation and how to exclude one.")]
    Check(CheckCommand),
    /// Make, list and revoke tokens, which identify programs to the server
    ///
    /// A token is sent as `Authorization: Bearer TOKEN`. With AUTH=required, requests without one are refused.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Open the page of the running server in a browser, as its owner
    Open {
        /// Print the address instead; it works once, within a minute
        #[arg(long)]
        print: bool,
    },
    /// Check the ports, this machine, the store, the embedder and Codex, and say what to do
    Doctor,
    /// Print a page of the documents as Markdown, or list the pages
    Docs {
        /// The page, such as settings
        name: Option<String>,
    },
    /// Set up clients (Codex, Claude Code, Cursor, …) to use CodeInfo
    ///
    /// Edits each client's own file after showing the change; `codeinfo docs install` names the files.
    Install(InstallCommand),
    /// Remove CodeInfo from the clients
    Uninstall(UninstallCommand),
    /// Tell the model of Claude Code that the folder is indexed; Claude Code runs it with each prompt
    ///
    /// `codeinfo install --hook` sets this up. Prints nothing if nothing is indexed or no server answers at once, and
    /// never fails.
    Hook(HookCommand),
    /// Start the server with your sessions, by systemd or launchd
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Print a script that completes commands in a shell
    #[command(after_help = "For bash, in ~/.bashrc:\n\n  source <(codeinfo completions bash)")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Returns the script that completes commands in `shell`.
pub fn generate_completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut CliArguments::command(), "codeinfo", &mut script);
    script
}

/// Arguments of `codeinfo hook`.
#[derive(Debug, Args)]
pub struct HookCommand {
    /// How long a prompt waits for it, in milliseconds
    #[arg(long, hide = true, default_value_t = 25)]
    pub wait_ms: u64,
}

/// Arguments of `codeinfo stdio`.
#[derive(Debug, Args)]
pub struct StdioCommand {
    /// Offer raw search (VectorSearch, ReadLines, …) instead of codebase_question
    #[arg(long)]
    pub search: bool,
    /// Index the repository around the working folder if it is not indexed (as AUTO_INDEX=true does)
    #[arg(long)]
    pub auto_index: bool,
}

/// Value `on` or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SwitchArgument {
    On,
    Off,
}

/// Commands of `codeinfo mcp`.
#[derive(Debug, Subcommand)]
pub enum ToolkitsCommand {
    /// List the configured toolkits and their current states
    List {
        #[command(flatten)]
        scope: ToolkitScope,
    },
    /// Start the toolkits that are not running, and print their states; fails if one is not ready
    Status {
        #[command(flatten)]
        scope: ToolkitScope,
    },
    /// Start a toolkit, even one that failed too often
    Start {
        name: String,
        #[command(flatten)]
        scope: ToolkitScope,
    },
    /// Stop a toolkit until it is needed again
    Stop {
        name: String,
        #[command(flatten)]
        scope: ToolkitScope,
    },
    /// Stop a toolkit and start it again
    Restart {
        name: String,
        #[command(flatten)]
        scope: ToolkitScope,
    },
    /// List the tools of all toolkits; with QUERY, the best matches first
    Tools {
        /// What a tool should do
        query: Option<String>,
        #[command(flatten)]
        scope: ToolkitScope,
    },
    /// Call a tool as an answer would, and print what the model would read
    Call {
        /// The tool, as TOOLKIT:TOOL
        tool: String,
        /// Its arguments, a JSON object
        #[arg(default_value = "{}", value_name = "JSON")]
        arguments: String,
        #[command(flatten)]
        scope: ToolkitScope,
    },
    /// Show what the toolkits of a repository run, and allow them until their file changes
    Allow {
        /// A path in the repository
        #[arg(default_value = ".")]
        path: PathBuf,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        /// Print the API's JSON
        #[arg(long)]
        json: bool,
    },
    /// Accept the current descriptions of a toolkit's tools
    Trust {
        name: String,
        #[command(flatten)]
        scope: ToolkitScope,
    },
    /// Store a toolkit, encrypted, for all your questions: `add NAME -- COMMAND ARGS…`, or `--url`
    Add {
        /// 1 to 48 of `a-z`, `0-9`, `_` and `-`
        name: String,
        /// The command that starts its server, with its arguments
        #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
        command: Vec<String>,
        /// The address of a running server, instead of a command
        #[arg(long, conflicts_with = "command")]
        url: Option<String>,
        /// A variable for the command, or a header for the address
        #[arg(long, short, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// Run it outside the sandbox, with your rights
        #[arg(long)]
        no_sandbox: bool,
        /// Also offer tools that may change things
        #[arg(long)]
        allow_all: bool,
        /// Print the API's JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a stored toolkit
    Remove {
        name: String,
        /// Print the API's JSON
        #[arg(long)]
        json: bool,
    },
    /// Store the toolkits of a file, encrypted, for all your questions
    Import {
        /// A file with `mcpServers`, as Claude Code, Cursor or Gemini CLI have it
        file: PathBuf,
        /// Print the API's JSON
        #[arg(long)]
        json: bool,
    },
    /// Create an example toolkit file in a repository
    Init {
        /// A path in the repository
        #[arg(default_value = ".")]
        path: PathBuf,
    },
}

/// Arguments that select toolkits, and the form in which they are printed.
#[derive(Debug, Args)]
pub struct ToolkitScope {
    /// Use the toolkits of this repository (name, id or path) [default: the one around the folder]
    #[arg(long, short)]
    pub repository: Option<String>,
    /// Print the API's JSON
    #[arg(long)]
    pub json: bool,
}

/// Commands of `codeinfo token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print only the token to standard output; it is never shown again
    Create {
        /// 1 to 64 letters, digits, `.`, `_` and `-`
        name: String,
        /// Revoke the token of that name and make it again
        #[arg(long)]
        overwrite: bool,
        /// Let it decide what is indexed and see the data of others, as you can
        #[arg(long)]
        admin: bool,
        /// Print the API's JSON
        #[arg(long)]
        json: bool,
    },
    /// List the tokens, without their secrets
    List {
        /// Print the API's JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token
    Revoke {
        name: String,
        /// Print the API's JSON
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `codeinfo check`.
#[derive(Debug, Args)]
pub struct CheckCommand {
    /// Documents, or folders of documents [default: all of the repository around the current folder]
    #[arg(value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// Update the line numbers of moved citations, and citations.lock
    #[arg(long)]
    pub fix: bool,
    /// Accept changed lines as the cited ones from now on; implies --fix
    #[arg(long)]
    pub accept: bool,
    /// Print a JSON list of all citations instead
    #[arg(long)]
    pub json: bool,
}

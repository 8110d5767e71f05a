//! Decides which server of a data folder replaces which, and which connection of a relay is replaced.
//!
//! One process at a time holds a data folder ([`codeinfo_store::DataDirLock`]). It is one of three:
//! a *permanent* server (`codeinfo serve`, started by a person or a service), a *relay's* server
//! (`codeinfo serve --until-idle`, started by `codeinfo stdio`), or a command that runs alone. A
//! process without an announced address is starting, ending, or a command.
//!
//! | Who comes | Who holds the folder | What happens | Decided by |
//! |---|---|---|---|
//! | `codeinfo serve` | no process, or one without an address | it takes the start lock and starts; it waits up to 10 s for the folder | [`plan_serve`] |
//! | `codeinfo serve` | a relay's server | that server ends, even in the midst of work; relays start none meanwhile | [`plan_serve`], [`gives_way`] |
//! | `codeinfo serve` | a permanent server | it fails and names the holder | [`plan_serve`] |
//! | a relay | a server with an address | it connects; another version is only warned of | [`plan_relay`] |
//! | a relay | no process | the relay that gets the start lock starts a server | [`plan_relay`] |
//! | a relay | a process without an address | it waits: 15 s for a command, 60 s while a server starts | [`plan_relay`] |
//! | a relay of a newer version | an idle relay's server | that server ends, and the relay starts its own version | [`gives_way`] |
//! | a relay of a newer version | a busy relay's server, or a permanent one | it is served by the older version | [`gives_way`] |
//! | a relay whose client changed its folder | – | its connection is replaced once no request waits on it | [`replaces_connection`] |
//! | another command | a server with an address | it asks that server | `src/run.rs` |
//! | another command | no process, or one without an address | it waits up to 10 s for the folder, then runs a private server | `src/run.rs` |

use std::{path::PathBuf, time::Duration};

use codeinfo_store::LockHolder;
use serde::{Deserialize, Serialize};

/// Maximum time from the start of a server until it announces its address; opening a large index takes seconds.
pub const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum time that a relay waits for a command that uses the folder, or a server that ends.
const BUSY_TIMEOUT: Duration = Duration::from_secs(15);

/// Handshake of a relay, sent in a header as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RelayHandshake {
    pub version: String,
    /// Repository in which the relay was started, as its client sees it.
    pub folder: Option<PathBuf>,
    /// True if the server may index that repository when it is not indexed.
    pub auto_index: bool,
    /// True if the client has sent `initialize` over an earlier connection.
    pub is_greeted: bool,
    /// Name of the client in that `initialize`.
    pub client: Option<String>,
    /// True if the sender is a server, started by a person or a service, that replaces this one.
    pub takes_over: bool,
}

/// Next step of `codeinfo serve` when another process holds its data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServePlan {
    /// Waits for the start lock and for the folder, then starts.
    Wait,
    /// Asks the holder, a relay's server, to end.
    TakeOver,
    /// Fails, because the holder is permanent.
    Fail,
}

/// Decides what `codeinfo serve` does about the holder of its data folder.
pub fn plan_serve(holder: Option<&LockHolder>) -> ServePlan {
    match holder {
        Some(holder) if holder.until_idle => ServePlan::TakeOver,
        Some(holder) if holder.main_url.is_some() => ServePlan::Fail,
        Some(_) | None => ServePlan::Wait,
    }
}

/// Next step of a relay that needs a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayPlan<'a> {
    Connect(&'a str),
    /// Starts a server, if it gets the start lock; otherwise another relay starts one.
    Start,
    Wait,
    /// Fails, unless another relay holds the start lock: a command with this process id uses the folder.
    FailBusy(u32),
}

/// Decides what a relay does after it has waited for `waited`. `for_search` selects the listener with raw search.
pub fn plan_relay(
    holder: Option<&LockHolder>,
    for_search: bool,
    waited: Duration,
) -> RelayPlan<'_> {
    let Some(holder) = holder else { return RelayPlan::Start };
    let url = if for_search { &holder.main_url } else { &holder.mcp_url };
    match url {
        Some(url) => RelayPlan::Connect(url),
        None if waited >= BUSY_TIMEOUT => RelayPlan::FailBusy(holder.pid),
        None => RelayPlan::Wait,
    }
}

/// Returns whether a relay's server ends for the sender of a handshake: always for a permanent
/// server, and for a newer relay while it is idle. Only the owner may ask.
pub(crate) fn gives_way(handshake: &RelayHandshake, is_owner: bool, is_idle: bool) -> bool {
    let is_newer = is_newer(&handshake.version, env!("CARGO_PKG_VERSION"));
    is_owner && (handshake.takes_over || is_idle && is_newer)
}

/// Returns whether a relay leaves its connection: the server knows an outdated folder, and no request waits.
pub(crate) fn replaces_connection(has_moved: bool, waiting_requests: usize) -> bool {
    has_moved && waiting_requests == 0
}

/// Returns whether a version such as `1.10.0` is higher than another. An invalid version is not.
fn is_newer(version: &str, than: &str) -> bool {
    let numbers = |version: &str| {
        let parts = version.split('.').map(|part| part.parse().ok());
        parts.collect::<Option<Vec<u64>>>()
    };
    numbers(version).zip(numbers(than)).is_some_and(|(version, than)| version > than)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(main_url: Option<&str>, until_idle: bool) -> LockHolder {
        let main_url = main_url.map(str::to_owned);
        LockHolder { pid: 7, main_url, until_idle, ..LockHolder::this_process() }
    }

    #[test]
    fn a_permanent_server_replaces_only_the_server_of_a_relay() {
        let url = Some("http://127.0.0.1:5010");
        assert_eq!(plan_serve(None), ServePlan::Wait);
        assert_eq!(plan_serve(Some(&holder(None, false))), ServePlan::Wait);
        assert_eq!(plan_serve(Some(&holder(url, false))), ServePlan::Fail);
        assert_eq!(plan_serve(Some(&holder(url, true))), ServePlan::TakeOver);
        assert_eq!(plan_serve(Some(&holder(None, true))), ServePlan::TakeOver);
    }

    #[test]
    fn a_relay_uses_every_server_and_waits_for_every_other_process() {
        let running =
            LockHolder { mcp_url: Some("http://b".to_owned()), ..holder(Some("http://a"), false) };
        let silent = holder(None, true);
        let late = BUSY_TIMEOUT;
        assert_eq!(plan_relay(None, false, late), RelayPlan::Start);
        assert_eq!(plan_relay(Some(&running), true, late), RelayPlan::Connect("http://a"));
        assert_eq!(plan_relay(Some(&running), false, late), RelayPlan::Connect("http://b"));
        assert_eq!(plan_relay(Some(&silent), false, Duration::ZERO), RelayPlan::Wait);
        assert_eq!(plan_relay(Some(&silent), false, late), RelayPlan::FailBusy(7));
    }

    #[test]
    fn the_server_of_a_relay_ends_for_its_owner_only() {
        let newer = RelayHandshake { version: "999.0.0".to_owned(), ..RelayHandshake::default() };
        let permanent = RelayHandshake { takes_over: true, ..RelayHandshake::default() };
        assert!(gives_way(&newer, true, true));
        assert!(!gives_way(&newer, true, false));
        assert!(gives_way(&permanent, true, false));
        assert!(!gives_way(&permanent, false, true) && !gives_way(&newer, false, true));
        assert!(!gives_way(&RelayHandshake::default(), true, true));
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (version, than, wanted) in [
            ("0.2.0", "0.1.9", true),
            ("0.10.0", "0.9.0", true),
            ("0.1.0", "0.1.0", false),
            ("0.1.0", "0.2.0", false),
            ("", "0.1.0", false),
            ("1.0.0-rc1", "0.1.0", false),
        ] {
            assert_eq!(is_newer(version, than), wanted, "{version} {than}");
        }
    }
}

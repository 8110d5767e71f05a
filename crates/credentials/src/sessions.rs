//! Page sessions of the owner. Each is opened once, with a code, and is identified by two halves.
//!
//! The browser stores one half in a cookie, which it also sends to other ports of the machine. The page stores the
//! other half, which only its own origin can read. One half alone is useless. Nothing is written to disk.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_core::Secret;
use tokio_util::sync::CancellationToken;

use super::{CredentialError, bearer::BearerFingerprint, fresh_key};

const CODE_LIFE: Duration = Duration::from_mins(1);
const SESSION_LIFE: Duration = Duration::from_hours(12);
/// Maximum codes, and sessions. The oldest one ends when another is added.
const MAX_ENTRIES: usize = 16;

/// Sessions of a server. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct PageSessions(Arc<Mutex<SessionEntries>>);

#[derive(Debug, Default)]
struct SessionEntries {
    codes: Vec<SessionEntry>,
    sessions: Vec<SessionEntry>,
}

#[derive(Debug)]
struct SessionEntry {
    fingerprint: BearerFingerprint,
    made: Instant,
    ended: CancellationToken,
}

/// Both halves of an opened session.
#[derive(Debug)]
pub struct SessionHalves {
    pub cookie: Secret,
    pub key: Secret,
}

impl PageSessions {
    /// Creates a code that opens one session within a minute.
    pub fn make_code(&self) -> Result<Secret, CredentialError> {
        let code = fresh_key()?;
        add_entry(&mut self.lock_entries().codes, code.expose());
        Ok(code)
    }

    /// Opens a session. Returns `None` if the code is unknown, used or expired.
    pub fn open_session(&self, code: &str) -> Result<Option<SessionHalves>, CredentialError> {
        let cookie = fresh_key()?;
        let key = fresh_key()?;
        let mut entries = self.lock_entries();
        let asked = BearerFingerprint::from_bearer(code);
        let is_asked = |entry: &SessionEntry| entry.fingerprint.matches(&asked);
        let Some(place) = entries.codes.iter().position(is_asked) else {
            return Ok(None);
        };
        entries.codes.remove(place);
        add_entry(&mut entries.sessions, &join_halves(cookie.expose(), key.expose()));
        Ok(Some(SessionHalves { cookie, key }))
    }

    /// Returns a token that is cancelled at the end of the session with these halves.
    pub fn find_session(&self, cookie: &str, key: &str) -> Option<CancellationToken> {
        let asked = BearerFingerprint::from_bearer(&join_halves(cookie, key));
        let entries = self.lock_entries();
        let session = entries.sessions.iter().find(|entry| entry.fingerprint.matches(&asked));
        session.map(|session| session.ended.clone())
    }

    /// Ends all sessions and discards the codes.
    pub fn end_all(&self) {
        let SessionEntries { sessions, .. } = std::mem::take(&mut *self.lock_entries());
        for session in sessions {
            session.ended.cancel();
        }
    }

    fn lock_entries(&self) -> MutexGuard<'_, SessionEntries> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.codes.retain(|code| code.made.elapsed() < CODE_LIFE);
        entries.sessions.retain(|session| {
            let lives = session.made.elapsed() < SESSION_LIFE;
            if !lives {
                session.ended.cancel();
            }
            lives
        });
        entries
    }
}

fn add_entry(entries: &mut Vec<SessionEntry>, secret: &str) {
    if entries.len() == MAX_ENTRIES {
        entries.remove(0).ended.cancel();
    }
    entries.push(SessionEntry {
        fingerprint: BearerFingerprint::from_bearer(secret),
        made: Instant::now(),
        ended: CancellationToken::new(),
    });
}

/// Joins the halves with a space, which neither half contains.
fn join_halves(cookie: &str, key: &str) -> String {
    format!("{cookie} {key}")
}

#[cfg(test)]
mod tests {
    use super::{MAX_ENTRIES, PageSessions};

    #[test]
    fn a_code_opens_one_session_which_needs_both_halves_until_all_end() {
        let sessions = PageSessions::default();
        let code = sessions.make_code().unwrap();
        let halves = sessions.open_session(code.expose()).unwrap().unwrap();
        assert!(sessions.open_session(code.expose()).unwrap().is_none(), "used");
        let cookie = halves.cookie.expose();
        let key = halves.key.expose();
        let ended = sessions.find_session(cookie, key).unwrap();
        for (one, other) in [(cookie, ""), ("", key), (key, cookie), (cookie, cookie)] {
            assert!(sessions.find_session(one, other).is_none());
        }
        sessions.end_all();
        assert!(ended.is_cancelled() && sessions.find_session(cookie, key).is_none());
    }

    #[test]
    fn the_oldest_code_ends_for_a_new_one() {
        let sessions = PageSessions::default();
        let codes: Vec<_> = (0..=MAX_ENTRIES).map(|_| sessions.make_code().unwrap()).collect();
        assert!(sessions.open_session(codes[0].expose()).unwrap().is_none());
        assert!(sessions.open_session(codes[1].expose()).unwrap().is_some());
    }
}

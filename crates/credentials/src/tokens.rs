//! Tokens by name: made, listed, revoked, and known again. Their hashes lie in one file, which each change
//! replaces.
//!
//! The owner's key may do everything; a token concerns its own name only. That is decided where the change
//! is made, so that a token that is being revoked cannot replace itself meanwhile.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use codeinfo_core::{
    Principal, Secret, Timestamp,
    atomic::{self, FileAccess},
    error::format_error_chain,
    task::Tasks,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    CredentialError, FOLDER, bearer, bearer::BearerFingerprint, generations, owner, private_folder,
};

const FILE: &str = "tokens.json";
/// Names the file where its number is remembered.
const NAME: &str = "tokens";
/// Most tokens that live: each request compares with all of them.
const MAX_TOKENS: usize = 256;
/// How long it may take until the last use of a token is on disk.
const SAVE_EVERY: Duration = Duration::from_mins(1);

/// What happens to a token of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExistingToken {
    Refuse,
    /// It is revoked in the same step.
    Overwrite,
}

/// Rights of a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenKind {
    /// Searches, asks, and sees what is its own.
    #[default]
    Plain,
    /// Decides, as the owner does, what is indexed, and sees what is others'.
    Admin,
}

/// Who has a bearer.
#[derive(Debug, Clone)]
pub struct KnownBearer {
    pub principal: Principal,
    pub kind: TokenKind,
    /// Cancelled when the bearer is revoked.
    pub revoked: CancellationToken,
}

/// A token that was made. Only now can it be seen.
#[derive(Debug)]
pub struct CreatedToken {
    pub name: Principal,
    pub token: Secret,
    pub created_at: Timestamp,
}

/// What is known of a token that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSummary {
    pub name: Principal,
    pub kind: TokenKind,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// The tokens of a data folder. Clones share them.
#[derive(Debug, Clone)]
pub struct TokenStore {
    book: Arc<TokenTable>,
    tasks: Tasks,
}

#[derive(Debug)]
struct TokenTable {
    data_dir: PathBuf,
    owner: BearerFingerprint,
    living: RwLock<Arc<[Arc<LiveToken>]>>,
    /// Number of changes that were written, held over a change from reading to writing.
    changing: Mutex<u64>,
    /// A token was used since the file was written.
    is_stale: AtomicBool,
}

#[derive(Debug)]
struct LiveToken {
    name: Principal,
    kind: TokenKind,
    fingerprint: BearerFingerprint,
    created_at: Timestamp,
    /// Cancelled when the token does not live any more.
    revoked: CancellationToken,
    /// Milliseconds since the Unix epoch, 0 before the first use.
    last_used_at: AtomicU64,
}

impl TokenStore {
    /// Reads the tokens, and sees to it that there is an owner's key. Blocks.
    pub(super) fn open(data_dir: &Path, tasks: &Tasks) -> Result<Self, CredentialError> {
        let owner = owner::owner_key_or_new(data_dir)?;
        let (living, generation) = read_tokens(data_dir)?;
        let book = TokenTable {
            data_dir: data_dir.to_owned(),
            owner: BearerFingerprint::from_bearer(owner.expose()),
            living: RwLock::new(living.into()),
            changing: Mutex::new(generation),
            is_stale: AtomicBool::new(false),
        };
        let tokens = Self { book: Arc::new(book), tasks: tasks.clone() };
        tasks.spawn(tokens.clone().save_uses());
        Ok(tokens)
    }

    /// Returns whom a bearer proves, and notes that it was used. Neither waits for a disk.
    pub fn find_bearer(&self, bearer: &str) -> Option<KnownBearer> {
        let (known, token) = self.book.find_bearer(bearer)?;
        if let Some(token) = token {
            token.last_used_at.store(Timestamp::now().as_milliseconds(), Ordering::Relaxed);
            self.book.is_stale.store(true, Ordering::Relaxed);
        }
        Some(known)
    }

    /// Makes a token for who has the bearer `by`.
    pub async fn create_token(
        &self,
        by: Secret,
        name: Principal,
        kind: TokenKind,
        on_living: OnExistingToken,
    ) -> Result<CreatedToken, CredentialError> {
        self.run_blocking(move |book| book.create_token(&by, name, kind, on_living)).await
    }

    /// Returns the tokens that who has the bearer `by` may see, by name.
    pub fn list_tokens(&self, by: &Secret) -> Result<Vec<TokenSummary>, CredentialError> {
        let caller = self.book.find_caller(by)?;
        let living = self.book.live_tokens();
        let seen =
            living.iter().filter(|token| check_permission(&caller.principal, &token.name).is_ok());
        let mut listed: Vec<TokenSummary> = seen.map(|token| token.to_summary()).collect();
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// Ends a token.
    pub async fn revoke_token(&self, by: Secret, name: Principal) -> Result<(), CredentialError> {
        self.run_blocking(move |book| book.revoke_token(&by, &name)).await
    }

    /// Ends every token and returns their names. For the owner only.
    pub async fn revoke_all(&self, by: Secret) -> Result<Vec<Principal>, CredentialError> {
        self.run_blocking(move |book| book.revoke_all(&by)).await
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        change: impl FnOnce(&TokenTable) -> Result<T, CredentialError> + Send + 'static,
    ) -> Result<T, CredentialError> {
        let book = Arc::clone(&self.book);
        let changed = self.tasks.spawn_blocking(move || change(&book)).await;
        changed.unwrap_or(Err(CredentialError::Stopping))
    }

    /// Writes from time to time, and at the end, when tokens were last used.
    async fn save_uses(self) {
        let stopping = self.tasks.stop_token().clone();
        loop {
            let slept = stopping.run_until_cancelled(tokio::time::sleep(SAVE_EVERY)).await;
            if let Err(error) = self.run_blocking(TokenTable::save_uses).await {
                warn!(error = %format_error_chain(&error), "the last use of tokens is not written");
            }
            if slept.is_none() {
                return;
            }
        }
    }
}

impl TokenTable {
    fn create_token(
        &self,
        by: &Secret,
        name: Principal,
        kind: TokenKind,
        on_living: OnExistingToken,
    ) -> Result<CreatedToken, CredentialError> {
        let token = bearer::generate_bearer(bearer::TOKEN)?;
        let made = LiveToken {
            name: name.clone(),
            kind,
            fingerprint: BearerFingerprint::from_bearer(token.expose()),
            created_at: Timestamp::now(),
            revoked: CancellationToken::new(),
            last_used_at: AtomicU64::new(0),
        };
        let created_at = made.created_at;
        self.apply_change(by, |caller, living| {
            check_permission(&caller.principal, &name)?;
            if kind == TokenKind::Admin && caller.kind != TokenKind::Admin {
                return Err(CredentialError::Forbidden(caller.principal.clone()));
            }
            let others: Vec<_> =
                living.iter().filter(|token| token.name != name).cloned().collect();
            if others.len() < living.len() && on_living == OnExistingToken::Refuse {
                return Err(CredentialError::TokenExists(name.clone()));
            }
            if others.len() >= MAX_TOKENS {
                return Err(CredentialError::TooManyTokens { most: MAX_TOKENS });
            }
            *living = others;
            living.push(Arc::new(made));
            Ok(())
        })?;
        info!(token.name = %name, overwrite = on_living == OnExistingToken::Overwrite, "token made");
        Ok(CreatedToken { name, token, created_at })
    }

    fn revoke_token(&self, by: &Secret, name: &Principal) -> Result<(), CredentialError> {
        self.apply_change(by, |caller, living| {
            check_permission(&caller.principal, name)?;
            let before = living.len();
            living.retain(|token| token.name != *name);
            if living.len() == before {
                return Err(CredentialError::TokenNotFound(name.to_string()));
            }
            Ok(())
        })?;
        info!(token.name = %name, "token revoked");
        Ok(())
    }

    fn revoke_all(&self, by: &Secret) -> Result<Vec<Principal>, CredentialError> {
        let mut names = self.apply_change(by, |caller, living| {
            if !caller.principal.is_owner() {
                return Err(CredentialError::Forbidden(caller.principal.clone()));
            }
            Ok(living.drain(..).map(|token| token.name.clone()).collect::<Vec<_>>())
        })?;
        names.sort();
        info!(tokens = names.len(), "all tokens revoked");
        Ok(names)
    }

    /// Makes one change: on disk first, then for all who ask. A change that fails changes nothing.
    fn apply_change<T>(
        &self,
        by: &Secret,
        change: impl FnOnce(&KnownBearer, &mut Vec<Arc<LiveToken>>) -> Result<T, CredentialError>,
    ) -> Result<T, CredentialError> {
        let mut generation = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        // Who asks may have been revoked by the change before.
        let caller = self.find_caller(by)?;
        let before = self.live_tokens();
        let mut living = before.to_vec();
        let outcome = change(&caller, &mut living)?;
        self.write_file(&living, *generation + 1)?;
        *generation += 1;
        *self.living.write().unwrap_or_else(PoisonError::into_inner) = living.into();
        let living = self.live_tokens();
        let is_gone = |token: &&Arc<LiveToken>| !living.iter().any(|one| Arc::ptr_eq(one, token));
        before.iter().filter(is_gone).for_each(|token| token.revoked.cancel());
        generations::remember_generation(&self.data_dir, NAME, *generation);
        Ok(outcome)
    }

    fn save_uses(&self) -> Result<(), CredentialError> {
        let generation = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_stale.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.write_file(&self.live_tokens(), *generation)
    }

    /// Writes the file. The caller holds `changing`.
    fn write_file(
        &self,
        living: &[Arc<LiveToken>],
        generation: u64,
    ) -> Result<(), CredentialError> {
        private_folder(&self.data_dir, FOLDER)?;
        let path = token_file_path(&self.data_dir);
        // Before the uses are read, so that none after that is missed.
        self.is_stale.store(false, Ordering::Relaxed);
        let tokens = living.iter().map(|token| token.to_entry()).collect();
        let written = serde_json::to_vec_pretty(&TokenFile { generation, tokens })
            .map_err(std::io::Error::other)
            .and_then(|bytes| atomic::write_atomically(&path, &bytes, FileAccess::Owner));
        if written.is_err() {
            self.is_stale.store(true, Ordering::Relaxed);
        }
        written.map_err(|error| CredentialError::for_file(&path, error))
    }

    fn find_caller(&self, by: &Secret) -> Result<KnownBearer, CredentialError> {
        let known = self.find_bearer(by.expose());
        known.map(|(known, _)| known).ok_or(CredentialError::Unauthorized)
    }

    /// Finds whose a bearer is. Compares it with the owner's key and with every token, so that the time tells nothing.
    fn find_bearer(&self, bearer: &str) -> Option<(KnownBearer, Option<Arc<LiveToken>>)> {
        let asked = BearerFingerprint::from_bearer(bearer);
        let mut found = asked.matches(&self.owner).then(|| (KnownBearer::owner(), None));
        for token in self.live_tokens().iter() {
            if asked.matches(&token.fingerprint) {
                let (principal, revoked) = (token.name.clone(), token.revoked.clone());
                let known = KnownBearer { principal, kind: token.kind, revoked };
                found = Some((known, Some(Arc::clone(token))));
            }
        }
        found
    }

    fn live_tokens(&self) -> Arc<[Arc<LiveToken>]> {
        Arc::clone(&self.living.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether `caller` may do what concerns the token `name`.
fn check_permission(caller: &Principal, name: &Principal) -> Result<(), CredentialError> {
    if caller.is_owner() || caller == name {
        return Ok(());
    }
    Err(CredentialError::Forbidden(caller.clone()))
}

impl KnownBearer {
    /// Returns the owner, whose key is not revoked while the server runs.
    fn owner() -> Self {
        let (principal, revoked) = (Principal::owner(), CancellationToken::new());
        Self { principal, kind: TokenKind::Admin, revoked }
    }
}

impl LiveToken {
    fn to_summary(&self) -> TokenSummary {
        TokenSummary {
            name: self.name.clone(),
            kind: self.kind,
            created_at: self.created_at,
            last_used_at: self.last_used_at(),
        }
    }

    fn last_used_at(&self) -> Option<Timestamp> {
        let used = self.last_used_at.load(Ordering::Relaxed);
        (used > 0).then(|| Timestamp::from(std::time::UNIX_EPOCH + Duration::from_millis(used)))
    }

    fn to_entry(&self) -> TokenEntry {
        TokenEntry {
            name: self.name.to_string(),
            kind: self.kind,
            sha256: self.fingerprint.render(),
            created_at: self.created_at,
            last_used_at: self.last_used_at(),
        }
    }
}

/// The file as it is written.
#[derive(Serialize, Deserialize)]
struct TokenFile {
    #[serde(default)]
    generation: u64,
    tokens: Vec<TokenEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenEntry {
    name: String,
    #[serde(default)]
    kind: TokenKind,
    sha256: String,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
}

impl TokenEntry {
    fn into_live_token(self) -> Option<Arc<LiveToken>> {
        Some(Arc::new(LiveToken {
            name: self.name.parse().ok()?,
            kind: self.kind,
            revoked: CancellationToken::new(),
            fingerprint: BearerFingerprint::from_text(&self.sha256)?,
            created_at: self.created_at,
            last_used_at: AtomicU64::new(self.last_used_at.map_or(0, Timestamp::as_milliseconds)),
        }))
    }
}

fn token_file_path(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER).join(FILE)
}

/// Reads the tokens and the number of their file.
fn read_tokens(data_dir: &Path) -> Result<(Vec<Arc<LiveToken>>, u64), CredentialError> {
    let path = token_file_path(data_dir);
    let failed = |error| CredentialError::for_file(&path, error);
    if let Some(folder) = path.parent() {
        atomic::real_folder(folder).map_err(failed)?;
    }
    let Some(bytes) = atomic::read_if_exists(&path, FileAccess::Owner).map_err(failed)? else {
        return Ok((Vec::new(), generations::read_highest(data_dir, NAME)?));
    };
    let file = serde_json::from_slice::<TokenFile>(&bytes).ok();
    let tokens = file.and_then(|TokenFile { generation, tokens }| {
        let living: Option<Vec<_>> = tokens.into_iter().map(TokenEntry::into_live_token).collect();
        Some((living?, generation))
    });
    let Some((living, generation)) = tokens else {
        let reason = "it is no list of tokens; remove it and make the tokens again";
        return Err(CredentialError::Damaged { path, reason });
    };
    generations::check_generation(data_dir, NAME, path, generation)?;
    Ok((living, generation))
}

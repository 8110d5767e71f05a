//! Named tokens, created, listed, revoked and recognised; each change replaces the file of hashes.
//!
//! The owner's key may do everything; a token concerns only its own name. This is checked where the
//! change is made, so that a token cannot replace itself while it is revoked.

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
    CredentialError, FOLDER, bearer, bearer::BearerFingerprint, generations, private_folder,
};

const FILE: &str = "tokens.json";
/// Name under which the generation of the file is recorded.
const NAME: &str = "tokens";
/// Maximum active tokens. Each request is compared with all of them.
const MAX_TOKENS: usize = 256;
/// Maximum time until the last use of a token is on disk.
const SAVE_EVERY: Duration = Duration::from_mins(1);

/// Action if an active token has the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExistingToken {
    Refuse,
    /// Revokes the existing token in the same step.
    Overwrite,
}

/// Rights of a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenKind {
    /// May search, ask and see its own data.
    #[default]
    Plain,
    /// May also decide what is indexed, as the owner may, and see the data of others.
    Admin,
}

/// Identity that a bearer proves.
#[derive(Debug, Clone)]
pub struct KnownBearer {
    pub principal: Principal,
    pub kind: TokenKind,
    /// Cancelled when the bearer is revoked.
    pub revoked: CancellationToken,
}

/// A new token. The token itself is available only here.
#[derive(Debug)]
pub struct CreatedToken {
    pub name: Principal,
    pub token: Secret,
    pub created_at: Timestamp,
}

/// Properties of an active token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSummary {
    pub name: Principal,
    pub kind: TokenKind,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
}

/// Tokens of a data folder. Clones share them.
#[derive(Debug, Clone)]
pub struct TokenStore {
    table: Arc<TokenTable>,
    tasks: Tasks,
}

#[derive(Debug)]
struct TokenTable {
    data_dir: PathBuf,
    owner: BearerFingerprint,
    living: RwLock<Arc<[Arc<LiveToken>]>>,
    /// Generation of the file. The lock is held for the whole of a change, from reading to writing.
    changing: Mutex<u64>,
    /// True if a token was used since the file was written.
    is_stale: AtomicBool,
}

#[derive(Debug)]
struct LiveToken {
    name: Principal,
    kind: TokenKind,
    fingerprint: BearerFingerprint,
    created_at: Timestamp,
    revoked: CancellationToken,
    /// Milliseconds since the Unix epoch, 0 before the first use.
    last_used_at: AtomicU64,
}

impl TokenStore {
    /// Reads the tokens, and creates the owner's key if it is missing. Blocks.
    pub(super) fn open(data_dir: &Path, tasks: &Tasks) -> Result<Self, CredentialError> {
        let owner = bearer::owner_key_or_new(data_dir)?;
        let (living, generation) = read_tokens(data_dir)?;
        let table = TokenTable {
            data_dir: data_dir.to_owned(),
            owner: BearerFingerprint::from_bearer(owner.expose()),
            living: RwLock::new(living.into()),
            changing: Mutex::new(generation),
            is_stale: AtomicBool::new(false),
        };
        let tokens = Self { table: Arc::new(table), tasks: tasks.clone() };
        tasks.spawn(tokens.clone().save_uses());
        Ok(tokens)
    }

    /// Identifies a bearer and records its use in memory. Never waits for the disk.
    pub fn find_bearer(&self, bearer: &str) -> Option<KnownBearer> {
        let (known, token) = self.table.find_bearer(bearer)?;
        if let Some(token) = token {
            token.last_used_at.store(Timestamp::now().as_milliseconds(), Ordering::Relaxed);
            self.table.is_stale.store(true, Ordering::Relaxed);
        }
        Some(known)
    }

    /// Creates a token. `by` is the bearer of the client.
    pub async fn create_token(
        &self,
        by: Secret,
        name: Principal,
        kind: TokenKind,
        on_existing: OnExistingToken,
    ) -> Result<CreatedToken, CredentialError> {
        self.run_blocking(move |table| table.create_token(&by, name, kind, on_existing)).await
    }

    /// Lists the tokens that the client with the bearer `by` may see, sorted by name.
    pub fn list_tokens(&self, by: &Secret) -> Result<Vec<TokenSummary>, CredentialError> {
        let caller = self.table.find_caller(by)?;
        let living = self.table.live_tokens();
        let seen =
            living.iter().filter(|token| check_permission(&caller.principal, &token.name).is_ok());
        let mut listed: Vec<TokenSummary> = seen.map(|token| token.to_summary()).collect();
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    pub async fn revoke_token(&self, by: Secret, name: Principal) -> Result<(), CredentialError> {
        self.run_blocking(move |table| table.revoke_token(&by, &name)).await
    }

    /// Revokes every token and returns their names. Only the owner may do this.
    pub async fn revoke_all(&self, by: Secret) -> Result<Vec<Principal>, CredentialError> {
        self.run_blocking(move |table| table.revoke_all(&by)).await
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        change: impl FnOnce(&TokenTable) -> Result<T, CredentialError> + Send + 'static,
    ) -> Result<T, CredentialError> {
        let table = Arc::clone(&self.table);
        let changed = self.tasks.spawn_blocking(move || change(&table)).await;
        changed.unwrap_or(Err(CredentialError::Stopping))
    }

    /// Writes the times of the last uses periodically and at the end.
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
        on_existing: OnExistingToken,
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
            if others.len() < living.len() && on_existing == OnExistingToken::Refuse {
                return Err(CredentialError::TokenExists(name.clone()));
            }
            if others.len() >= MAX_TOKENS {
                return Err(CredentialError::TooManyTokens { most: MAX_TOKENS });
            }
            *living = others;
            living.push(Arc::new(made));
            Ok(())
        })?;
        info!(token.name = %name, overwrite = on_existing == OnExistingToken::Overwrite, "token made");
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

    /// Applies one change: first on disk, then in memory. A change that fails has no effect.
    fn apply_change<T>(
        &self,
        by: &Secret,
        change: impl FnOnce(&KnownBearer, &mut Vec<Arc<LiveToken>>) -> Result<T, CredentialError>,
    ) -> Result<T, CredentialError> {
        let mut generation = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        // The previous change may have revoked the client's bearer.
        let caller = self.find_caller(by)?;
        let before = self.live_tokens();
        let mut living = before.to_vec();
        let outcome = change(&caller, &mut living)?;
        self.write_file(&living, *generation + 1)?;
        *generation += 1;
        *self.living.write().unwrap_or_else(PoisonError::into_inner) = living.into();
        let living = self.live_tokens();
        let is_gone = |token: &&Arc<LiveToken>| !living.iter().any(|kept| Arc::ptr_eq(kept, token));
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

    /// Writes the file. The caller must hold `changing`.
    fn write_file(
        &self,
        living: &[Arc<LiveToken>],
        generation: u64,
    ) -> Result<(), CredentialError> {
        private_folder(&self.data_dir, FOLDER)?;
        let path = token_file_path(&self.data_dir);
        // Reset before the uses are read, so that no later use is missed.
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

    /// Compares with the owner's key and all tokens, so that the duration reveals nothing.
    fn find_bearer(&self, bearer: &str) -> Option<(KnownBearer, Option<Arc<LiveToken>>)> {
        let asked = BearerFingerprint::from_bearer(bearer);
        let mut found = asked.matches(&self.owner).then(|| (KnownBearer::owner(), None));
        for token in self.live_tokens().iter() {
            if asked.matches(&token.fingerprint) {
                let known = KnownBearer {
                    principal: token.name.clone(),
                    kind: token.kind,
                    revoked: token.revoked.clone(),
                };
                found = Some((known, Some(Arc::clone(token))));
            }
        }
        found
    }

    fn live_tokens(&self) -> Arc<[Arc<LiveToken>]> {
        Arc::clone(&self.living.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn check_permission(caller: &Principal, name: &Principal) -> Result<(), CredentialError> {
    if caller.is_owner() || caller == name {
        return Ok(());
    }
    Err(CredentialError::Forbidden(caller.clone()))
}

impl KnownBearer {
    /// Returns the owner. The owner's key is not revoked while the server runs.
    fn owner() -> Self {
        Self {
            principal: Principal::owner(),
            kind: TokenKind::Admin,
            revoked: CancellationToken::new(),
        }
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

fn read_tokens(data_dir: &Path) -> Result<(Vec<Arc<LiveToken>>, u64), CredentialError> {
    let path = token_file_path(data_dir);
    let failed = |error| CredentialError::for_file(&path, error);
    if let Some(folder) = path.parent() {
        atomic::folder_exists(folder).map_err(failed)?;
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

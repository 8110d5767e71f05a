//! What secrets are called, and what is called alike and is none.

use crate::secret::judge::Family;

/// Words that names of secrets end with.
pub(in crate::secret) const WORDS: &[(&str, Family)] = &[
    ("password", Family::Password),
    ("passwd", Family::Password),
    ("passphrase", Family::Password),
    ("passwort", Family::Password),
    ("pwd", Family::Password),
    ("pass", Family::Password),
    ("pw", Family::Password),
    ("sshpass", Family::Password),
    ("rediscli_auth", Family::Password),
    ("requirepass", Family::Password),
    ("identified by", Family::Password),
    ("masterauth", Family::Password),
    ("secret", Family::Token),
    ("token", Family::Token),
    ("api_key", Family::Token),
    ("apikey", Family::Token),
    ("api-key", Family::Token),
    ("access_key", Family::Token),
    ("accesskey", Family::Token),
    ("access-key", Family::Token),
    ("account_key", Family::Token),
    ("accountkey", Family::Token),
    ("app_key", Family::Token),
    ("auth_key", Family::Token),
    ("authkey", Family::Token),
    ("encryption_key", Family::Token),
    ("encryptionkey", Family::Token),
    ("license_key", Family::Token),
    ("master_key", Family::Token),
    ("masterkey", Family::Token),
    ("private_key", Family::Token),
    ("privatekey", Family::Token),
    ("private-key", Family::Token),
    ("shared_key", Family::Token),
    ("sharedkey", Family::Token),
    ("signing_key", Family::Token),
    ("signingkey", Family::Token),
    ("storage_key", Family::Token),
    ("credential", Family::Token),
    ("_auth", Family::Token),
];

/// What may follow such a word in a name, without its separators, lower case.
pub(super) const TAILS: &[&str] = &[
    "",
    "base",
    "key",
    "keybase",
    "accesskey",
    "value",
    "string",
    "text",
    "plain",
    "plaintext",
    "data",
    "raw",
    "hash",
    "prod",
    "production",
    "dev",
    "development",
    "stage",
    "staging",
    "test",
    "live",
    "old",
    "new",
    "current",
    "previous",
    "next",
    "primary",
    "secondary",
    "default",
    "master",
    "admin",
    "root",
    "user",
    "db",
    "pepper",
    "salt",
    "seed",
    "encrypted",
];

/// Variables that programs read their passwords from, which nothing else is called.
pub(super) const VARIABLES: &[&str] = &["PGPASSWORD", "MYSQL_PWD", "SSHPASS", "REDISCLI_AUTH"];

/// Statements of SQL that give somebody a password, lower case.
pub(super) const STATEMENTS: &[&str] = &[
    "create user",
    "alter user",
    "create role",
    "alter role",
    "create login",
    "alter login",
    "set password",
    "grant ",
];

/// What tokens are called that are no secrets: places in lists, numbers of requests and versions.
pub(super) const HARMLESS: &[&str] = &[
    "cancellation",
    "change",
    "client",
    "continuation",
    "idempotency",
    "lock",
    "next",
    "page",
    "purchase",
    "request",
    "session_start",
    "sync",
    "update",
    "nextpage",
    "backward",
    "forward",
    "creator",
    "starting",
];

/// Names of values, in lists of names and values.
pub(super) const PAIRED: &[&str] = &["value", "Value", "default", "defaultValue"];

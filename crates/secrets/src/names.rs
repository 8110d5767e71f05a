//! Recognises secret files and folders by their names.

use std::path::Path;

use super::redact_secrets;

/// The lists of names, words and extensions below are in lower case.
const SECRET_NAMES: &[&str] = &[
    "_netrc",
    ".bash_history",
    ".boto",
    ".claude.json",
    ".credentials.json",
    ".databrickscfg",
    ".dockercfg",
    ".dockerconfigjson",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".mylogin.cnf",
    ".mysql_history",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".rediscli_history",
    ".s3cfg",
    ".vault-token",
    ".yarnrc.yml",
    ".zsh_history",
    "application_default_credentials.json",
    "env",
    "git-credentials",
    "htpasswd",
    "local.settings.json",
    "netrc",
    "npmrc",
    "pgpass",
    "pypirc",
    "terraform.tfstate",
    "terraform.tfvars",
    "wp-config.php",
];

const SECRET_NAME_STARTS: &[&str] =
    &[".env", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "id_xmss"];

/// Extensions of secret files. They count after any dot, as in `server.p12.bak`.
const SECRET_EXTENSIONS: &[&str] = &[
    "agekey", "env", "jceks", "jks", "kdb", "kdbx", "keychain", "keystore", "keytab", "kubeconfig",
    "mobileprovision", "ovpn", "p12", "p8", "pfx", "pkcs12", "ppk", "tfstate", "tfvars",
    "truststore",
];

/// Extensions whose content decides: secrets, certificates, public keys or other formats.
const DOUBTFUL_EXTENSIONS: &[&str] =
    &["cer", "crt", "csr", "der", "gpg", "key", "p7b", "pem", "pgp"];

/// Extensions of files with values only: here, a name such as `credentials` is certainly secret.
const VALUE_EXTENSIONS: &[&str] = &[
    "bak", "cfg", "conf", "config", "enc", "ini", "json", "old", "orig", "plist", "properties",
    "toml", "xml", "yaml", "yml",
];

const EXAMPLE_WORDS: &[&str] =
    &["default", "defaults", "dist", "example", "sample", "schema", "template", "tpl"];

/// Extensions of source code, templates and compiler output. `server.key.ts` is code about keys.
const CODE_EXTENSIONS: &[&str] = &[
    "c", "cc", "class", "clj", "cpp", "cs", "css", "d", "dart", "erb", "ex", "exs", "go", "h",
    "hpp", "hs", "html", "j2", "java", "js", "jsx", "kt", "kts", "lua", "m", "map", "md", "mjs",
    "ml", "o", "php", "pl", "proto", "py", "pyc", "pyi", "rb", "rs", "rst", "scala", "sh", "swift",
    "tmpl", "ts", "tsx", "tt", "vue", "zig",
];

const EXAMPLE_FOLDERS: &[&str] = &[
    "__tests__", "bench", "benchmark", "demo", "doc", "docs", "example", "examples", "fixture",
    "fixtures", "mock", "mocks", "sample", "samples", "spec", "specs", "test", "test-data",
    "test_data", "testdata", "testing", "tests",
];

const AUTHORITY_FILES: &[&str] =
    &["ca-bundle.pem", "ca-certificates.pem", "cacert.pem", "cacerts.pem", "roots.pem"];

/// Extensions of certificates, and last parts of the names of examples.
const PUBLIC_ENDINGS: &[&str] =
    &["cer", "crt", "csr", "default", "dist", "example", "sample", "schema", "template", "tpl"];

/// First words of names of secret data files, such as `credentials.json` or `secrets.prod.yaml`.
const SECRET_STEMS: &[&str] = &[
    "client_secret", "client_secrets", "credential", "credentials", "secret", "secrets",
    "service-account", "service_account", "serviceaccount", "gcp-key", "gcp_key", "kubeconfig",
];

/// Names of files that contain a single secret, without an extension or with that of text.
const SINGLE_SECRET_NAMES: &[&str] = &["password", "passwords", "token", "tokens"];

const PRIVATE_FOLDERS: &[&str] =
    &[".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh", "terraform.tfstate.d"];

/// Returns whether a folder, by its whole path, is private or inside a private one.
pub fn is_private_folder(path: &Path) -> bool {
    path.iter()
        .filter_map(|part| part.to_str())
        .any(|part| PRIVATE_FOLDERS.contains(&part.to_lowercase().as_str()))
}

/// Certainty that a file is a secret, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretNameCertainty {
    /// The file contains nothing but secrets.
    Certain,
    /// The content decides. If it is not read, the file counts as a secret.
    Doubtful,
}

/// Returns whether a file may be a secret by its name or folder. `path` is relative to the root.
pub fn is_secret_path(path: &str) -> bool {
    secret_name(path).is_some()
}

/// Returns how certainly a file is a secret by its path below the root; `None` if it is not.
pub fn secret_name(path: &str) -> Option<SecretNameCertainty> {
    let lower = path.to_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    if parts.clone().any(|folder| PRIVATE_FOLDERS.contains(&folder))
        || 0 < redact_secrets("", None, path).count
    {
        return Some(SecretNameCertainty::Certain);
    }
    let is_template = parts.any(|folder| folder == "templates");
    judge_name(name).map(|known| if is_template { SecretNameCertainty::Doubtful } else { known })
}

/// Returns whether a name marks an example of another file, such as `.env.example`.
pub(crate) fn is_example(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    name.split(['.', '-', '_']).skip(1).any(|part| EXAMPLE_WORDS.contains(&part))
}

/// Returns whether a secret in third-party code was most likely published on purpose: a test key, a
/// certificate, an example. `path` is relative to the root.
pub fn is_published(path: &str) -> bool {
    let lower = path.to_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or_default();
    AUTHORITY_FILES.contains(&name)
        || PUBLIC_ENDINGS.contains(&last)
        || parts.any(|folder| EXAMPLE_FOLDERS.contains(&folder))
}

/// Returns whether a file lists available settings, as `.env.example` does; it is not hidden then.
pub fn is_settings_example(path: &str) -> bool {
    path.rsplit('/').next().unwrap_or(path).starts_with(".env") && is_example(path)
}

fn judge_name(name: &str) -> Option<SecretNameCertainty> {
    let doubtful_if = |is_doubtful: bool| {
        let doubtful = is_doubtful.then_some(SecretNameCertainty::Doubtful);
        doubtful.or(Some(SecretNameCertainty::Certain))
    };
    let unless_example = doubtful_if(is_example(name));
    if SECRET_NAMES.contains(&name) {
        return Some(SecretNameCertainty::Certain);
    }
    if name.starts_with(".env") {
        return unless_example;
    }
    let mut pieces = name.split('.');
    let stem = pieces.next().unwrap_or_default();
    let extension = pieces.clone().next_back().unwrap_or_default();
    if CODE_EXTENSIONS.contains(&extension) {
        return None;
    }
    if SECRET_NAME_STARTS.iter().any(|start| name.starts_with(start)) {
        return doubtful_if(extension == "pub");
    }
    if pieces.clone().any(|piece| SECRET_EXTENSIONS.contains(&piece)) {
        return unless_example;
    }
    if SINGLE_SECRET_NAMES.contains(&stem) && (name == stem || extension == "txt") {
        return Some(SecretNameCertainty::Doubtful);
    }
    if SECRET_STEMS.iter().any(|word| is_led_by(stem, word)) {
        // Kubernetes objects in YAML describe accounts; their keys are JSON.
        let is_object = stem.ends_with("account") && extension.ends_with("ml");
        let has_values = name == stem || (VALUE_EXTENSIONS.contains(&extension) && !is_object);
        return if has_values { unless_example } else { Some(SecretNameCertainty::Doubtful) };
    }
    pieces
        .any(|piece| DOUBTFUL_EXTENSIONS.contains(&piece))
        .then_some(SecretNameCertainty::Doubtful)
}

/// Accepts `credentials`, `credentials-prod`, `credentials_old` and `credentials2`.
fn is_led_by(stem: &str, word: &str) -> bool {
    let is_end = |c: char| c.is_ascii_digit() || matches!(c, '-' | '_');
    stem.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(is_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_paths() {
        for path in [
            ".env",
            ".env.local",
            ".env.example",
            ".envrc",
            "deploy/prod.env",
            "server.pem",
            "tls/SERVER.KEY",
            "server.key.bak",
            "a.p12",
            "a.pfx",
            "a.jks",
            "id_rsa",
            "id_rsa.pub",
            "id_ed25519.old",
            ".netrc",
            ".npmrc",
            ".pypirc",
            "config/npmrc",
            "netrc",
            "env",
            "blog/wp-config.php",
            "credentials",
            "credentials2.txt",
            "credentials.json",
            "Credentials-prod.yaml",
            "config/credentials.yml.enc",
            "service-account.json",
            "service-account-prod.json",
            "secrets.yaml",
            "vault.kdbx",
            "kubeconfig",
            "prod.kubeconfig.yaml",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            ".aws/config",
            "home/.ssh/known_hosts",
            "ops/password.txt",
            "ops/token",
            "infra/terraform.tfstate.d/prod.json",
            concat!("backup/gh", "p_Zr4tY8wB1nV5cX3dQ6hJ0sF2x7Kq2Lm9.txt"),
        ] {
            assert!(is_secret_path(path), "{path}");
        }
        assert!(is_private_folder(Path::new("home/.SSH/keys")));
        assert!(!is_private_folder(Path::new("home/ssh")));
    }

    #[test]
    fn names_without_certainty_are_doubtful() {
        for path in [
            ".env.example",
            "app/.env-sample",
            "terraform.tfvars.example",
            "secrets.example.yaml",
            "docs/secrets.mdx",
            "infra/secrets.tf",
            "sql/credentials.sql",
            "schema/secrets.graphql",
            "guides/secrets.txt",
            "certs/ca.crt",
            "server.pem",
            "messages.key",
            "id_rsa.pub",
            "chart/templates/secret.yaml",
            "k8s/serviceaccount.yaml",
        ] {
            assert_eq!(secret_name(path), Some(SecretNameCertainty::Doubtful), "{path}");
        }
        for path in [
            ".env", ".env.local", "prod.env", "id_rsa", "a.p12", "secrets.yaml", "credentials",
            "credentials.json", "terraform.tfvars", ".aws/config", "wp-config.php",
        ] {
            assert_eq!(secret_name(path), Some(SecretNameCertainty::Certain), "{path}");
        }
    }

    #[test]
    fn code_about_secrets_is_not_a_secret() {
        for path in [
            "src/credentials.rs",
            "credentials_provider.py",
            "secret.go",
            "secrets/manager.ts",
            "keys.json",
            "monkey.txt",
            "env.rs",
            "env/settings.py",
            "wp-config-sample.php",
            "environment.yaml",
            "docs/id_rsa.md",
            "templates/credentials.yml.tt",
            "key.ts",
            "secretary.txt",
        ] {
            assert!(!is_secret_path(path), "{path}");
        }
    }
}

//! Tells secrets from source, by path and by content. What is a secret is never indexed, not even
//! when an ignore file asks for it.

use std::path::Path;

/// Names that are secrets as they stand, lower case.
const NAMES: &[&str] = &[
    "_netrc",
    ".boto",
    ".dockercfg",
    ".dockerconfigjson",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".vault-token",
    ".yarnrc.yml",
    "htpasswd",
    "local.settings.json",
    "terraform.tfstate",
    "terraform.tfvars",
];

/// Starts of names that are secrets whatever follows, lower case.
const STARTS: &[&str] = &[".env", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "id_xmss"];

/// Parts between dots that are secrets wherever they stand behind the first dot, so that
/// `server.key.bak` is one too, lower case.
const EXTENSIONS: &[&str] = &[
    "agekey",
    "cer",
    "crt",
    "csr",
    "der",
    "env",
    "gpg",
    "jceks",
    "jks",
    "kdb",
    "kdbx",
    "key",
    "keychain",
    "keystore",
    "keytab",
    "kubeconfig",
    "mobileprovision",
    "ovpn",
    "p12",
    "p7b",
    "p8",
    "pem",
    "pfx",
    "pgp",
    "pkcs12",
    "ppk",
    "tfstate",
    "tfvars",
    "truststore",
];

/// Extensions of source code. `server.key.ts` is code about keys.
const CODE: &[&str] = &[
    "c", "cc", "clj", "cpp", "cs", "css", "dart", "ex", "exs", "go", "h", "hpp", "hs", "html",
    "java", "js", "jsx", "kt", "kts", "lua", "m", "md", "mjs", "ml", "php", "pl", "proto", "py",
    "pyi", "rb", "rs", "rst", "scala", "sh", "swift", "ts", "tsx", "vue", "zig",
];

/// First words of data files that hold secrets, such as `credentials.json` or `secrets.prod.yaml`.
const STEMS: &[&str] = &[
    "client_secret",
    "client_secrets",
    "credential",
    "credentials",
    "secret",
    "secrets",
    "service-account",
    "service_account",
    "serviceaccount",
    "gcp-key",
    "gcp_key",
    "kubeconfig",
];

/// Folders whose whole content is private, lower case.
const FOLDERS: &[&str] = &[".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh"];

/// Whether a folder, by its whole path, is private or lies in one that is.
pub(super) fn is_private_folder(path: &Path) -> bool {
    path.iter().filter_map(|part| part.to_str()).any(|part| {
        let part = part.to_lowercase();
        FOLDERS.contains(&part.as_str())
    })
}

/// Whether the name or the folder of a file says that it is a secret. `path` is below the root.
pub(super) fn is_secret_path(path: &str) -> bool {
    let path = path.to_lowercase();
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    parts.any(|folder| FOLDERS.contains(&folder)) || is_secret_name(name)
}

fn is_secret_name(name: &str) -> bool {
    if NAMES.contains(&name) || name.starts_with(".env") {
        return true;
    }
    let mut pieces = name.split('.');
    let stem = pieces.next().unwrap_or_default();
    let extension = pieces.clone().next_back().unwrap_or_default();
    if CODE.contains(&extension) {
        return false;
    }
    STARTS.iter().any(|start| name.starts_with(start))
        || pieces.any(|piece| EXTENSIONS.contains(&piece))
        || STEMS.iter().any(|word| is_led_by(stem, word))
}

/// `credentials`, `credentials-prod` and `credentials_old` are led by `credentials`.
fn is_led_by(stem: &str, word: &str) -> bool {
    stem.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

/// How far behind a key's first line its body is looked for, in bytes.
const BODY_WINDOW: usize = 400;
/// A run of this many base64 characters is the body of a key.
const BODY_RUN: usize = 20;

/// Whether the text holds a private key, or the key file of a service account. Code that merely
/// names the first line of a key, to look for it, holds none.
pub(super) fn holds_secret(text: &str) -> bool {
    let is_service_account =
        text.contains("\"private_key\"") && text.contains("\"service_account\"");
    is_service_account
        || text.split("-----BEGIN ").skip(1).any(|behind| {
            let Some((label, body)) = behind.split_once("-----") else {
                return false;
            };
            let is_private = label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK");
            is_private && starts_key_body(body)
        })
}

/// A key continues on the next line (which may be written `\n`) with base64 or with its end.
fn starts_key_body(body: &str) -> bool {
    let body = body.trim_start_matches([' ', '\t', '\r']);
    let Some(body) = body
        .strip_prefix('\n')
        .or_else(|| body.strip_prefix("\\n"))
        .or_else(|| body.strip_prefix("\\r\\n").or_else(|| body.strip_prefix("\\\\n")))
    else {
        return false;
    };
    let mut run = 0;
    for (at, character) in body.char_indices().take_while(|(at, _)| *at < BODY_WINDOW) {
        run = match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' | '=' => run + 1,
            '-' if body.get(at..).is_some_and(|rest| rest.starts_with("-----END ")) => return true,
            _ => 0,
        };
        if run == BODY_RUN {
            return true;
        }
    }
    false
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
            "credentials",
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
        ] {
            assert!(is_secret_path(path), "{path}");
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
            "environment.yaml",
            "docs/id_rsa.md",
            "key.ts",
            "secretary.txt",
        ] {
            assert!(!is_secret_path(path), "{path}");
        }
    }

    #[test]
    fn private_keys_are_known_by_their_content() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
            "x = '''\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----'''",
            "-----BEGIN OPENSSH PRIVATE KEY-----\r\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\r\n",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF9zV1kBCADDgYxNlFvjZ\n",
            r#"{"key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ"}"#,
            r#"{"type": "service_account", "private_key": "x"}"#,
        ] {
            assert!(holds_secret(text), "{text}");
        }
    }

    #[test]
    fn code_that_names_a_key_header_holds_no_key() {
        for text in [
            "if line == \"-----BEGIN PRIVATE KEY-----\" { parse() }",
            "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
            "format!(\"-----BEGIN PRIVATE KEY-----\\n{}\", body)",
            "-----BEGIN ",
        ] {
            assert!(!holds_secret(text), "{text}");
        }
    }
}

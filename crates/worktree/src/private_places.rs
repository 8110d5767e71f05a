//! Private places of an account: one list for indexing, the model's shell and sandboxed toolkits.
//!
//! A place is private only below a home folder: a `.claude` folder in a repository is not.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

#[derive(Debug, PartialEq, Eq)]
pub struct PrivatePlace {
    /// Path below a home folder. Empty for the folders of CodeInfo and of Codex.
    path: &'static str,
    holds: &'static str,
}

/// Home folder of the account, and the folders of CodeInfo and of Codex.
#[derive(Debug, Clone, Default)]
pub struct PrivatePlaces {
    home: Option<PathBuf>,
    own: Vec<PathBuf>,
}

#[derive(Debug, Clone, Default)]
pub struct ResolvedPlaces {
    home: Option<PathBuf>,
    found: Vec<(PathBuf, &'static PrivatePlace)>,
}

static OWN: PrivatePlace = PrivatePlace { path: "", holds: "keys and conversations" };

/// Locations of home folders by system. `*` is the name of an account.
const HOMES: [&[&str]; 7] = [
    &["root"],
    &["var", "root"],
    &["private", "var", "root"],
    &["home", "*"],
    &["Users", "*"],
    &["var", "home", "*"],
    &["export", "home", "*"],
];

const BROWSER: &str = "cookies and passwords of a browser";
const MAIL: &str = "mail and passwords";
const PASSWORDS: &str = "passwords";
const PACKAGES: &str = "credentials of package registries";
const CLOUD: &str = "credentials of a cloud";
const AGENT: &str = "credentials and conversations of an agent";
const GIT: &str = "credentials of git";
const FORGE: &str = "credentials of a code forge";
const DATABASE: &str = "passwords of databases";

/// Places with private data only, because `.cargo/bin`, `.npm` and `.local/share` have programs.
static PLACES: &[PrivatePlace] = &[
    private_place(".ssh", "SSH keys"),
    private_place(".gnupg", "GnuPG keys"),
    private_place(".pki", "keys and certificates"),
    private_place(".aws", CLOUD),
    private_place(".azure", CLOUD),
    private_place(".config/gcloud", CLOUD),
    private_place(".config/doctl", CLOUD),
    private_place(".config/rclone", CLOUD),
    private_place(".oci", CLOUD),
    private_place(".boto", CLOUD),
    private_place(".s3cfg", CLOUD),
    private_place(".databrickscfg", CLOUD),
    private_place(".kube", "credentials of Kubernetes"),
    private_place(".docker", "credentials of Docker"),
    private_place(".config/containers/auth.json", "credentials of container registries"),
    private_place(".config/gh", "credentials of the GitHub CLI"),
    private_place(".config/hub", FORGE),
    private_place(".config/glab-cli", FORGE),
    private_place(".config/git/credentials", GIT),
    private_place(".git-credentials", GIT),
    private_place(".netrc", "passwords of servers"),
    private_place("_netrc", "passwords of servers"),
    private_place(".npmrc", PACKAGES),
    private_place(".yarnrc.yml", PACKAGES),
    private_place(".pypirc", PACKAGES),
    private_place(".cargo/credentials", PACKAGES),
    private_place(".cargo/credentials.toml", PACKAGES),
    private_place(".gem/credentials", PACKAGES),
    private_place(".m2/settings.xml", PACKAGES),
    private_place(".m2/settings-security.xml", PACKAGES),
    private_place(".gradle/gradle.properties", PACKAGES),
    private_place(".pgpass", DATABASE),
    private_place(".my.cnf", DATABASE),
    private_place(".mylogin.cnf", DATABASE),
    private_place(".vault-token", "a token of Vault"),
    private_place(".terraformrc", "credentials of Terraform"),
    private_place(".terraform.d/credentials.tfrc.json", "credentials of Terraform"),
    private_place(".password-store", PASSWORDS),
    private_place(".local/share/keyrings", PASSWORDS),
    private_place(".local/share/kwalletd", PASSWORDS),
    private_place(".config/op", PASSWORDS),
    private_place(".op", PASSWORDS),
    private_place(".config/1Password", PASSWORDS),
    private_place(".config/Bitwarden", PASSWORDS),
    private_place(".config/keepassxc", PASSWORDS),
    private_place(".mozilla", BROWSER),
    private_place(".config/mozilla", BROWSER),
    private_place(".config/google-chrome", BROWSER),
    private_place(".config/chromium", BROWSER),
    private_place(".config/BraveSoftware", BROWSER),
    private_place(".config/microsoft-edge", BROWSER),
    private_place(".config/vivaldi", BROWSER),
    private_place(".config/opera", BROWSER),
    private_place("snap/firefox", BROWSER),
    private_place("snap/chromium", BROWSER),
    private_place(".var/app", "data of sandboxed desktop programs"),
    private_place(".thunderbird", MAIL),
    private_place(".claude", AGENT),
    private_place(".claude.json", AGENT),
    private_place(".gemini", AGENT),
    private_place(".cursor", AGENT),
    private_place(".codex", AGENT),
    private_place(".config/Claude", AGENT),
    private_place(".config/Cursor", AGENT),
    private_place(".config/github-copilot", AGENT),
    private_place("Library/Keychains", PASSWORDS),
    private_place("Library/Cookies", BROWSER),
    private_place("Library/Safari", BROWSER),
    private_place("Library/Mail", MAIL),
    private_place("Library/Messages", "messages"),
    private_place("Library/Application Support/1Password", PASSWORDS),
    private_place("Library/Application Support/BraveSoftware", BROWSER),
    private_place("Library/Application Support/Chromium", BROWSER),
    private_place("Library/Application Support/Firefox", BROWSER),
    private_place("Library/Application Support/Google/Chrome", BROWSER),
    private_place("Library/Application Support/Microsoft Edge", BROWSER),
    private_place("Library/Application Support/Claude", AGENT),
    private_place("Library/Application Support/Cursor", AGENT),
    private_place("AppData/Roaming/gcloud", CLOUD),
    private_place("AppData/Roaming/GitHub CLI", FORGE),
    private_place("AppData/Roaming/gnupg", "GnuPG keys"),
    private_place("AppData/Roaming/Microsoft/Credentials", PASSWORDS),
    private_place("AppData/Roaming/Mozilla", BROWSER),
    private_place("AppData/Local/Google/Chrome", BROWSER),
];

const fn private_place(path: &'static str, holds: &'static str) -> PrivatePlace {
    PrivatePlace { path, holds }
}

impl PrivatePlace {
    /// Returns whether the place belongs to CodeInfo or Codex.
    pub fn is_own(&self) -> bool {
        self.path.is_empty()
    }

    /// Returns whether `path`, below a home folder, is or lies in this place, ignoring ASCII case.
    fn holds_path(&self, path: &Path) -> bool {
        let mut parts = path.iter();
        let is_same = |part| parts.next().is_some_and(|found| found.eq_ignore_ascii_case(part));
        self.path.split('/').all(is_same)
    }
}

impl fmt::Display for PrivatePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_own() {
            write!(formatter, "`DATA_DIR` or `CODEX_HOME`, which hold {}", self.holds)
        } else {
            write!(formatter, "`~/{}`, which holds {}", self.path, self.holds)
        }
    }
}

impl PrivatePlaces {
    /// Creates the private places of an account. `own` are the folders of CodeInfo and of Codex.
    pub fn new(home: Option<PathBuf>, own: Vec<PathBuf>) -> Self {
        Self { home, own }
    }

    /// Resolves the places on disk, following links. Blocks on the file system.
    pub fn resolve(&self) -> ResolvedPlaces {
        let own = self.own.iter().map(|folder| (folder.clone(), &OWN));
        let home_places = self
            .home
            .iter()
            .flat_map(|home| PLACES.iter().map(|place| (home.join(place.path), place)));
        let on_disk = |(path, place): (PathBuf, _)| Some((path.canonicalize().ok()?, place));
        let home = self.home.as_ref().and_then(|path| path.canonicalize().ok());
        ResolvedPlaces { home, found: own.chain(home_places).filter_map(on_disk).collect() }
    }
}

impl ResolvedPlaces {
    /// Returns the paths of the places that exist.
    pub fn into_paths(self) -> impl Iterator<Item = PathBuf> {
        self.found.into_iter().map(|(path, _)| path)
    }

    /// Returns the private place, of any account, that contains a canonical path.
    pub fn find_place(&self, path: &Path) -> Option<&'static PrivatePlace> {
        let found = self.found.iter().find(|(found, _)| path.starts_with(found));
        let find_in_home = || {
            let own = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
            let below = own.or_else(|| path_below_home(path))?;
            PLACES.iter().find(|place| place.holds_path(below))
        };
        found.map(|(_, place)| *place).or_else(find_in_home)
    }

    /// Returns the private place that contains `below` in `folder`; its name decides most calls.
    pub fn find_entry(&self, folder: &Path, below: &Path) -> Option<&'static PrivatePlace> {
        let name = below.file_name()?;
        let has_name = |place: &PrivatePlace| {
            place.path.rsplit('/').next().is_some_and(|own| name.eq_ignore_ascii_case(own))
        };
        let is_known = PLACES.iter().any(has_name)
            || self.found.iter().any(|(path, _)| path.file_name() == Some(name));
        is_known.then(|| self.find_place(&folder.join(below)))?
    }

    /// Returns whether a folder of CodeInfo or Codex lies in `folder`.
    pub fn has_own_below(&self, folder: &Path) -> bool {
        self.found.iter().any(|(path, place)| place.is_own() && path.starts_with(folder))
    }
}

fn path_below_home(path: &Path) -> Option<&Path> {
    HOMES.iter().find_map(|home| {
        let mut parts = path.components();
        while let Some(Component::Prefix(_) | Component::RootDir) = parts.clone().next() {
            parts.next();
        }
        let is_home = home.iter().all(|name| {
            parts
                .next()
                .is_some_and(|part| *name == "*" || part.as_os_str().eq_ignore_ascii_case(name))
        });
        is_home.then_some(parts.as_path())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(path: &str) -> Option<String> {
        PrivatePlaces::default().resolve().find_place(Path::new(path)).map(PrivatePlace::to_string)
    }

    #[test]
    fn places_are_private_in_every_home_and_nowhere_else() {
        for home in ["/root", "/home/ada", "/Users/Ada", "/var/home/ada", "/export/home/ada"] {
            for place in [".ssh", ".config/gh/hosts.yml", ".claude/x", "Library/Keychains"] {
                assert!(describe(&format!("{home}/{place}")).is_some(), "{home}/{place}");
            }
            for other in ["", ".config", ".cargo/bin/x", ".npm/_npx", "code/.claude", "code/.ssh"] {
                assert_eq!(describe(&format!("{home}/{other}")), None, "{home}/{other}");
            }
        }
        assert_eq!(describe("/srv/site/.cursor/rules"), None);
        assert_eq!(describe("/home"), None);
        let description = "`~/.config/gh`, which holds credentials of the GitHub CLI";
        assert_eq!(describe("/home/ada/.Config/GH").as_deref(), Some(description));
    }

    #[cfg(unix)]
    #[test]
    fn the_target_of_a_linked_place_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("dotfiles/claude")).unwrap();
        std::os::unix::fs::symlink("dotfiles/claude", home.join(".claude")).unwrap();
        let places = PrivatePlaces::new(Some(home.clone()), Vec::new()).resolve();
        assert!(places.find_place(&home.join("dotfiles/claude/history")).is_some());
        assert!(places.find_place(&home.join("dotfiles/vim")).is_none());
        // A place that is created later is private as well.
        assert!(places.find_place(&home.join(".gnupg/key")).is_some());
    }
}

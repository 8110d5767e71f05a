//! Attacks of a hostile repository on indexing: ignore files that are links, pipes or huge, folders
//! that turn into links, and secrets in all places.

use codeinfo_test_support::git::run_git;
use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, Write as _},
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use codeinfo_ingest::{
    RunState,
    discover::{WalkResult, discover_files},
};
use codeinfo_test_support::ingest::TestIndex;
use codeinfo_worktree::ignored;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Interval between checks of the watcher's background work.
const POLL: Duration = Duration::from_millis(20);
const PLACES: [&str; 8] = [
    ".gitignore", ".ignore", ".codeinfoignore", ".git/info/exclude", "src/.gitignore",
    "src/.ignore", "src/.codeinfoignore", "src/.git/info/exclude",
];

#[test]
fn an_ignore_file_that_is_no_regular_file_is_reported_and_not_read() {
    for place in PLACES {
        for make in [create_link, create_pipe, create_folder] {
            let root = create_repository();
            make(&ignore_file_path(&root, place));
            let discovered = walk_folder(root.path());
            assert_eq!(list_files(&discovered), ["a.rs", "src/b.rs"], "{place}");
            let output_text = "no regular file, so its patterns do not count";
            assert_eq!(list_skipped(&discovered), [format!("{place}: {output_text}")]);
        }
    }
}

#[test]
fn only_the_start_of_a_huge_ignore_file_counts_which_is_reported() {
    for place in PLACES {
        let root = create_repository();
        let rest = "# as long as this\n".repeat(20_000);
        fs::write(ignore_file_path(&root, place), format!("b.rs\n{rest}a.rs\n")).unwrap();
        let discovered = walk_folder(root.path());
        assert_eq!(list_files(&discovered), ["a.rs"], "{place}");
        let output_text = "larger than 256 KiB, so only patterns before that count";
        assert_eq!(list_skipped(&discovered), [format!("{place}: {output_text}")]);

        let file = fs::File::create(ignore_file_path(&root, place)).unwrap();
        file.set_len(300 << 20).unwrap();
        assert_eq!(list_files(&walk_folder(root.path())), ["a.rs", "src/b.rs"]);
    }
    // The text before the bound of a long pattern is another pattern.
    let root = create_repository();
    let start = "b.rs\n".len() + 2;
    let filler = "x".repeat(ignored::MAX_BYTES - start - "a.rs".len());
    fs::write(root.path().join(".gitignore"), format!("b.rs\n#{filler}\na.rs.orig\n")).unwrap();
    assert_eq!(list_files(&walk_folder(root.path())), ["a.rs"]);
}

#[test]
fn patterns_are_bounded_in_number_and_in_what_they_cost() {
    let names = repeat_lines(20_000, |number| format!("n{number}"));
    let wild = repeat_lines(20_000, |number| format!("*w{number}*"));
    let costly =
        repeat_lines(2_000, |number| format!("*{number:020}*")) + "\n[aaaaaaaaaaaaaaaaaaaaaaaa].rs";
    let endless = format!("{}\n", "*a".repeat(40));
    for (patterns, fault) in [
        (names, ignored::IgnoreError::TooMany),
        (wild, ignored::IgnoreError::TooMany),
        (costly, ignored::IgnoreError::TooMany),
        (endless, ignored::IgnoreError::BadPattern),
    ] {
        let root = create_repository();
        fs::write(root.path().join(".gitignore"), format!("b.rs\n{patterns}")).unwrap();
        let begun = Instant::now();
        let discovered = walk_folder(root.path());
        assert!(begun.elapsed().as_secs() < 30);
        assert_eq!(list_files(&discovered), ["a.rs"]);
        assert_eq!(list_skipped(&discovered), [format!(".gitignore: {fault}")]);
    }
    // Folder below folder: all of them together are bounded, and the nearest are the last to count.
    let root = TempDir::new().unwrap();
    let mut folder = root.path().to_owned();
    for depth in 0..10 {
        folder.push("d");
        fs::create_dir(&folder).unwrap();
        let names = repeat_lines(2_000, |number| format!("n{depth}-{number}"));
        fs::write(folder.join(".gitignore"), names).unwrap();
    }
    assert_eq!(list_skipped(&walk_folder(root.path())).len(), 8);
}

/// Names the folder that the child of [`broad_ignore_files_are_bounded_together`] walks.
const BROAD: &str = "CODEINFO_TEST_BROAD";

#[test]
fn broad_ignore_files_are_bounded_together() {
    const FOLDERS: usize = 45;
    let root = TempDir::new().unwrap();
    for folder in 0..FOLDERS {
        let folder = root.path().join(format!("d{folder:02}"));
        fs::create_dir_all(folder.join(".hidden")).unwrap();
        let names = repeat_lines(ignored::MAX_PATTERNS, |number| format!("n{number}"));
        fs::write(folder.join(".gitignore"), names).unwrap();
        fs::write(folder.join("n7"), "").unwrap();
    }
    // A separate process, so that its memory is that of the walk.
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "hostile::walk_broad_ignore_files", "--nocapture"])
        .env(BROAD, root.path())
        .output()
        .unwrap();
    let output_text = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output_text}{}", String::from_utf8_lossy(&child.stderr));
    let number = |name: &str| -> usize {
        let rest = output_text.split_once(name).unwrap().1;
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    let counting = ignored::MAX_WALK_PATTERNS / ignored::MAX_PATTERNS;
    assert_eq!(number("skipped="), FOLDERS - counting);
    assert_eq!(number("files="), FOLDERS - counting);
    let peak = number("peak_kib=") >> 10;
    assert!(peak < 100, "{peak} MiB");
}

/// The child process of the test above; run as a test it does nothing.
#[test]
fn walk_broad_ignore_files() {
    let Some(root) = env::var_os(BROAD).map(PathBuf::from) else { return };
    let discovered = walk_folder(&root);
    assert!(discovered.skipped.iter().all(|skipped| {
        skipped.reason.to_string() == ignored::IgnoreError::TooManyInAll.to_string()
    }));
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak = peak.trim().trim_end_matches(" kB");
    let (skipped, files) = (discovered.skipped.len(), discovered.files.len());
    writeln!(io::stdout(), "skipped={skipped} files={files} peak_kib={peak} ").unwrap();
}

/// Names the folder that the children of [`a_kernel_without_openat2_is_supported`] walk.
const OLDER: &str = "CODEINFO_TEST_OLDER";

#[test]
fn a_kernel_without_openat2_is_supported() {
    /// Has a call of the system fail with an error, and then runs a command.
    const SCRIPT: &str = "
import ctypes, os, struct, sys
call, error = int(sys.argv[1]), int(sys.argv[2])
filter = struct.pack('HBBI' * 4, 0x20, 0, 0, 0, 0x15, 0, 1, call,
                     0x06, 0, 0, 0x50000 | error, 0x06, 0, 0, 0x7fff0000)
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_char_p)]
program, libc = Program(4, filter), ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execv(sys.argv[3], sys.argv[3:])
";
    let root = create_repository();
    fs::write(ignore_file_path(&root, "src/deep/c.rs"), "").unwrap();
    symlink("src", root.path().join("link")).unwrap();
    // The error of a kernel before 5.6, and of a container's filter that does not know the call.
    for error in [rustix::io::Errno::NOSYS, rustix::io::Errno::PERM] {
        let child = Command::new("python3")
            .args(["-c", SCRIPT, "437", &error.raw_os_error().to_string()])
            .arg(env::current_exe().unwrap())
            .args(["--exact", "hostile::walk_without_openat2", "--nocapture"])
            .env(OLDER, root.path())
            .output()
            .unwrap();
        let output_text = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{output_text}{}", String::from_utf8_lossy(&child.stderr));
        assert!(output_text.contains(&format!("openat2 fails: {error:?}")), "{output_text}");
    }
}

/// The child process of the test above; run as a test it does nothing.
#[test]
fn walk_without_openat2() {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let Some(root) = env::var_os(OLDER).map(PathBuf::from) else { return };
    let opened = openat2(CWD, &root, OFlags::RDONLY, Mode::empty(), ResolveFlags::empty());
    writeln!(io::stdout(), "openat2 fails: {:?}", opened.unwrap_err()).unwrap();
    assert_eq!(list_files(&walk_folder(&root)), ["a.rs", "src/b.rs", "src/deep/c.rs"]);
}

#[test]
fn the_git_folder_of_a_worktree_or_of_a_link_is_not_followed() {
    let elsewhere = TempDir::new().unwrap();
    fs::create_dir(elsewhere.path().join("info")).unwrap();
    fs::write(elsewhere.path().join("info/exclude"), "*\n").unwrap();
    let root = create_repository();
    fs::write(root.path().join(".git"), format!("gitdir: {}\n", elsewhere.path().display()))
        .unwrap();
    assert_eq!(list_files(&walk_folder(root.path())), ["a.rs", "src/b.rs"]);
    fs::remove_file(root.path().join(".git")).unwrap();
    symlink(elsewhere.path(), root.path().join(".git")).unwrap();
    assert_eq!(list_files(&walk_folder(root.path())), ["a.rs", "src/b.rs"]);
    fs::remove_file(root.path().join(".git")).unwrap();
    fs::create_dir(root.path().join(".git")).unwrap();
    symlink(elsewhere.path().join("info"), root.path().join(".git/info")).unwrap();
    let discovered = walk_folder(root.path());
    assert_eq!(list_files(&discovered), ["a.rs", "src/b.rs"]);
    assert_eq!(list_skipped(&discovered).len(), 1);
    // A pattern that includes everything does not include Git's own files.
    fs::write(root.path().join(".git/config"), "").unwrap();
    fs::write(root.path().join(".ignore"), "!*\n").unwrap();
    assert_eq!(list_files(&walk_folder(root.path())), [".ignore", "a.rs", "src/b.rs"]);
}

/// Builds lists of patterns from pieces, by a sequence that is always the same, and compares with Git.
#[test]
fn ignore_files_mean_what_git_says_they_mean() {
    let pieces =
        ["a", "b", "*", "**", "?", "[ab]", "[!a]", "a*", "*.rs", "c.rs", "d", "\\*", "{a,b}", "ab"];
    let names = ["a", "b", "ab", "d", "c.rs", "a.rs", "b.rs"];
    let mut state = 7_u64;
    let mut next = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    let mut differences = Vec::new();
    for _ in 0..40 {
        let root = TempDir::new().unwrap();
        run_git(root.path(), &["init", "-q"]);
        for _ in 0..25 {
            let depth = 1 + next(3);
            let path: Vec<&str> = (0..depth).map(|_| names[next(names.len())]).collect();
            let path = root.path().join(path.join("/"));
            // A name may be a folder already, or lie below a file.
            drop(fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(&path, "x\n")));
        }
        let mut patterns = || -> String {
            let pattern = |next: &mut dyn FnMut(usize) -> usize| {
                let depth = 1 + next(3);
                let parts: Vec<&str> = (0..depth).map(|_| pieces[next(pieces.len())]).collect();
                let start = ["", "", "", "!", "/", "!/"][next(6)];
                let end = ["", "", "/"][next(3)];
                format!("{start}{}{end}\n", parts.join("/"))
            };
            (0..=next(4)).map(|_| pattern(&mut next)).collect()
        };
        let mut output_text = Vec::new();
        for place in [".gitignore", "a/.gitignore", "d/b/.gitignore", ".git/info/exclude"] {
            let file = root.path().join(place);
            if file.parent().unwrap().is_dir() {
                let patterns = patterns();
                fs::write(file, &patterns).unwrap();
                output_text.push((place, patterns));
            }
        }
        let listed = run_git(root.path(), &["ls-files", "-co", "--exclude-standard"]);
        let mut expected: Vec<String> = listed.lines().map(str::to_owned).collect();
        expected.retain(|path| !path.ends_with(".gitignore"));
        expected.sort();
        let found: Vec<String> = list_files(&walk_folder(root.path()))
            .into_iter()
            .filter(|path| !path.ends_with("ignore"))
            .collect();
        if found != expected {
            differences.push(format!("{output_text:?}\n  found {found:?}\n  git   {expected:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn folders_that_turn_into_links_during_a_walk_list_nothing_from_outside() {
    let outside = TempDir::new().unwrap();
    fs::create_dir(outside.path().join("deep")).unwrap();
    fs::write(outside.path().join("deep/leaked.rs"), "").unwrap();
    fs::write(outside.path().join(".gitignore"), "b.rs\n").unwrap();
    let root = create_repository();
    let (src, own, link) =
        (root.path().join("src"), root.path().join("own"), root.path().join("link"));
    symlink(outside.path(), &link).unwrap();
    let (mut whole, mut without, is_done) = (0, 0, AtomicBool::new(false));
    std::thread::scope(|scope| {
        let is_done = &is_done;
        scope.spawn(|| {
            // Bounded, in case that the walk below fails.
            for _ in 0..100_000 {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                fs::rename(&src, &own).unwrap();
                fs::rename(&link, &src).unwrap();
                fs::rename(&src, &link).unwrap();
                fs::rename(&own, &src).unwrap();
            }
        });
        // As often as it takes to meet both.
        for round in 0..50_000 {
            if 500 < round && 0 < whole && 0 < without {
                break;
            }
            let found = list_files(&walk_folder(root.path()));
            assert!(!found.iter().any(|path| path.contains("leaked")), "{found:?}");
            let has_all = found.iter().any(|path| path.ends_with("b.rs"));
            if has_all { whole += 1 } else { without += 1 }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(0 < whole && 0 < without, "{whole} whole, {without} without");
}

#[test]
fn secrets_are_noted_wherever_they_lie_and_nowhere_else() {
    let root = create_repository();
    for (path, text) in [
        (".gitignore", "made/\nignored.pem\n"),
        (".env", "KEY=1"),
        ("ignored.pem", ""),
        ("src/server.key", ""),
        ("made/deep/.env", ""),
        ("made/deep/plain.rs", ""),
        (".github/deploy.key", ""),
        (".ssh/config", ""),
        ("made/.aws/config", ""),
        (".git/.env", ""),
        ("node_modules/x/.env", ""),
        ("node_modules/x/.ssh/config", ""),
        ("node_modules/.pnpm/x@1/node_modules/x/.git/config", ""),
        ("made/node_modules/x/.env", ""),
        ("app/package.json", ""),
        ("app/dist/.env.production", ""),
        ("app/dist/credentials.js.map", ""),
        ("target/CACHEDIR.TAG", ""),
        ("target/classes/keystore.p12", ""),
        ("env/pyvenv.cfg", ""),
        ("env/lib/python3/site-packages/own/.netrc", ""),
        ("vendor/modules.txt", ""),
        ("vendor/host/x/id_rsa", ""),
    ] {
        fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
        fs::write(root.path().join(path), text).unwrap();
    }
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("id_rsa"), "").unwrap();
    for link in ["made/link", "node_modules/link"] {
        symlink(outside.path(), root.path().join(link)).unwrap();
    }
    let found = walk_folder(root.path());
    assert_eq!(found.doubtful.into_iter().collect::<Vec<_>>(), ["src/server.key"]);
    let private: Vec<String> = found.private.into_iter().collect();
    let expected = [
        ".env",
        ".github/deploy.key",
        ".ssh",
        "app/dist/.env.production",
        "env/lib/python3/site-packages/own/.netrc",
        "ignored.pem",
        "made/.aws",
        "made/deep/.env",
        "made/node_modules/x/.env",
        "node_modules/.pnpm/x@1/node_modules/x/.git",
        "node_modules/x/.env",
        "node_modules/x/.ssh",
        "target/classes/keystore.p12",
        "vendor/host/x/id_rsa",
    ];
    assert_eq!(private, expected);
}

#[test]
fn a_folder_whose_name_cannot_be_noted_is_a_secret_if_it_holds_one() {
    let root = create_repository();
    for folder in ["src", ".hidden", "node_modules/x"] {
        let odd = root.path().join(folder).join(OsStr::from_bytes(b"\xff"));
        fs::create_dir_all(&odd).unwrap();
        fs::write(odd.join(".env"), "KEY=1").unwrap();
    }
    let private: Vec<String> = walk_folder(root.path()).private.into_iter().collect();
    assert_eq!(private, [".hidden", "node_modules/x", "src"]);
}

#[test]
fn the_git_folder_of_a_repository_inside_the_root_is_a_secret() {
    let root = create_repository();
    for folder in [".git", "sub/.git", ".hidden/other/.git"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
        fs::write(root.path().join(folder).join("config"), "[remote]\n").unwrap();
    }
    let found: Vec<String> = walk_folder(root.path()).private.into_iter().collect();
    assert_eq!(found, [".hidden/other/.git", "sub/.git"]);
}

#[tokio::test]
async fn a_root_keeps_its_secrets_in_step_with_its_folder() {
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n";
    let index = TestIndex::new().await;
    let repository = index
        .create_repository("demo", &[("a.rs", "fn a() {}\n"), (".env", "A=1"), ("b.txt", KEY)]);
    index.ingest(&repository).await;
    assert_eq!(index.load_root().await.private_files.unwrap(), [".env", "b.txt"]);

    repository.write("b.txt", "harmless\n");
    repository.write("c.txt", KEY);
    index.ingest(&repository).await;
    assert_eq!(index.load_root().await.private_files.unwrap(), [".env", "c.txt"]);

    // By parts, as the watcher asks for them.
    index.ingest.watch_roots();
    let until = async |expected: &[&str]| {
        let wait = async {
            while index.load_root().await.private_files.unwrap_or_default() != expected {
                tokio::time::sleep(POLL).await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_mins(1), wait).await;
        assert!(ended.is_ok(), "{:?}, not {expected:?}", index.load_root().await.private_files);
    };
    // The watcher has seen the folder once this is noted.
    repository.write("src/.env.local", "B=1");
    until(&[".env", "c.txt", "src/.env.local"]).await;
    repository.write("d.txt", KEY);
    until(&[".env", "c.txt", "d.txt", "src/.env.local"]).await;
    fs::remove_file(repository.join(".env")).unwrap();
    fs::remove_file(repository.join("c.txt")).unwrap();
    until(&["d.txt", "src/.env.local"]).await;
    repository.write("d.txt", "harmless\n");
    until(&["src/.env.local"]).await;
}

#[tokio::test]
async fn a_file_that_lost_its_secrets_is_shown_and_kept_from_the_shell() {
    let key =
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----";
    let code = format!("const KEY: &str = \"{key}\";\n\nfn sign_with_key() {{}}\n");
    let index = TestIndex::new().await;
    let files = [
        ("src/sign.rs", code.as_str()),
        (".env.example", "PORT=25\nDB_PASSWORD=hunter2pass9\n"),
        ("docs/secrets.mdx", "# Secrets\n\nRotate them.\n"),
        ("certs/server.pem", key),
        ("secrets.txt", "db: hunter2\nmail: swordfish\n"),
    ];
    let repository = index.create_repository("demo", &files);
    let private = [".env.example", "certs/server.pem", "secrets.txt", "src/sign.rs"];
    for _ in 0..2 {
        index.ingest(&repository).await;
        let root = index.load_root().await;
        assert_eq!(root.private_files.clone().unwrap(), private);
        assert_eq!(root.censored_files, [".env.example", "src/sign.rs"]);
        assert_eq!(root.retain_public_files(index.store.files(root.id).await.unwrap()).len(), 3);
    }
    let stored = index.list_payloads().await.join("\n");
    assert!(stored.contains("sign_with_key") && stored.contains("Rotate them"), "{stored}");
    assert!(!stored.contains("MIIE") && !stored.contains("hunter2"), "{stored}");
    repository.write("src/sign.rs", "fn sign_with_key() {}\n");
    repository.write(".env.example", "PORT=25\n");
    index.ingest(&repository).await;
    let root = index.load_root().await;
    assert_eq!(root.private_files.unwrap(), ["certs/server.pem", "secrets.txt"]);
    assert_eq!(root.censored_files, [""; 0]);
}

#[tokio::test]
async fn a_watched_repository_with_a_hostile_ignore_file_stays_current() {
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", &[("a.rs", "fn a() {}\n")]);
    assert_eq!(index.ingest(&repository).await.state, RunState::Completed);
    index.ingest.watch_roots();
    create_pipe(&repository.join(".gitignore"));
    create_link(&repository.join(".ignore"));
    repository.write("b.rs", "fn b() {}\n");
    let wait = async {
        while index.list_indexed_files().await != ["a.rs", "b.rs"] {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), wait).await.unwrap();
    let status = index.ingest(&repository).await;
    let message = status.message.unwrap();
    for name in [".gitignore (", ".ignore ("] {
        assert!(message.contains(name), "{message}");
    }
}

fn create_repository() -> TempDir {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("src")).unwrap();
    fs::write(root.path().join("a.rs"), "fn a() {}\n").unwrap();
    fs::write(root.path().join("src/b.rs"), "fn b() {}\n").unwrap();
    root
}

fn repeat_lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the path of an ignore file whose folder exists.
fn ignore_file_path(root: &TempDir, place: &str) -> PathBuf {
    let path = root.path().join(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

fn create_link(path: &Path) {
    symlink("/dev/zero", path).unwrap();
}

fn create_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn create_folder(path: &Path) {
    fs::create_dir(path).unwrap();
}

fn walk_folder(root: &Path) -> WalkResult {
    let root = root.canonicalize().unwrap();
    discover_files(&root, 1 << 20, &CancellationToken::new()).unwrap()
}

fn list_files(discovered: &WalkResult) -> Vec<String> {
    discovered.files.iter().map(|file| file.path.clone()).collect()
}

fn list_skipped(discovered: &WalkResult) -> Vec<String> {
    discovered.skipped.iter().map(|file| format!("{}: {}", file.path, file.reason)).collect()
}

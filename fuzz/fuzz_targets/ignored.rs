//! Reads ignore files that the fuzzer thinks of: of a root and of the folder `a`, with a path to judge
//! by them. A NUL stands between the parts.
#![no_main]

use codeinfo::ignored::{IgnoreRules, IgnoreVerdict, MAX_BYTES};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(4, |byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default().to_vec();
    let (path, top, weak, strong) = (part(), part(), part(), part());
    let Ok(path) = str::from_utf8(&path) else { return };
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return;
    }
    let path = format!("a/{path}");
    let judge = |strong: Vec<u8>| {
        let (rules, mut errors) =
            IgnoreRules::default().with_ignore_files("", &[None, Some(top.clone()), None, None]);
        let (rules, more) = rules.with_ignore_files("a", &[Some(weak.clone()), None, None, Some(strong)]);
        errors.extend(more);
        let verdict = rules.match_path(&path, false);
        assert_eq!(verdict, rules.clone().match_path(&path, false));
        // Whatever the path, judging it ends.
        rules.match_path(&path, true);
        (verdict, errors)
    };
    let (verdict, errors) = judge(strong.clone());
    if !errors.is_empty() || strong.len() + 20 > MAX_BYTES {
        return;
    }
    let with = |line: &[u8]| judge([strong.as_slice(), b"\n", line].concat());
    assert_eq!(with(b"# a comment").0, verdict);
    for (line, expected) in [(&b"*"[..], IgnoreVerdict::Ignored), (b"!*", IgnoreVerdict::Kept)] {
        let (verdict, errors) = with(line);
        assert!(!errors.is_empty() || verdict == expected, "{verdict:?}");
    }
});

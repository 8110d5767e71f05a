//! Reads ignore files that the fuzzer thinks of: of a root and of the folder `a`, with a path to judge
//! by them. A NUL stands between the parts.
#![no_main]

use codeinfo::ignored::{MAX_BYTES, NAMES, Rules, Verdict};
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
        let (rules, mut faults) = Rules::default().with("", &[(1, top.clone())]);
        let (rules, more) = rules.with("a", &[(0, weak.clone()), (NAMES.len() - 1, strong)]);
        faults.extend(more);
        let verdict = rules.verdict(&path, false);
        assert_eq!(verdict, rules.clone().verdict(&path, false));
        // Whatever the path, judging it ends.
        rules.verdict(&path, true);
        (verdict, faults)
    };
    let (verdict, faults) = judge(strong.clone());
    if !faults.is_empty() || MAX_BYTES < strong.len() + 20 {
        return;
    }
    let with = |line: &[u8]| judge([strong.as_slice(), b"\n", line].concat());
    assert_eq!(with(b"# a comment").0, verdict);
    for (line, expected) in [(&b"*"[..], Verdict::Ignored), (b"!*", Verdict::Kept)] {
        let (verdict, faults) = with(line);
        assert!(!faults.is_empty() || verdict == expected, "{verdict:?}");
    }
});

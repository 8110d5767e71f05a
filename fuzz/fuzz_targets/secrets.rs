//! Takes the secrets out of whatever the fuzzer thinks of. The first line is the path of the file.
#![no_main]

use std::time::{Duration, Instant};

use codeinfo::ingest::{is_secret, redact};
use libfuzzer_sys::fuzz_target;

/// Longest that a text of the fuzzer may take, sanitizer included; a megabyte takes a fraction of it.
const LIMIT: Duration = Duration::from_secs(2);
/// How often a text is repeated to see that the time grows with it and not faster.
const TIMES: usize = 64;

fuzz_target!(|input: &str| {
    let (path, text) = input.split_once('\n').unwrap_or(("a.yaml", input));
    is_secret(path, text);
    let (redacted, count) = redact(path, text);
    assert_eq!(count == 0, redacted == text);
    let lines = |text: &str| text.matches('\n').count();
    assert_eq!(lines(&redacted), lines(text), "lines");
    assert_eq!(redact(path, &redacted), (redacted, 0), "twice is once");

    let long = text.repeat(TIMES);
    let start = Instant::now();
    redact(path, &long);
    assert!(start.elapsed() < LIMIT, "{:?} for {} bytes", start.elapsed(), long.len());
});

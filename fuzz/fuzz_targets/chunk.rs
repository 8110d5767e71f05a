//! Cuts whatever the fuzzer thinks of into chunks. The first line is the path of the file.
#![no_main]

#[path = "../../crates/chunk/tests/it/cut.rs"]
mod cut;

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;

/// Parsing ends after five seconds; a sanitizer makes all that is around it slow.
const LIMIT: Duration = Duration::from_secs(20);

fuzz_target!(|input: &str| {
    let (path, text) = input.split_once('\n').unwrap_or(("a.py", input));
    let start = Instant::now();
    cut::check_chunks(path, text);
    assert!(start.elapsed() < LIMIT, "{:?} for {} bytes", start.elapsed(), text.len());
});

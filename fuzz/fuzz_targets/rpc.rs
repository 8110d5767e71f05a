//! Sends whatever the fuzzer thinks of to an MCP endpoint. The first four lines are headers.
#![no_main]

#[path = "../../crates/mcp/tests/it/judge.rs"]
mod judge;

use std::cell::LazyCell;

use judge::{EndpointJudge, PostHeaders};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static JUDGE: LazyCell<EndpointJudge> = LazyCell::new(EndpointJudge::new);
}

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(5, |byte| *byte == b'\n');
    let mut header = || {
        let text = str::from_utf8(parts.next()?).ok()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let (accept, version, method, name) = (header(), header(), header(), header());
    let headers = PostHeaders { accept, version, method, name };
    JUDGE.with(|judge| judge.check_post(&headers, parts.next().unwrap_or_default()));
});

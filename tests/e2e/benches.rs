//! The tests of the scripts in `benches/evidence`, which count the evidence that a text shows.

use std::{path::Path, process::Command};

#[test]
fn only_lines_that_a_text_shows_count_as_evidence() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/evidence");
    let mut tests = Command::new("python3");
    tests.args(["-B", "-m", "unittest", "discover"]).current_dir(folder);
    let output = tests.output().expect("python3 runs");
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output_text.contains("OK"), "{output_text}");
}

//! The arithmetic of growth: what one chunk costs, multiplied. `docs/capacity.md` shows these very figures.

use std::{fs, path::Path};

/// Bytes of one chunk in one copy; `docs/capacity.md` shows which are measured.
const SCALAR_VECTOR: f64 = 260.0;
const BINARY_VECTOR: f64 = 32.0;
const LINKS: f64 = 136.0;
const IDS: f64 = 64.0;
const ROOT_INDEX: f64 = 62.0;
const WHOLE_VECTOR: f64 = 512.0;
const PAYLOAD: f64 = 1030.0;
const TERMS: f64 = 648.0;
const TERM_INDEX: f64 = 345.0;
const PAYLOAD_INDEXES: f64 = 132.0;
/// Seconds of one core for one chunk: CodeInfo once, the server for each copy.
const INDEXING: f64 = 0.1e-3;
const SERVING: f64 = 1.2e-3;
/// A search looks at the links of each shard, and at the terms of all chunks; the rest does not grow.
const LINK_SEARCH: f64 = 0.6e-3;
const TERM_SEARCH: f64 = 4.0e-9;
const REST_OF_SEARCH: f64 = 5e-3;
/// Each shard is kept twice, and room is left for segments that are being rebuilt.
const COPIES: f64 = 2.0;
const ROOM: f64 = 1.3;
/// Moving or rebuilding a larger shard takes hours.
const LARGEST_SHARD: f64 = 5e6;
/// One shard more for each of six nodes spreads a small index as well.
const FEWEST_SHARDS: f64 = 6.0;

#[test]
fn the_table_of_growth_follows_from_the_costs() {
    let sizes = [10e6, 1e9];
    let shards = sizes.map(|chunks| (chunks / LARGEST_SHARD).ceil().max(FEWEST_SHARDS));
    let rest = LINKS + IDS + ROOT_INDEX;
    let disk =
        WHOLE_VECTOR + SCALAR_VECTOR + LINKS + IDS + PAYLOAD + TERMS + TERM_INDEX + PAYLOAD_INDEXES;
    let gigabytes = |bytes: f64| move |chunks: f64| chunks * bytes * COPIES / 1e9;
    let hours = |seconds: f64| move |chunks: f64| chunks * seconds / 3600.0;
    let searching =
        [0, 1].map(|n| 1e3 * (shards[n] * LINK_SEARCH + sizes[n] * TERM_SEARCH + REST_OF_SEARCH));
    let rows = [
        render_row("Shards, two copies each", shards, ""),
        render_row(
            "Memory, one byte for each number",
            sizes.map(gigabytes(SCALAR_VECTOR + rest)),
            " GB",
        ),
        render_row(
            "Memory, one bit for each number",
            sizes.map(gigabytes(BINARY_VECTOR + rest)),
            " GB",
        ),
        render_row(
            "Memory that helps: terms held by the system",
            sizes.map(gigabytes(TERM_INDEX)),
            " GB",
        ),
        render_row("Disk", sizes.map(gigabytes(disk * ROOM)), " GB"),
        render_row("Indexing by CodeInfo, hours of one core", sizes.map(hours(INDEXING)), ""),
        render_row(
            "Work of the servers, links included, hours of one core",
            sizes.map(hours(SERVING * COPIES)),
            "",
        ),
        render_row("One search of everything, milliseconds of one core", searching, ""),
    ];
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/capacity.md");
    let page = fs::read_to_string(page).unwrap();
    for row in rows {
        assert!(page.contains(&row), "docs/capacity.md lacks\n{row}");
    }
}

fn render_row(what: &str, values: [f64; 2], unit: &str) -> String {
    let [small, large] = values.map(round_figure);
    format!("| {what} | {small}{unit} | {large}{unit} |\n")
}

/// Two digits that count: more would pretend to know.
fn round_figure(value: f64) -> String {
    let step = 10_f64.powf(value.log10().floor() - 1.0);
    let value = (value / step).round() * step;
    if value < 10.0 && 0.0 < value.fract() { format!("{value:.1}") } else { format!("{value:.0}") }
}

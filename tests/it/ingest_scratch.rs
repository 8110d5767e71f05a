use codeinfo::ingest::{chunk, language};
#[test]
fn scratch() {
    for path in std::env::var("SCRATCH").unwrap().split(':') {
        let text = std::fs::read_to_string(path).unwrap();
        let started = std::time::Instant::now();
        let language = language(path, &text);
        let chunked = chunk::chunks(language, &text);
        println!("== {path} {language:?} {} lines {:?}", text.lines().count(), started.elapsed());
        for c in chunked.chunks {
            println!(
                "{}-{} [{}b] {} | {}",
                c.start_line,
                c.end_line,
                c.text.len(),
                c.symbol.unwrap_or_default(),
                c.text.lines().next().unwrap().trim().chars().take(60).collect::<String>()
            );
        }
    }
}

#![allow(clippy::unwrap_used, clippy::print_stdout)]
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let language = codeinfo_lang::detect::detect_language(&path, &text).unwrap();
    println!("{:#?}", codeinfo_graph::extract_facts(language, &text).unwrap());
}

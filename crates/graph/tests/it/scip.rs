//! SCIP indexes, written here byte by byte.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use codeinfo_graph::scip::{
    MAX_DOCUMENTS, MAX_INDEX_BYTES, MAX_OCCURRENCES, ScipDocument, ScipError, ScipIndex,
};

const DEFINES: u64 = 1;
const PACKAGE: &str = "scip-test npm app 1.0.0";

fn encode_varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 128 {
        bytes.push((value & 127).to_le_bytes()[0] | 128);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
    bytes
}

fn encode_number(field: u64, value: u64) -> Vec<u8> {
    [encode_varint(field << 3), encode_varint(value)].concat()
}

fn encode_message(field: u64, content: &[u8]) -> Vec<u8> {
    [encode_varint(field << 3 | 2), encode_varint(content.len() as u64), content.to_vec()].concat()
}

fn encode_occurrence(range: &[u64], symbol: &str, roles: u64) -> Vec<u8> {
    let range: Vec<u8> = range.iter().flat_map(|place| encode_varint(*place)).collect();
    let parts =
        [encode_message(1, &range), encode_message(2, symbol.as_bytes()), encode_number(3, roles)];
    encode_message(2, &parts.concat())
}

fn encode_document(path: &str, encoding: u64, occurrences: &[Vec<u8>]) -> Vec<u8> {
    let parts =
        [encode_message(1, path.as_bytes()), occurrences.concat(), encode_number(6, encoding)];
    encode_message(2, &parts.concat())
}

fn global_symbol(descriptors: &str) -> String {
    format!("{PACKAGE} {descriptors}")
}

fn read_index(bytes: &[u8]) -> Result<ScipIndex, ScipError> {
    ScipIndex::read(bytes)
}

#[track_caller]
fn check_error(bytes: &[u8], expected: &str) {
    let error = read_index(bytes).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

const SHOP: &str = "export class Shop {\n  open() {}\n}\n";
const MAIN: &str = "const é = '🚀', s = new Shop();\ns.open();\n";

fn encode_shop_index() -> Vec<u8> {
    let (shop, open) = (global_symbol("`shop.ts`/Shop#"), global_symbol("`shop.ts`/Shop#open()."));
    let metadata = encode_message(1, &encode_message(3, b"file:///work"));
    let shop_document = encode_document(
        "src/shop.ts",
        2,
        &[
            encode_occurrence(&[0, 0, 0], &global_symbol("`shop.ts`/"), DEFINES),
            encode_occurrence(&[0, 13, 17], &shop, DEFINES),
            encode_occurrence(&[1, 2, 6], &open, DEFINES),
        ],
    );
    let main = encode_document(
        "src/main.ts",
        2,
        &[
            encode_occurrence(&[1, 2, 6], &open, 0),
            encode_occurrence(&[1, 0, 1], "local 0", 0),
            encode_occurrence(&[0, 16, 17], "local 0", DEFINES),
            encode_occurrence(&[0, 24, 28], &shop, 0),
            encode_occurrence(&[0, 6, 7], "scip-test npm lib 2.0.0 `lib.ts`/run().", 0),
        ],
    );
    [metadata, main, shop_document].concat()
}

fn read_confirmed_shop() -> ScipIndex {
    let mut index = read_index(&encode_shop_index()).unwrap();
    assert!(index.confirm_document("src/shop.ts", SHOP));
    assert!(index.confirm_document("src/main.ts", MAIN));
    index
}

#[test]
fn references_lead_to_the_place_of_their_definition_in_bytes() {
    let index = read_confirmed_shop();
    let locate = |path, line, column| {
        let place = index.definition_of(path, line, column)?;
        Some(format!("{}:{}:{}", place.path, place.line, place.column))
    };
    assert_eq!(locate("src/main.ts", 2, 2).unwrap(), "src/shop.ts:2:2");
    // In bytes, after a letter of two and an emoji of four.
    assert_eq!(locate("src/main.ts", 1, 27).unwrap(), "src/shop.ts:1:13");
    assert_eq!(locate("src/main.ts", 2, 0).unwrap(), "src/main.ts:1:19");
    assert_eq!(locate("src/shop.ts", 1, 13).unwrap(), "src/shop.ts:1:13");
    // Another package, no name, another unit, no line, no file.
    for (path, line, column) in [
        ("src/main.ts", 1, 6),
        ("src/main.ts", 1, 7),
        ("src/main.ts", 1, 24),
        ("src/main.ts", 0, 0),
        ("main.ts", 1, 0),
    ] {
        assert_eq!(locate(path, line, column), None, "{path}:{line}:{column}");
    }
    let counts =
        index.documents().iter().map(|document| (document.path(), document.occurrence_count()));
    assert_eq!(counts.collect::<Vec<_>>(), [("src/main.ts", 5), ("src/shop.ts", 3)]);
}

#[test]
fn documents_answer_only_after_they_were_compared_with_their_text() {
    let mut index = read_index(&encode_shop_index()).unwrap();
    assert_eq!(index.definition_of("src/main.ts", 2, 2), None);
    assert!(index.confirm_document("src/main.ts", MAIN));
    assert_eq!(index.definition_of("src/main.ts", 2, 2), None);
    let renamed = SHOP.replace("open", "shut");
    for changed in ["", "\n\n\n", &renamed, &SHOP.replace("  open", " open"), &format!("\n{SHOP}")]
    {
        assert!(!index.confirm_document("src/shop.ts", changed), "{changed:?}");
    }
    // A reference within a word, although no definition moved.
    let main = MAIN.replace("s.open", "so.open");
    assert!(!index.document("src/main.ts").unwrap().matches(&main));
    assert!(index.document("src/shop.ts").unwrap().matches(SHOP));
    assert!(
        index.confirm_document("src/shop.ts", SHOP) && index.confirm_document("src/shop.ts", SHOP)
    );
    assert!(index.definition_of("src/main.ts", 2, 2).is_some());
    assert!(!index.confirm_document("src/gone.ts", SHOP));
    // Another text later takes it back.
    assert!(!index.confirm_document("src/main.ts", &main));
    assert_eq!(index.definition_of("src/main.ts", 2, 2), None);
    let mut without_reference = read_index(&encode_shop_index()).unwrap();
    assert!(without_reference.confirm_document("src/shop.ts", SHOP));
    assert_eq!(without_reference.definition_of("src/main.ts", 2, 2), None);
}

#[test]
fn each_form_of_a_descriptor_names_what_its_range_holds() {
    let fits = |descriptors: &str, held: &str| {
        let range = [0, 1, 1 + held.len() as u64];
        let index = encode_document(
            "a",
            1,
            &[encode_occurrence(&range, &global_symbol(descriptors), DEFINES)],
        );
        read_index(&index).unwrap().document("a").unwrap().matches(&format!("({held})"))
    };
    for (descriptors, held) in [
        ("a/Shop#", "Shop"),
        ("a/limit.", "limit"),
        ("Shop#open().", "open"),
        ("Shop#open(+1).", "open"),
        ("Shop#open().(path)", "path"),
        ("Shop#[T]", "T"),
        ("assert!", "assert"),
        ("a/", "a"),
        ("`a.ts`/next12:", "next"),
        ("`a.ts`/next:", "next"),
        ("Shop#`a-``b`().", "a-`b"),
        ("Shop#```b`.", "`b"),
        ("Shop#`naïve name`.", "naïve name"),
        ("Shop#`data-id`.", "'data-id'"),
        ("Shop#`<constructor>`().", "constructor"),
        ("Shop#`<get>size`().", "size"),
        ("`a.ts`/", ""),
    ] {
        assert!(fits(descriptors, held), "{descriptors} {held}");
    }
    for (descriptors, held) in [
        ("a/Shop#", "Shops"),
        ("a/Shop#", "a"),
        ("a/next0.", "next"),
        ("a/x1y0:", "x"),
        ("Shop#open().", "Shop"),
        ("Shop#`<get>size`().", "get"),
        ("Shop", "Shop"),
        ("a(b", "b"),
        ("`", "a"),
        ("``.", "a"),
    ] {
        assert!(!fits(descriptors, held), "{descriptors} {held}");
    }
}

#[test]
fn columns_are_counted_in_the_unit_of_the_document() {
    let text = "é🚀 open\n";
    for (encoding, column, is_fit) in [
        (1, 7, true),
        (2, 4, true),
        (3, 3, true),
        (1, 4, false),
        (2, 7, false),
        (3, 4, false),
        // Not given: the one that fits.
        (0, 7, true),
        (0, 4, true),
        (0, 3, true),
        (0, 5, false),
    ] {
        let open = encode_occurrence(&[0, column, column + 4], &global_symbol("open()."), DEFINES);
        let mut index = read_index(&encode_document("a", encoding, &[open])).unwrap();
        assert_eq!(index.confirm_document("a", text), is_fit, "{encoding} {column}");
        let place = index.definition_of("a", 1, 7).map(|place| place.column);
        assert_eq!(place, is_fit.then_some(7));
    }
    // Within a character of two units.
    let index =
        read_index(&encode_document("a", 2, &[encode_occurrence(&[0, 1, 3], "local 1", 0)]))
            .unwrap();
    assert!(!index.document("a").unwrap().matches("🚀 x"));
    check_error(&encode_document("a", 4, &[]), "an unknown unit of columns at byte");
}

#[test]
fn both_forms_of_ranges_are_read() {
    let symbol = encode_message(2, global_symbol("open().").as_bytes());
    let typed = |field, numbers: &[(u64, u64)]| {
        let numbers: Vec<u8> =
            numbers.iter().flat_map(|(field, value)| encode_number(*field, *value)).collect();
        let parts = [
            encode_message(field, &numbers),
            symbol.clone(),
            encode_number(3, DEFINES),
            encode_message(1, &[9, 9, 9]),
        ];
        encode_document("a", 1, &[encode_message(2, &parts.concat())])
    };
    let unpacked = [
        encode_number(1, 0),
        encode_number(1, 0),
        encode_number(1, 4),
        symbol.clone(),
        encode_number(3, DEFINES),
    ]
    .concat();
    for index in [
        typed(8, &[(3, 4)]),
        typed(8, &[(1, 0), (2, 0), (3, 4)]),
        typed(9, &[(4, 4), (7, 1)]),
        encode_document("a", 1, &[encode_message(2, &unpacked)]),
        encode_document(
            "a",
            1,
            &[encode_occurrence(&[0, 0, 0, 4], &global_symbol("open()."), DEFINES)],
        ),
    ] {
        assert!(read_index(&index).unwrap().confirm_document("a", "open()"));
    }
}

#[test]
fn local_symbols_and_those_defined_twice_stay_in_their_document() {
    let twice = global_symbol("open().");
    let index = |path| {
        let occurrences = [
            encode_occurrence(&[0, 0, 1], "local 1", DEFINES),
            encode_occurrence(&[0, 2, 3], "local 1", 0),
            encode_occurrence(&[1, 0, 4], &twice, DEFINES),
            encode_occurrence(&[1, 5, 9], &twice, DEFINES),
            encode_occurrence(&[1, 10, 14], &twice, 0),
            // Two symbols at one place.
            encode_occurrence(&[2, 0, 1], "local 1", 0),
            encode_occurrence(&[2, 0, 1], "local 2", DEFINES),
        ];
        encode_document(path, 1, &occurrences)
    };
    let text = "x x\nopen open open\nx\n";
    let mut one = read_index(&index("a")).unwrap();
    let mut both = read_index(&[index("b"), index("a")].concat()).unwrap();
    assert!(one.confirm_document("a", text));
    assert!(both.confirm_document("a", text) && both.confirm_document("b", text));
    let locate = |index: &ScipIndex, path, line, column| {
        let place = index.definition_of(path, line, column)?;
        Some((place.path.to_owned(), place.line, place.column))
    };
    assert_eq!(locate(&one, "a", 2, 10), Some(("a".to_owned(), 2, 0)));
    assert_eq!(locate(&both, "a", 2, 10), None);
    assert_eq!(locate(&both, "b", 1, 2), Some(("b".to_owned(), 1, 0)));
    assert_eq!(locate(&both, "b", 3, 0), None);
}

#[test]
fn an_index_that_ends_early_is_refused_wherever_it_ends() {
    let index = encode_shop_index();
    let complete: Vec<usize> =
        (0..=index.len()).filter(|end| read_index(&index[..*end]).is_ok()).collect();
    let metadata = encode_message(1, &encode_message(3, b"file:///work")).len();
    let shop_document = index.len() - read_length_of_last_document(&index);
    assert_eq!(complete, [0, metadata, shop_document, index.len()]);
    check_error(&index[..index.len() - 1], "is not complete; run the indexer again");
}

/// Returns the length of the document of `src/shop.ts` with its head.
fn read_length_of_last_document(index: &[u8]) -> usize {
    let path = b"src/shop.ts";
    let at = index.windows(path.len()).position(|window| window == path).unwrap();
    // Head and length of the document, which take three bytes, and those of the path.
    index.len() - at + 2 + 3
}

#[test]
fn any_changed_byte_is_an_error_or_a_harmless_index() {
    let index = encode_shop_index();
    for at in 0..index.len() {
        for value in [0, 1, 127, 128, 255, index[at] ^ 1, index[at].wrapping_add(8)] {
            let mut changed = index.clone();
            changed[at] = value;
            let Ok(mut read) = read_index(&changed) else { continue };
            read.confirm_document("src/shop.ts", SHOP);
            read.confirm_document("src/main.ts", MAIN);
            for column in 0..40 {
                let place = read.definition_of("src/main.ts", 1, column);
                assert!(place.is_none_or(|place| place.path.len() == 11));
            }
        }
    }
}

#[test]
fn lengths_and_numbers_beyond_bounds_are_refused() {
    let claim =
        |field: u64, bytes: u64| [encode_varint(field << 3 | 2), encode_varint(bytes)].concat();
    check_error(&claim(2, 1 << 63), "has more than 512 MiB");
    check_error(&claim(7, u64::MAX), "has more than 512 MiB");
    check_error(&claim(2, 2 << 30), "has more than 512 MiB");
    check_error(&claim(2, MAX_INDEX_BYTES - 9), "is not complete");
    check_error(
        &encode_message(2, &claim(1, 2 << 30)),
        "a length beyond the end of its message at byte",
    );
    check_error(&encode_message(2, &claim(1, u64::MAX)), "a length beyond the end of its message");
    check_error(&encode_message(2, &encode_message(1, &[b'a'; 1_001])), "more than 1,000 bytes");
    check_error(&encode_message(2, &encode_message(1, &[0xff])), "not UTF-8");
    check_error(&[255; 10], "a number of more than 64 bits at byte 9");
    check_error(&[vec![7 << 3], vec![255; 9], vec![2]].concat(), "a number of more than 64 bits");
    check_error(&[encode_varint(2 << 3), vec![0]].concat(), "a field of another type");
    check_error(&[1], "a field without a number");
    check_error(&[7 << 3 | 3], "a field of an unknown type");
    let range =
        |bytes: &[u8]| encode_document("a", 0, &[encode_message(2, &encode_message(1, bytes))]);
    let negative = encode_varint((-1_i64).cast_unsigned());
    check_error(&range(&[vec![0], negative, vec![1]].concat()), "negative or too large");
    check_error(&range(&[encode_varint(1 << 31), vec![0, 1]].concat()), "negative or too large");
    check_error(&range(&[0, 5, 4]), "a range that ends before it begins");
    check_error(&range(&[1, 0, 0, 9]), "a range that ends before it begins");
    check_error(&range(&[0, 0]), "a range without three or four numbers");
    check_error(&range(&[0; 5]), "a range of more than four numbers");
    check_error(&range(&[]), "a range without three or four numbers");
    check_error(&encode_document("a", 0, &[encode_number(2, 7)]), "a field of another type");
}

#[test]
fn documents_outside_the_folder_are_skipped_and_the_others_kept() {
    let symbol = global_symbol("`a.ts`/open().");
    for path in [
        "", "/etc/passwd", "../other/a.py", "a/../../b.py", "./a.py", "a//b.py", "a/", "C:/a.py",
        "a\\b.py", "a\0",
    ] {
        let outside = encode_document(path, 2, &[encode_occurrence(&[0, 0, 4], &symbol, 0)]);
        let own = encode_document("a.ts", 2, &[encode_occurrence(&[0, 0, 4], &symbol, DEFINES)]);
        let mut index = read_index(&[outside.as_slice(), &outside, &own].concat()).unwrap();
        let paths: Vec<&str> = index.documents().iter().map(ScipDocument::path).collect();
        assert_eq!(paths, ["a.ts"], "{path:?}");
        assert!(index.confirm_document("a.ts", "open"));
        assert_eq!(index.definition_of("a.ts", 1, 0).map(|place| place.path), Some("a.ts"));
    }
}

#[test]
fn two_documents_of_one_file_are_refused() {
    let twice =
        [encode_document("a", 0, &[]), encode_document("b", 0, &[]), encode_document("a", 0, &[])]
            .concat();
    check_error(&twice, "has \"a\" twice");
    assert!(read_index(&encode_document("a..b/.c", 0, &[])).is_ok());
}

#[test]
fn hostile_numbers_of_documents_or_occurrences_are_refused() {
    let began = Instant::now();
    let many = encode_occurrence(&[0, 0, 1], "local 1", DEFINES).repeat(MAX_OCCURRENCES + 1);
    check_error(
        &encode_document("a", 0, &[many]),
        "more than 2000000 occurrences; index a part of it",
    );
    let documents: Vec<u8> = (0..=MAX_DOCUMENTS)
        .flat_map(|number| encode_document(&number.to_string(), 0, &[]))
        .collect();
    check_error(&documents, "more than 300000 documents");
    // A million occurrences, all in one long line that is no ASCII.
    let mut million = Vec::new();
    for place in 0..1_000_000_u64 {
        million.extend(encode_occurrence(&[0, place, place + 1], "local 1", place & 1));
    }
    let mut index = read_index(&encode_document("a", 2, &[million])).unwrap();
    assert!(!index.confirm_document("a", &"é".repeat(1_000_000)));
    assert!(index.confirm_document("a", &"«".repeat(1_000_000)));
    assert_eq!(index.definition_of("a", 1, 1_999_998).map(|place| place.column), Some(2));
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
}

/// An input that cannot be read.
struct FailingInput;

impl Read for FailingInput {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("no disk"))
    }
}

#[test]
fn a_hostile_input_without_end_is_refused() {
    let mut bytes = io::repeat(0x3a).take(u64::MAX);
    // Fields of 58 bytes, without end.
    let error = ScipIndex::read(&mut bytes).unwrap_err();
    assert!(matches!(error, ScipError::TooLarge), "{error}");
    let error = ScipIndex::read(FailingInput).unwrap_err();
    assert_eq!(error.to_string(), "the SCIP index cannot be read: no disk");
    assert!(std::error::Error::source(&error).is_some());
}

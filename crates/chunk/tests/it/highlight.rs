//! Highlight marks of code lines, for each way of reading a language.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use codeinfo_chunk::{HighlightMark, highlight_lines};
use codeinfo_lang::detect::detect_language;
use insta::assert_snapshot;

/// Renders each line with the letters of its marks below it.
fn render_marks(path: &str, text: &str) -> String {
    let lines = text.lines().count();
    let marks = highlight_lines(detect_language(path, text), text, 0..lines);
    assert_eq!(marks.len(), lines, "{path}");
    let line = |(line, marks): (&str, &Vec<HighlightMark>)| {
        let mut below = vec![' '; line.encode_utf16().count()];
        for mark in marks {
            below[mark.start as usize..mark.end as usize].fill(mark.class.letter());
        }
        let below: String = below.into_iter().collect();
        format!("{line}\n{}\n", below.trim_end())
    };
    text.lines().zip(&marks).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn parsed_languages_are_highlighted_by_their_trees() {
    let rust = "\
/// Ä 𝄞 doc.
#[derive(Debug)]
pub struct Öl<'a> { size: u32, }
impl Öl<'_> {
    fn weigh(&self, at: &str) -> usize {
        let mut sum = at.len() + 0x10; // why
        println!(\"é {sum}\\n\", MAX_SIZE);
        self.store.add::<u8>(true, 'c', \"x\");
    }
}
";
    assert_snapshot!(render_marks("a.rs", rust), @r#"
    /// Ä 𝄞 doc.
    ccccccccccccc
    #[derive(Debug)]
    aaaaaaaaatttttaa
    pub struct Öl<'a> { size: u32, }
    kkk kkkkkk tt             ttt
    impl Öl<'_> {
    kkkk tt
        fn weigh(&self, at: &str) -> usize {
        kk fffff  kkkk       ttt     ttttt
            let mut sum = at.len() + 0x10; // why
            kkk kkk          fff     nnnn  cccccc
            println!("é {sum}\n", MAX_SIZE);
            fffffff  sssssssssss  oooooooo
            self.store.add::<u8>(true, 'c', "x");
            kkkk       fff   tt  kkkk  sss  sss
        }

    }
    "#);
}

#[test]
fn called_names_are_highlighted_in_each_language() {
    let python = "\
@cached
class Box(Base):
    async def open(self, name: str = None) -> int:
        '''Opens.'''
        return f\"a {self.find(name)} b\" + 1.5 # end
";
    let script = "\
export const join = async (a, b = null) => `${a.trim()} and ${b}`;
class Tree extends Node { grow() { return /x+/g.test(this.name); } }
";
    let go = "func (s *Store) Open(path string) error {\n  return s.files.Read(path, 0, nil)\n}\n";
    let c = "#include <a.h>\nstatic const int two(char *a) { return f(a, 2.0); /* b\nc */ }\n";
    let shell = "# why\nif test -f \"$HOME/${A}\"; then echo 'x' $(date +%s); fi\n";
    let all = [("a.py", python), ("a.js", script), ("a.go", go), ("a.c", c), ("a.sh", shell)];
    let all = all.map(|(path, text)| render_marks(path, text)).concat();
    assert_snapshot!(all, @r#"
    @cached
    aaaaaaa
    class Box(Base):
    kkkkk ttt tttt
        async def open(self, name: str = None) -> int:
        kkkkk kkk ffff                   oooo
            '''Opens.'''
            ssssssssssss
            return f"a {self.find(name)} b" + 1.5 # end
            kkkkkk ssss      ffff       sss   nnn ccccc
    export const join = async (a, b = null) => `${a.trim()} and ${b}`;
    kkkkkk kkkkk        kkkkk         oooo     s    ffff   sssss    s
    class Tree extends Node { grow() { return /x+/g.test(this.name); } }
    kkkkk tttt kkkkkkk tttt   ffff     kkkkkk sssss ffff kkkk
    func (s *Store) Open(path string) error {
    kkkk     ttttt  ffff      tttttt  ttttt
      return s.files.Read(path, 0, nil)
      kkkkkk         ffff       n  ooo
    }

    #include <a.h>
    kkkkkkkk sssss
    static const int two(char *a) { return f(a, 2.0); /* b
    kkkkkk kkkkk ttt fff tttt       kkkkkk f    nnn   cccc
    c */ }
    cccc
    # why
    ccccc
    if test -f "$HOME/${A}"; then echo 'x' $(date +%s); fi
    kk ffff    s     s    s  kkkk ffff sss   ffff       kk
    "#);
}

#[test]
fn other_languages_are_highlighted_by_their_words() {
    let kotlin =
        "fun open(path: String) { // now\n  val url = \"https://x/\\\"y\" /* a\n b */ + 12.5 }\n";
    let yaml = "name: it's # why\nurl: http://a#b\nquote: 'one' \"two\n";
    let all = [render_marks("a.kt", kotlin), render_marks("a.yaml", yaml)].concat();
    assert_snapshot!(all, @r#"
    fun open(path: String) { // now
    kkk kkkk                 cccccc
      val url = "https://x/\"y" /* a
      kkk       sssssssssssssss cccc
     b */ + 12.5 }
    ccccc   nnnn
    name: it's # why
               ccccc
    url: http://a#b

    quote: 'one' "two
           sssss
    "#);
    // Prose has no marks.
    assert_eq!(render_marks("a.md", "# One \"two\" 3\n"), "# One \"two\" 3\n\n");
    assert_eq!(highlight_lines(None, "let x = 1;\n", 0..1), [[]]);
}

#[test]
fn a_part_of_a_text_is_highlighted_as_in_the_whole_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let language = detect_language(path.to_str().unwrap(), &text);
        let lines = text.lines().count();
        let whole = highlight_lines(language, &text, 0..lines);
        for first in (0..lines).step_by(7) {
            let part = highlight_lines(language, &text, first..first + 5);
            assert_eq!(part, whole[first..(first + 5).min(lines)], "{} {first}", path.display());
        }
        assert!(highlight_lines(language, &text, lines + 1..lines + 9).is_empty());
    }
}

#[test]
fn hostile_text_takes_little_time() {
    for (path, text) in [
        ("a.kt", "\"\\".repeat(500_000)),
        ("a.kt", "/*'\"".repeat(500_000)),
        ("a.rs", "(".repeat(200_000)),
        ("a.js", "`${".repeat(100_000)),
        ("a.ts", format!("{}1{}", "`${\n".repeat(20_000), "\n}`".repeat(20_000))),
        ("a.rb", format!("{}1{}", "\"#{\n".repeat(20_000), "\n}\"".repeat(20_000))),
        ("a.yaml", "'a\"#".repeat(500_000)),
    ] {
        let began = Instant::now();
        highlight_lines(detect_language(path, &text), &text, 0..2000);
        // Parsing alone may take five seconds.
        assert!(began.elapsed() < Duration::from_secs(9), "{path}");
    }
}

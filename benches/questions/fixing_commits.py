"""Makes questions of commits that fix something: the message asks, the source files that it changed answer.

    python3 benches/questions/fixing_commits.py MIRRORS OUT

MIRRORS holds a clone of each repository as MIRRORS/OWNER+NAME/repo (`git clone --bare`). Of `repositories.jsonl` next to this file, the lines
with `questions`, the set that a repository belongs to, and `newest`, the last commit to look at, are read. Each set becomes OUT/SET.jsonl, the
same one each time. All questions of a repository are about the tree of `commit`; if the line has another one, the program says the right one.
"""

import collections
import itertools
import json
import pathlib
import re
import subprocess
import sys

QUESTIONS = 24  # of one repository
MAX_CANDIDATES = 120  # of one repository, newest first
MAX_COMMITS = 8000  # of one repository that are read
MAX_FILES, MAX_USES = 4, 3  # answers of a question, questions with the same answer
MIN_WORDS, MAX_WORDS = 6, 90
MIN_PRESENT = 0.7  # share of the lines around a change that the checkout has, too: else it mended code that came later
MAX_ALIKE = 0.5  # share of words that two subjects have in common: else it is the same fault in several places

LANGUAGES = {
    "bash": "sh bash", "c": "c h", "cpp": "cc cpp cxx hh hpp hxx", "csharp": "cs", "elixir": "ex exs", "go": "go", "haskell": "hs",
    "java": "java", "javascript": "js jsx mjs cjs", "kotlin": "kt kts", "lua": "lua", "php": "php", "python": "py pyx", "ruby": "rb",
    "rust": "rs", "scala": "scala", "swift": "swift", "typescript": "ts tsx mts cts", "zig": "zig",
}  # fmt: skip
LANGUAGE_OF = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes.split()}

# Folders and names of files that are no code of the product, and files that name dependencies.
ASIDE = re.compile(
    r"(^|/)(\.[^/]+|[^/]*tests?|specs?|__tests__|testing|test[-_]?utils?|testdata|fixtures?|playground|bench(es|marks?)?|examples?|samples?"
    r"|demos?|docs?|website|vendor(ed)?|third[-_]party|node_modules|dist|build(Src)?|static|scripts?|contrib|support|tools?|translations?|locales?|ci)/"
    r"|(^|/)(tests?[-_.][^/]*|conftest\.py|[^/]*[-_.](tests?|spec|bench|config|min)\.\w+|[^/]*[a-z](Tests?|Spec)\.\w+)$"
)
MANIFEST = re.compile(
    r"(^|/)([^/]*[.-]lock(\.[^/]*)?|(Cargo|pyproject)\.toml|package\.json|go\.(mod|sum)|mix\.exs|pom\.xml|[^/]*\.(gemspec|csproj|props|gradle))$"
)

# Words of subjects that tell of a fault; those that a body needs where the subject has none; subjects that mend no behaviour.
CERTAIN = r"bug|crash(es|ed|ing)?|regression|wrong(ly)?|incorrect(ly)?|broken|leak(s|ed|ing)?|panic(s|k?ed|king)?|dead-?locks?|hangs|segfault"
FAULT_OF_BODY = re.compile(rf"\b({CERTAIN}|corrupt\w*|use[- ]after[- ]free|infinite loop|mistakenly|erroneously|unexpectedly)\b", re.I)
LIKELY = r"fix(es|ed|ing)?|bugs|hang|hung|races?|overflow\w*|out[- ]of[- ]\w+|stuck|freez\w+|invalid|missing|fail(s|ed|ing|ures?)?|doesn't|stale"
FAULT = re.compile(rf"{FAULT_OF_BODY.pattern}|\b({LIKELY})\b", re.I)
NO_FAULT = re.compile(
    r"(?i)^fix [A-Z]{1,3}\d{3}\b|^(build|chore|ci|docs?|feat|perf|refactor|release|style|tests?)\b[^ ]*:"
    r"|^(\W*\w[^:]{0,40}: ?)?\W*(revert|merge|bump|upgrade|updated?|release|prepare|add(ed|s)?|support|allow|implement|introduce|removed?|rename"
    r"|refactor|move|clean|simplif\w+|document|improve|optimi[sz]\w+|inline|reuse|switch|extract|pack|new|breaking)\b"
    r"|\b(typos?|lint\w*|clippy|ruff|mypy|flake8|eslint|phpstan|rubocop|spelling|grammar|wording|changelog|readme|docs|[jk](ava)?docs?|samples?"
    r"|documentation|documented|docstrings?|explanation|examples?|mention\w*|help (text|topic)|man ?pages?|comments?|flaky|ci|tests?|warnings?"
    r"|refactor\w*|dependenc\w+|deps|compil(er?|es|ing|ation)|builds?|benchmarks?|perf|performance|faster|needless\w*|\w*allocation|whitespace"
    r"|translations?|indentation|copyright|license|imports?|go (vet|fix)|revert\w*|cod(e|ing) ?style|typings?|types|annotations?)\b"
)

# What is left out: what names places gives way to a mark, as its sentence lacks something then; the rest says nothing.
MARK = "\x00"
ISSUE = r"(?:[\w.-]+/[\w.-]+)?(?:#|\bGH-)\d+"
LEFT_OUT = [
    (r"(?s)<!--.*?(-->|\Z)|(?m:^\s*#{1,6} [^\n]*$)", " "),  # comments of templates, headings
    (r"(?s)```.*?(```|\Z)|~~~.*?~~~|``[^`\n]+``|`[^`\n]*`", MARK),
    (r"(?m)^(\t| {4,}).*$|^\s*(>|\||\$ ).*$", MARK),  # indented code, quotations, tables, commands
    (r"\[(?=[^\]\n]*\]\()|\]\([^)\s]*\)|\[?\b(skip ci|ci skip|(GHSA|CVE)-[\w-]+)\b\]?|<?[\w.+-]+@[\w.-]+>?|(?<!\w)@[\w-]+", " "),  # of a link the text stays
    (r"<?\bhttps?://[^\s>)]+>?|\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b", MARK),
    (r"(?i)[([]?\b(?:(?:partially )?(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|issues?|PRs?|part of|related to)\b:?\s*)+"
     rf"{ISSUE}(?:(?:, and|,| and)? *{ISSUE})*[])]?\.?|[([]?{ISSUE}[])]?", " "),
    (r"(?<![\w.])[\w./\\*-]*[\w*]\.(?:%s|md|rst|txt|json|ya?ml|toml|html?|css|vue|xml|inc)\b(?::\d+)?" % "|".join(LANGUAGE_OF), MARK),
]  # fmt: skip
TRAILER = re.compile(r"\s*((\w+-)+(by|to|id|url)|bug|change|closes|fixes|refs?|see|test|note|cc|backport\w*|link)\b ?[:#]|\s*-{3,}\s*$", re.I)
LINK = r"a|an|the|in|of|for|to|with|on|by|from|and|or|when|is|are|if|that|as|at|via|like|use|using"  # no sentence ends with it
INCOMPLETE = re.compile(rf"(:|\b({LINK}))$|^fix(es|ed)? (when|in|for|of|and|on|with)\b", re.I)
THANKS = re.compile(r"\b(report(ed)?|found|spotted|noticed|discovered|suggested|reviewed) (with fix )?by\b|\bthanks\b|\bkudos\b", re.I)


def run_git(repository, *arguments):
    return subprocess.run(["git", f"--git-dir={repository}", *arguments], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")


def list_paths(repository, commit):
    return run_git(repository, "ls-tree", "-r", "--name-only", commit).splitlines()


def mark_places(text, paths):
    for pattern, stead in LEFT_OUT:
        text = re.sub(pattern, stead, text)
    words = re.split(r"(\s+)", text)
    return "".join(MARK if "/" in word and "/" + word.strip("/.,:;()[]'\"*") in paths else word for word in words)


def join_words(text):
    text = re.sub(r"\(\W*\)|\[\W*\]|\*\*", " ", text.replace(MARK, " "))
    return re.sub(r"\s+(?=[.,;:!?)](\s|$))", "", " ".join(text.split())).strip(" -*:;,.")


def list_sentences(body, paths):
    """Yields the sentences of prose up to the trailers, without those that name a place or end before what they announce."""
    for paragraph in re.split(r"\n\s*\n", mark_places(body.replace("\r", ""), paths).strip()):
        if TRAILER.match(paragraph):
            return
        is_list = re.match(r"\s*([*+•-]|\d+[.)])\s", paragraph)
        lines = [line for line in paragraph.split("\n") if not TRAILER.match(line)]
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(])", " ".join(lines)):
            words = join_words(sentence)
            cut = is_list or MARK in sentence or INCOMPLETE.search(sentence.strip()) or THANKS.search(sentence)
            if not cut and len(words.split()) > 3:
                yield words


def write_query(subject, body, paths):
    """Returns the subject and the first sentences of the body, up to `MAX_WORDS` words; nothing if the subject lacks too much."""
    subject = re.sub(r"^[^\w\[]*(?:\[?\d[\d.]*x?[\]\s:-]+)?(?=[\w\[])", "", subject)
    subject = re.sub(r"(?i)^(fix|bug|hotfix)(?:\(([^)]*)\))?!?:\s*", lambda match: f"{match[2]}: " if match[2] else "", subject)
    parts = [join_words(mark_places(subject, paths))]
    if INCOMPLETE.search(parts[0]) or len(parts[0].split()) < (5 if "`" in subject else 3):
        return ""
    for sentence in list_sentences(body, paths):
        if sum(len(part.split()) for part in [*parts, sentence]) > MAX_WORDS:
            break
        if sentence.lower() != parts[0].lower():
            parts.append(sentence)
    return ". ".join(parts)


def list_candidates(repository, newest):
    """Yields fixing commits, newest first: hash, query, and the source files that were there before."""
    options = ["--no-merges", "--no-renames", "--name-status", f"-n{MAX_COMMITS}", "--format=%x1e%H%x1f%s%x1f%b%x1f"]
    paths = "".join(f"/{path}\n" for path in list_paths(repository, newest))
    subjects, uses = [], collections.Counter()
    for record in run_git(repository, "log", *options, newest).split("\x1e")[1:]:
        commit, subject, body, changes = record.split("\x1f", 3)
        changed = (line.split("\t") for line in changes.strip().splitlines())
        product = [(status, path) for status, path in changed if not ASIDE.search(path)]
        sources = [(status, path) for status, path in product if path.rpartition(".")[2] in LANGUAGE_OF]
        gold = sorted(path for status, path in sources if status != "A")
        manifests = any(MANIFEST.search(path) for _, path in product)
        if manifests or not gold or len(sources) > MAX_FILES or NO_FAULT.search(subject) or max(uses[path] for path in gold) >= MAX_USES:
            continue
        query = write_query(subject, body, paths)
        words = set(re.findall(r"\w+", subject.partition(": ")[2].lower() or subject.lower()))
        alike = any(len(words & others) > MAX_ALIKE * len(words | others) for others in subjects)
        if len(query.split()) >= MIN_WORDS and not alike and (FAULT.search(mark_places(subject, paths)) or FAULT_OF_BODY.search(query)):
            subjects.append(words)
            uses.update(gold)
            yield commit, query, gold


def is_present(repository, checkout, commit, path):
    """Returns whether the checkout has most lines that the commit changed or that are next to these, and more than comments changed."""
    diff = run_git(repository, "diff", "-U2", f"{commit}^", commit, "--", path).split("\n@@")[1:]
    lines = [line for hunk in diff for line in hunk.split("\n")[1:] if len(line.strip()) > 3]
    before = {line.strip() for line in run_git(repository, "show", f"{checkout}:{path}").splitlines()}
    known = [line[1:].strip() in before for line in lines if line[0] in "- "]
    comments = all(re.match(r"[+-]\s*(#(?!\w)|//|/?\*|--)", line) for line in lines if line[0] in "+-")
    return sum(known) >= MIN_PRESENT * len(known) and not comments


def choose_commits(repository, newest):
    """Returns the commit to check out, and commits after it that mend what it has: the shortest history that has enough, or the best."""
    candidates = list(itertools.islice(list_candidates(repository, newest), MAX_CANDIDATES))
    checkout, fitting = "", []
    for length in range(QUESTIONS, len(candidates) + 1, 4):
        parent = run_git(repository, "rev-parse", f"{candidates[length - 1][0]}^").strip()
        later = set(run_git(repository, "rev-list", f"{parent}..{newest}").split())
        paths = set(list_paths(repository, parent))
        reached = [line for line in candidates[:length] if line[0] in later and paths.issuperset(line[2])]
        reached = [line for line in reached if all(is_present(repository, parent, line[0], path) for path in line[2])]
        if len(reached) > len(fitting):
            checkout, fitting = parent, reached
        if len(fitting) >= QUESTIONS:
            break
    last = min(QUESTIONS, len(fitting)) - 1
    return checkout, [fitting[index * (len(fitting) - 1) // last] for index in range(last + 1)]


def make_question(name, commit, query, gold):
    languages = collections.Counter(LANGUAGE_OF[path.rpartition(".")[2]] for path in gold)
    question = {"id": f"{name}-{commit[:10]}", "repo": name, "language": languages.most_common(1)[0][0], "query": query, "category": "fix"}
    return json.dumps(question | {"relevant": [{"path": path} for path in gold], "secondary": []}, ensure_ascii=False) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    mirrors, out = map(pathlib.Path, sys.argv[1:])
    sets = collections.defaultdict(list)
    for line in map(json.loads, pathlib.Path(__file__).with_name("repositories.jsonl").read_text().splitlines()):
        if "questions" not in line:
            continue
        checkout, chosen = choose_commits(mirrors / line["github"].replace("/", "+") / "repo", line["newest"])
        if checkout != line["commit"]:
            sys.exit(f"`{line['name']}` needs `commit` {checkout} in repositories.jsonl")
        sets[line["questions"]] += [make_question(line["name"], *candidate) for candidate in reversed(chosen)]
    for name, questions in sets.items():
        (out / f"{name}.jsonl").write_text("".join(questions))


if __name__ == "__main__":
    main()

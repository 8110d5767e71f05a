"""What a person of skill with ripgrep sees: the rare words of a question, best files first."""

import re
import subprocess
from collections import Counter

STOP = frozenset(
    """a about after against all also an and any are as at be because been before being between both but by can code could
    decide decided decides did do does doing done each else ever every file files find first for from function get gets
    give given gives go goes had happen happened happens has have having how if implementation implemented in instead into
    is it its itself kept keep kind know known like made make makes many may more most much must never no not of off on
    once one only onto or other out over own place possible put repository same should so some something such take taken
    takes tell than that the their them then there these they thing this those through to too turn turned two up use used
    user uses using very want was way were what when where whether which while who whose why will with within without work
    works would you your""".split()
)
IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.|->|-)[A-Za-z_]\w*)*")
TESTS = re.compile(r"(^|[/_.-])(tests?|specs?|docs?|examples?|changelog|changes|news|i18n|locales?)([/_.-]|s?$)", re.IGNORECASE)
ENDINGS = ("ations", "ation", "ings", "ing", "ied", "ies", "ers", "er", "ed", "es", "s", "e", "y")


class Variant:
    """How many of the rarest words are searched for, the lines around hits, and whether words lose their endings."""

    def __init__(self, words, context, stems):
        self.words, self.context, self.stems = words, context, stems
        self.name = f"{words or 'all'} words, -C{context}{', stems' if stems else ''}"


VARIANTS = [Variant(words, context, stems) for words in (2, 3, 5, 0) for context in (3, 6) for stems in (False, True)]


class Ripgrep:
    def __init__(self, program, budget):
        self.program, self.budget = program, budget
        self.counted = {}

    def run(self, folder, *arguments):
        command = [self.program, "--no-config", "--color=never", "--sort=path", "-S", *arguments]
        run = subprocess.run(command, cwd=folder.path, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        if run.returncode > 1 and not run.stdout:
            raise SystemExit(f"{' '.join(command)}: {run.stderr.decode(errors='replace')}")
        return run.stdout.decode(errors="replace")

    def counts(self, folder, word):
        """Returns how many lines of each file have a word."""
        key = (folder.path, word)
        if key not in self.counted:
            rows = self.run(folder, "-c", "-F", "-e", word, ".").splitlines()
            pairs = (row.rpartition(":") for row in rows)
            self.counted[key] = {path.removeprefix("./"): int(count) for path, _, count in pairs}
        return self.counted[key]

    def search(self, question, variant):
        """Returns what is printed of the files that have most of the words, then most hits."""
        words = {word: self.counts(question.folder, word) for word in words_of(question.text, variant.stems)}
        words = {word: files for word, files in words.items() if files}
        rarest = sorted(words, key=lambda word: (len(words[word]), sum(words[word].values())))
        chosen = rarest[: variant.words or None]
        distinct, hits = Counter(), Counter()
        for word in chosen:
            for path, count in words[word].items():
                distinct[path] += 1
                hits[path] += min(count, 1000)
        best = sorted(distinct, key=lambda path: (bool(TESTS.search(path)), -distinct[path], -hits[path], path))
        patterns = [part for word in chosen for part in ("-e", word)]
        texts, spent = [], 0
        for path in best:
            if spent >= self.budget:
                break
            text = self.run(question.folder, "-n", f"-C{variant.context}", "--heading", "--with-filename", "-F", *patterns, path)
            texts.append(text)
            spent += len(text.encode()) + 1
        return texts


def words_of(text, stems):
    """Returns the words of a question that are no stop words: identifiers as they are, words of prose in small letters."""
    found = []
    for word in IDENTIFIER.findall(text):
        is_name = re.search(r"[_$]|::|\.|->|[a-z][A-Z]|^[A-Z]{2}", word)
        word = word if is_name else word.lower()
        if len(word) < 3 or word.lower() in STOP:
            continue
        found.append(stem(word) if stems and not is_name else word)
    return list(dict.fromkeys(found))


def stem(word):
    """Cuts the ending, so that the other forms of a word are found, too."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word

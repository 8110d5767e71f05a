"""Makes training pairs from repositories: what a comment says, and the code that it is about.

usage: harvest.py MIRROR OUT [OWNER/NAME ...]      (without names: all of sources.txt)
MIRROR/OWNER+NAME/repo is a bare git repository. Writes OUT/OWNER+NAME.jsonl, one pair a line:
kind, path, symbol, query (may be empty), rest (of the comment), code (without the comment).

Lines and indentation are all it looks at, so that one pass serves every language.
"""

import json
import pathlib
import random
import re
import sys
import time

from gitfiles import contents, listing
from languages import CALLABLE, CONTAINER, DEFINITION, LANGUAGES, LEFT_OUT, SIGNATURE
from prose import comment_text, split

FILES = 1500
SIZES = range(300, 160_000)
MOST = {"def": 6000, "module": 1500, "inline": 2500, "bare": 2500}
CODE_LINES, CODE_BYTES = 50, 2400
CLOSERS = ("}", ")", "]", "end", "{", "else", "then", "where", "|", "=", "do", "fi", "done", "esac", ",")
DOCSTRING = re.compile(r"^\s*(?:@(?:module|type|short)?doc\s+)?(?:~[sS])?[rRuUbB]{0,2}(\"\"\"|''')")
HEADERS = re.compile(
    r"^\s*(import|from|package|use|using|#include|#pragma|#if|#define|require|module|extern|namespace|alias|"
    r"\{-#|open|local \w+ = require|const \w+ = require|'use strict'|\"use strict\"|<\?php|declare|mod)\b"
)


def indent(line):
    return len(line) - len(line.lstrip())


class File:
    """One file as lines, each of them code, comment or blank."""

    def __init__(self, path, text):
        self.path = path
        self.language, self.line_mark, self.block_start, self.block_end = LANGUAGES[path.rsplit(".", 1)[1]]
        self.lines = text.split("\n")
        self.blocks = []  # (first line, behind the last line, text, is a docstring)
        self.is_code = [False] * len(self.lines)
        self.classify()

    def classify(self):
        place, last = 0, len(self.lines)
        while place < last:
            line = self.lines[place]
            start = place
            if not line or line.isspace():
                place += 1
            elif self.language in ("python", "elixir") and (found := DOCSTRING.match(line)):
                place = self.docstring(place, found)
            elif self.block_start and self.block_start.match(line):
                while place < last and self.block_end not in self.lines[place]:
                    place += 1
                place += 1
                self.add_comment(start, min(place, last))
            elif self.line_mark.match(line):
                while place < last and self.line_mark.match(self.lines[place]):
                    place += 1
                self.add_comment(start, place)
            else:
                self.is_code[place] = True
                place += 1

    def docstring(self, place, found):
        mark, start = found.group(1), place
        body = self.lines[place][found.end() :]
        texts = [body.split(mark)[0]]
        if mark not in body:
            place += 1
            while place < len(self.lines) and mark not in self.lines[place]:
                texts.append(self.lines[place].strip())
                place += 1
            if place < len(self.lines):
                texts.append(self.lines[place].split(mark)[0].strip())
        self.blocks.append((start, place + 1, "\n".join(texts), True))
        return place + 1

    def add_comment(self, start, end):
        self.blocks.append((start, end, comment_text(self.lines[start:end]), False))

    def next_code(self, place):
        while place < len(self.lines) and not self.is_code[place]:
            place += 1
        return place

    def body(self, start):
        """Returns the line behind the piece of code that begins at `start`."""
        margin = indent(self.lines[start])
        end = start + 1
        while end < len(self.lines) and end - start < CODE_LINES:
            line = self.lines[end]
            if line and not line.isspace():
                here = indent(line)
                if here < margin and not line.lstrip().startswith(CLOSERS):
                    break
                fresh = not self.lines[end - 1].strip() or not self.is_code[end]
                if here <= margin and fresh and not line.lstrip().startswith(CLOSERS):
                    break
            end += 1
        return end

    def code(self, start, end):
        return "\n".join(line for line in self.lines[start:end] if line.strip())[:CODE_BYTES]

    def symbol(self, start):
        """Returns (name, name with those around it) of the definition at `start`."""
        name = ""
        for line in self.lines[start : start + 4]:
            stripped = line.lstrip()
            if stripped.startswith(("@", "#[", "[")) and not name:
                continue
            found = DEFINITION.match(line) or SIGNATURE.match(line) or CALLABLE.search(line)
            name = found.group(1) if found else ""
            break
        around, margin = [], indent(self.lines[start])
        for place in range(start - 1, max(-1, start - 600), -1):
            if margin == 0 or 2 <= len(around):
                break
            line = self.lines[place]
            if self.is_code[place] and indent(line) < margin:
                margin = indent(line)
                if found := CONTAINER.match(line):
                    around.append(found.group(1))
        return name, ".".join([*reversed(around), name] if name else reversed(around))


def pairs(path, text, rng):
    """Yields the pairs of a file."""
    file = File(path, text)
    first_code = file.next_code(0)
    first_body = first_code
    while first_body < len(file.lines) and HEADERS.match(file.lines[first_body]):
        first_body = file.next_code(first_body + 1)
    taken = set()
    for start, end, text, is_docstring in file.blocks:
        if len(text) < 14:
            continue
        head = file.lines[start].lstrip()
        code = file.next_code(end)
        is_module = head.startswith(("//!", "@moduledoc")) or start <= first_body
        if is_docstring and file.language == "python" and first_code < start:
            definition = start - 1
            while 0 <= definition and start - definition < 15 and not re.match(r"\s*(async\s+def|def|class)\b", file.lines[definition]):
                definition -= 1
            if start - definition == 15 or definition < 0:
                continue
            name, symbol = file.symbol(definition)
            found = split(text, name)
            taken.add(definition)
            if found:
                behind, margin = end, indent(file.lines[definition])
                while behind < len(file.lines) and behind - end < CODE_LINES and (
                    not file.lines[behind].strip() or margin < indent(file.lines[behind])
                ):
                    behind += 1
                body = (file.code(definition, start) + "\n" + file.code(end, behind))[:CODE_BYTES]
                yield "def", symbol, *found, body
            continue
        attached = code < len(file.lines) and code - end <= (1 if is_docstring else 0)
        if is_module and (not attached or HEADERS.match(file.lines[code]) or head.startswith(("//!", "@moduledoc"))):
            found = split(text)
            if found:
                behind = file.next_code(end)
                yield "module", "", *found, file.code(behind, behind + CODE_LINES)
                if behind + CODE_LINES < len(file.lines):
                    window = rng.randrange(behind, len(file.lines) - 20)
                    yield "module", "", *found, file.code(window, window + 25)
            continue
        if not attached:
            continue
        behind = file.body(code)
        name, symbol = file.symbol(code)
        is_definition = bool(
            head.startswith(("///", "/**", "-- |", "@doc")) or DEFINITION.match(file.lines[code])
            or SIGNATURE.match(file.lines[code]) or (indent(file.lines[code]) == 0 and 3 < behind - code)
        )
        taken.add(code)
        if found := split(text, name if is_definition else ""):
            yield "def" if is_definition else "inline", symbol, *found, file.code(code, behind)
    for place, line in enumerate(file.lines):
        if file.is_code[place] and place not in taken and DEFINITION.match(line) and not line.lstrip().startswith(("const ", "let ", "var ", "val ")):
            behind = file.body(place)
            if 4 < behind - place:
                yield "bare", file.symbol(place)[1], "", "", file.code(place, behind)


def harvest(repository, out):
    rng = random.Random(repository.parent.name)
    files = [
        file for file in listing(str(repository))
        if file[2] in SIZES and "." in file[0] and file[0].rsplit(".", 1)[1] in LANGUAGES and not LEFT_OUT.search(file[0])
    ]
    files = rng.sample(files, min(FILES, len(files)))
    kinds, seen = {kind: [] for kind in MOST}, set()
    for path, content in contents(str(repository), files):
        if b"\0" in content or re.search(rb"generated by|do not edit|@generated", content[:600], re.IGNORECASE):
            continue
        for kind, symbol, query, rest, code in pairs(path, content.decode("utf-8", "replace"), rng):
            if len(code) < 60 or code.count("\n") < 1 or (kind, query, code[:200]) in seen:
                continue
            seen.add((kind, query, code[:200]))
            kinds[kind].append({"kind": kind, "path": path, "symbol": symbol, "query": query, "rest": rest, "code": code})
    with open(out, "w") as lines:
        for kind, found in kinds.items():
            for pair in rng.sample(found, min(MOST[kind], len(found))):
                lines.write(json.dumps(pair) + "\n")
    return len(files), {kind: len(found) for kind, found in kinds.items()}


def main():
    mirror, out = map(pathlib.Path, sys.argv[1:3])
    names = sys.argv[3:] or (pathlib.Path(__file__).parent / "sources.txt").read_text().split()
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        name = name.replace("/", "+")
        repository, target = mirror / name / "repo", out / f"{name}.jsonl"
        if target.exists() or not repository.is_dir():
            print(name, "done before" if target.exists() else "not at hand", flush=True)
            continue
        started = time.process_time()
        files, counts = harvest(repository, target)
        print(name, files, "files", counts, f"{time.process_time() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()

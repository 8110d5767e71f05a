"""What a text shows of a checkout: which lines of which files, and after how many bytes.

It depends on no format beyond this: a path stands in the line of a place (`path:12-40`) or at the
beginning of a line of code (`path:12  text`), and a line of code has its number before it, then `|`,
`:`, `-`, a tab or spaces. A line counts only if its text in the file is what is shown, or begins with it where
the end is cut.
"""

import os
import re

from questions import line_of

NUMBERED = re.compile(r"^\s*(\d+)(?:[|:\t-]| {1,2}(?=\S))(.*)$")
LINES = r":(?P<first>\d+)(?:-(?P<last>\d+))?(?!\d)"
RELATIVE = re.compile(r"(?P<path>[^\s`'\"]+?)" + LINES)
SYMBOL = re.compile(r"`([^`]+)`")
CUT = ("⋯", "…")
# A line whose middle or start is shown counts if this much of it is.
TELLING = 40


class Block:
    """A place that a result names."""

    def __init__(self, path, first, last, symbol):
        self.path, self.first, self.last, self.symbol = path, first, last, symbol


def events(text, folder):
    """Returns `(bytes, path, line)` for each line of a file shown, with the bytes up to its end, and blocks."""
    found, blocks = [], []
    path, end = None, 0
    for line in text.split("\n"):
        end += len(line.encode()) + 1
        numbered = NUMBERED.match(line)
        if numbered and path:
            number = int(numbered[1])
            if shows(numbered[2], path, number):
                found.append((end, path, number))
            continue
        absolute = re.compile(f"(?P<path>{re.escape(folder.checkout)}/.*?){LINES}")
        place = absolute.search(line) or RELATIVE.search(line)
        named = place and resolve(place["path"], folder)
        if named:
            first = int(place["first"])
            rest = line[place.end() :].removeprefix(":")
            if rest.strip() and shows(rest, named, first):
                found.append((end, named, first))
                continue
            path, symbol = named, SYMBOL.search(rest)
            blocks.append(Block(path, first, int(place["last"] or first), symbol and symbol[1]))
            continue
        # A path that stands alone on its line, as ripgrep and lists of uses have it.
        path = resolve(line.strip().strip("`").rstrip(":"), folder) or path
    return found, blocks


def resolve(name, folder):
    """Returns the file that a text names, absolute or below a checkout."""
    if not name or len(name) > 500:
        return None
    for base in (folder.path, folder.checkout):
        path = os.path.normpath(os.path.join(base, name))
        if path.startswith(folder.checkout + os.sep) and os.path.isfile(path):
            return path
    return None


def shows(text, path, number):
    """Returns whether a text is that line, or tells enough of it."""
    line, text = plain(line_of(path, number)), plain(text)
    if text == line:
        return True
    part = text
    for mark in CUT:
        part = part.removeprefix(mark).removesuffix(mark).strip()
    return part != text and len(part) >= TELLING and part in line


def plain(text):
    """Returns a text with one space for each run of blanks."""
    return " ".join(text.split())

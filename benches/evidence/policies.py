"""Fixed ways to look for an answer: what is done next depends only on what was shown before."""

import re
from collections import namedtuple

from questions import lines_of
from shown import events

Search = namedtuple("Search", "query")
Read = namedtuple("Read", "path first last")
Uses = namedtuple("Uses", "name")

# Lines around a result that are read, once all that results left out is.
AROUND = 40
# Most lines of one reading.
MOST = 150


def steps(blocks, seen):
    """Yields what to do after a search: read what the results left out, then around the best, then the uses of its
    name, then around the others. `seen` is looked at before each step; who takes the steps adds to it.
    """
    yield from left_out(blocks, seen)
    yield from around(blocks[:1], seen)
    name = next((block.symbol for block in blocks if block.symbol), None)
    if name:
        yield Uses((re.findall(r"\w+", name)[-1:] or [name])[0])
    yield from around(blocks[1:], seen)


def left_out(blocks, seen):
    """Reads what is not shown of the places that results name."""
    for block in blocks:
        yield from readings(block, 0, seen)


def around(blocks, seen):
    """Reads more around results."""
    for block in blocks:
        yield from readings(block, AROUND, seen)


def readings(block, more, seen):
    """Reads what is not shown yet of a place and of the lines around it."""
    first, last = max(1, block.first - more), min(len(lines_of(block.path)), block.last + more)
    for first, last in runs(missing(block.path, first, last, seen)):
        yield Read(block.path, first, min(last, first + MOST - 1))


def missing(path, first, last, seen):
    """Returns the lines of a place that are neither shown nor blank."""
    lines = lines_of(path)
    numbers = range(first, min(last, len(lines)) + 1)
    return [number for number in numbers if (path, number) not in seen and lines[number - 1].strip()]


def runs(numbers):
    """Joins numbers that are close to ranges: another call costs more than a few lines."""
    ranges = []
    for number in numbers:
        if ranges and number - ranges[-1][1] <= 6:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


class Product:
    """Takes the steps with the tools of an MCP endpoint."""

    def __init__(self, endpoint, budget):
        self.endpoint, self.budget = endpoint, budget

    def search(self, question):
        """Returns the text of one search."""
        return self.take(Search(question.text), question.folder)

    def walk(self, question):
        """Returns the texts of all steps, until the budget is spent."""
        texts = [self.search(question)]
        found, blocks = events(texts[0], question.folder)
        seen = {(path, line) for _, path, line in found}
        for step in steps(blocks, seen):
            if sum(len(text.encode()) + 1 for text in texts) >= self.budget:
                break
            if isinstance(step, Uses) and "FindUses" not in self.endpoint.tools:
                continue
            texts.append(self.take(step, question.folder))
            found, _ = events(texts[-1], question.folder)
            seen.update((path, line) for _, path, line in found)
        return texts

    def take(self, step, folder):
        """Returns the text of a step; without `ReadLines`, as `cat -n FILE | sed -n FIRST,LASTp` shows lines."""
        if isinstance(step, Search):
            return self.endpoint.call("VectorSearch", {"query": step.query, "repository": folder.path})
        if isinstance(step, Uses):
            return self.endpoint.call("FindUses", {"name": step.name, "repository": folder.path})
        if "ReadLines" in self.endpoint.tools:
            return self.endpoint.call("ReadLines", step._asdict())
        lines = lines_of(step.path)[step.first - 1 : step.last]
        numbered = (f"{number}\t{text}" for number, text in enumerate(lines, step.first))
        return "\n".join([f"{step.path}:{step.first}-{step.last}", *numbered])

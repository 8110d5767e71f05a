"""Compares callers, callees and definitions of this graph and of CodeGraph with those of a compiler.

    python3 benches/graph_pairs.py FOLDER index.scip [--resolved resolved] [--codegraph .codegraph/codegraph.db]

`resolved` and `index.scip` are those of `benches/graph.py`. A pair is a function or type, or a file, and what is called in it. The
enclosing definition of a line comes from the index for all, so that only the calls differ. Pairs of a program count if a call
is at a line where the compiler has a reference to the same definition, or none of that name.
"""

import argparse
import collections
import json
import re
import sqlite3

from graph import CompilerIndex, SourceFolder, describe_symbol, is_definition, read_fields, read_numbers, read_resolved


def read_enclosing_lines(path):
    """Returns for each file the first and last line of its functions and types, with their symbols."""
    with open(path, "rb") as file:
        index = file.read()
    found = collections.defaultdict(list)
    for number, document in read_fields(index):
        if number != 2:
            continue
        fields = list(read_fields(document))
        name = next(value for field, value in fields if field == 1).decode()
        for field, occurrence in fields:
            values = dict(read_fields(occurrence)) if field == 2 else {}
            if values.get(3, 0) & 1 and 7 in values:
                numbers = read_numbers(values[7])
                first, last = numbers[0] + 1, numbers[-2] + 1 if len(numbers) == 4 else numbers[0] + 1
                found[name].append((first, last, describe_symbol(values[2].decode())))
    return found


class CallTruth:
    def __init__(self, folder, index_path):
        self.index, self.folder = CompilerIndex(index_path), SourceFolder(folder)
        self.enclosing = read_enclosing_lines(index_path)
        self.by_line = collections.defaultdict(list)
        for (name, line, _), symbol in self.index.defined_at.items():
            self.by_line[name, line].append(describe_symbol(symbol))
        self.places, self.called, self.mentioned = {}, set(), set()
        for place, symbols in self.index.used_at.items():
            inside = [describe_symbol(symbol) for symbol in symbols if self.index.is_inside(symbol)]
            if not inside:
                continue
            self.places[place] = set(inside)
            pairs = {(self.find_enclosing(place), symbol) for symbol in inside}
            self.mentioned |= pairs
            if self.is_call(place):
                self.called |= {pair for pair in pairs if re.search(r"(\(\)\.|#)$", pair[1])}

    def find_enclosing(self, place):
        around = [entry for entry in self.enclosing[place[0]] if entry[0] <= place[1] <= entry[1]]
        return min(around, key=lambda entry: entry[1] - entry[0])[2] if around else place[0]

    def is_call(self, place):
        text = self.folder.read_line(place[0], place[1]).decode(errors="replace")
        before, rest = text[: place[2]], text[place[2] :]
        is_defined = re.search(r"\b(def|class|function)\s+$", before)
        return not is_defined and bool(re.match(r"[\w$]+\s*(\?\.)?(<[^()]*>)?\(", rest) or before.endswith("new "))

    def name_target(self, path, line, name):
        """Returns the symbol that is defined in a line under a name; a constructor is its class."""
        for symbol in self.by_line[path, line]:
            if re.findall(r"[\w$]+", symbol)[-1:] == [name] and is_definition(symbol):
                return symbol
        is_local = any(symbol.startswith("local ") for symbol in self.by_line[path, line])
        return f"local in {path}:{line}" if is_local else f"{path}:{line}"


def read_ours(truth, path):
    """Returns pairs of calls, and targets by place."""
    pairs, targets = set(), {}
    for place, kind, _, places in read_resolved(path):
        place = truth.folder.count_units(place)
        groups = [[truth.folder.count_units(target) for target in group] for group in places]
        found = truth.index.name_groups(groups, truth.places.get(place, ()))
        if found:
            targets.setdefault(place, set()).update(found)
        if kind == "Call" and truth.is_call(place):
            pairs |= {(truth.find_enclosing(place), symbol) for symbol in found}
    return pairs, targets


def read_codegraph(truth, path):
    """Returns pairs of calls, and targets by place: an edge has a line and a name."""
    pairs, edges = set(), collections.defaultdict(set)
    query = """select edges.kind, edges.line, edges.metadata, s.file_path, t.name, t.file_path, t.start_line
        from edges join nodes s on s.id = edges.source join nodes t on t.id = edges.target
        where edges.line is not null and edges.kind != 'contains' and t.kind not in ('file', 'import')"""
    for kind, line, metadata, path_from, name, path_to, start in sqlite3.connect(path).execute(query):
        symbols = {truth.name_target(path_to, near, name) for near in (start, start + 1, start + 2, start + 3)}
        named = [symbol for symbol in symbols if not symbol.startswith((f"{path_to}:", "local "))]
        symbol = min(named or symbols, key=lambda symbol: (not symbol.startswith("local "), symbol))
        edges[path_from, line, json.loads(metadata or "{}").get("refName", name).split(".")[-1]].add(symbol)
        if kind in ("calls", "instantiates"):
            pairs.add((truth.find_enclosing((path_from, line, 0)), symbol))
    targets = {}
    for place in truth.places:
        text = truth.folder.read_line(place[0], place[1]).decode(errors="replace")[place[2] :]
        name = re.match(r"[\w$]*", text).group()
        if (place[0], place[1], name) in edges:
            targets[place] = edges[place[0], place[1], name]
    return pairs, targets


def print_comparison(truth, name, pairs, targets):
    # Local functions have no names in the index.
    pairs = {pair for pair in pairs if not pair[1].startswith("local ")}
    right = pairs & truth.called
    wrong = {pair for pair in pairs if pair not in truth.mentioned}
    precision, recall = len(right) / max(1, len(right | wrong)), len(right) / max(1, len(truth.called))
    verdicts = collections.Counter()
    for place, symbols in truth.places.items():
        found = targets.get(place)
        verdicts["missing" if not found else "right" if found <= symbols or found & symbols else "wrong"] += 1
    shares = {verdict: round(count / len(truth.places), 3) for verdict, count in sorted(verdicts.items())}
    print(f"{name}: pairs precision {precision:.3f}, recall {recall:.3f} of {len(truth.called)}; definitions {shares} of {len(truth.places)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("index")
    parser.add_argument("--resolved")
    parser.add_argument("--codegraph")
    options = parser.parse_args()
    truth = CallTruth(options.folder, options.index)
    if options.resolved:
        print_comparison(truth, "graph", *read_ours(truth, options.resolved))
    if options.codegraph:
        print_comparison(truth, "codegraph", *read_codegraph(truth, options.codegraph))


if __name__ == "__main__":
    main()

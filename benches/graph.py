"""Compares resolved references with those of a compiler, kept in an `index.scip`.

    cargo run --release -p codeinfo-graph --example resolve_files FOLDER LIST > resolved
    python3 benches/graph.py resolved index.scip [FOLDER] [--show KIND]

LIST names the files, one path below FOLDER a line. The index comes from an indexer such as
`@sourcegraph/scip-python` or `@sourcegraph/scip-typescript` (npm), run in FOLDER. Prints for each rule
how many references lead to the definition that the compiler names, and precision and recall of all
references and of calls. benches/README.md explains the verdicts.
"""

import argparse
import collections
import re
import signal

LOCAL, OUTSIDE, DEFINED = range(3)


def read_varint(data, at):
    shift = value = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def read_fields(data):
    """Yields number and value of each field of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 2:
            size, at = read_varint(data, at)
            value = data[at : at + size]
            at += size
        else:
            size = 8 if kind == 1 else 4
            value = data[at : at + size]
            at += size
        yield key >> 3, value


def read_numbers(data):
    numbers, at = [], 0
    while at < len(data):
        number, at = read_varint(data, at)
        numbers.append(number)
    return numbers


def read_occurrences(path):
    """Yields path, line, column, symbol and whether it is defined there, for each occurrence."""
    with open(path, "rb") as file:
        index = file.read()
    for number, document in read_fields(index):
        if number != 2:
            continue
        fields = list(read_fields(document))
        name = next(value for field, value in fields if field == 1).decode()
        for field, occurrence in fields:
            if field != 2:
                continue
            values = dict(read_fields(occurrence))
            symbol = values.get(2, b"").decode()
            if symbol.startswith("local "):
                symbol = f"{symbol}@{name}"
            line, column = read_numbers(values[1])[:2]
            yield name, line + 1, column, symbol, bool(values.get(3, 0) & 1)


def describe_symbol(symbol):
    """Returns a symbol without what differs between uses of a definition, a constructor as its class."""
    if symbol.startswith("rust-analyzer "):
        return symbol
    short = symbol.split("`", 1)[-1] if "`" in symbol and "scip-typescript" not in symbol else symbol
    short = short.replace("`<constructor>`().", "").replace("src.", "")
    # scip-python defines an annotated variable `NAME` as `NAME.NAME`.
    return re.sub(r"(\w+)\.\1\.$", r"\1.", short)


def is_definition(symbol):
    """Returns true for what a graph has: neither locals, parameters, modules nor type variables."""
    if symbol.startswith("local "):
        return False
    is_parameter = symbol.endswith(")") and not symbol.endswith("().")
    return not is_parameter and not symbol.endswith(("/__init__:", "/", "]"))


def is_unplaced(symbol):
    """Returns true for what rust-analyzer names without a definition: `Self` and fields with numbers."""
    return symbol.endswith("]") or symbol.rstrip(".").rsplit("#")[-1].isdigit()


class CompilerIndex:
    def __init__(self, path):
        self.defined_at, self.used_at = {}, collections.defaultdict(list)
        for name, line, column, symbol, defines in read_occurrences(path):
            place = (name, line, column)
            if defines:
                self.defined_at.setdefault(place, symbol)
            else:
                self.used_at[place].append(symbol)
        self.defined = set(self.defined_at.values())
        self.inside = {describe_symbol(symbol) for symbol in self.defined_at.values()}

    def name_definition(self, place):
        """Returns the symbol at a place; overloads after the first one are no definitions there."""
        symbols = [self.defined_at[place]] if place in self.defined_at else self.used_at.get(place, [str(place)])
        return describe_symbol(symbols[0])

    def name_groups(self, groups, named):
        """Returns a symbol for each group of alternatives: the one of them that is named, else the first."""
        symbols = [[self.name_definition(place) for place in places] for places in groups]
        return {next((symbol for symbol in group if symbol in named), group[0]) for group in symbols}

    def is_inside(self, symbol):
        return is_definition(symbol) and describe_symbol(symbol) in self.inside


class SourceFolder:
    """Tells which name is written at a place."""

    def __init__(self, path):
        self.path, self.lines = path, {}

    def read_line(self, name, line):
        if name not in self.lines:
            with open(f"{self.path}/{name}", "rb") as file:
                self.lines[name] = file.read().split(b"\n")
        return self.lines[name][line - 1]

    def count_units(self, place):
        """Returns a place whose column is in bytes with a column in UTF-16 units, as indexes have."""
        name, line, column = place
        before = self.read_line(name, line)[:column]
        return name, line, len(before.decode(errors="replace").encode("utf-16-le")) // 2

    def read_member(self, place):
        """Returns the member at a place; `None` if there is no member."""
        name, line, column = place
        text = self.read_line(name, line)
        if not text[:column].rstrip().endswith(b"."):
            return None
        return re.match(rb"[\w$]*", text[column:]).group().decode()

    def is_misnamed(self, place, truth):
        """Returns true if the compiler names a definition that has not the name of the member.

        scip-typescript names the local alias where `name as alias` is imported.
        """
        member = self.read_member(place)
        if re.match(rb"[\w$]+\s+as\s", self.lines[place[0]][place[1] - 1][place[2] :]):
            return True
        return bool(member) and not any(member in re.findall(r"[\w$]+", symbol)[-1:] for symbol in truth)


def read_place(text):
    name, line, column = text.rsplit(":", 2)
    return name, int(line), int(column)


def read_resolved(path):
    """Yields place, kind, rule and definitions of each reference, a definition as the places of its alternatives."""
    with open(path) as file:
        for line in file:
            name, number, column, kind, rule, targets = line.rstrip("\n").split("\t")
            groups = [[read_place(place) for place in target.split("|")] for target in targets.split(" ") if target]
            yield (name, int(number), int(column)), kind, rule, groups


def judge_reference(index, truth, targets):
    """Returns how a resolved reference compares with the compiler's; `None` if there is nothing to find.

    A local of another file, such as a member of a parameter's type, cannot be told from those of this file.
    """
    truth = [symbol for symbol in truth if not symbol.startswith("local ") or symbol in index.defined]
    if not truth:
        return None
    named = {describe_symbol(symbol) for symbol in truth}
    found = index.name_groups(targets, named)
    if all(symbol.startswith("rust-analyzer ") and is_unplaced(symbol) for symbol in truth):
        return None
    if not any(index.is_inside(symbol) for symbol in truth):
        is_local = found <= named
        return None if not found or is_local else "outside"
    if not found:
        return "unresolved"
    if found <= named:
        return "right"
    return "among" if found & named else "wrong"


def judge_places(resolved, index, folder):
    """Yields each place with the verdict of its best result: `{name}` reads a variable and writes a member."""
    order = ["right", None, "unresolved", "among", "misnamed", "outside", "wrong"]
    best = {}
    for place, kind, rule, targets in read_resolved(resolved):
        if folder:
            place, targets = folder.count_units(place), [
                [folder.count_units(target) for target in group] for group in targets
            ]
        truth = index.used_at.get(place)
        verdict = judge_reference(index, truth, targets) if truth else None
        if verdict in ("wrong", "outside") and folder and folder.is_misnamed(place, truth):
            verdict = "misnamed"
        if place not in best or order.index(verdict) < order.index(best[place][-1]):
            best[place] = (kind, rule, targets, verdict)
    for place, result in best.items():
        yield place, *result


def print_rates(name, counts, unread=0):
    right, wrong = counts["right"], counts["wrong"] + counts["among"] + counts["outside"]
    total = right + counts["wrong"] + counts["among"] + counts["unresolved"] + unread
    precision, recall = right / max(1, right + wrong), right / max(1, total)
    print(f"{name}: precision {precision:.3f}, recall {recall:.3f} of {total}")


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("resolved")
    parser.add_argument("index")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--show", choices=["right", "wrong", "unresolved", "among", "outside", "misnamed", "unread"])
    options = parser.parse_args()
    index = CompilerIndex(options.index)
    folder = SourceFolder(options.folder) if options.folder else None
    rules = collections.defaultdict(collections.Counter)
    everything, calls, read = collections.Counter(), collections.Counter(), set()
    for place, kind, rule, targets, verdict in judge_places(options.resolved, index, folder):
        read.add(place)
        truth = index.used_at.get(place)
        if verdict is None:
            continue
        rules[rule][verdict] += 1
        everything[verdict] += 1
        if kind == "Call":
            calls[verdict] += 1
        if verdict == options.show:
            print(*place, kind, rule, targets, truth)
    unread = [
        place for place, symbols in index.used_at.items()
        if place not in read and any(index.is_inside(symbol) for symbol in symbols)
    ]
    if options.show == "unread":
        for place in unread:
            print(*place, index.used_at[place])
    for rule, counts in sorted(rules.items(), key=lambda item: -sum(item[1].values())):
        print(f"{rule:14}", ", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())))
    print_rates("all", everything, len(unread))
    print_rates("calls", calls)


if __name__ == "__main__":
    main()

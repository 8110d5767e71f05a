"""Asks nine questions through the real product and the real Codex, with a script in the model's place, and counts.

    python3 benches/evidence/protocol.py --program target/release/codeinfo [--than FORMER] --checkouts FOLDER \\
        [--codex FILE] [--variants tools,shell,grep] [--only gin-how,…] [--json FILE]

The script searches, reads what the results leave out, asks for uses, and answers once it was shown the lines that the
question is about, or that there are none. `benches/README.md` says what is counted, and what came out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections import namedtuple
from pathlib import Path

from model import Model, outputs, text_of
from policies import MOST, Read, Search, Uses, around, left_out, runs
from questions import Folder, line_of, lines_of
from report import markdown
from server import Server
from shown import events, plain

HERE = Path(__file__).parent
VARIANTS = ("tools", "shell", "grep")
NAMESPACE = "mcp__codeinfo_search"
# What a model would not go beyond for one question.
MOST_CALLS = 12
# Lines before and after a hit of ripgrep that are read.
BEFORE, AFTER = 10, 60

Grep = namedtuple("Grep", "pattern")


class Turn:
    """One question, and what the script has been shown of what answers it."""

    def __init__(self, line, checkouts, variant):
        self.line, self.variant = line, variant
        self.folder = Folder(os.path.join(checkouts, line["repo"]), "")
        self.gold = {
            (os.path.join(self.folder.path, path), number)
            for path, first, last in line.get("evidence", [])
            for number in range(first, last + 1)
            if line_of(os.path.join(self.folder.path, path), number).strip()
        }
        if not self.gold and "absent" not in line:
            raise SystemExit(f"{line['id']}: the checkout has none of the lines")
        self.seen, self.blocks, self.is_absent, self.taken, self.step = set(), [], False, 0, None
        self.steps = self.grep() if variant == "grep" else self.search()

    def search(self):
        """Searches, and follows what the results name. Who has `FindUses` begins with it where uses are asked for."""
        if "uses" in self.line and self.variant == "tools":
            yield Uses(self.line["uses"])
        yield Search(self.line["question"])
        if "absent" in self.line:
            # Nothing said so yet.
            yield Uses(self.line["absent"])
            return
        if "uses" in self.line:
            yield Uses(self.line["uses"])
        yield from left_out(self.blocks, self.seen)
        first = self.blocks
        for query in self.line.get("again", []):
            yield Search(query)
            yield from left_out(self.blocks, self.seen)
        yield from around(first, self.seen)
        yield from around(self.blocks, self.seen)

    def grep(self):
        """Looks for names and words, and reads the files with most hits."""
        if "absent" in self.line:
            yield Uses(self.line["absent"])
            for pattern in self.line["grep"]:
                yield Grep(pattern)
            return
        if "uses" in self.line:
            yield Uses(self.line["uses"])
        for pattern in self.line.get("grep", []):
            before = set(self.seen)
            yield Grep(pattern)
            hits = {}
            for path, number in sorted(self.seen - before):
                if "test" not in path:
                    hits.setdefault(path, []).append(number)
            for path in sorted(hits, key=lambda path: -len(hits[path]))[:2]:
                end = len(lines_of(path))
                near = (range(max(1, hit - BEFORE), min(end, hit + AFTER) + 1) for hit in hits[path])
                for first, last in runs(sorted(set().union(*near))):
                    yield Read(path, first, min(last, first + MOST - 1))

    def decide(self, texts):
        """Takes in what the latest call returned, and returns the next call, or the answer."""
        if self.taken < len(texts):
            self.taken = len(texts)
            self.take_in(texts[-1])
        if not self.is_done() and self.taken < MOST_CALLS:
            self.step = next(self.steps, None)
            if self.step:
                return self.step
        return None

    def take_in(self, text):
        found, blocks = events(text, self.folder)
        self.seen.update((path, number) for _, path, number in found)
        if isinstance(self.step, Search):
            self.blocks = blocks
            # The first line names what is nowhere, and what documents alone have.
            first = text.partition("Output:\n")[2].partition("\n")[0]
            is_told = first.startswith(("not in the index:", "no code has "))
            self.is_absent |= is_told and self.line.get("absent", "\n") in first
        if isinstance(self.step, Read):
            # `sed` shows lines without their numbers.
            there = {plain(line) for line in text.split("\n")}
            numbers = range(self.step.first, self.step.last + 1)
            self.seen.update((self.step.path, n) for n in numbers if plain(line_of(self.step.path, n)) in there)
        if isinstance(self.step, Uses) and "absent" in self.line and self.variant != "grep":
            self.is_absent = not found

    def is_done(self):
        return self.is_absent if "absent" in self.line else self.gold <= self.seen

    def share(self):
        return 1.0 if not self.gold else len(self.gold & self.seen) / len(self.gold)

    def answer(self):
        """Cites what was shown, as the prompt asks for it."""
        if "absent" in self.line:
            name, repo = self.line["absent"], self.line["repo"]
            return f"I don't know: no code of {repo} defines `{name}`. I searched for the name and for what it would do."
        places = {}
        for path, number in sorted(self.gold & self.seen):
            places.setdefault(path, []).append(number)
        cited = [f"`{path}:{first}-{last}`" for path, numbers in places.items() for first, last in runs(numbers)]
        return "The code that does this: " + ", ".join(cited) + "."


def call_of(step, turn, tools):
    """Returns a step as a call of what Codex offers its model."""
    if isinstance(step, Search):
        return NAMESPACE, "VectorSearch", {"query": step.query, "repository": turn.folder.path}
    if turn.variant == "tools":
        if isinstance(step, Read):
            return NAMESPACE, "ReadLines", step._asdict()
        return NAMESPACE, "FindUses", {"name": step.name, "repository": turn.folder.path}
    if isinstance(step, Read):
        command = f"sed -n '{step.first},{step.last}p' {step.path}"
    elif isinstance(step, Uses):
        command = f"rg -n -w '{step.name}' {turn.folder.path}"
    else:
        command = f"rg -n -i '{step.pattern}' {turn.folder.path}"
    if "exec_command" in tools:
        return None, "exec_command", {"cmd": command}
    return None, "shell_command", {"command": command}


def names(request):
    """Returns the names of all tools of a request, those within namespaces too."""
    found = set()
    for tool in request.get("tools", []):
        found.add(tool.get("name"))
        found.update(inner.get("name") for inner in tool.get("tools", []))
    return found


def size(value):
    """Returns the bytes of a value: of a text itself, of anything else as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode())


def given(request, question):
    """Returns the bytes of what a model is given before it reads the question."""
    told, else_told = [request.get("instructions") or ""], []
    for item in request["input"]:
        text = text_of(item.get("content", ""))
        if question in text:
            break
        (told if item.get("role") == "developer" else else_told).append(text)
    tools = request.get("tools", [])
    return {"instructions": sum(map(size, told)), "schemas": size(tools), "surroundings": sum(map(size, else_told))}


def ask(url, question):
    """Returns the text that the caller of `codebase_question` gets."""
    call = {"name": "codebase_question", "arguments": {"question": question}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"content-type": "application/json", "accept": "application/json"}
    request = urllib.request.Request(f"{url}/mcp", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=300) as reply:
        answer = json.load(reply)
    result = answer.get("result", {})
    if "error" in answer or result.get("isError"):
        raise SystemExit(f"{question}: {json.dumps(answer)[:2000]}")
    return result["content"][0]["text"]


def run(program, variant, lines, options):
    """Asks the questions, each in a conversation of its own, and returns what was counted."""
    current = {}

    def decide(texts):
        turn, request = current["turn"], current["model"].requests[-1]
        step = turn.decide(texts)
        return call_of(step, turn, names(request)) if step else turn.answer()

    with tempfile.TemporaryDirectory() as folder, Model(decide) as model:
        current["model"] = model
        data, home = os.path.join(folder, "data"), os.path.join(folder, "home")
        os.mkdir(home)
        Path(home, "config.toml").write_text(
            f'model = "mock-model"\nmodel_provider = "script"\n[model_providers.script]\nname = "script"\n'
            f'base_url = "{model.url}"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
        )
        for repo in sorted({line["repo"] for line in lines}):
            command = [program, "ingest", os.path.join(os.path.abspath(options.checkouts), repo)]
            subprocess.run(command, env=dict(os.environ, DATA_DIR=data), check=True, capture_output=True)
        settings = {"CODEX_BIN": os.path.abspath(options.codex), "CODEX_HOME": home, "CODEX_MODEL": "mock-model"}
        # The second reader calls no tools.
        settings["CLAIM_CHECK"] = "off"
        if variant == "tools":
            settings["CODEX_SHELL"] = "off"
        rows = {}
        with Server(program, data, settings) as server:
            for line in lines:
                turn = current["turn"] = Turn(line, options.checkouts, variant)
                begun = len(model.requests)
                reply = ask(server.mcp, line["question"])
                requests = model.requests[begun:]
                if variant == "tools" and not {"ReadLines", "FindUses"} <= names(requests[0]):
                    print(f"{program} has no ReadLines or no FindUses: `tools` is left out", file=sys.stderr)
                    return None
                rows[line["id"]] = counted(turn, requests, reply)
        if options.requests:
            Path(options.requests).write_text(json.dumps(model.requests))
    return rows


def counted(turn, requests, reply):
    texts = outputs(requests[-1])
    return {
        **given(requests[0], turn.line["question"]),
        "calls": len(texts),
        "results": sum(map(size, texts)),
        "context": size({key: requests[-1].get(key) for key in ("instructions", "tools", "input")}),
        "sent": sum(map(size, requests)),
        "caller": size(reply),
        "evidence": turn.share(),
    }


COLUMNS = {
    "calls": "calls",
    "results": "results",
    "evidence": "evidence",
    "instructions": "instructions",
    "schemas": "schemas",
    "surroundings": "surroundings",
    "context": "had at the end",
    "sent": "sent in all",
    "caller": "caller",
}


def report(results):
    """Returns a table of sums for each variant and program, and one of calls and bytes for each question."""
    head = ["variant", *COLUMNS.values()]
    sums = [head]
    for name, rows in results.items():
        each = lambda key: [row[key] for row in rows.values()]
        fixed = ("instructions", "schemas", "surroundings")
        figures = {key: max(each(key)) if key in fixed else sum(each(key)) for key in COLUMNS}
        figures["evidence"] = f"{figures['evidence'] / len(rows):.2f}"
        sums.append([name, *(value if isinstance(value, str) else f"{value:,}" for value in figures.values())])
    questions = list(next(iter(results.values())))
    rows = [["calls, bytes of results, evidence", *results]]
    for one in questions:
        cells = (rows_of[one] for rows_of in results.values())
        rows.append([one, *(f"{cell['calls']}, {cell['results']:,}, {cell['evidence']:.2f}" for cell in cells)])
    return f"{markdown(sums)}\n\n{markdown(rows)}\n"


def installed():
    """Returns the Codex that the tests installed, or the one on `PATH`."""
    pattern = "target/test-tools/codex-*/node_modules/@openai/*/vendor/*/bin/codex"
    return max(map(str, HERE.parent.parent.glob(pattern)), default="codex")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--than", help="a former program, to compare with")
    parser.add_argument("--checkouts", required=True, help="gin, tokio and starlette, as questions/repositories.jsonl has them")
    parser.add_argument("--codex", default=installed())
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--only", help="ids of questions, with commas between")
    parser.add_argument("--json", help="where to write what was counted")
    parser.add_argument("--requests", help="where to write all that the model was sent by the latest run")
    options = parser.parse_args()
    lines = json.loads(HERE.joinpath("nine.json").read_text())
    lines = [line for line in lines if not options.only or line["id"] in options.only.split(",")]
    programs = {"before": options.than, "now": options.program} if options.than else {"": options.program}
    results = {}
    for variant in options.variants.split(","):
        for when, program in programs.items():
            rows = run(os.path.abspath(program), variant, lines, options)
            if rows:
                results[f"{variant}, {when}" if when else variant] = rows
    print(report(results))
    if options.json:
        Path(options.json).write_text(json.dumps(results))


if __name__ == "__main__":
    main()

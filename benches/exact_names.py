"""Measures how often the only file that has a name comes first in a search for it, alone and within a sentence.

    python3 benches/exact_names.py --codeinfo BINARY --port PORT CHECKOUT...

Names are identifiers of several parts (with an underscore, an inner capital, or letters and digits) and words joined by hyphens that stand
in exactly one file that git tracks; of each checkout, up to --names of those in code, in tests and in documents, always the same ones.
Files that the program does not index are left out. Serves on PORT and the next one, from a temporary data folder. Prints a Markdown table.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

NAME = re.compile(r"(?<![\w-])[A-Za-z_]\w*(?:-\w+)*(?![\w-])")
SENTENCES = ["callers of {}", "where is {} used", "what does {} do, and why is it there?", "Explain how {} is meant."]
CLASSES = ["code", "tests", "documents"]


def is_compound(name):
    inner_capital = re.search(r"[a-z0-9][A-Z]", name)
    mixed = re.search(r"[A-Za-z]\d|\d[A-Za-z]", name)
    return 6 <= len(name) <= 60 and ("_" in name.strip("_") or "-" in name or inner_capital or mixed)


def class_of(path):
    lower = path.lower()
    if re.search(r"\.(md|mdx|rst|txt|adoc)$", lower) or re.search(r"(^|/)docs?/", lower):
        return "documents"
    if re.search(r"(^|[/_.-])(tests?|testing|spec|testdata)([/_.-]|$)", lower):
        return "tests"
    code = r"\.(py|go|rs|ts|tsx|js|jsx|c|h|cpp|java|rb|sh|toml|yml|yaml|json)$"
    return "code" if re.search(code, lower) else None


def only_names(checkout):
    """Returns the names that one file alone has, by class, with that file."""
    files = collections.defaultdict(set)
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=checkout, check=True, capture_output=True).stdout.decode().split("\0")
    for path in filter(None, tracked):
        file = checkout / path
        if not file.is_symlink() and file.is_file():
            for name in set(NAME.findall(file.read_text(errors="replace"))):
                # `a-b` also has `a` and `b`.
                for word in {name, *re.split(r"[^\w]", name)}:
                    files[word].add(path)
    names = {kind: [] for kind in CLASSES}
    for name, paths in files.items():
        if len(paths) == 1 and is_compound(name) and (kind := class_of(next(iter(paths)))):
            names[kind].append((name, next(iter(paths))))
    return names


class Server:
    def __init__(self, binary, port, data):
        environment = {**os.environ, "PORT": str(port), "MCP_PORT": str(port + 1), "DATA_DIR": data, "CODEX_BIN": "codex", "LOG_LEVEL": "error"}
        self.port = port
        self.process = subprocess.Popen([binary, "serve"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while self.request("GET", "/health") is None:
            time.sleep(0.05)

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.loads(reply.read())
        except (urllib.error.URLError, ConnectionError):
            return None

    def ingest(self, checkout):
        run = self.request("POST", "/ingest/start", {"path": str(checkout), "name": checkout.name})["runId"]
        while self.request("GET", f"/ingest/status/{run}")["state"] not in ("completed", "skipped", "error"):
            time.sleep(0.1)

    def has(self, path):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ReadLines", "arguments": {"path": str(path), "last": 1}}}
        return not self.request("POST", "/mcp", call)["result"].get("isError")

    def place(self, query, repository, path):
        """Returns the place of a file among those found, from 1; 0 if it is not there."""
        found = self.request("POST", "/tools/vector-search", {"query": query, "repository": repository, "limit": 20})["results"]
        return next((at for at, hit in enumerate(found, 1) if hit["relPath"] == path), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codeinfo", required=True)
    parser.add_argument("--port", type=int, default=15300)
    parser.add_argument("--names", type=int, default=80)
    parser.add_argument("--missed", help="writes what was not first to this file")
    parser.add_argument("checkouts", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    missed = []
    print("| | class | names | alone first | not among 20 | in a sentence first | not among 20 |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as data:
        server = Server(options.codeinfo, options.port, data)
        try:
            for checkout in options.checkouts:
                server.ingest(checkout)
            for checkout in options.checkouts:
                for kind, names in only_names(checkout).items():
                    names.sort(key=lambda one: hashlib.sha256(one[0].encode()).digest())
                    chosen = [one for one in names[: 3 * options.names] if server.has(checkout.resolve() / one[1])][: options.names]
                    places = []
                    for at, (name, path) in enumerate(chosen):
                        queries = [name, SENTENCES[at % len(SENTENCES)].format(name)]
                        places.append([server.place(query, checkout.name, path) for query in queries])
                        missed += [(checkout.name, query, path, place) for query, place in zip(queries, places[-1]) if place != 1]
                    shares = [f"{sum(row[form] == rank for row in places) / max(len(places), 1):.2f}" for form in (0, 1) for rank in (1, 0)]
                    print(f"| {checkout.name} | {kind} | {len(places)} | {' | '.join(shares)} |", flush=True)
        finally:
            server.process.terminate()
            server.process.wait(30)
    if options.missed:
        pathlib.Path(options.missed).write_text("".join(f"{json.dumps(one)}\n" for one in missed))


if __name__ == "__main__":
    main()

"""Measures what trees of one repository cost: further worktrees, searches among them, and switches of a branch.

    python3 benches/trees.py --codeinfo BINARY --repository CHECKOUT [--back COMMITS] [--switch REVISION] [--files NUMBER]

CHECKOUT is a git repository with a history; with --files, one of so many small files is made up instead. Everything else is made in a
temporary folder and removed. Prints one JSON object: milliseconds, bytes and counts. Times of a loaded machine are no figures.
"""

import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

QUERIES = ["where is a timeout handled", "parse a header", "close the connection", "retry after an error", "read a line from a buffer"]
ROUNDS = 40


def git(folder, *arguments):
    command = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def made_up(folder, number):
    folder.mkdir()
    for at in range(number):
        path = folder / f"d{at % 300}" / f"f{at}.c"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"/* Reads unit {at}. */\nint read_{at}(int unit)\n{{\n\treturn unit + {at};\n}}\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Begin")


class Server:
    def __init__(self, binary, data, watch=False):
        environment = {**os.environ, "DATA_DIR": str(data), "PORT": "0", "MCP_PORT": "0", "CODEX_BIN": "/nonexistent", "LOG_LEVEL": "error"}
        arguments = [binary, "serve", *(["--watch"] if watch else [])]
        self.process = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("HTTP API"):
                self.address = line.split("http://")[1].strip()
                break
        self.connection = http.client.HTTPConnection(self.address)

    def ask(self, path, body=None):
        method = "GET" if body is None else "POST"
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, {"content-type": "application/json"})
        answer = json.loads(self.connection.getresponse().read())
        if "error" in answer:
            raise SystemExit(f"{path}: {answer}")
        return answer

    def ingest(self, path):
        began = time.perf_counter()
        run = self.ask("/ingest/start", {"path": str(path)})["runId"]
        while (status := self.ask(f"/ingest/status/{run}"))["state"] not in ("completed", "skipped"):
            if status["state"] in ("error", "cancelled"):
                raise SystemExit(status)
            time.sleep(0.002)
        return (time.perf_counter() - began) * 1000, status["counts"]

    def latency(self, **body):
        times = []
        for at in range(ROUNDS * len(QUERIES)):
            began = time.perf_counter()
            self.ask("/tools/vector-search", {"query": QUERIES[at % len(QUERIES)], **body})
            times.append((time.perf_counter() - began) * 1000)
        return round(statistics.median(times), 2)

    def resident(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024

    def stop(self):
        self.process.terminate()
        self.process.wait()


def used(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codeinfo", required=True)
    parser.add_argument("--repository")
    parser.add_argument("--files", type=int)
    parser.add_argument("--back", type=int, default=0, help="each worktree is so many commits before the one made before it")
    parser.add_argument("--switch", help="a revision to switch a watched worktree to and back")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        main_tree, data = place / "main", place / "data"
        if asked.files:
            made_up(main_tree, asked.files)
        else:
            git(place, "clone", "--quiet", "--no-hardlinks", asked.repository, str(main_tree))
        trees = []
        for number in range(1, 21):
            tree = place / f"tree{number}"
            git(main_tree, "worktree", "add", "--quiet", "--detach", str(tree), f"HEAD~{asked.back * number}")
            trees.append(tree)
        server, found = Server(asked.codeinfo, data), {}
        took, counts = server.ingest(main_tree)
        found["first"] = {"ms": round(took), "files": counts["files"], "chunks": counts["chunks"], "bytes": used(data / "store")}
        found["search of one tree, ms"] = {"1": server.latency(repository="main")}
        found["search of all, ms"] = {"1": server.latency()}
        found["resident"] = {"1": server.resident()}
        before, took, embedded = used(data / "store"), [], []
        for number, tree in enumerate(trees, 1):
            ms, counts = server.ingest(tree)
            took.append(round(ms))
            embedded.append(counts["embedded"])
            if number in (1, 5, 19, 20):
                trees_now = str(number + 1)
                found["search of one tree, ms"][trees_now] = server.latency(repository="main")
                found["search of all, ms"][trees_now] = server.latency()
                found["search standing in one, ms"] = {**found.get("search standing in one, ms", {}), trees_now: server.latency(folder=str(main_tree))}
                found["resident"][trees_now] = server.resident()
                found[f"bytes for {number} more"] = used(data / "store") - before
        found["further, ms"], found["further, embedded"] = took, embedded
        server.stop()
        if asked.switch:
            server = Server(asked.codeinfo, data, watch=True)
            time.sleep(2)
            found["switches"] = []
            for to in [asked.switch, "HEAD", asked.switch, "HEAD"]:
                def root():
                    roots = server.ask("/ingest/roots")["roots"]
                    return next(root for root in roots if root["path"] == str(trees[0]))
                seen, commit = root()["lastIngestAt"], git(main_tree, "rev-parse", to)
                git(trees[0], "checkout", "--quiet", "--detach", commit)
                began = time.perf_counter()
                while root()["lastIngestAt"] == seen and time.perf_counter() - began < 60:
                    time.sleep(0.01)
                took = (time.perf_counter() - began) * 1000
                found["switches"].append({"ms": round(took), "embedded": root()["counts"]["embedded"]})
            server.stop()
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

"""Measures how well and how fast commits are found by their messages:
`commits.py PROGRAM QUESTIONS FOLDER`, where PROGRAM is a built `codeinfo`, QUESTIONS has a JSON object a line
(`{repository: "owner/name", query, commits: [ID, …]}`), and FOLDER/OWNER+NAME/repo are git folders with whole histories.
Prints hit@1, @5 and @10 beside a plain word search (BM25) over the same messages, for the repositories with which the
ranking was tuned and for the others, sizes of the tables, and times."""

import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

COMMITS = 20_000
DEPTHS = (1, 5, 10)
TUNED = {"curl/curl", "expressjs/express", "fastapi/fastapi", "gin-gonic/gin", "jekyll/jekyll", "pallets/flask"}
TUNED |= {"alacritty/alacritty", "borgbackup/borg", "caddyserver/caddy", "sphinx-doc/sphinx", "swaywm/sway"}


class WordSearch:
    """BM25 over whole messages, by words in lower case."""

    def __init__(self, folder):
        log = run_git(folder, "log", f"-n{COMMITS}", "--format=%H%n%B%x00", "HEAD")
        self.ids, self.counts, self.places = [], [], collections.defaultdict(list)
        for message in filter(str.strip, log.split("\0")):
            commit, _, text = message.strip().partition("\n")
            counts = collections.Counter(split_words(text))
            for word in counts:
                self.places[word].append(len(self.ids))
            self.ids.append(commit)
            self.counts.append(counts)
        self.average = sum(sum(counts.values()) for counts in self.counts) / max(1, len(self.ids))

    def find(self, query, limit):
        scores = collections.defaultdict(float)
        for word in set(split_words(query)):
            found = self.places.get(word, [])
            rarity = math.log(1 + (len(self.ids) - len(found) + 0.5) / (len(found) + 0.5))
            for place in found:
                count, length = self.counts[place][word], sum(self.counts[place].values())
                scores[place] += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / self.average))
        best = sorted(scores, key=lambda place: -scores[place])[:limit]
        return [self.ids[place] for place in best]


class Server:
    """A server with its own data folder."""

    def __init__(self, program, data):
        environment = os.environ | {"DATA_DIR": data, "PORT": "0", "MCP_PORT": "0", "CODEX_BIN": "/nonexistent"}
        self.process = subprocess.Popen([program, "serve"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if line.startswith("HTTP API"):
                self.url = re.search(r"http://\S+", line).group()
                break

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"content-type": "application/json"})
        return json.load(urllib.request.urlopen(request))

    def get(self, path):
        return json.load(urllib.request.urlopen(self.url + path))

    def ingest(self, folder):
        run = self.post("/ingest/start", {"path": folder})["runId"]
        while self.get(f"/ingest/status/{run}")["state"] in ("queued", "scanning", "embedding"):
            time.sleep(0.01)

    def cpu_seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_git(folder, *arguments):
    return subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=True).stdout.decode("utf-8", "replace")


def split_words(text):
    return re.findall(r"[a-z]+|[0-9]+", text.lower())


def quantile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def main(program, questions, mirrors):
    by_repository = collections.defaultdict(list)
    for line in open(questions):
        question = json.loads(line)
        by_repository[question["repository"]].append(question)
    hits, counts, times = collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data"
        server = Server(program, data)
        sizes = {}
        for repository, own in sorted(by_repository.items()):
            checkout = f"{folder}/{repository.replace('/', '-')}"
            # Without files, a run only reads the history.
            subprocess.run(["git", "clone", "--quiet", "--no-checkout", f"{mirrors}/{repository.replace('/', '+')}/repo", checkout], check=True)
            before = server.cpu_seconds()
            server.ingest(checkout)
            used = server.cpu_seconds() - before
            tables = {file.path: file.stat().st_size for file in os.scandir(f"{data}/commits")}
            size = sum(tables.values()) - sum(sizes.values())
            sizes = tables
            words = WordSearch(checkout)
            known = len(words.ids)
            print(f"{repository}: {known} commits, {used:.2f} s CPU, {size} bytes, {size / known:.0f} a commit", flush=True)
            for question in own:
                half = "tuned" if repository in TUNED else "others"
                counts[half] += 1
                for attempt in range(3):
                    start = time.perf_counter()
                    body = {"query": question["query"], "repository": checkout, "limit": max(DEPTHS), "in": "history"}
                    found = server.post("/tools/vector-search", body)
                    if attempt:
                        times.append((time.perf_counter() - start) * 1000)
                ids = {"codeinfo": [commit["id"] for commit in found["commits"]], "words": words.find(question["query"], max(DEPTHS))}
                for name, list_of in ids.items():
                    for depth in DEPTHS:
                        hits[name, half, depth] += any(commit in question["commits"] for commit in list_of[:depth])
        server.process.terminate()
        server.process.wait()
    for half, count in counts.items():
        for name in ("codeinfo", "words"):
            found = {depth: hits[name, half, depth] for depth in DEPTHS}
            print(half, name, {f"hit@{depth}": f"{found[depth]}/{count} = {found[depth] / count:.2f}" for depth in DEPTHS})
    print(f"a search: p50 {quantile(times, 0.5):.1f} ms, p99 {quantile(times, 0.99):.1f} ms")


main(*sys.argv[1:])

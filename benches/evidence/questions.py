"""Questions, and the lines of checkouts that answer them."""

import functools
import json
import os


class Question:
    """A question of one checkout, and its gold: lines where there are any, and files."""

    def __init__(self, line, folder):
        self.id, self.text = line["id"], line["query"]
        self.kind, self.language = line["category"], line["language"]
        # What is indexed, and what ripgrep searches.
        self.folder = folder
        targets = [(target, os.path.join(folder.checkout, target["path"])) for target in line["relevant"] + line["secondary"]]
        self.files = {path for _, path in targets}
        # Nobody has to be shown a blank line.
        self.lines = {
            (path, number)
            for target, path in targets
            if target.get("start_line")
            for number in range(target["start_line"], target["end_line"] + 1)
            if line_of(path, number).strip()
        }


class Folder:
    """A checkout, and the part of it that is in scope."""

    def __init__(self, checkout, root):
        self.checkout = os.path.abspath(checkout)
        self.path = os.path.abspath(os.path.join(checkout, root))


@functools.lru_cache(maxsize=4096)
def lines_of(path):
    """Returns the lines of a file, or none."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
            return file.read().split("\n")
    except (OSError, ValueError):
        return []


def line_of(path, number):
    """Returns a line, counted from 1; an empty one where there is none."""
    lines = lines_of(path)
    return lines[number - 1] if 1 <= number <= len(lines) else ""


def read(queries, repos, checkouts, scope, only):
    """Reads questions as `benches/retrieval` does, leaving out those without a checkout."""
    folders = {}
    for line in jsonl(repos):
        root = (line["benchmark_root"] or "") if scope == "root" else ""
        folder = Folder(os.path.join(checkouts, line["name"]), root)
        if os.path.isdir(folder.path) and (not only or line["name"] in only):
            folders[line["name"]] = folder
    return [
        Question(line, folders[line["repo"]])
        for path in queries
        for line in jsonl(path)
        if line["repo"] in folders and line.get("usable") is not False
    ]


def jsonl(path):
    """Returns the objects of a file that has one a line."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]

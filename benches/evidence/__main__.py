"""Measures how much of the code that answers a question a reader has been shown, by bytes of tool output.

    python3 benches/evidence --program target/release/codeinfo --store FOLDER --rg rg \\
        --queries FILE... --repos FILE --checkouts FOLDER [--scope root|full] [--json FILE] [--against FILE]

`benches/README.md` says what is measured, and what came out.
"""

import argparse
import json
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import questions
from grep import VARIANTS, Ripgrep
from policies import Product
from report import compared, tables
from server import Endpoint, Server
from shown import events

BUDGETS = (2_000, 5_000, 10_000, 20_000)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--program", help="codeinfo, to be started over --store")
    given.add_argument("--url", help="the main listener of a server that runs")
    parser.add_argument("--store", help="DATA_DIR with the checkouts indexed in the same scope")
    parser.add_argument("--rg", help="ripgrep; without it, its figures are those of --against, if any")
    parser.add_argument("--queries", nargs="+", required=True)
    parser.add_argument("--repos", required=True)
    parser.add_argument("--checkouts", required=True)
    parser.add_argument("--scope", choices=("root", "full"), default="full")
    parser.add_argument("--only", help="names of repositories, with commas between")
    parser.add_argument("--files", action="store_true", help="also ask questions whose answers are files, and count these")
    parser.add_argument("--json", help="where to write the figures of each question")
    parser.add_argument("--against", help="such a file of another run, to compare with question by question")
    arguments = parser.parse_args()
    if arguments.program and not arguments.store:
        parser.error("--program needs --store")
    return arguments


def shares(texts, question):
    """Returns the shares of gold lines and of gold files shown within each budget."""
    lines, files, before = {}, {}, 0
    for text in texts:
        found, _ = events(text, question.folder)
        for end, path, number in found:
            lines.setdefault((path, number), before + end)
            files.setdefault(path, before + end)
        before += len(text.encode()) + 1
    share = lambda gold, shown, most: sum(shown.get(one, most + 1) <= most for one in gold) / len(gold) if gold else None
    return {
        "lines": [share(question.lines, lines, budget) for budget in BUDGETS],
        "files": [share(question.files, files, budget) for budget in BUDGETS],
        "bytes": before,
        "first": len(texts[0].encode()) if texts else 0,
        "named": named(texts[0], question) if texts and question.lines else None,
    }


def named(text, question):
    """Returns the share of gold lines within the places that a text names, whether it shows them or not."""
    _, blocks = events(text, question.folder)
    places = [(block.path, block.first, block.last) for block in blocks]
    within = lambda line: any(path == line[0] and first <= line[1] <= last for path, first, last in places)
    return sum(map(within, question.lines)) / len(question.lines)


def measure(asked, endpoint, rg):
    """Returns, for each policy, the shares of each question by its id."""
    product = Product(endpoint, BUDGETS[-1])
    with ThreadPoolExecutor(2) as pool:
        run = lambda policy: dict(zip((one.id for one in asked), pool.map(lambda one: shares(policy(one), one), asked)))
        results = {
            "codeinfo": run(product.walk),
            "search-only": run(lambda question: [product.search(question)]),
        }
        if rg:
            ripgrep = Ripgrep(rg, BUDGETS[-1])
            variants = {}
            for variant in VARIANTS:
                variants[variant.name] = run(lambda question, variant=variant: ripgrep.search(question, variant))
                print(f"ripgrep, {variant.name}: {summary(variants[variant.name])}", file=sys.stderr)
            best = max(variants, key=lambda name: total(variants[name]))
            print(f"kept for ripgrep: {best}", file=sys.stderr)
            results["ripgrep"] = variants[best]
    return results


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def reuse(results, former, asked):
    """Takes the figures of ripgrep from another run, which do not depend on the product, where it has all questions."""
    rows = former["policies"].get("ripgrep", {})
    if all(one.id in rows for one in asked):
        results["ripgrep"] = {one.id: rows[one.id] for one in asked}


def total(rows):
    """Returns what a variant is judged by: the mean share over all questions and budgets."""
    kind = "lines" if any(row["lines"][0] is not None for row in rows.values()) else "files"
    return statistics.mean(share for row in rows.values() for share in row[kind] if share is not None)


def summary(rows):
    kept = [row["lines"] for row in rows.values() if row["lines"][0] is not None]
    return " ".join(f"{statistics.mean(column):.3f}" for column in zip(*kept))


def main():
    arguments = options()
    only = arguments.only.split(",") if arguments.only else []
    asked = questions.read(arguments.queries, arguments.repos, arguments.checkouts, arguments.scope, only)
    asked = [one for one in asked if one.lines or arguments.files]
    if not asked:
        raise SystemExit("no question has a checkout and lines")
    with Server(arguments.program, arguments.store) if arguments.program else nullcontext() as server:
        results = measure(asked, Endpoint(server.url if server else arguments.url), arguments.rg)
    former = read_json(arguments.against) if arguments.against else None
    if former and not arguments.rg:
        reuse(results, former, asked)
    about = {one.id: {"kind": one.kind, "language": one.language} for one in asked}
    outcome = {"budgets": BUDGETS, "questions": about, "policies": results}
    print(tables(outcome))
    if former:
        print(compared(outcome, former))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(outcome, file)


if __name__ == "__main__":
    main()

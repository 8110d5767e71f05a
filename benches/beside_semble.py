#!/usr/bin/env python3
"""Indexes checkouts with CodeInfo and with semble in turns, and compares processor time.

    pip install semble
    cargo build --release --locked
    python benches/beside_semble.py target/release/codeinfo CHECKOUT...

Both read code, documents and configuration. Each index is made from nothing, in a process of its own;
processor time is that of the process and all it starts. The model of semble is loaded before, and left
out. `--model FOLDER` names one in the form of Model2Vec; without it semble loads its own.
"""

import argparse
import os
import subprocess
import sys
import tempfile

SEMBLE = """
import os, sys, time
from semble import ContentType, SembleIndex
model = sys.argv[2] or None
empty = sys.argv[3]
open(os.path.join(empty, "a.py"), "w").write("def f():\\n    return 1\\n")
SembleIndex.from_path(empty, model_path=model)
begun = time.process_time()
index = SembleIndex.from_path(sys.argv[1], content=list(ContentType), model_path=model)
stats = index.stats
print(time.process_time() - begun, stats.indexed_files, stats.total_chunks)
"""


def codeinfo(program, checkout):
    """Returns the processor seconds of one run, and what it says of it."""
    with tempfile.TemporaryDirectory() as data:
        environment = dict(os.environ, DATA_DIR=data)
        before = os.times()
        run = subprocess.run(
            [program, "ingest", checkout], env=environment, capture_output=True, text=True, check=True
        )
        after = os.times()
    seconds = after.children_user + after.children_system
    return seconds - before.children_user - before.children_system, run.stdout.strip().splitlines()[-1]


def semble(checkout, model):
    """Returns the processor seconds of one run, and how many files and chunks it made."""
    with tempfile.TemporaryDirectory() as empty:
        run = subprocess.run(
            [sys.executable, "-c", SEMBLE, checkout, model or "", empty],
            env=dict(os.environ, XDG_CACHE_HOME=empty),
            capture_output=True,
            text=True,
            check=True,
        )
    seconds, files, chunks = run.stdout.split()[-3:]
    return float(seconds), f"{files} files, {chunks} chunks"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the codeinfo program")
    parser.add_argument("checkouts", nargs="+", help="folders to index")
    parser.add_argument("--model", help="a Model2Vec folder for semble")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each; the fastest counts")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    ratios = []
    for checkout in map(os.path.abspath, arguments.checkouts):
        ours, theirs = [], []
        for _ in range(arguments.rounds):
            ours.append(codeinfo(program, checkout))
            theirs.append(semble(checkout, arguments.model))
        (our, said), (their, counted) = min(ours), min(theirs)
        ratios.append(our / their)
        name = os.path.basename(checkout)
        print(f"{name}: {our:.2f} s : {their:.2f} s = {our / their:.2f}", flush=True)
        print(f"    codeinfo: {said}\n    semble: {counted}", flush=True)
    product = 1.0
    for ratio in ratios:
        product *= ratio
    print(f"geometric mean of the ratios: {product ** (1 / len(ratios)):.2f}")


if __name__ == "__main__":
    main()

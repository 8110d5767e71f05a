"""Measures raw dense ranking on a benchmark: chunks by cosine, a file counts where its first chunk stands.

usage: evaluate.py [--text] CHUNKS BENCHMARK MODEL ...
With --text a chunk is embedded by its text alone, otherwise by path, symbol and text, and path and symbol once
more by themselves, as the product does.
CHUNKS/NAME.jsonl holds the chunks of a repository, one a line: path, start, end, symbol, text.
BENCHMARK holds queries.jsonl and repos.jsonl. MODEL is a folder such as crates/embed/assets/code-static-1.
"""

import collections
import json
import math
import os
import pathlib
import sys

import numpy as np
import scipy.sparse as sparse

from subwords import Vocabulary

K = 10


class Model:
    """A shipped model: vocab.txt, table_i8.npy, scale_f32.npy and, in some, query_f32.npy."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.vocabulary = Vocabulary.read(folder / "vocab.txt")
        self.table = np.load(folder / "table_i8.npy").astype(np.float32) * np.load(folder / "scale_f32.npy")[:, None]
        weights = folder / "query_f32.npy"
        self.query = np.load(weights) if weights.exists() else np.ones(len(self.table), np.float32)

    def bags(self, texts):
        ids = [np.unique(self.vocabulary.ids(text), return_counts=True) for text in texts]
        ends = np.cumsum([0, *(len(found) for found, _ in ids)])
        flat = np.concatenate([found for found, _ in ids]).astype(np.int32)
        counts = np.concatenate([1 + np.log(count) for _, count in ids]).astype(np.float32)
        return sparse.csr_matrix((counts, flat, ends), (len(texts), len(self.table)))

    def embed(self, texts, is_query=False):
        bags = self.bags(texts)
        if is_query:
            bags = bags.multiply(self.query[None, :]).tocsr()
        vectors = bags @ self.table
        return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12)


def gain(results, query):
    """NDCG@10 with binary gain; a target counts at the first result that is it."""
    targets = query["relevant"] + query.get("secondary", [])
    found = 0
    gains = [0] * K
    for target in targets:
        for rank, (path, first, last) in enumerate(results[:K]):
            lines = target.get("start_line") is not None
            if path == target["path"] and not (lines and (last < target["start_line"] or target["end_line"] < first)):
                gains[rank] = 1
                found += 1
                break
    most = sum(1 / math.log2(rank + 2) for rank in range(min(K, len(targets))))
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains)) / most, found / len(targets)


def by_file(order, chunks):
    """The best chunk of each file, best file first."""
    seen, results = set(), []
    for place in order:
        chunk = chunks[place]
        if chunk["full"] not in seen:
            seen.add(chunk["full"])
            results.append((chunk["full"], chunk["start"], chunk["end"]))
        if len(results) == K:
            break
    return results


def read(chunks, benchmark):
    chunks, benchmark = pathlib.Path(chunks), pathlib.Path(benchmark)
    repositories = {row["name"]: row for row in map(json.loads, open(benchmark / "repos.jsonl"))}
    queries = collections.defaultdict(list)
    for query in map(json.loads, open(benchmark / "queries.jsonl")):
        queries[query["repo"]].append(query)
    for name, asked in queries.items():
        file = chunks / f"{name}.jsonl"
        if not file.exists():
            continue
        rows = [json.loads(line) for line in open(file)]
        if not rows:
            continue
        for row in rows:
            row["full"] = os.path.normpath(os.path.join(repositories[name].get("benchmark_root") or "", row["path"]))
        yield asked, rows


def whole(chunk):
    """What the product embeds of a chunk: texts, each with its weight (src/embed/builtin.rs)."""
    names = chunk["path"], chunk["symbol"] or ""
    return ("\n".join(filter(None, (*names, chunk["text"]))), 1), (names[0], 0.2), (names[1], 0.25)


def measure(model, corpus, parts=whole):
    """Returns the rows (query, ndcg by chunk, ndcg by file, recall by chunk)."""
    rows = []
    for asked, chunks in corpus:
        documents = 0
        for texts in zip(*map(parts, chunks)):
            documents = documents + texts[0][1] * model.embed([text for text, _ in texts])
        documents = documents / (np.linalg.norm(documents, axis=1, keepdims=True) + 1e-12)
        scores = model.embed([query["query"] for query in asked], True) @ documents.T
        for query, score in zip(asked, scores):
            order = np.argsort(-score, kind="stable")
            spans = [(chunks[i]["full"], chunks[i]["start"], chunks[i]["end"]) for i in order[:K]]
            in_chunks, recall = gain(spans, query)
            rows.append((query, in_chunks, gain(by_file(order, chunks), query)[0], recall))
    return rows


def report(name, rows):
    print(f"{name}: {len(rows)} queries, NDCG@10 by chunk {np.mean([r[1] for r in rows]):.4f}, by file "
          f"{np.mean([r[2] for r in rows]):.4f}, recall@10 by chunk {np.mean([r[3] for r in rows]):.4f}")
    for field in ("category", "language"):
        groups = collections.defaultdict(list)
        for query, _, in_files, _ in rows:
            groups[query[field]].append(in_files)
        print("  " + ", ".join(f"{key} {np.mean(values):.3f}" for key, values in sorted(groups.items())))


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--text"]
    parts = whole if len(arguments) == len(sys.argv) - 1 else lambda chunk: ((chunk["text"], 1),)
    corpus = list(read(arguments[0], arguments[1]))
    for folder in arguments[2:]:
        report(folder, measure(Model(folder), corpus, parts))


if __name__ == "__main__":
    main()

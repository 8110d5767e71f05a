"""Counts the words of all pairs: one sparse matrix for each field, a row for each pair.

usage: prepare.py PAIRS WORK      writes WORK/{query,rest,path,symbol,code}.npz, rows.npz, words.txt, repositories.txt
"""

import json
import pathlib
import sys

import numpy as np
import scipy.sparse as sparse

from subwords import words

FIELDS = ("query", "rest", "path", "symbol", "code")
KINDS = ("def", "module", "inline", "bare")
CODE_BYTES = 1800


def main():
    pairs, work = map(pathlib.Path, sys.argv[1:3])
    work.mkdir(parents=True, exist_ok=True)
    ids, names = {}, []
    indices = {field: [] for field in FIELDS}
    ends = {field: [0] for field in FIELDS}
    repositories, kinds, hashes = [], [], []
    for place, file in enumerate(sorted(pairs.glob("*.jsonl"))):
        names.append(file.stem)
        found = {field: [] for field in FIELDS}
        with open(file) as lines:
            for line in lines:
                pair = json.loads(line)
                pair["code"] = pair["code"][:CODE_BYTES]
                for field in FIELDS:
                    found[field] += [ids.setdefault(word, len(ids)) for word in words(pair[field])]
                    ends[field].append(len(found[field]) + sum(map(len, indices[field])))
                repositories.append(place)
                kinds.append(KINDS.index(pair["kind"]))
                hashes.append(hash(pair["query"].lower()) if pair["query"] else 0)
        for field in FIELDS:
            indices[field].append(np.array(found[field], np.int32))
    for field in FIELDS:
        flat = np.concatenate(indices[field])
        matrix = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, np.array(ends[field])), (len(kinds), len(ids)))
        matrix.sum_duplicates()
        sparse.save_npz(work / f"{field}.npz", matrix, compressed=False)
    np.savez(work / "rows.npz", repository=repositories, kind=kinds, hash=hashes)
    (work / "words.txt").write_text("\n".join(ids) + "\n")
    (work / "repositories.txt").write_text("\n".join(names) + "\n")
    print(len(kinds), "pairs", len(ids), "words", {kind: kinds.count(place) for place, kind in enumerate(KINDS)})


if __name__ == "__main__":
    main()

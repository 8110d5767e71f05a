"""Writes for each word of the vocabulary the words that mean about the same, by the vectors of the table.

usage: near.py ASSETS      reads vocab.txt, table_i8.npy, scale_f32.npy; writes near_u16.npy and near_u8.npy
A row has the ids of up to eight words, the nearest first, and how near each is in 255ths; 0 where there are fewer.
Most forms of the word itself are left out: the product finds them by their stem.
"""

import pathlib
import sys

import numpy as np

MOST, LEAST = 8, 0.35
SHORTEST, SHORTEST_NEAR = 3, 4
LOOKED_AT = 64
ENDINGS = ("ing", "ed", "es", "s", "e", "y")
ROWS = 500


def stem(word):
    for ending in ENDINGS:
        if word.endswith(ending) and SHORTEST <= len(word) - len(ending):
            return word[: -len(ending)]
    return word


def main():
    assets = pathlib.Path(sys.argv[1])
    words = (assets / "vocab.txt").read_text().split()
    table = np.load(assets / "table_i8.npy").astype(np.float32) * np.load(assets / "scale_f32.npy")[:, None]
    table /= np.linalg.norm(table, axis=1, keepdims=True) + 1e-9
    stems = [stem(word) for word in words]
    whole = np.array([place for place, word in enumerate(words) if word.isalpha() and SHORTEST <= len(word)])
    ids = np.zeros((len(words), MOST), "<u2")
    shares = np.zeros((len(words), MOST), np.uint8)
    for first in range(0, len(whole), ROWS):
        rows = whole[first : first + ROWS]
        cosines = table[rows] @ table[whole].T
        best = np.argpartition(-cosines, LOOKED_AT, axis=1)[:, :LOOKED_AT]
        for row, scores, columns in zip(rows, cosines, best):
            seen, found = {stems[row]}, 0
            for column in sorted(columns, key=lambda column: (-scores[column], column)):
                other = stems[whole[column]]
                if scores[column] < LEAST or found == MOST:
                    break
                if other in seen or len(other) < SHORTEST_NEAR:
                    continue
                seen.add(other)
                ids[row, found], shares[row, found] = whole[column], round(float(scores[column]) * 255)
                found += 1
    np.save(assets / "near_u16.npy", ids)
    np.save(assets / "near_u8.npy", shares)
    print(f"{len(whole)} words, {(shares > 0).sum(1)[whole].mean():.1f} near ones each")


if __name__ == "__main__":
    main()

"""Runs all-MiniLM-L6-v2 over each sub-word: where the table starts from. Plain NumPy, one core.

usage: teacher.py WORK TEACHER      TEACHER holds model.safetensors and vocab.txt; writes WORK/teacher.npy
"""

import json
import pathlib
import sys
import time

import numpy as np
from scipy.special import erf

LAYERS, HEADS = 6, 12
BATCH = 512


def weights(path):
    """Reads a safetensors file of 32-bit floats."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    tensors = {}
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(content[8 + size + start : 8 + size + end], np.float32).reshape(entry["shape"])
    return tensors


def pieces(word, vocabulary):
    """WordPiece for one lower-case word."""
    ids, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                ids.append(vocabulary[piece])
                start = end
                break
        else:
            return [vocabulary["[UNK]"]]
    return ids


class Teacher:
    def __init__(self, folder):
        self.tensors = weights(folder / "model.safetensors")
        self.prefix = "bert." if any(name.startswith("bert.") for name in self.tensors) else ""
        self.vocabulary = {word: place for place, word in enumerate((folder / "vocab.txt").read_text().split("\n"))}

    def get(self, name):
        return self.tensors[self.prefix + name]

    def linear(self, x, name):
        return x @ self.get(name + ".weight").T + self.get(name + ".bias")

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.get(name + ".weight") + self.get(name + ".bias")

    def run(self, ids):
        """Embeds a batch of lists of ids, all of one length."""
        ids = np.array(ids)
        rows, length = ids.shape
        x = self.get("embeddings.word_embeddings.weight")[ids] + self.get("embeddings.position_embeddings.weight")[:length]
        x = self.norm(x + self.get("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            at = f"encoder.layer.{layer}."
            query, key, value = (
                self.linear(x, f"{at}attention.self.{part}").reshape(rows, length, HEADS, -1).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ value
            mixed = mixed.transpose(0, 2, 1, 3).reshape(rows, length, -1)
            x = self.norm(x + self.linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
            wide = self.linear(x, at + "intermediate.dense")
            wide = wide * 0.5 * (1 + erf(wide / np.float32(np.sqrt(2))))
            x = self.norm(x + self.linear(wide, at + "output.dense"), at + "output.LayerNorm")
        mean = x.mean(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def embed(self, words):
        start, end = self.vocabulary["[CLS]"], self.vocabulary["[SEP]"]
        ids = [[start, *pieces(word, self.vocabulary), end] for word in words]
        by_length = {}
        for place, row in enumerate(ids):
            by_length.setdefault(len(row), []).append(place)
        out = np.zeros((len(words), 384), np.float32)
        for places in by_length.values():
            for first in range(0, len(places), BATCH):
                batch = places[first : first + BATCH]
                out[batch] = self.run([ids[place] for place in batch])
        return out


def main():
    work, folder = map(pathlib.Path, sys.argv[1:3])
    started = time.process_time()
    out = Teacher(folder).embed((work / "vocab.txt").read_text().split())
    np.save(work / "teacher.npy", out)
    print(out.shape, f"{time.process_time() - started:.0f} CPU seconds")


if __name__ == "__main__":
    main()

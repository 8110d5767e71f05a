"""Trains the table: a text is the sum of its sub-words' vectors, and a query must lie near its code.

usage: train.py WORK OUT [--dimensions 256] [--epochs 3] … (see --help)
InfoNCE both ways over batches that are part one repository, gradients by hand, Adam on the rows in use.
Writes OUT.npz: `table` (float rows) and `query` (a weight for each sub-word in queries).
"""

import argparse
import pathlib
import time

import numpy as np
import scipy.sparse as sparse

from subwords import Vocabulary

HELD_OUT = (
    "tornadoweb+tornado nats-io+nats-server square+okhttp xtermjs+xterm.js libevent+libevent helm+helm "
    "networkx+networkx diesel-rs+diesel Kong+kong haskell+cabal typeorm+typeorm libgit2+libgit2 "
    "groue+GRDB.swift absinthe-graphql+absinthe softwaremill+tapir npgsql+npgsql"
).split()
DEF, MODULE, INLINE, BARE = range(4)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("work", type=pathlib.Path)
    add("out")
    add("--dimensions", type=int, default=256)
    add("--epochs", type=float, default=3)
    add("--batch", type=int, default=1024)
    add("--group", type=int, default=256, help="pairs of one repository that stand together in a batch")
    add("--rate", type=float, default=2e-3)
    add("--query-rate", type=float, default=5e-3, help="0 leaves out the query weights")
    add("--temperature", type=float, default=0.05)
    add("--drop-name", type=float, default=0.35, help="share of documents whose name words are dropped")
    add("--drop-path", type=float, default=0.2)
    add("--rest", type=float, default=0.4, help="share of documents that keep the rest of their comment")
    add("--rest-query", type=float, default=0.1, help="share of queries that are the whole comment")
    add("--query-keep", type=float, default=0.8, help="share of words that a shortened query keeps")
    add("--inline", type=float, default=1.0, help="share of inline pairs that are used")
    add("--bare", type=float, default=0.5, help="share of definitions without comment that are used")
    add("--named", type=float, default=0.1, help="share of commented pairs asked for by name instead")
    add("--start", choices=("teacher", "random"), default="teacher")
    add("--all", action="store_true", help="train on the held-out repositories too")
    add("--share", type=float, default=1.0, help="share of the pairs, for quick trials")
    add("--average", type=float, default=0.0, help="average the table over this last share of the steps")
    add("--seed", type=int, default=1)
    return parser.parse_args()


class Pairs:
    """The fields of all pairs as counts of sub-words, each followed by an empty row."""

    def __init__(self, work):
        self.vocabulary = Vocabulary.read(work / "vocab.txt")
        words = (work / "words.txt").read_text().split()
        cut = [self.vocabulary.cut(word) for word in words]
        flat = np.array([piece for pieces in cut for piece in pieces], np.int32)
        ends = np.cumsum([0, *map(len, cut)])
        spell = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, ends), (len(words), len(self.vocabulary)))
        self.fields = {}
        for field in ("query", "rest", "path", "symbol", "code"):
            matrix = (sparse.load_npz(work / f"{field}.npz") @ spell).tocsr()
            matrix.sort_indices()
            self.fields[field] = sparse.vstack([matrix, sparse.csr_matrix((1, matrix.shape[1]), dtype=np.float32)]).tocsr()
        rows = np.load(work / "rows.npz")
        self.repository, self.kind, self.hash = rows["repository"], rows["kind"], rows["hash"].copy()
        self.count = len(self.kind)
        self.names = (work / "repositories.txt").read_text().split()
        lengths = np.diff(self.fields["query"].indptr)[:-1]
        symbols = np.diff(self.fields["symbol"].indptr)[:-1]
        code = np.diff(self.fields["code"].indptr)[:-1]
        self.usable = (6 < code) & np.where(self.kind == BARE, 2 <= symbols, 3 <= lengths)
        bare = self.kind == BARE
        self.hash[bare] = -np.arange(bare.sum()) - 1

    def take(self, field, rows, keep):
        return self.fields[field][np.where(keep, rows, self.count)]


def dampen(bag):
    """Counts to weights: 1 + ln(count)."""
    bag.data = (1 + np.log(bag.data)).astype(np.float32)
    return bag


def without(bag, other):
    """Takes the words of `other` out of `bag`, row by row."""
    mask = other.copy()
    mask.data[:] = 1
    bag = bag - bag.multiply(mask)
    bag.eliminate_zeros()
    return bag


def sample(pairs, rows, settings, rng):
    """Returns (queries, documents) of a batch as bags of sub-words."""
    chance = rng.random((6, len(rows)))
    by_name = (pairs.kind[rows] == BARE) | (chance[0] < settings.named)
    drop_name = by_name | (chance[1] < settings.drop_name)
    drop_path = (by_name & (chance[2] < 0.7)) | (chance[2] < settings.drop_path)
    whole = ~by_name & (chance[3] < settings.rest_query)
    rest = ~whole & (chance[4] < settings.rest)
    symbol = pairs.take("symbol", rows, np.ones(len(rows), bool))
    code = pairs.take("code", rows, np.ones(len(rows), bool))
    bare = without(code, pairs.take("symbol", rows, drop_name))
    documents = bare + pairs.take("symbol", rows, ~drop_name) + pairs.take("path", rows, ~drop_path) + pairs.take("rest", rows, rest & ~by_name)
    queries = pairs.take("query", rows, ~by_name) + pairs.take("rest", rows, whole)
    if settings.query_keep < 1:
        shortened = np.repeat(chance[5] < 0.5, np.diff(queries.indptr))
        queries.data[shortened & (settings.query_keep < rng.random(len(queries.data)))] = 0
        queries.eliminate_zeros()
    queries = queries + symbol.multiply(by_name[:, None]).tocsr()
    return dampen(queries.tocsr()), dampen(documents.tocsr())


def unit(x):
    length = np.sqrt((x * x).sum(1, keepdims=True)) + 1e-6
    return x / length, length


def back(gradient, x, length):
    """The gradient through `unit`."""
    return (gradient - x * (gradient * x).sum(1, keepdims=True)) / length


class Model:
    def __init__(self, table, rate, query_rate):
        self.table, self.query = table, np.ones(len(table), np.float32)
        self.rate, self.query_rate = rate, query_rate
        self.first, self.second = np.zeros_like(table), np.zeros_like(table)
        self.query_second = np.zeros_like(self.query)
        self.step_count = 0

    def embed(self, bag, is_query=False):
        if is_query:
            bag = bag.multiply(self.query[None, :]).tocsr()
        return unit(bag @ self.table)[0]

    def step(self, queries, documents, hashes, temperature, pace):
        used, place = np.unique(np.concatenate([queries.indices, documents.indices]), return_inverse=True)
        at, rows = len(queries.indices), self.table[used]
        shape = (queries.shape[0], len(used))
        plain = sparse.csr_matrix((queries.data, place[:at], queries.indptr), shape)
        scale = self.query[used]
        asked = sparse.csr_matrix((queries.data * scale[place[:at]], place[:at], queries.indptr), shape)
        told = sparse.csr_matrix((documents.data, place[at:], documents.indptr), shape)
        q, q_length = unit(asked @ rows)
        d, d_length = unit(told @ rows)
        logits = (q @ d.T) / np.float32(temperature)
        twins = hashes[:, None] == hashes[None, :]
        np.fill_diagonal(twins, False)
        logits[twins] = -1e4
        logits -= logits.max()
        e = np.exp(logits)
        across, down = e / (e.sum(1, keepdims=True) + 1e-30), e / (e.sum(0, keepdims=True) + 1e-30)
        diagonal = np.arange(len(q))
        loss = -np.log(across[diagonal, diagonal] * down[diagonal, diagonal] + 1e-30).mean() / 2
        gradient = across + down
        gradient[diagonal, diagonal] -= 2
        gradient *= np.float32(0.5 / (temperature * len(q)))
        dq, dd = back(gradient @ d, q, q_length), back(gradient.T @ q, d, d_length)
        moved = plain.T.tocsr() @ dq
        if self.query_rate:
            slope = (moved * rows).sum(1)
            self.query_second[used] = 0.99 * self.query_second[used] + 0.01 * slope**2
            touched = slope != 0
            rate = self.query_rate * pace
            change = rate * slope / (np.sqrt(self.query_second[used]) + 1e-8)
            self.query[used[touched]] = np.clip(scale[touched] - np.clip(change[touched], -3 * rate, 3 * rate), 0.02, 4)
        moved = moved * scale[:, None] + told.T.tocsr() @ dd
        self.step_count += 1
        first = self.first[used] = 0.9 * self.first[used] + 0.1 * moved
        second = self.second[used] = 0.99 * self.second[used] + 0.01 * moved * moved
        correct = np.sqrt(1 - 0.99**self.step_count) / (1 - 0.9**self.step_count)
        self.table[used] = rows - (self.rate * pace * correct) * first / (np.sqrt(second) + 1e-8)
        return loss


def start(settings, work, size):
    """The first table: the teacher's vectors turned to their main axes, frequent words made small."""
    rng = np.random.default_rng(0)
    wide = settings.dimensions
    table = rng.normal(0, 1 / np.sqrt(wide), (size, wide)).astype(np.float32)
    if settings.start == "teacher":
        vectors = np.load(work / "teacher.npy")
        vectors = vectors - vectors.mean(0)
        _, axes = np.linalg.eigh(vectors.T @ vectors)
        kept = min(wide, vectors.shape[1])
        table *= 0.1
        table[:, :kept] += vectors @ axes[:, ::-1][:, :kept]
    table /= np.linalg.norm(table, axis=1).mean()
    frequency = np.load(work / "frequency.npy") + 2
    rarity = 1e-3 / (1e-3 + frequency / frequency.sum())
    return (table * rarity[:, None]).astype(np.float32)


def ndcg(model, pairs, kinds):
    """Mean NDCG@10 over the held-out repositories: each query against all documents of its repository."""
    scores = []
    for name in HELD_OUT:
        if name not in pairs.names:
            continue
        of = pairs.usable & (pairs.repository == pairs.names.index(name))
        rows = np.flatnonzero(of & (pairs.kind != INLINE))[:4000]
        asked = np.flatnonzero(np.isin(pairs.kind[rows], kinds))[:1000]
        if len(asked) < 10:
            continue
        every = np.ones(len(rows), bool)
        documents = sum(pairs.take(field, rows, every) for field in ("path", "symbol", "code"))
        d = model.embed(dampen(documents.tocsr()))
        q = model.embed(dampen(pairs.take("query", rows[asked], every[asked])), True)
        scored = q @ d.T
        same = pairs.hash[rows[asked]][:, None] == pairs.hash[rows][None, :]
        best = np.where(same, scored, -2).max(1)
        rank = 1 + (best[:, None] < np.where(same, -2, scored)).sum(1)
        scores.append(np.where(rank <= 10, 1 / np.log2(rank + 1.0), 0).mean())
    return float(np.mean(scores))


def main():
    settings = options()
    rng = np.random.default_rng(settings.seed)
    clock = time.process_time()
    pairs = Pairs(settings.work)
    held_out = np.isin(pairs.repository, [pairs.names.index(name) for name in HELD_OUT if name in pairs.names])
    share = np.array([1, 1, settings.inline, settings.bare])[pairs.kind] * settings.share
    use = np.flatnonzero(pairs.usable & (settings.all | ~held_out) & (rng.random(pairs.count) < share))
    model = Model(start(settings, settings.work, len(pairs.vocabulary)), settings.rate, settings.query_rate)
    print(f"{len(use)} pairs, loaded in {time.process_time() - clock:.0f} s; untrained: def {ndcg(model, pairs, [DEF]):.4f} module {ndcg(model, pairs, [MODULE]):.4f}", flush=True)
    steps = int(settings.epochs * len(use) / settings.batch)
    done, total, averaged, sums = 0, [], 0, None
    clock = time.process_time()
    while done < steps:
        shuffled = use[np.lexsort((rng.random(len(use)), pairs.repository[use]))]
        groups = [shuffled[i : i + settings.group] for i in range(0, len(shuffled), settings.group)]
        order = np.concatenate([groups[i] for i in rng.permutation(len(groups))])
        for first in range(0, len(order) - settings.batch + 1, settings.batch):
            rows = order[first : first + settings.batch]
            pace = min(1, (done + 1) / 50) * (1 - 0.95 * done / steps)
            queries, documents = sample(pairs, rows, settings, rng)
            total.append(model.step(queries, documents, pairs.hash[rows], settings.temperature, pace))
            done += 1
            if (1 - settings.average) * steps < done and done % 20 == 0:
                sums = model.table.copy() if sums is None else sums + model.table
                averaged += 1
            if done % 400 == 0 or done == steps:
                print(f"step {done}/{steps} loss {np.mean(total[-400:]):.3f} def {ndcg(model, pairs, [DEF]):.4f} module {ndcg(model, pairs, [MODULE]):.4f} {time.process_time() - clock:.0f} s", flush=True)
            if done == steps:
                break
    if averaged:
        model.table = sums / averaged
        print(f"averaged: def {ndcg(model, pairs, [DEF]):.4f} module {ndcg(model, pairs, [MODULE]):.4f}")
    np.savez(settings.out, table=model.table, query=model.query)


if __name__ == "__main__":
    main()

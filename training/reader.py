"""Learns from the words of a question whether documents or code answer it.

usage: reader.py WEIGHTS QUESTIONS ...
QUESTIONS are files with one question a line: {query, kind: documents | code}, or {query, repo, category} as in
benches/questions, of whose categories `document` and `using-documents` are answered by documents, `symbol` by neither,
and the others by code. WEIGHTS becomes a feature and its weight a line. Standard error has the share of pairs of a
question of each kind that are ordered rightly (AUC), each repository judged by weights that were learned from others.

A logistic regression with a penalty on the squares of its weights. `crates/search/src/reader.rs` has the same features.
"""

import collections
import json
import re
import sys

import numpy as np
import scipy.optimize as optimize
import scipy.sparse as sparse

PENALTY = 3.3
# Features of fewer questions are left out, and weights closer to nought.
FEWEST, LEAST = 4, 0.1
# A made-up question counts less than one asked of a repository, and one that documents answer more, as they are few.
MADE_UP, OF_DOCUMENTS, OF_REPOSITORY = 0.3, 3.0, 2.0
FOLDS = 6
NAME = re.compile(r"::|\(\)|_|[a-z]\S*[A-Z]|\w{2,}\.\w{2,}")


def features(query):
    """Returns the features of the first line of a query."""
    line = query.strip().split("\n")[0]
    stripped = (re.sub(r"^[\W_]+|[\W_]+$", "", word) for word in line.lower().replace("’", "'").split())
    words = [word for word in stripped if word][:64]
    found = {"w=" + word for word in words if re.fullmatch(r"[a-z][a-z'-]{0,14}", word)}
    if words:
        found.add("f=" + words[0])
    found.add(f"n={min(len(words), 8 + (len(words) - 8) // 5, 12) if len(words) > 8 else len(words)}")
    if line.endswith("?"):
        found.add("asks")
    if any(NAME.search(token) for token in line.split()):
        found.add("name")
    if line[:1].isupper():
        found.add("capital")
    return found


def read(paths):
    """Yields the features, the kind (1: documents), the weight and the repository of each question."""
    for line in (line for path in paths for line in open(path, encoding="utf-8")):
        question = json.loads(line)
        category = question.get("category", question.get("kind"))
        if category == "symbol":
            continue
        kind = int(category in ("document", "using-documents", "documents"))
        weight = MADE_UP if "kind" in question else OF_REPOSITORY * (OF_DOCUMENTS if kind else 1.0)
        yield features(question["query"]), kind, weight, question.get("repo")


def learn(questions):
    """Returns the weight of each feature, and of none."""
    counts = collections.Counter(name for found, *_ in questions for name in found)
    names = sorted(name for name, count in counts.items() if count >= FEWEST)
    place = {name: at for at, name in enumerate(names)}
    rows = [(row, place[name]) for row, (found, *_) in enumerate(questions) for name in found if name in place]
    table = sparse.csr_matrix(([1.0] * len(rows), tuple(zip(*rows))), (len(questions), len(names)))
    sign = np.array([1.0 if kind else -1.0 for _, kind, _, _ in questions])
    weight = np.array([weight for _, _, weight, _ in questions])

    def loss(values):
        margin = sign * (table @ values[1:] + values[0])
        slope = -weight * sign / (1.0 + np.exp(np.clip(margin, -50, 50)))
        value = weight @ np.logaddexp(0.0, -margin) + 0.5 * PENALTY * (values[1:] @ values[1:])
        return value, np.concatenate([[slope.sum()], table.T @ slope + PENALTY * values[1:]])

    values = optimize.minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    kept = {name: round(value, 2) for name, value in zip(names, values[1:]) if abs(value) >= LEAST}
    return {"": round(values[0], 2), **kept}


def score(weights, found):
    """Returns the log-odds that documents answer."""
    return weights[""] + sum(weights.get(name, 0.0) for name in found)


def judge(scores):
    """Returns the share of pairs that are ordered rightly."""
    ordered = [kind for _, kind in sorted(scores)]
    documents, before, right = sum(ordered), 0, 0
    for kind in ordered:
        right += before if kind else 0
        before += 1 - kind
    return right / max(documents * before, 1)


def main():
    out, *paths = sys.argv[1:]
    questions = list(read(paths))
    repositories = sorted({repository for *_, repository in questions if repository})
    scores = []
    for fold in range(FOLDS):
        held = set(repositories[fold::FOLDS])
        weights = learn([question for question in questions if question[3] not in held])
        scores += [(score(weights, found), kind) for found, kind, _, repository in questions if repository in held]
    weights = learn(questions)
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\t{value}\n" for name, value in sorted(weights.items()))
    print(f"{len(questions)} questions, {len(weights)} weights, AUC on others {judge(scores):.3f}", file=sys.stderr)


if __name__ == "__main__":
    main()

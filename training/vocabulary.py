"""Chooses the sub-words: the most spread words of the pairs, and whole words of the teacher's tokenizer.

usage: vocabulary.py WORK TEACHER CODE_WORDS ALL_WORDS      writes WORK/vocab.txt and WORK/frequency.npy
"""

import pathlib
import sys

import numpy as np
import scipy.sparse as sparse

LENGTHS = range(2, 25)


def main():
    work, teacher = map(pathlib.Path, sys.argv[1:3])
    code_words, all_words = map(int, sys.argv[3:5])
    words = (work / "words.txt").read_text().split()
    repository = np.load(work / "rows.npz")["repository"]
    present = sum(sparse.load_npz(work / f"{field}.npz") for field in ("query", "path", "symbol", "code")).tocsr()
    present.data[:] = 1
    of = sparse.csr_matrix((np.ones(len(repository), np.float32), (repository, np.arange(len(repository)))))
    counts = of @ present
    frequency = np.asarray(counts.sum(0)).ravel()
    spread = np.asarray((counts > 0).sum(0)).ravel()
    good = [
        place for place, word in enumerate(words)
        if len(word) in LENGTHS and 2 <= spread[place] and 5 <= frequency[place] and not (word.isdigit() and 4 < len(word))
    ]
    # Words of many repositories first, so that one large repository does not fill the vocabulary.
    good.sort(key=lambda place: -np.sqrt(frequency[place]) * spread[place])
    chosen = [words[place] for place in good[:code_words]]
    known = set(chosen)
    for word in (teacher / "vocab.txt").read_text().split("\n"):
        if len(chosen) < all_words and 3 <= len(word) < 25 and word.isalpha() and word.isascii() and word not in known:
            chosen.append(word)
            known.add(word)
    place = {word: place for place, word in enumerate(words)}
    (work / "vocab.txt").write_text("\n".join(chosen) + "\n")
    np.save(work / "frequency.npy", np.array([frequency[place[word]] if word in place else 0 for word in chosen]))
    print(len(good), "candidates,", len(chosen), "chosen; the last of code:", chosen[code_words - 5 : code_words])


if __name__ == "__main__":
    main()

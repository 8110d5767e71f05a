"""The tokeniser of the model; src/embed/builtin/vocabulary.rs is the same in Rust."""

import re

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*|[0-9]+")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
SHORTEST_PIECE = 3

_parts = {}


def words(text):
    """Returns the lower-case words of a text: identifiers cut at case changes, underscores, digits."""
    found = []
    for identifier in IDENTIFIER.findall(text):
        parts = _parts.get(identifier)
        if parts is None:
            parts = [part.lower() for part in PART.findall(identifier)]
            parts = [part for part in parts if 1 < len(part) or part.isdigit()]
            if len(_parts) < 3_000_000:
                _parts[identifier] = parts
        found += parts
    return found


class Vocabulary:
    """Sub-words; the id of each is its place."""

    def __init__(self, subwords):
        self.subwords = list(subwords)
        self.place = {word: place for place, word in enumerate(self.subwords)}
        self.longest = max(map(len, self.subwords))
        self.known = {}

    @classmethod
    def read(cls, path):
        with open(path) as lines:
            return cls(lines.read().split())

    def __len__(self):
        return len(self.subwords)

    def ids(self, text):
        """Returns the ids of a text's sub-words, in order."""
        found = []
        for word in words(text):
            ids = self.known.get(word)
            if ids is None:
                ids = self.known[word] = self.cut(word)
            found += ids
        return found

    def cut(self, word):
        """Cuts a word greedily into the longest known pieces; an unknown number gives nothing."""
        if word in self.place:
            return [self.place[word]]
        pieces, start = [], 0
        while start < len(word) - 1 and not word.isdigit():
            for end in range(min(len(word), start + self.longest), start + 1, -1):
                if word[start:end] in self.place and (SHORTEST_PIECE <= end - start or end == len(word)):
                    pieces.append(self.place[word[start:end]])
                    start = end
                    break
            else:
                start += 1
        return pieces

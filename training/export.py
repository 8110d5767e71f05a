"""Writes a trained table in the form that the product reads, and vectors to check the product by.

usage: export.py WORK ASSETS REFERENCE.jsonl TRAINED.npz ...
Several tables that started alike are averaged. ASSETS gets vocab.txt, table_i8.npy, scale_f32.npy (a vector is row × scale) and query_f32.npy.
"""

import json
import pathlib
import shutil
import sys

import numpy as np

from evaluate import Model

TEXTS = [
    "connection pooling and TCP connector",
    "how are retries with back-off done?",
    "HTTPServer2_main parseJSONBody XMLHttpRequest utf8 sha256",
    "src/net/http_client.rs\nHttpClient.send\npub async fn send(&self, request: Request) -> Result<Response, Error> {\n"
    "    let mut attempt = 0;\n    loop {\n        match self.try_send(&request).await {\n"
    "            Err(error) if error.is_temporary() && attempt < 3 => attempt += 1,\n            other => return other,\n"
    "        }\n    }\n}",
    "def test_parses_empty_input(tmp_path):\n    assert parse(tmp_path / 'x.cfg') == {}\n",
    "a I x 7 42 99999 ¿qué? 日本語 naïve Größe",
    "supercalifragilistic unknwnwrd zzzqqq",
    "the the the the socket socket",
    "",
]


def main():
    work, assets, reference = map(pathlib.Path, sys.argv[1:4])
    runs = [np.load(trained) for trained in sys.argv[4:]]
    table = np.mean([run["table"] for run in runs], axis=0)
    query = np.mean([run["query"] for run in runs], axis=0).astype("<f4")
    scale = np.maximum(np.abs(table).max(1), 1e-8) / 127
    rows = np.rint(table / scale[:, None]).astype(np.int8)
    assets.mkdir(parents=True, exist_ok=True)
    shutil.copy(work / "vocab.txt", assets / "vocab.txt")
    np.save(assets / "table_i8.npy", rows)
    np.save(assets / "scale_f32.npy", scale.astype("<f4"))
    np.save(assets / "query_f32.npy", query)
    back = rows * scale[:, None]
    cosine = (back * table).sum(1) / (np.linalg.norm(back, axis=1) * np.linalg.norm(table, axis=1) + 1e-12)
    print(f"{len(rows)} sub-words, {table.shape[1]} dimensions, least cosine to the float rows {cosine.min():.5f}")
    model = Model(assets)
    with open(reference, "w") as lines:
        for text in TEXTS:
            document, asked = model.embed([text])[0], model.embed([text], True)[0]
            row = {"text": text, "ids": model.vocabulary.ids(text)}
            row["document"], row["query"] = ([round(float(x), 6) for x in vector] for vector in (document, asked))
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

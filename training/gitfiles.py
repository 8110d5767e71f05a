"""Reads text files out of bare git repositories, without a checkout."""

import subprocess
import threading


def listing(repository):
    """Yields (path, blob id, size) of each regular file of HEAD whose content is at hand."""
    command = ["git", "--git-dir", repository, "ls-tree", "-r", "-l", "-z", "HEAD"]
    for record in subprocess.run(command, capture_output=True, check=True).stdout.split(b"\0"):
        if not record:
            continue
        meta, path = record.split(b"\t", 1)
        mode, kind, blob, size = meta.split()
        if kind == b"blob" and mode != b"120000" and size.isdigit():
            yield path.decode("utf-8", "replace"), blob.decode(), int(size)


def contents(repository, files):
    """Yields (path, bytes) of `files`, which are rows of `listing`; absent blobs are left out."""
    command = ["git", "--git-dir", repository, "cat-file", "--batch"]
    git = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask():
        for _, blob, _ in files:
            git.stdin.write(blob.encode() + b"\n")
        git.stdin.close()

    threading.Thread(target=ask, daemon=True).start()
    for path, _, _ in files:
        header = git.stdout.readline().split()
        if len(header) == 3:
            yield path, git.stdout.read(int(header[2]))
            git.stdout.read(1)
    git.wait()

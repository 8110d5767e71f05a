"""Compares what codeinfo-history answers with git: `history.py EXAMPLE REPOSITORY …`, where EXAMPLE is the built example
`history` of crates/history. Samples files and ranges of lines at HEAD; prints shares that agree, and times."""

import random
import subprocess
import sys
import time

PLACES = 30
RANGE = 20


def run_git(repository, *arguments):
    run = subprocess.run(["git", "-c", "core.quotePath=false", "--git-dir", repository, *arguments], capture_output=True, check=True)
    return run.stdout.decode("utf-8", "replace")


def sample_places(repository, source):
    """Returns text files of HEAD, each with a range of lines."""
    numbers = run_git(repository, "diff", "--numstat", "--no-renames", "-z", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "HEAD")
    files = [line.split("\t") for line in numbers.split("\0") if line]
    files = [(path, int(lines)) for lines, _, path in files if lines not in ("-", "0") and " " not in path]
    for path, lines in source.choices(files, k=PLACES):
        first = source.randint(1, lines)
        yield path, first, min(lines, first + source.randint(0, RANGE))


def git_lines(repository, place):
    path, first, last = place
    return run_git(repository, "log", "--format=%H", "-s", f"-L{first},{last}:{path}").split()


def git_file(repository, place, *options):
    """Returns commits with the old and the new path of each change."""
    changes = []
    text = run_git(repository, "log", *options, "--format=commit %H", "--name-status", "--", place[0])
    for line in filter(None, text.split("\n")):
        if line.startswith("commit "):
            commit = line[7:]
        else:
            paths = line.split("\t")[1:]
            changes.append((commit, paths[-1], paths[0]))
    return changes


def git_blame(repository, place):
    path, first, last = place
    blamed, names = {}, {}
    for line in run_git(repository, "blame", "--porcelain", f"-L{first},{last}", "HEAD", "--", path).split("\n"):
        words = line.split(" ")
        if line.startswith("\t"):
            blamed[final] = (commit, old, names[commit])
        elif len(words[0]) == 40:
            commit, old, final = words[0], int(words[1]), int(words[2])
        elif words[0] == "filename":
            names[commit] = line[9:]
    return blamed


def ask_all(example, repository, questions):
    """Returns for each question its time in ms, the lines of the answer, and why it stopped."""
    run = subprocess.run([example, repository], input="\n".join(questions) + "\n", capture_output=True, text=True, check=True)
    lines = iter(run.stdout.split("\n"))
    answers = []
    for _ in questions:
        milliseconds, count, stop = next(lines).split("\t")
        answers.append((float(milliseconds), [next(lines) for _ in range(int(count))], stop))
    return answers


def quantile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def main(example, repositories):
    totals = {"lines": [0, 0], "file": [0, 0], "renames": [0, 0], "blame": [0, 0]}
    times = {"cold": [], "lines": [], "file": [], "blame": [], "git -L": []}
    for repository in repositories:
        places = list(sample_places(repository, random.Random(7)))
        own = dict.fromkeys(totals, 0)
        all_of = dict.fromkeys(totals, 0)
        lines = ask_all(example, repository, [f"lines {first} {last} {path}" for path, first, last in places])
        files = ask_all(example, repository, [f"file {path}" for path, _, _ in places])
        blames = ask_all(example, repository, [f"blame {first} {last} {path}" for path, first, last in places])
        times["cold"].append(lines[0][0])
        for name, answers in (("lines", lines), ("file", files), ("blame", blames)):
            times[name] += [answer[0] for answer in answers]
        for place, line, file, blame in zip(places, lines, files, blames):
            start = time.perf_counter()
            expected = git_lines(repository, place)
            times["git -L"].append((time.perf_counter() - start) * 1000)
            checks = [("lines", sorted(expected) == sorted(line[1]))]
            expected = git_file(repository, place, "--follow")
            found = [tuple(change.split("\t")[:3]) for change in file[1]]
            renames = [[change for change in changes if change[1] != change[2]] for changes in (expected, found)]
            if any(renames):
                checks.append(("renames", sorted(renames[0]) == sorted(renames[1])))
            else:
                # Only without --follow git leaves out branches whose changes a merge did not take.
                expected = git_file(repository, place)
                checks.append(("file", sorted(expected) == sorted(found)))
            blamed = {}
            for first, last, commit, old, path in (part.split("\t") for part in blame[1]):
                for line_number in range(int(first), int(last) + 1):
                    blamed[line_number] = (commit, int(old) + line_number - int(first), path)
            checks += [("blame", blamed.get(number) == entry) for number, entry in git_blame(repository, place).items()]
            for name, agrees in checks:
                own[name] += agrees
                all_of[name] += 1
                if not agrees and "-v" in sys.argv:
                    print("  differs:", name, *place)
        for name in totals:
            totals[name] = [totals[name][0] + own[name], totals[name][1] + all_of[name]]
        print(repository.split("/")[-2], {name: f"{own[name]}/{all_of[name]}" for name in totals}, flush=True)
    print({name: f"{good}/{count} = {100 * good / max(1, count):.1f} %" for name, (good, count) in totals.items()})
    for name, values in times.items():
        print(f"{name}: p50 {quantile(values, 0.5):.1f} ms, p90 {quantile(values, 0.9):.1f} ms, max {max(values):.1f} ms")


main(sys.argv[1], [argument for argument in sys.argv[2:] if argument != "-v"])

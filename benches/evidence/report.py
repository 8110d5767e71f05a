"""Tables of shares, and of two runs question by question."""

import random
import statistics

# Resamples for a range that holds the mean difference in 95 of 100.
RESAMPLES = 2000


def tables(outcome):
    """Returns Markdown: all questions, kinds, languages, files, and where ripgrep is better."""
    parts = [table(outcome, "lines", "share of gold lines shown", every(outcome))]
    for field in ("kind", "language"):
        values = sorted({about[field] for about in outcome["questions"].values()})
        if len(values) > 1:
            parts.append(by(outcome, field, values))
    parts.append(table(outcome, "files", "share of gold files with a line shown", every(outcome)))
    parts.append(sizes(outcome))
    named = [row["named"] for row in outcome["policies"]["search-only"].values() if row["named"] is not None]
    parts.append(f"gold lines within the places that the first search names, shown or not: {mean(named)}")
    if "ripgrep" in outcome["policies"]:
        parts.append(lost(outcome))
    return "\n\n".join(parts) + "\n"


def every(outcome):
    return list(outcome["questions"])


def column(outcome, policy, gold, place, ids):
    """Returns the shares of one policy at one budget, of questions that have such gold."""
    rows = outcome["policies"][policy]
    return [rows[one][gold][place] for one in ids if rows[one][gold][place] is not None]


def head(outcome):
    return [f"{budget // 1000} KB" for budget in outcome["budgets"]]


def table(outcome, gold, title, ids):
    count = len(column(outcome, "codeinfo", gold, 0, ids))
    rows = [[f"{title}, {count} questions", *head(outcome)]]
    for policy in outcome["policies"]:
        means = [mean(column(outcome, policy, gold, place, ids)) for place in range(len(outcome["budgets"]))]
        rows.append([policy, *means])
    return markdown(rows)


def by(outcome, field, values):
    """Returns a row for each value: the questions, and each policy at 5 and 10 KB."""
    places = [1, 2]
    policies = list(outcome["policies"])
    rows = [[field, "questions", *(f"{policy}, {head(outcome)[place]}" for place in places for policy in policies)]]
    for value in values:
        ids = [one for one, about in outcome["questions"].items() if about[field] == value]
        count = len(column(outcome, "codeinfo", "lines", 0, ids))
        if count:
            means = [mean(column(outcome, policy, "lines", place, ids)) for place in places for policy in policies]
            rows.append([value, str(count), *means])
    return markdown(rows)


def sizes(outcome):
    rows = [["bytes", "mean of the first text", "median", "largest", "mean of all texts"]]
    for policy, results in outcome["policies"].items():
        first = [result["first"] for result in results.values()]
        whole = [result["bytes"] for result in results.values()]
        figures = (statistics.mean(first), statistics.median(first), max(first), statistics.mean(whole))
        rows.append([policy, *(f"{figure:,.0f}" for figure in figures)])
    return markdown(rows)


def lost(outcome):
    """Returns how often ripgrep shows more, and where it does at 5 KB."""
    parts = []
    for place, budget in enumerate(head(outcome)):
        ours, theirs = outcome["policies"]["codeinfo"], outcome["policies"]["ripgrep"]
        pairs = {one: (ours[one]["lines"][place], theirs[one]["lines"][place]) for one in ours}
        pairs = {one: pair for one, pair in pairs.items() if None not in pair}
        worse = [one for one, (our, their) in pairs.items() if our < their]
        better = sum(their < our for our, their in pairs.values())
        parts.append(f"{budget}: ripgrep shows more in {len(worse)} of {len(pairs)} questions, codeinfo in {better}")
        if place == 1:
            parts.append("  " + ", ".join(f"{one} ({pairs[one][0]:.2f} < {pairs[one][1]:.2f})" for one in worse))
    return "\n".join(parts)


def compared(new, old):
    """Returns the differences of two runs over the questions that both asked."""
    ids = [one for one in new["questions"] if one in old["questions"]]
    rows = [[f"against the other run, {len(ids)} questions", "budget", "before", "now", "difference", "95 %", "better", "worse"]]
    for policy in new["policies"]:
        if policy not in old["policies"]:
            continue
        for place, budget in enumerate(head(new)):
            before = column(old, policy, "lines", place, ids)
            now = column(new, policy, "lines", place, ids)
            change = [after - former for after, former in zip(now, before)]
            low, high = likely(change)
            better, worse = sum(0 < one for one in change), sum(one < 0 for one in change)
            figures = [mean(before), mean(now), f"{statistics.mean(change):+.3f}", f"{low:+.3f} … {high:+.3f}"]
            rows.append([policy, budget, *figures, str(better), str(worse)])
    return markdown(rows) + "\n"


def likely(change):
    """Returns a range of the mean, by resampling; the same one each time."""
    draws = random.Random(7)
    means = sorted(statistics.mean(draws.choices(change, k=len(change))) for _ in range(RESAMPLES))
    return means[RESAMPLES // 40], means[-RESAMPLES // 40]


def mean(values):
    return f"{statistics.mean(values):.3f}" if values else "–"


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)

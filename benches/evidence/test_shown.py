"""What counts as shown, in the forms that tools write: `python3 -m unittest discover benches/evidence`."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from policies import Read, Uses, left_out, missing, runs, steps
from questions import Folder
from shown import Block, events

LONG = "    return one_name_that_is_long + another_name_that_is_long + the_last_name_of_the_line"
FILE = f"def first():\n\n{LONG}\n\ndef second():\n    pass\n"


class Shown(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.makedirs(os.path.join(folder.name, "src", "[id]"))
        self.folder = Folder(folder.name, "")
        self.path = os.path.join(self.folder.path, "src", "a.py")
        self.odd = os.path.join(self.folder.path, "src", "[id]", "two words.py")
        for path in (self.path, self.odd):
            with open(path, "w", encoding="utf-8") as file:
                file.write(FILE)

    def shown(self, text):
        found, _ = events(text, self.folder)
        return [(os.path.relpath(path, self.folder.path), number) for _, path, number in found]

    def test_numbered_lines_count_under_the_place_above_them(self):
        text = f"[demo] {self.path}:1-6 `first` python (score 0.9)\n1|def first():\n5|def second():\n"
        self.assertEqual(self.shown(text), [("src/a.py", 1), ("src/a.py", 5)])

    def test_a_path_may_have_brackets_and_spaces(self):
        self.assertEqual(self.shown(f"[demo] {self.odd}:1-6\n1|def first():"), [("src/[id]/two words.py", 1)])

    def test_a_line_under_a_wrong_number_does_not_count(self):
        self.assertEqual(self.shown(f"{self.path}:1-6\n2|def first():\n6|def second():\n"), [])

    def test_a_number_without_its_line_does_not_count(self):
        self.assertEqual(self.shown(f"{self.path}:1-6 `first`\n"), [])

    def test_a_use_counts_on_its_own_line(self):
        expected = [("src/a.py", 1), ("src/a.py", 5)]
        self.assertEqual(self.shown("src/a.py:1  def first():\nsrc/a.py:5  def second():"), expected)
        self.assertEqual(self.shown(f"{self.path}:1:def first():\n{self.path}:5:def second():"), expected)

    def test_hits_and_context_of_ripgrep_count_under_their_heading(self):
        text = "src/a.py\n5:def second():\n6-    pass\n"
        self.assertEqual(self.shown(text), [("src/a.py", 5), ("src/a.py", 6)])

    def test_lines_of_cat_count(self):
        self.assertEqual(self.shown(f"{self.path}:5-6\n5\tdef second():\n     6\t    pass"), [("src/a.py", 5), ("src/a.py", 6)])

    def test_a_cut_line_counts_if_enough_of_it_is_there(self):
        head = f"{self.path}:1-6\n"
        self.assertEqual(self.shown(f"{head}3|{LONG[:60]} ⋯"), [("src/a.py", 3)])
        self.assertEqual(self.shown(f"{head}3|{LONG[:20]} ⋯"), [])
        self.assertEqual(self.shown(f"{head}3|{LONG[:60]}"), [])

    def test_files_outside_the_checkout_do_not_count(self):
        inner = Folder(os.path.join(self.folder.path, "src", "[id]"), "")
        self.assertEqual(events(f"{self.path}:1-6\n1|def first():\n../a.py:1  def first():", inner)[0], [])

    def test_a_line_costs_the_bytes_up_to_its_end(self):
        text = f"{self.path}:1-6\n1|def first():\n⋯\n5|def second():\n"
        ends = [end for end, _, _ in events(text, self.folder)[0]]
        self.assertEqual([text.encode()[:end].count(b"\n") for end in ends], [2, 4])

    def test_what_results_leave_out_is_read_and_nothing_twice(self):
        seen = {(self.path, 1), (self.path, 3)}
        self.assertEqual(missing(self.path, 1, 6, seen), [5, 6])
        taken = []
        for step in steps([Block(self.path, 1, 3, "A::first"), Block(self.path, 5, 5, "second")], seen):
            taken.append(step)
            if isinstance(step, Read):
                seen.update((self.path, number) for number in range(step.first, step.last + 1))
        self.assertEqual(taken, [Read(self.path, 5, 5), Read(self.path, 6, 6), Uses("first")])
        self.assertEqual(list(left_out([Block(self.path, 1, 3, None)], {(self.path, 1), (self.path, 3)})), [])
        self.assertEqual(runs([1, 2, 8, 20]), [[1, 8], [20, 20]])


if __name__ == "__main__":
    unittest.main()

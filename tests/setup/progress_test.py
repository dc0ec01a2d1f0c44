"""Progress: what is shown of a download, against a clock of the test."""

import contextlib
import io
import os
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/setup"))
import progress

MB = 1 << 20


class Screen(io.StringIO):
    def isatty(self):
        return True


class ProgressTest(unittest.TestCase):
    def show(self, points, stream, total=100 * MB):
        """What the stream gets when so many bytes are there after so many seconds."""
        clock = mock.Mock(return_value=0.0)
        with (
            mock.patch.object(progress.time, "monotonic", clock),
            mock.patch.dict(os.environ, {"TERM": "xterm"}),
            contextlib.redirect_stderr(stream),
        ):
            shown = progress.Progress("wheel", total)
            for at_s, done in points:
                clock.return_value = at_s
                shown.show(done)
        return stream.getvalue()

    def test_pace_and_remaining_time_are_those_of_the_last_seconds(self):
        # Twenty seconds at 1 MB/s, then ten at 4 MB/s.
        points = [(second, second * MB) for second in range(21)]
        points += [(20 + second, (20 + 4 * second) * MB) for second in range(1, 11)]
        last = self.show(points, Screen()).split("\r")[-1]
        self.assertIn("60 %  60/100 MB  4.0 MB/s  10 s left", last)

    def test_nothing_is_said_about_the_pace_before_it_is_known(self):
        last = self.show([(0.0, 0), (0.3, 10 * MB)], Screen()).split("\r")[-1]
        self.assertIn("10 %  10/100 MB", last)
        self.assertNotIn("left", last)

    def test_a_terminal_is_redrawn_ten_times_a_second_at_most(self):
        drawn = self.show([(i / 1000, i * MB // 10) for i in range(1000)], Screen())
        self.assertLessEqual(drawn.count("\r"), 11)
        self.assertGreater(drawn.count("\r"), 5)

    def test_a_plain_line_comes_every_ten_seconds(self):
        lines = self.show([(second, second * MB) for second in range(36)], io.StringIO()).splitlines()
        self.assertEqual([line.split(" %")[0].split()[-1] for line in lines], ["10", "20", "30"])

    def test_more_than_announced_is_all(self):
        last = self.show([(0.0, 0), (5.0, 300 * MB)], Screen()).split("\r")[-1]
        self.assertIn("100 %  100/100 MB", last)

    def test_lines_fit_into_every_width(self):
        shown = progress.Progress("wheel", 100 * MB)
        shown.show(50 * MB)
        for width in range(1, 200):
            line = shown.line(50 * MB, width)
            self.assertLess(len(line), max(width, 2), width)
            if "[" in line:
                bar = line[line.index("[") + 1 : line.index("]")]
                self.assertEqual(bar.count("#"), len(bar) // 2)
        self.assertIn("[" + "#" * 15 + "." * 15 + "]", shown.line(50 * MB, 120))

    def test_an_empty_download_is_no_error(self):
        self.assertIn("0 %", self.show([(0.0, 0)], Screen(), total=0))


if __name__ == "__main__":
    unittest.main()

"""The examples of the README and of the guide do what they say."""

import contextlib
import io
import os
import re
import unittest
from pathlib import Path

from support import FolderCase

HERE = Path(__file__).resolve().parent
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


class Examples(FolderCase):
    def check(self, page):
        examples = EXAMPLE.findall(Path(page).read_text())
        self.assertGreater(len(examples), 2)
        for code, expected in examples:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, str(page), "exec"), {"__name__": "example"})
            self.assertEqual(printed.getvalue(), expected, code)

    def test_the_readme(self):
        self.check(HERE.parent / "README.md")

    @unittest.skipUnless(os.environ.get("MIDRAIL_REPOSITORY"), "the guide is in the repository")
    def test_the_guide(self):
        self.check(Path(os.environ["MIDRAIL_REPOSITORY"]) / "docs/guide/python.md")


if __name__ == "__main__":
    unittest.main()

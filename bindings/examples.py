#!/usr/bin/env python3
"""Writes the examples of pages into files, for type checkers: examples.py LANGUAGE FOLDER PAGE..."""

import re
import sys
from pathlib import Path

language, folder, *pages = sys.argv[1:]
endings = {"python": "py", "js": "mjs"}
Path(folder).mkdir(parents=True, exist_ok=True)
count = 0
for page in pages:
    for code in re.findall(rf"```{language}\n(.*?)```", Path(page).read_text(), re.DOTALL):
        count += 1
        (Path(folder) / f"example_{count}.{endings[language]}").write_text(code)
if count < 6:
    sys.exit(f"only {count} examples were found")

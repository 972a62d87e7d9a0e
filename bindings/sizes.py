#!/usr/bin/env python3
"""Shows the sizes of what is in a wheel, and which glibc its engine needs: sizes.py WHEEL."""

import re
import sys
import zipfile

[path] = sys.argv[1:]
with zipfile.ZipFile(path) as wheel:
    parts = {"engine": 0, "program": 0, "Python": 0}
    for entry in wheel.infolist():
        part = "engine" if entry.filename.endswith(".so") else "program" if "/scripts/" in entry.filename else "Python"
        parts[part] += entry.compress_size
        if part == "engine":
            versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", wheel.read(entry))
sizes = ", ".join(f"{part} {size / (1 << 20):.1f} MB" for part, size in parts.items())
print(f"{path}: {sizes}; the engine needs glibc {'.'.join(map(str, max((int(a), int(b)) for a, b in versions)))}")

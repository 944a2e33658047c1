"""Files that can also be given as their text."""

from __future__ import annotations

import os
from typing import Any, Tuple


def read_text(source: Any) -> Tuple[str, str, str]:
    """Return the name, the text and the folder of a file, which can be given as its text.

    A string with a line end is a text; its folder is the current one.
    """
    if isinstance(source, str) and "\n" in source:
        return "<text>", source, os.curdir
    path = os.fspath(source)
    with open(path, encoding="utf-8") as file:
        return str(path), file.read(), os.path.dirname(path) or os.curdir

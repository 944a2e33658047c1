"""The code blocks of docs/python.md run without an error.

* Blocks of TOML or Python whose first line is a comment with a file's name are that file.
* Other blocks of Python run in order, in one namespace.
* `pytest` in a block of commands runs with these files; `pip install` names a folder and extras
  that exist, and the test that installs the package runs it.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "python.md"

pytest.importorskip("can")


def blocks():
    text = DOCUMENT.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        yield text[: found.start()].count("\n") + 2, found[1], found[2]


def run_command(line, folder):
    words = shlex.split(line)
    if words[0] == "pip":
        assert words[1] == "install"
        path, extras = re.fullmatch(r"\./(\w+)\[([\w,]+)\]", words[2]).groups()
        project = (ROOT / path / "pyproject.toml").read_text(encoding="utf-8")
        for extra in extras.split(","):
            assert re.search(rf"^{extra} = \[", project, re.M), extra
        return
    assert words[0] == "pytest", f"{line}: this test cannot run it"
    done = subprocess.run(
        [sys.executable, "-m", *words, "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


def test_every_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "document"}
    count = 0
    for line, language, code in blocks():
        count += 1
        named = re.match(r"# ([\w.]+)\n", code)
        if named and language in ("toml", "python"):
            (tmp_path / named[1]).write_text(code, encoding="utf-8")
        elif language == "python":
            # The line numbers of an error are those of the document.
            exec(compile("\n" * (line - 1) + code, os.fspath(DOCUMENT), "exec"), names)
        elif language == "sh":
            for command in code.splitlines():
                run_command(command, tmp_path)
        else:
            pytest.fail(f"line {line}: a block of {language}, which no test runs")
    assert count > 15 and DOCUMENT.read_text(encoding="utf-8").count("```") == 2 * count


def test_the_options_are_those_of_the_class():
    import inspect

    from cangate.can import CangateBus

    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", DOCUMENT.read_text(encoding="utf-8"), re.M)
    stated = {name: default.strip("`") for name, default in rows}
    real = inspect.signature(CangateBus.__init__).parameters
    assert set(stated) == set(real) - {"self"}
    for name, default in stated.items():
        if default not in ("required", "none") and name not in ("bitrate", "acknowledge"):
            value = real[name].default
            assert default == (f'"{value}"' if isinstance(value, str) else str(value)), name


@pytest.mark.parametrize("path", sorted((ROOT / "python" / "examples").glob("*.py")), ids=str)
def test_each_example_runs(path, tmp_path):
    done = subprocess.run(
        [sys.executable, path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout

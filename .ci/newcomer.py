"""Do what the README and the tutorials say, word by word, in a copy of the files that git tracks.

    python3 .ci/newcomer.py

The first command is `make demo`; what the demonstration proposes is tried too. After it, the README and
the tutorials run side by side, in a shell each. Examples in Python run as doctests, and answers that a page
shows are compared. `make test` is left out, and a free port stands for 8000. If BUDGETRON_WHEEL names a
wheel, `make demo` installs it and compiles nothing.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import checkout

ROOT = Path(__file__).resolve().parent.parent
PAGES = [["README.md"], ["docs/tutorial.md", "docs/service_tutorial.md"]]  # of each shell
LEFT_OUT = ("make test",)
PLACEHOLDERS = {"FILE.csv": "transactions.csv", "COLUMN": "label"}  # of what the demonstration proposes
FENCED, INDENTED = r"^```(?P<language>\S*)\n(?P<fenced>(?s:.*?))^```$", r"(?P<indented>(?:^    .+\n)+)"
BLOCK = re.compile(f"{FENCED}|{INDENTED}", re.M)
DONE = "newcomer: exit code"
PATIENCE = 30  # seconds for a service to start
LONGEST = 900  # seconds for everything, with the core to be compiled
FORGOTTEN = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH", "VIRTUAL_ENV", "BUDGETRON_DATA"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Shell:
    """A shell that lives as long as a newcomer's, so that `cd` and `source` do what they say."""

    def __init__(self, folder):
        self.folder, self.port, self.commands, self.serves = folder, free_port(), 0, False
        self.page = ""
        self.bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            env={name: value for name, value in os.environ.items() if name not in FORGOTTEN},
            start_new_session=True,
        )
        self.limit = threading.Timer(LONGEST, self.close)
        self.limit.start()

    def say(self, text):
        print(f"{self.page}: {text}", flush=True)

    def close(self):
        """End the shell and all that it started."""
        self.limit.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.bash.pid, signal.SIGKILL)
        self.bash.wait()

    def do(self, command):
        """Run a command; its output. If it fails, so does this script."""
        self.say(f"$ {command}")
        began, lines = time.monotonic(), []
        command = command.replace("localhost:8000", f"localhost:{self.port}")
        self.bash.stdin.write(f"{{ {command}\n}} </dev/null\ncode=$?; echo; echo {DONE} $code\n")
        for line in self.bash.stdout:
            if line.startswith(DONE):
                break
            lines.append(line.rstrip("\n"))
        else:
            print(*lines, sep="\n")
            sys.exit(f"{command}: the shell ended, or it took longer than {LONGEST} s in all.")
        code = line.split()[-1]
        if code != "0":
            print(*lines, sep="\n")
            sys.exit(f"{command}: exit code {code}")
        self.commands += 1
        self.say(f"{time.monotonic() - began:.1f} s: {command[:40].splitlines()[0]}")
        return lines if lines[-1] else lines[:-1]  # a line is ended if the command does not

    def serve(self, command):
        """Start a service in the background, and wait until it listens."""
        self.stop()
        self.do(f"{command} --port {self.port} >served.log 2>&1 &")
        self.do(f"for i in $(seq {10 * PATIENCE}); do grep -q http served.log && break; sleep 0.1; done")
        self.do("cat served.log; curl -sf localhost:8000 >/dev/null")
        self.serves = True

    def stop(self):
        if self.serves:
            self.do("kill $!; wait $!")
        self.serves = False


def shown(line):
    """A line of an answer; numbers as a page rounds them."""
    try:
        return json.loads(line, parse_float=lambda text: round(float(text), 2))
    except ValueError:
        return line


def console(shell, text):
    """Commands, each with the answer that the page shows."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, *answer = part.splitlines()
        got = shell.do(command)
        if [*map(shown, got)] != [*map(shown, answer)]:
            sys.exit(f"The page shows {answer}, but there is {got}.")


def proposed(lines):
    """The commands that the demonstration proposes at its end."""
    found = [line.strip() for line in lines[lines.index("Try next:") + 1 :] if "budgetron" in line]
    for name, value in PLACEHOLDERS.items():
        found = [command.replace(name, value) for command in found]
    return found


def follow(page, shell, demonstrated):
    """Do what a page says, and then what is to be done after the demonstration, if the page runs that."""
    before, tested, then, shell.page = shell.commands, False, [], page
    for block in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        language, code = block["language"], block["fenced"] or ""
        for command in (block["indented"] or "").splitlines():
            command = command.strip()
            if command.startswith("budgetron serve"):
                shell.serve(command)
            elif command.startswith("make demo"):
                then += demonstrated(proposed(shell.do(command)))
            elif not command.startswith(LEFT_OUT):
                shell.do(command)
        if language == "console":
            console(shell, code)
        elif language == "python" and ">>> " in code and not tested:
            tested = True
            shell.do(f"python -m doctest '{shell.folder / page}'")
        elif language == "python" and ">>> " not in code:
            shell.do(f"python - <<'END'\n{code}END")
    shell.stop()
    if shell.commands == before:
        sys.exit(f"{page} has no commands.")
    for command in then:
        shell.do(command)


def follow_all(shells, pool):
    """Do what all pages say, and once what the demonstration proposes; how many shells failed."""
    tried, installed = set(), threading.Event()

    def demonstrated(commands):
        new = [command for command in commands if command not in tried]
        tried.update(new)
        installed.set()
        return new

    def follow_some(shell, pages):
        try:
            for page in pages:
                follow(page, shell, demonstrated)
        except SystemExit as failure:
            shell.say(failure.code)
            return 1
        finally:
            installed.set()
        return 0

    first, *others = zip(shells, PAGES, strict=True)
    failed = [pool.submit(follow_some, *first)]
    installed.wait()
    failed += [pool.submit(follow_some, *other) for other in others]
    return sum(each.result() for each in failed)


def main():
    """Print at the end how many commands passed; the exit code is the number of those that failed."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as opened:
        folder = Path(name) / "budgetron"
        checkout.copy_tracked(ROOT, folder)
        pool = opened.enter_context(ThreadPoolExecutor())
        shells = [opened.enter_context(contextlib.closing(Shell(folder))) for _ in PAGES]
        failed = follow_all(shells, pool)
    commands = sum(shell.commands for shell in shells)
    print(f"{commands} commands in {time.monotonic() - began:.0f} s")
    print(f"{commands} passed, {failed} failed", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Build Budgetron and install it into a virtual environment, saying what is being done.

    python3 .ci/install.py [--venv .venv] [--extras test,lint] [--define BUDGETRON_WERROR=ON]

`make demo`, `make test` and others call it. Packages are fetched while the core compiles. Without a C++20
compiler, Clang comes from the package `ziglang`, for the build alone. If BUDGETRON_WHEEL names a wheel,
that is installed and nothing is built. This file must parse with every Python 3, so that it can say that
one is too old.
"""

import argparse
import json
import os
import platform
import queue
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "install"  # objects, the wheel, the log, and Clang if it had to be fetched
OLDEST = (3, 11)
TRIAL = "#include <span>\n#include <concepts>\nint main() { return std::span<int>().size(); }\n"
STEP = re.compile(r"\[(\d+)/(\d+)\] (.*)")
HOOKS = "from scikit_build_core import build; import json, sys; settings = json.loads(sys.argv[1]); "
PROGRESS_EVERY = 0.5  # seconds


def say(text):
    print(f"budgetron: {text}", flush=True)


def stop(text):
    sys.exit(f"budgetron: {text}")


class Task:
    """A process whose output goes to the log. If it fails, the end of its output is shown."""

    def __init__(self, what, command, **more):
        self.what = what
        BUILD.mkdir(parents=True, exist_ok=True)
        self.path = BUILD / f"{re.sub('[^a-z]+', '_', what.lower())}.log"
        self.log = self.path.open("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=more.pop("stdout", self.log),
            stderr=subprocess.STDOUT,
            **more,
        )

    def finish(self):
        """Wait for the end; the output."""
        code = self.process.wait()
        self.log.flush()
        text = self.path.read_text(encoding="utf-8", errors="replace")
        self.log.close()
        if code:
            sys.stderr.write("".join(line + "\n" for line in text.splitlines()[-25:]))
            stop(f"{self.what} failed; all of its output is in {self.path.relative_to(ROOT)}.")
        return text


def run(what, command, **more):
    return Task(what, command, **more).finish()


def environment(folder):
    """The Python of the virtual environment, which is made if it is not there."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        try:
            import ensurepip  # noqa: F401  # Debian and Ubuntu have venv without it
            import venv  # noqa: F401
        except ImportError:
            stop(
                f"{sys.executable} cannot make virtual environments: install the module venv "
                f"(Debian and Ubuntu: apt install python3-venv)."
            )
        say(f"a new environment in {folder}")
        run("python -m venv", [sys.executable, "-m", "venv", str(folder)])
    return str(python)


def pip_install(what, python, *arguments):
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return Task(what, [*command, *arguments])


def requirements(project, extras):
    """The run-time requirements with those of the extras, whose references to each other are followed."""
    found, waiting = list(project["dependencies"]), list(extras)
    seen = set()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for one in project["optional-dependencies"][extra]:
            own = re.fullmatch(project["name"] + r"\[(.*)\]", one)
            if own:
                waiting += own[1].split(",")
            else:
                found.append(one)
    return found


def compiles(compiler):
    command = [*compiler.split(), "-std=c++20", "-x", "c++", "-fsyntax-only", "-"]
    try:
        return subprocess.run(command, input=TRIAL, capture_output=True, text=True).returncode == 0
    except OSError:
        return False


def compiler_settings(python):
    """What CMake must be told: nothing if there is a C++20 compiler."""
    chosen = os.environ.get("CXX")
    if os.name == "nt":
        return {}
    if chosen:
        if not compiles(chosen):
            stop(f"CXX={chosen} does not compile C++20: name GCC 12 or Clang 16 or later, or unset CXX.")
        return {}
    if compiles("c++"):
        return {}
    for candidate in ("g++", "clang++"):
        if compiles(candidate):
            return {"cmake.define.CMAKE_CXX_COMPILER": candidate}
    say("no C++20 compiler found: taking Clang from the package ziglang (100 MB) for this build")
    return zig(python)


def zig(python):
    """Clang in the package ziglang, behind the names that CMake asks for."""
    folder = BUILD / "zig"
    binary = folder / "ziglang" / "zig"
    if not binary.exists():
        pip_install("Fetching ziglang", python, "--target", str(folder), "ziglang").finish()
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    if sys.platform == "darwin":
        target = f"{machine}-macos"
    else:
        target = f"{machine}-linux-" + ("gnu.2.28" if platform.libc_ver()[0] == "glibc" else "musl")
    tools = {"c++": f"c++ -target {target}", "ar": "ar", "ranlib": "ranlib"}
    for name, words in tools.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{binary}" {words} "$@"\n')
        script.chmod(0o755)
    names = {"CMAKE_CXX_COMPILER": "c++", "CMAKE_AR": "ar", "CMAKE_RANLIB": "ranlib"}
    return {f"cmake.define.{variable}": str(folder / name) for variable, name in names.items()}


class Progress:
    """The steps of the build: a line that is rewritten on a terminal, else a line for each step."""

    def __init__(self):
        self.began = time.monotonic()
        self.done = self.total = 0
        self.last = ""

    def step(self, done, total, name):
        self.done, self.total, self.last = done, total, name
        if not sys.stdout.isatty():
            print(f"  {done:2}/{total} {name}", flush=True)

    def draw(self):
        if not sys.stdout.isatty():
            return
        seconds = time.monotonic() - self.began
        bar = "#" * (30 * self.done // self.total) if self.total else ""
        text = f"  [{bar:<30}] {self.done}/{self.total or '?'} {seconds:4.0f} s  {self.last}"
        columns = os.get_terminal_size().columns
        print("\r" + text[: columns - 1] + "\x1b[K", end="", flush=True)

    def close(self):
        if sys.stdout.isatty():
            print("\r\x1b[K", end="", flush=True)


def build_settings(python, tools, defines):
    """Fetch the build tools; what the build backend is told."""
    settings = {"build-dir": str(BUILD / "objects"), "cmake.define.BUDGETRON_NATIVE": "ON"}
    settings |= {f"cmake.define.{name}": value for name, value in (d.split("=", 1) for d in defines)}
    pip_install("Fetching the build tools", python, *tools).finish()
    ask = HOOKS + "print('\\n'.join(build.get_requires_for_build_wheel(settings)))"
    more = run("Asking for tools", [python, "-c", ask, json.dumps(settings)]).split("\n")
    settings |= compiler_settings(python)
    if any(more):
        pip_install("Fetching CMake and Ninja", python, *filter(None, more)).finish()
    return settings


def build_wheel(python, settings):
    """Run the build backend, showing its steps; the path of the wheel."""
    code = HOOKS + "print('wheel', build.build_wheel(sys.argv[2], settings))"
    task = Task(
        "Compiling",
        [python, "-u", "-c", code, json.dumps(settings), str(BUILD)],
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    lines = queue.Queue()

    def read():
        for line in task.process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    progress, wheel = Progress(), None
    while True:
        try:
            line = lines.get(timeout=PROGRESS_EVERY)
        except queue.Empty:
            progress.draw()
            continue
        if line is None:
            break
        task.log.write(line)
        step = STEP.search(line)
        if step:
            progress.step(int(step[1]), int(step[2]), Path(step[3].split()[-1]).name.removesuffix(".o"))
        elif line.startswith("wheel "):
            wheel = line.split()[1]
        progress.draw()
    progress.close()
    task.finish()
    return str(BUILD / wheel)


def main():
    if sys.version_info < OLDEST:
        wanted, got = ".".join(map(str, OLDEST)), platform.python_version()
        stop(
            f"Python {wanted} or later is needed, and {sys.executable} is {got}: "
            f"install one, and name it if it is not python3: make demo PYTHON=python{wanted}."
        )
    import tomllib

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=Path(".venv"))
    parser.add_argument("--extras", type=lambda text: text.split(","), default=[])
    parser.add_argument("--define", action="append", default=[], metavar="NAME=VALUE", help="for CMake")
    # Of thousands of modules a demonstration imports a few. Tests make errors of warnings of the compiler.
    parser.add_argument("--uncompiled", action="store_true", help="modules become byte code when imported")
    args = parser.parse_args()
    began = time.monotonic()
    os.chdir(ROOT)
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    python = environment(args.venv)
    wheel = os.environ.get("BUDGETRON_WHEEL")
    settings = {} if wheel else build_settings(python, described["build-system"]["requires"], args.define)
    needed = requirements(described["project"], args.extras)
    say(f"fetching {len(needed)} packages" + ("" if wheel else ", compiling the core in C++ meanwhile"))
    later = ["--no-compile"] if args.uncompiled else []
    fetching = pip_install("Fetching packages", python, *later, *needed)
    if not wheel:
        wheel = build_wheel(python, settings)
        say("compiled; waiting for the packages" if fetching.process.poll() is None else "compiled")
    fetching.finish()
    pip_install("Installing", python, "--no-deps", "--force-reinstall", wheel).finish()
    say(f"installed into {args.venv} in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()

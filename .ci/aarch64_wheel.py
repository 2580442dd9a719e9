"""Build a wheel for Linux on aarch64 by cross compiling, and test it with a Python for aarch64 in QEMU.

    python3.11 .ci/aarch64_wheel.py

Nothing is installed: that Python and its libraries are Debian packages unpacked into build/aarch64, NumPy,
SciPy and scikit-learn are wheels, and the compiler is Clang of the package `ziglang`. It must be run by
Python 3.11, the version in Debian 12, whose packages are taken.
"""

import os
import shutil
import subprocess
import sys

import cross

ROOT = cross.ROOT
WORK = ROOT / "build" / "aarch64"
SYSTEM, SITE = WORK / "system", WORK / "site"
ARCHIVE = "deb http://deb.debian.org/debian bookworm main"
PACKAGES = [
    *("libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libexpat1", "libssl3", "libffi8", "libbz2-1.0"),
    *("liblzma5", "libsqlite3-0", "libuuid1", "libcrypt1", "libdb5.3"),
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libpython3.11-dev"),
]
PLATFORMS = ["manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"]
SUFFIX = ".cpython-311-aarch64-linux-gnu.so"


def run(*command, **more):
    print("+", *(str(word) for word in command), flush=True)
    subprocess.run([str(word) for word in command], check=True, **more)


def unpack_python():
    """Unpack a Python for aarch64 and what it needs; apt keeps its lists in a folder of ours."""
    if (SYSTEM / "usr/bin/python3.11").exists():
        return
    state, packages = WORK / "apt", WORK / "packages"
    for folder in (state / "lists/partial", state / "archives/partial", packages):
        folder.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "sources").write_text(ARCHIVE + "\n")
    settings = {
        "Dir::Etc::SourceList": state / "sources",
        "Dir::Etc::SourceParts": "-",
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    run("apt-get", *options, "-qq", "update")
    run("apt-get", *options, "-qq", "download", *PACKAGES, cwd=packages)
    for package in packages.glob("*.deb"):
        run("dpkg", "-x", package, SYSTEM)


def wrapper(path, *command):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexec " + " ".join(f'"{word}"' for word in command) + ' "$@"\n')
    path.chmod(0o755)
    return path


def build():
    """The wheel, built for aarch64 from the tree."""
    zig = cross.zig()
    settings = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": wrapper(WORK / "bin/c++", zig, "c++", "-target", "aarch64-linux-gnu.2.28"),
        "CMAKE_AR": wrapper(WORK / "bin/ar", zig, "ar"),
        "CMAKE_RANLIB": wrapper(WORK / "bin/ranlib", zig, "ranlib"),
        "CMAKE_CXX_FLAGS": f"-isystem {SYSTEM}/usr/include",  # where pyconfig.h finds that of aarch64
        "Python_INCLUDE_DIR": SYSTEM / "usr/include/python3.11",
    }
    more = [f"--config-settings=cmake.define.{name}={value}" for name, value in settings.items()]
    environment = {
        **os.environ,
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "SETUPTOOLS_EXT_SUFFIX": SUFFIX,
    }
    shutil.rmtree(WORK / "wheel", ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", WORK / "wheel"]
    run(*command, *more, ROOT, env=environment)
    [path] = (WORK / "wheel").glob("*.whl")
    return path


def install(wheel):
    """The wheel and what it needs, for aarch64; its Python."""
    shutil.rmtree(SITE, ignore_errors=True)
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--no-compile"]
    needed = ["numpy>=1.26", "scipy>=1.15", "scikit-learn>=1.6", "pytest>=9", "hypothesis>=6.100"]
    run(*command, *platforms, "--python-version", "3.11", "--target", SITE, *needed)
    shutil.unpack_archive(wheel, SITE, "zip")
    python = WORK / "bin/python"
    # Programs that a test starts must go through QEMU too.
    (SITE / "sitecustomize.py").write_text(f"import sys\nsys.executable = {str(python)!r}\n")
    [qemu] = cross.emulator("aarch64")
    return wrapper(python, "env", f"PYTHONPATH={SITE}", qemu, "-L", SYSTEM, SYSTEM / "usr/bin/python3.11")


def main():
    if sys.version_info[:2] != (3, 11):
        sys.exit(f"{sys.executable} is not Python 3.11, which is the version of the packages for aarch64.")
    missing = [name for name in ("apt-get", "dpkg") if not shutil.which(name)]
    if missing:
        sys.exit(f"make cross-python needs {' and '.join(missing)} (Debian or Ubuntu).")
    os.nice(10)
    cross.WORK.mkdir(parents=True, exist_ok=True)
    cross.unpack_qemu()
    unpack_python()
    wheel = build()
    python = install(wheel)
    print(f"{wheel.name}: {wheel.stat().st_size / 1024:,.0f} KiB")
    run(python, ROOT / ".ci/test_wheel.py", env={**os.environ, "HYPOTHESIS_PROFILE": "few"})


if __name__ == "__main__":
    main()

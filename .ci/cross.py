"""Compile the core for other processors and systems, and run what can be run.

    python3 .ci/cross.py [TARGET ...]

The compiler is Clang of the package `ziglang`. Loops, headers and tests/portability/bits.cpp are compiled
with warnings as errors. Linux programs run here or in QEMU's user mode, which is unpacked from the Debian
package without root rights if it is missing. They must print the bits of this processor: those of AVX2 if
they have a fused multiply-add, else those of the x86-64 baseline.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "cross"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
FLAGS = ["-std=c++20", "-O2", "-ffp-contract=off", "-I", str(ROOT / "cpp")]
AVX = {
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"],
}
HOST = "x86_64-linux-musl"  # the bits of its instruction sets are the measure


@dataclass(frozen=True)
class Target:
    """A target of Clang. Runs by `emulator`, if it is one; its bits are those of `like` on x86-64."""

    name: str
    emulator: str = ""
    like: str = ""
    flags: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()  # warnings that say nothing about the code
    headers: bool = True


COUNTS = ("-Wno-shorten-64-to-32",)  # counts have 64 bits in files; what is counted is in memory
TARGETS = [
    Target(HOST, "x86_64"),
    Target("x86_64-linux-gnu.2.28"),
    Target("aarch64-linux-musl", "aarch64", "avx2"),
    Target("aarch64-linux-gnu.2.28"),
    Target("riscv64-linux-musl", "riscv64", "baseline", quiet=("-Wno-pass-failed",)),
    Target("powerpc64le-linux-musl", "ppc64le", "baseline", quiet=("-Wno-deprecated-altivec-src-compat",)),
    # Without NEON, which on 32 bits takes denormal floats for 0.
    Target("arm-linux-musleabihf", "arm", "baseline", ("-mcpu=cortex_a7-neon",), COUNTS),
    Target("x86-linux-musl", "i386", "baseline", quiet=COUNTS),
    Target("aarch64-macos"),
    Target("x86_64-macos"),
    Target("x86_64-windows-gnu"),
    Target("aarch64-windows-gnu"),
    Target("wasm32-wasi", headers=False),  # its libc++ has no mutex
]


class Failed(Exception):
    """A command failed; the message is the end of what it printed."""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise Failed((done.stderr or done.stdout).strip()[-2000:] or f"exit code {done.returncode}")
    return done.stdout


def zig():
    """The program zig, from the package ziglang."""
    binary = WORK / "zig" / "ziglang" / "zig"
    if not binary.exists():
        print("fetching ziglang (100 MB) from the package registry", flush=True)
        run(sys.executable, "-m", "pip", "install", "--quiet", "--target", WORK / "zig", "ziglang")
    return binary


def emulator(machine):
    """The command that runs programs of the machine: empty if this is one, None if there is none."""
    if machine == platform.machine():
        return []
    for name in (f"qemu-{machine}", f"qemu-{machine}-static"):
        found = shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}{WORK / 'qemu/usr/bin'}")
        if found:
            return [found]
    return None


def unpack_qemu():
    """Unpack QEMU's user mode from the Debian package, if it is not there."""
    if emulator("aarch64") is not None:
        return
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        print("QEMU is missing (install qemu-user): programs for other processors are compiled, not run.")
        return
    print("fetching qemu-user-static (60 MB) from the Debian archive", flush=True)
    packages = WORK / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "-qq", "download", "qemu-user-static"], cwd=packages, capture_output=True)
    for package in packages.glob("*.deb"):
        run("dpkg", "-x", package, WORK / "qemu")
    if emulator("aarch64") is None:
        print("QEMU could not be fetched: programs for other processors are compiled, not run.")


def headers():
    """A file that includes every header but the bindings."""
    names = sorted(path.relative_to(ROOT / "cpp").as_posix() for path in (ROOT / "cpp").glob("*/*.hpp"))
    path = WORK / "headers.cpp"
    path.write_text("".join(f'#include "{name}"\n' for name in names if not name.startswith("python/")))
    return path


def compiled(compiler, target, link):
    """Compile for a target; the program that prints the bits, if it can run somewhere."""
    folder = WORK / "objects" / target.name
    folder.mkdir(parents=True, exist_ok=True)
    command = [compiler, "c++", "-target", target.name, *target.flags, *FLAGS]
    sets = {"baseline": [], **(AVX if target.name.startswith("x86_64") else {})}
    objects, has, warnings = [], [], [*WARNINGS, *target.quiet]
    for isa, flags in sets.items():
        objects.append(folder / f"loops_{isa}.o")
        quiet = [*warnings, "-Wno-psabi"]
        source = ROOT / "cpp/simd/loops.cpp"
        run(*command, *quiet, *flags, f"-DBUDGETRON_ISA={isa}", "-c", source, "-o", objects[-1])
        has += [f"-DBUDGETRON_HAS_{isa.upper()}"] if flags else []
    if target.headers:
        alone = [*has, "-O0", "-Wno-unused-function", "-Wno-unused-const-variable"]
        run(*command, *warnings, *alone, "-c", headers(), "-o", folder / "headers.o")
    objects.append(folder / "bits.o")
    run(*command, *warnings, *has, "-c", ROOT / "tests/portability/bits.cpp", "-o", objects[-1])
    if not link or not target.emulator or emulator(target.emulator) is None:
        return None
    program = folder / "bits"
    run(*command, "-static", *objects, "-o", program)
    return program


def differing(bits, expected, may):
    """The names of the loops whose bits differ, but for names that begin with a word of ``may``."""
    pairs = zip(bits.splitlines(), expected.splitlines(), strict=True)
    return [got.rsplit(maxsplit=1)[0] for got, wanted in pairs if got != wanted and not got.startswith(may)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(t.name for t in TARGETS))
    parser.add_argument("--compile-only", action="store_true", help="link and run nothing")
    args = parser.parse_args()
    if platform.machine() != "x86_64" or sys.platform != "linux":
        sys.exit("make cross compares with the bits of x86-64 Linux, and must run there.")
    if hasattr(os, "nice"):
        os.nice(10)
    WORK.mkdir(parents=True, exist_ok=True)
    compiler = zig()
    unpack_qemu()
    measure, failed = {}, 0
    wanted = [t for t in TARGETS if not args.targets or t.name in args.targets or t.name == HOST]
    for target in wanted:
        began = time.monotonic()
        try:
            program = compiled(compiler, target, not args.compile_only)
            result = "compiled"
            if program and target.name == HOST:
                for isa in ("baseline", "avx2", "avx512"):
                    done = subprocess.run([program, isa], capture_output=True, text=True)
                    if done.returncode == 0:
                        measure[isa] = done.stdout
                result += f", ran {', '.join(measure)}"
                if "avx512" in measure and (
                    wide := differing(measure["avx512"], measure["avx2"], ("by width", "by table"))
                ):
                    raise Failed(f"AVX-512 differs from AVX2 in: {', '.join(wide)}")
            elif program and target.like in measure:
                bits = run(*emulator(target.emulator), program)
                may = ("by width",) if target.like == "avx2" else ()
                if different := differing(bits, measure[target.like], may):
                    raise Failed(f"bits differ from {target.like} in: {', '.join(different)}")
                left_out = sum(line.startswith(may) for line in bits.splitlines())
                equal = len(bits.splitlines()) - left_out
                result += f", ran: {equal} hashes equal to those of {target.like}"
                result += f" ({left_out} follow the width of registers)" if left_out else ""
        except Failed as error:
            failed += 1
            result = f"FAILED\n{error}"
        print(f"{target.name:<24} {time.monotonic() - began:5.0f} s  {result}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

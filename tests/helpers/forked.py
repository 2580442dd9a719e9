"""Processes that start in milliseconds: `Popen` and `run` as in `subprocess`, for ``python ...`` only.

A start of Python that imports scikit-learn costs a second. Here one process for each test worker has
imported everything, and forks for each command: what runs has a process id, signals, pipes and an exit
code of its own. With ``libraries=True`` the process has imported NumPy, SciPy and scikit-learn but nothing
of budgetron, for settings that are read on import and for orders of imports. What tests the start itself
uses `subprocess`. So does everything on systems other than Linux.
"""

import atexit
import gc
import os
import pickle
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module

LIBRARIES = ("numpy", "scipy.sparse", "scipy.stats", "sklearn.base")
LOADED = ("runs", "checkpoint", "output", "commands.run", "commands.predict")
LARGEST = 1 << 17  # bytes of one request: words, folder and environment


# ---- in the test's process


@cache
def _server(libraries):
    """The socket of the server that forks, which is started on first use."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno()), "libraries" if libraries else "all"],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def stop():
        ours.close()
        process.wait()

    atexit.register(stop)
    return ours


class Popen(subprocess.Popen):
    """As `subprocess.Popen` of ``[sys.executable, ...]``, but forked from the server."""

    def __init__(self, *words, libraries=False, **more):
        self._libraries = libraries
        super().__init__(*words, **more)

    def _execute_child(self, words, *more):
        cwd, env = more[4:6]
        handles = more[9:15]  # of stdin, stdout and stderr: what the child reads or writes, and our end
        reading, writing = os.pipe()
        try:
            env = dict(os.environ if env is None else env)
            request = pickle.dumps((words[1:], cwd or os.getcwd(), env))
            theirs = [handles[0], handles[3], handles[5]]
            theirs = [number if own == -1 else own for number, own in enumerate(theirs)]
            socket.send_fds(_server(self._libraries), [request], [*theirs, writing])
        finally:
            os.close(writing)
            self._close_pipe_fds(*handles)
        self._answers = open(reading)  # noqa: SIM115
        self._child_created = True
        self.pid = int(self._answers.readline())

    def _try_wait(self, flags):
        if flags and not select.select([self._answers], [], [], 0)[0]:
            return 0, 0
        with self._answers:
            return self.pid, int(self._answers.readline())

    def _internal_poll(self, *_, **__):
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def run(words, *, input=None, capture_output=False, timeout=None, check=False, **more):
    """As `subprocess.run`."""
    if capture_output:
        more |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        more["stdin"] = subprocess.PIPE
    with Popen(words, **more) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


if not sys.platform.startswith("linux"):

    def Popen(*words, libraries=False, **more):  # type: ignore[no-redef]  # noqa: ARG001
        return subprocess.Popen(*words, **more)


# ---- in the server


def serve(control):
    """Fork for each request, and answer with the process id, later with the status of ``waitpid``."""
    running = {}

    def reap(*_):
        while running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            _answer(running.pop(pid), status, last=True)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, reap)
    while True:
        request, handles, _, _ = socket.recv_fds(control, LARGEST, 4)
        if not request:
            return
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        child = os.fork()
        if child == 0:
            control.close()
            _be(*pickle.loads(request), handles)
        for handle in handles[:3]:
            os.close(handle)
        running[child] = handles[3]
        _answer(handles[3], child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _answer(handle, number, last=False):
    with suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(handle, f"{number}\n".encode())
    if last:
        os.close(handle)


def _be(words, cwd, env, handles):
    """Become ``python`` with these words, and end."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for number, handle in enumerate(handles[:3]):
            os.dup2(handle, number)
        for handle in handles:
            os.close(handle)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        sys.path[:0] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
        code = _executed(*words)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
        finally:
            os._exit(code)


def _executed(kind, *words):
    """Run ``-m module``, ``-c code`` or a script. Returns the exit code."""
    sys.path.insert(0, "")
    try:
        if kind == "-m":
            sys.argv = list(words)
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        elif kind == "-c":
            sys.argv = ["-c", *words[1:]]
            exec(compile(words[0], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = [kind, *words]
            runpy.run_path(kind, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    sys.modules["pandas"] = None  # as the command does: scikit-learn would import it
    for name in LIBRARIES:
        import_module(name)
    del sys.modules["pandas"]
    if sys.argv[2] == "all":
        for name in LOADED:
            import_module(f"budgetron.cli.{name}")
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))

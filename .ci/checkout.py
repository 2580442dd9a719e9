"""The files that git tracks: what a clone has, and what may be given away."""

import shutil
import subprocess


def copy_tracked(root, folder):
    """Copy the tracked files of a checkout, as they are now, to a new folder."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, stdout=subprocess.PIPE, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)

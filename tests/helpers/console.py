"""The commands that a page of the documentation shows."""

import re


def examples(page):
    """The commands on the page and the output shown for each."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found

"""Reads the built site: no link is dead, and no page asks another host for anything."""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
LOADED |= {("video", "src"), ("audio", "src"), ("object", "data"), ("embed", "src"), ("use", "href")}
IN_STYLES = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])((?:https?:)?//[^'")\s]+)""")


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = IN_STYLES.findall(text)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what is an anchor, a link, or loaded."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in LOADED and value:
                self.loads.append(value)
            elif tag == "a" and name == "href" and value:
                self.links.append(value)


def elsewhere(link: str) -> bool:
    """Whether a link leads to another host."""
    parts = urlsplit(link)
    return bool(parts.netloc) or parts.scheme in ("http", "https")


def pages(site: Path) -> list[Path]:
    """The pages of the site, without the templates of its theme."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def problems(site: Path) -> Iterator[str]:
    """What is wrong with the site, one sentence each."""
    read = {path: Page(path.read_text(encoding="utf-8")) for path in pages(site)}
    if not read:
        yield f"{site}: there is no page."
    for path, page in read.items():
        name = path.relative_to(site)
        for link in page.loads:
            if elsewhere(link):
                yield f"{name}: asks another host for {link}."
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if elsewhere(link) or parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{name}: the link {link} leads nowhere."
            elif parts.fragment and target in read and unquote(parts.fragment) not in read[target].anchors:
                yield f"{name}: the link {link} has no anchor on that page."
    for path in sorted(site.rglob("*.css")):
        for link in IN_STYLES.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: asks another host for {link}."


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1]).resolve()))
    for problem in found:
        print(problem)
    sys.exit(bool(found))

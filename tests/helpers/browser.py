"""A real browser for tests: Chromium of the system, or the one that ``make browser`` unpacks."""

import importlib.util
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNPACKED = ROOT / "build" / "browser" / "usr"
PICTURES = ROOT / "build" / "pictures"


def missing():
    """Why there is no browser; None if there is one."""
    if importlib.util.find_spec("selenium") is None:
        return "needs selenium: make browser"
    return None if all(_programs()) else "needs Chromium and its driver: make browser"


def _programs():
    if (UNPACKED / "bin" / "chromedriver").exists():
        return UNPACKED / "lib" / "chromium" / "chromium", UNPACKED / "bin" / "chromedriver"
    return shutil.which("chromium"), shutil.which("chromedriver")


def _surroundings():
    """The environment in which the unpacked libraries are found."""
    found = [path.parent for path in UNPACKED.glob("lib/*/libgtk-3.so.0")]
    folders = [*found, *(folder / "pulseaudio" for folder in found), os.environ.get("LD_LIBRARY_PATH")]
    return os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(str(each) for each in folders if each)}


@contextmanager
def browser(*, width=1280, height=900, dark=False):
    """A driver of selenium, in a profile of its own."""
    if (why := missing()) is not None:
        pytest.skip(why)
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    chromium, driver = _programs()
    options, profile = Options(), tempfile.mkdtemp()
    options.binary_location = str(chromium)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ]
    arguments += ["--disable-background-networking", "--disable-component-update", "--hide-scrollbars"]
    arguments += [f"--user-data-dir={profile}", f"--window-size={width},{height}", "--lang=en"]
    for argument in arguments:
        options.add_argument(argument)
    found = webdriver.Chrome(options, Service(str(driver), env=_surroundings()))
    try:
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        found.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        found.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        yield found
    finally:
        found.quit()
        shutil.rmtree(profile, ignore_errors=True)


def picture(driver, name, *, whole=True):
    """Save what the browser shows under build/pictures."""
    import base64

    PICTURES.mkdir(parents=True, exist_ok=True)
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip} if whole else {}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", **options})
    path = PICTURES / f"{name}.png"
    path.write_bytes(base64.b64decode(shot["data"]))
    return path

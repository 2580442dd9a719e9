"""The live page, in a real browser; and what the server sends to it."""

import json
import os
import re
import threading
import time
from importlib.resources import files

import numpy as np
import pytest

from budgetron.serve.app import PAGES
from budgetron.serve.events import CLASSES, Events
from budgetron.serve.limits import Limits
from tests.helpers.browser import PICTURES, browser, missing, picture
from tests.helpers.command import PATIENCE
from tests.helpers.served import SMALL, served
from tests.serve.conftest import until as soon

needs_browser = pytest.mark.skipif(missing() is not None, reason=str(missing()))
TOKEN = "a-token-that-may-read-1"
NETWORK = "network"
"""The source of messages about requests that failed, which the browser writes by itself."""


def rows(count, seed=0, *, turned=False):
    """Records of three classes; turned: two of them have changed places."""
    X = np.random.default_rng(seed).normal(size=(count, 4)).round(3)
    kind = np.where(X[:, 0] * X[:, 1] > 0.3, "ok", np.where(X[:, 2] > 0.4, "fraud", "check"))
    if turned:
        kind = np.array([{"ok": "fraud", "fraud": "ok", "check": "check"}[each] for each in kind])
    names = ("amount", "age", "balance", "visits")
    return [
        {"x": dict(zip(names, x, strict=True)), "y": y}
        for x, y in zip(X.tolist(), kind.tolist(), strict=True)
    ]


# ---- what the server sends


def test_every_file_of_the_page_is_served_with_a_strict_policy(client):
    page = client.get("/").text
    wanted = set(re.findall(r'(?:src|href)="([^"#]+)"', page))
    scripts = [name for name in wanted if name.endswith(".js")]
    for name in scripts:  # also those that these import
        more = set(re.findall(r'from "\./([^"]+)"', client.get("/" + name).text)) - wanted
        wanted |= more
        scripts += more
    for name in wanted:
        answer = client.get("/" + name)
        assert answer.status_code == 200, name
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    assert {"/" + name for name in wanted} | {"/"} == set(PAGES)
    assert not re.search(r"<script>|<style>|style=|onclick=|https?://", page)


def test_the_chart_library_has_its_licence_beside_it():
    page = files("budgetron.serve").joinpath("page")
    assert "MIT" in page.joinpath("uplot.LICENSE").read_text()
    assert "uPlot (v1.6.32)" in page.joinpath("uplot.js").read_text()[:100]


def test_the_list_and_the_description_say_what_the_page_shows(client):
    bought = [{"x": {"price": i, "country": "DE" if i % 2 else "FR"}, "y": i % 2} for i in range(30)]
    client.post("/v1/learn", json=bought).raise_for_status()
    [card] = client.get("/v1/models?figures=1").json()["models"]
    assert (card["name"], card["version"], card["task"], card["learning"]) == (
        "default",
        30,
        "classification",
        True,
    )
    assert card["figures"]["window"]["rows"] == 30
    assert client.get("/v1/model").json()["columns_of_records"] == [
        {"name": "price", "kind": "number", "values": []},
        {"name": "country", "kind": None, "values": ["FR", "DE"]},
    ]


def test_a_point_without_classes_has_no_confusion_matrix():
    made = Events(Limits())
    made.progress(12, {"version": 12, "classes": [], "confusion": [], "window": {"rows": 0}})
    assert len(made.history) == 1
    assert made.confusion == (0, b"")


def test_the_confusion_matrix_is_sent_once_and_of_the_most_frequent_classes():
    made, many = Events(Limits()), 40
    matrix = np.diag(np.arange(many)) + np.eye(many, k=1)
    for version in range(1, 4):
        made.progress(
            version, {"version": version, "classes": [*range(many)], "confusion": matrix.tolist()}
        )
    assert all(b"confusion" not in event for _, event in made.history)
    said = json.loads(made.confusion[1].split(b"data: ")[1])
    assert said["classes"] == [*range(many - CLASSES, many)]
    assert (said["version"], said["of"], said["counts"][0][:2]) == (3, many, [28.0, 1.0])


STREAM = {"Accept": "text/event-stream"}


# ---- in the browser


def until(condition, driver, why):
    """Wait until a function of the driver is true; returns its value."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition(driver):
            return value
        time.sleep(0.1)
    picture(driver, "failed")
    raise AssertionError(f"{why}; the browser shows {PICTURES / 'failed.png'}")


def text_of(selector):
    return lambda driver: driver.execute_script(
        "return document.querySelector(arguments[0])?.textContent ?? ''", selector
    )


def shows(driver, selector, wanted):
    """Wait for a text."""
    return until(
        lambda _: re.search(wanted, text_of(selector)(driver)), driver, f"no {wanted!r} in {selector}"
    )


def painted(driver, chart):
    """How many pixels of the canvas of a chart are in the colour of its first curve."""
    return driver.execute_script(
        # a copy, since many reads of the chart itself make a warning in the console
        """const canvas = document.querySelector("#" + arguments[0] + " canvas");
        const { width, height } = canvas;
        const copy = Object.assign(document.createElement("canvas"), { width, height });
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const hex = getComputedStyle(document.documentElement).getPropertyValue("--first").trim();
        const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
        const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) {
          const off = Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b);
          if (off < 9 && data[i + 3] > 200) count += 1;
        }
        return count;""",
        chart,
    )


def complaints(driver, *, network=False):
    """Messages of the console that are errors or warnings."""
    found = [each for each in driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
    return [each["message"] for each in found if not (network and each["source"] == NETWORK)]


def rows_learned(driver):
    return int(re.sub(r"\D", "", text_of("#tile-rows dd")(driver)) or 0)


@pytest.fixture(scope="module")
def driver():
    """One browser for all tests: it takes seconds to start."""
    with browser() as driver:
        yield driver


@pytest.fixture
def page(driver):
    """A function that opens a page without what earlier tests left."""

    def opened(url, *, width=1280, height=900, dark=False):
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.get("about:blank")
        driver.get_log("browser")
        driver.get(url)
        return driver

    return opened


def learn(server, count, seed=0, *, model="default", **more):
    server.http.post(f"/v1/models/{model}/learn", json=rows(count, seed, **more)).raise_for_status()


@needs_browser
@pytest.mark.browser
def test_rows_stream_in_and_drift_is_marked(tmp_path, page):
    with served(tmp_path / "models") as server:
        driver = page(server.url)
        shows(driver, "#state", "^Live$")
        shows(driver, "#empty", "curl http")
        picture(driver, "start")
        assert painted(driver, "error") == 0
        for i in range(12):
            learn(server, 250, i)
            time.sleep(0.1)
        until(lambda driver: rows_learned(driver) == 3000, driver, "not all rows arrived")
        before = painted(driver, "error")
        assert before > 300
        assert not driver.find_element("id", "empty").is_displayed()
        for i in range(12):
            learn(server, 250, 100 + i, turned=True)
            server.http.post("/v1/predict", json=[{"x": row["x"]} for row in rows(5)]).raise_for_status()
            time.sleep(0.1)
        until(lambda driver: rows_learned(driver) == 6000, driver, "not all rows arrived")
        shows(driver, "#notices", "Drift: the error rose from")
        shows(driver, "#notices", "New classes: check, fraud, ok")
        shows(driver, "#confusion", "checkfraudok")
        shows(driver, "#tile-latency dd", "[mµ]s")
        shows(driver, "#experts .legend", "support vectors")
        assert server.http.post("/v1/learn", json={"x": 5, "y": "ok"}).status_code >= 400
        shows(driver, "#notices", "Refused a request")
        shows(
            driver,
            "#error .legend",
            r"last 1,000 rows [\d.]+ %.*last label [\d.]+ %.*most frequent label [\d.]+ %",
        )
        for chart in ("loss", "memory", "size"):
            until(lambda driver, chart=chart: painted(driver, chart) > 20, driver, f"{chart} is empty")
        predict(driver)
        picture(driver, "drift")
        assert complaints(driver) == []
        driver = page(server.url, dark=True)
        until(lambda driver: rows_learned(driver) == 6000, driver, "the history did not arrive")
        until(lambda driver: painted(driver, "error") > 300, driver, "the history is not drawn")
        predict(driver)
        picture(driver, "dark")
        driver = page(server.url, width=390, height=844)
        until(lambda driver: painted(driver, "error") > 100, driver, "the history is not drawn")
        predict(driver)
        assert driver.execute_script("return document.documentElement.scrollWidth") == 390
        picture(driver, "phone")
        assert complaints(driver) == []


def press(driver, button, **fields):
    """Press a button that opens the dialog, fill its fields, and go on."""
    driver.execute_script("document.querySelector(arguments[0]).click()", button)
    until(lambda driver: driver.find_element("id", "ask").is_displayed(), driver, "no dialog")
    for name, value in fields.items():
        field = driver.find_element("css selector", f"#ask-fields [name={name}]")
        if value is True:
            field.click()
        else:
            field.clear()
            field.send_keys(value)
    driver.find_element("id", "ask-go").click()


def closed(driver):
    until(lambda driver: not driver.find_element("id", "ask").is_displayed(), driver, "still asking")


@needs_browser
@pytest.mark.browser
def test_a_model_is_kept_changed_and_turned_back_after_a_confirmation(tmp_path, page):
    with served(tmp_path / "models") as server:
        learn(server, 300)
        driver = page(server.url)
        shows(driver, "#tile-rows dd", "300")
        assert not driver.find_element("id", "models").is_displayed()
        press(driver, "#keep-snapshot")
        closed(driver)
        shows(driver, "#kept", "300.*asked for")
        learn(server, 200, 1, turned=True)
        shows(driver, "#tile-rows dd", "500")
        press(driver, "#kept button", replay=True)
        closed(driver)
        shows(driver, "#notices", "Rolled back to row 300, 200 rows learned again")
        shows(driver, "#kept", "500.*before a change")
        picture(driver, "snapshots")
        press(driver, "#freeze")
        closed(driver)
        assert server.http.post("/v1/learn", json=rows(1)).status_code == 409
        shows(driver, "#freeze", "Thaw")
        press(driver, "#freeze")
        closed(driver)
        shows(driver, "#freeze", "Freeze")
        assert complaints(driver) == []


@needs_browser
@pytest.mark.browser
def test_models_are_cards_with_their_aliases_and_one_can_be_renamed_and_deleted(tmp_path, page):
    with served(tmp_path / "models", *SMALL) as server:
        learn(server, 100)
        server.http.put("/v1/models/other", json={"parameters": {"size": 10}}).raise_for_status()
        learn(server, 150, model="other")
        driver = page(server.url)
        shows(driver, "#cards", "default.*other")
        assert text_of("#cards [aria-current] b")(driver) == "default"
        press(driver, "#alias")
        closed(driver)
        shows(driver, "#cards [aria-current]", "champion")
        assert server.http.get("/v1/aliases").json() == {"aliases": {"champion": "default"}}
        driver.execute_script("document.querySelectorAll('#cards button')[1].click()")
        until(lambda driver: rows_learned(driver) == 150, driver, "the other model is not shown")
        press(driver, "#rename", to="default")
        shows(driver, "#ask-problem", r"default.*\.$")  # the sentence of the service
        driver.find_element("id", "ask-cancel").click()
        press(driver, "#rename", to="third")
        closed(driver)
        shows(driver, "#cards [aria-current]", "third")
        press(driver, "#delete", name="thir")  # the browser asks for the whole name
        assert driver.find_element("id", "ask").is_displayed()
        driver.find_element("css selector", "#ask-fields input").send_keys("d")
        driver.find_element("id", "ask-go").click()
        closed(driver)
        assert [each["name"] for each in server.http.get("/v1/models").json()["models"]] == ["default"]
        until(lambda driver: rows_learned(driver) == 100, driver, "the page does not go on")
        assert complaints(driver, network=True) == []


@needs_browser
@pytest.mark.browser
def test_the_form_has_the_columns_of_the_model_and_the_answer_says_why(tmp_path, page):
    with served(tmp_path / "models") as server:
        bought = [
            {"x": row["x"] | {"country": "DE" if i % 2 else "FR"}, "y": row["y"]}
            for i, row in enumerate(rows(2400))
        ]
        for start in range(0, 2400, 400):
            server.http.post("/v1/learn", json=bought[start : start + 400]).raise_for_status()
            time.sleep(0.3)
        driver = page(server.url)
        shows(driver, "#fields", "amountagebalancevisitscountry")
        listed = "return [...document.querySelectorAll('#fields option')].map((each) => each.value).join()"
        assert driver.execute_script(listed) == "FR,DE"
        for name, value in (("amount", "1.2"), ("age", "0.8"), ("country", "DE")):
            driver.find_element("css selector", f"#fields [name={name}]").send_keys(value)
        assert json.loads(driver.execute_script("return document.getElementById('record').value")) == {
            "amount": 1.2,
            "age": 0.8,
            "country": "DE",
        }
        driver.find_element("id", "why").click()
        driver.find_element("css selector", "#try button").click()
        shows(driver, "#answer", r"Novelty [\d.]+ %: .*Why.*amount = 1.2.*Most like it")
        driver.find_element("id", "across").click()  # the curves by clock time
        shows(driver, "#across", "time")
        until(lambda driver: painted(driver, "error") > 5, driver, "nothing is drawn by time")
        driver.find_element("id", "across").click()
        assert complaints(driver) == []


@needs_browser
@pytest.mark.browser
def test_a_challenger_is_added_compared_and_promoted(tmp_path, page):
    with served(tmp_path / "models", *SMALL) as server:
        learn(server, 500)
        driver = page(server.url)
        shows(driver, "#tile-rows dd", "500")
        assert not driver.find_element("id", "compare").is_displayed()
        press(driver, "#challenge", name="better", replay=True)
        closed(driver)
        shows(driver, "#cards", "better.*beside default.*default")
        for i in range(3):
            learn(server, 1000, i + 1)
        shows(driver, "#rivals", r"default.*better")
        shows(driver, "#verdicts", "better is better than default, known after")
        until(lambda driver: painted(driver, "versus") > 20, driver, "no curves beside each other")
        driver.execute_script("document.querySelector('#cards button').click()")
        shows(driver, "#importances", r"[\d.]+ %")
        press(driver, "#alias")
        closed(driver)
        shows(driver, "#cards [aria-current]", "better.*champion")
        picture(driver, "challengers")
        assert server.http.get("/v1/aliases").json() == {"aliases": {"champion": "better"}}
        press(driver, "#reset")  # it concerns all that learn together
        shows(driver, "#ask-problem", r"default.*\.$")
        assert complaints(driver, network=True) == []


def predict(driver, record='{"amount": 1.2, "age": 0.8, "balance": 0.9, "visits": 0.1}'):
    """Ask the form for a prediction."""
    driver.execute_script("document.getElementById('record').value = arguments[0]", record)
    driver.find_element("css selector", "#try button").click()


@needs_browser
@pytest.mark.browser
def test_the_page_goes_on_after_the_service_was_killed(tmp_path, page):
    with served(tmp_path / "models", *SMALL) as first:
        learn(first, 500)
        driver = page(first.url)
        until(lambda driver: rows_learned(driver) == 500, driver, "no rows")
        # A point of the curves is kept within a second.
        until(lambda _: first.http.get("/v1/progress").json()["points"], driver, "no point of the curves")
        port = first.url.rsplit(":", 1)[1]
        first.kill()
        shows(driver, "#state", "Connection lost")
    with served(tmp_path / "models", *SMALL, "--port", port) as second:
        shows(driver, "#state", "^Live$")
        learn(second, 700, 1)
        until(lambda driver: rows_learned(driver) == 1200, driver, "the curves do not go on")
        # From 500 to 1200: the rows before are still there. The curves are drawn after the numbers.
        until(lambda driver: painted(driver, "error") > 100, driver, "the curves are too short")
        picture(driver, "restarted")
        assert complaints(driver, network=True) == []


@needs_browser
@pytest.mark.browser
def test_a_page_that_nobody_sees_reads_no_events(inside, page):
    with inside() as client:
        client.post("/v1/learn", json=rows(50)).raise_for_status()
        url, readers = str(client.base_url), client.service.models.get("default").events.readers
        for _ in range(4):  # the browser keeps the last pages, to go back to them at once
            driver = page(url)
            shows(driver, "#tile-rows dd", "50")
        soon(lambda: len(readers) == 1, seconds=5)
        driver.back()
        driver.back()
        client.post("/v1/learn", json=rows(50, seed=1)).raise_for_status()
        shows(driver, "#tile-rows dd", "100")
        soon(lambda: len(readers) == 1, seconds=5)


@needs_browser
@pytest.mark.browser
def test_a_wrong_token_is_said_clearly_and_the_right_one_connects(tmp_path, page):
    tokens = tmp_path / "tokens"
    tokens.touch(0o600)
    tokens.write_text(f"read {TOKEN}\n")
    with served(tmp_path / "models", *SMALL, "--tokens", tokens) as server:
        driver = page(server.url)
        driver.execute_script("sessionStorage.clear()")
        driver = page(server.url)
        until(
            lambda driver: driver.find_element("id", "token").is_displayed(),
            driver,
            "no form for the token",
        )
        assert not driver.find_element("id", "refusal").is_displayed()
        driver.switch_to.active_element.send_keys("a-wrong-token-0000000\n")  # the form has the focus
        shows(driver, "#refusal", "The service refused this token: the token is not known. Check it")
        picture(driver, "token")
        driver.switch_to.active_element.send_keys(TOKEN + "\n")
        shows(driver, "#state", "^Live$")
        assert not driver.find_element("id", "access").is_displayed()
        assert complaints(driver, network=True) == []


@needs_browser
@pytest.mark.browser
def test_the_keyboard_reaches_the_form_and_bad_records_are_said(tmp_path, page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    with served(tmp_path / "models") as server:
        learn(server, 200)
        driver = page(server.url)
        shows(driver, "#tile-rows dd", "200")
        press = lambda *keys: ActionChains(driver).send_keys(*keys).perform()  # noqa: E731
        press(Keys.TAB)
        assert driver.switch_to.active_element.text == "Skip to the prediction form"
        press(Keys.ENTER)
        press('{"amount": 1.2, "age": 0.8, "balance": 0.9, "visits": 0.1}', Keys.TAB, Keys.ENTER)
        shows(driver, "#answer .said", "^(ok|fraud|check)$")
        shows(driver, "#answer .bars", r"[\d.]+ %")
        ActionChains(driver).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        press("!", Keys.TAB, Keys.ENTER)
        shows(driver, "#answer.problem", "This is not JSON")
        predict(driver, '{"amount": [1]}')
        shows(driver, "#answer.problem", r"^(?!This is not JSON).+\.$")  # the sentence of the service
        assert complaints(driver, network=True) == []


@needs_browser
@pytest.mark.browser
def test_regression_and_a_choice_of_models(tmp_path, page):
    with served(tmp_path / "models", *SMALL) as server:
        learn(server, 100)
        made = server.http.put("/v1/models/prices", json={"task": "regression"})
        made.raise_for_status()
        priced = [{"x": row["x"], "y": 100 * row["x"]["amount"] + 500} for row in rows(1500)]
        server.http.post("/v1/models/prices/learn", json=priced).raise_for_status()
        driver = page(server.url)
        shows(driver, "#model", "defaultprices")
        shows(driver, "#tile-window dd", "%")
        driver.find_element("css selector", "#model option[value=prices]").click()
        until(lambda driver: rows_learned(driver) == 1500, driver, "the other model is not shown")
        shows(driver, "#error .head", "in the unit of the target")
        shows(driver, "#error .legend", r"baseline: last target 1[34]\d\.\d.*baseline: mean (9|10)\d\.\d")
        assert not driver.find_element("id", "mistakes").is_displayed()
        predict(driver)
        shows(driver, "#answer .said", r"^6\d\d\.\d$")
        picture(driver, "regression")
        driver.refresh()  # the address names the model
        until(lambda driver: rows_learned(driver) == 1500, driver, "the model was not kept")
        assert complaints(driver) == []


@needs_browser
@pytest.mark.browser
def test_text_has_contrast_and_nothing_moves_while_rows_arrive(tmp_path, page):
    with served(tmp_path / "models") as server:
        learn(server, 300)
        for dark in (False, True):
            driver = page(server.url, dark=dark)
            shows(driver, "#tile-rows dd", r"\d")
            shows(driver, "#confusion", "ok")
            shows(driver, "#experts .legend", "linear")
            assert driver.execute_script(CONTRAST) == []
        driver.execute_script(
            """window.moved = 0;
            new PerformanceObserver((list) => {
              list.getEntries().forEach((each) => { window.moved += each.value; });
            }).observe({ type: "layout-shift" });"""
        )
        for i in range(8):
            learn(server, 250, i)
            time.sleep(0.25)
        until(lambda driver: rows_learned(driver) == 2300, driver, "not all rows arrived")
        assert driver.execute_script("return window.moved") < 0.02


CONTRAST = """
const light = (rgb) => rgb.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const colour = (text) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  canvas.fillStyle = text;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return a ? [r, g, b] : null;
};
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const found = colour(getComputedStyle(element).backgroundColor);
    if (found) return found;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *")].filter((each) => each.checkVisibility()
  && [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim())).map((each) => {
  const [a, b] = [light(colour(getComputedStyle(each).color)), light(behind(each))];
  const name = [each.tagName, each.className, each.textContent.slice(0, 30)].join(" ");
  return [name, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
}).filter(([, ratio]) => ratio < 4.5);
"""


def test_the_browser_is_there_where_it_must_be():
    if os.environ.get("BUDGETRON_BROWSER") != "required":
        pytest.skip("only where BUDGETRON_BROWSER=required")
    assert missing() is None


def test_many_readers_do_not_disturb_each_other(client):
    """Two pages that are open at once get the same points."""
    found = []

    def read():
        with client.stream("GET", "/v1/events", headers=STREAM) as stream:
            found.append(next(line for line in stream.iter_lines() if line.startswith("id: ")))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for each in readers:
        each.start()
    time.sleep(0.3)
    client.post("/v1/learn", json=rows(20)).raise_for_status()
    for each in readers:
        each.join(PATIENCE)
    assert found == ["id: 20", "id: 20"]

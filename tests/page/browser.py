"""A headless Chromium, driven over a pipe by its DevTools protocol; the standard library alone."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE_S = 30


class Browser:
    """One process, gone with this object together with its profile."""

    def __init__(self, program):
        self._profile = tempfile.mkdtemp(prefix="causeway-page-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def give_pipes():  # It reads from 3 and writes to 4.
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--remote-debugging-pipe",
             f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=give_pipes, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._bytes, self._last, self._tabs = b"", 0, {}

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, url, width, height, is_dark=False):
        """A tab that has loaded the page."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        answer = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        tab = Tab(self, answer["sessionId"], target)
        self._tabs[answer["sessionId"]] = tab
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(domain + ".enable")
        tab.resize(width, height)
        tab.set_dark(is_dark)
        tab.call("Page.navigate", {"url": url})
        if not tab.wait("location.href !== 'about:blank' && document.readyState === 'complete'"):
            raise RuntimeError(f"{url} does not load")
        return tab

    def call(self, method, params=None, session=None):
        self._last += 1
        question = {"id": self._last, "method": method, "params": params or {}}
        if session:
            question["sessionId"] = session
        os.write(self._write, json.dumps(question).encode() + b"\0")
        end = time.monotonic() + PATIENCE_S
        while True:
            message = self._receive(end)
            if message.get("id") != question["id"]:
                self._note(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            else:
                return message["result"]

    def _receive(self, end):
        while b"\0" not in self._bytes:
            if not select.select([self._read], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._bytes += part
        text, _, self._bytes = self._bytes.partition(b"\0")
        return json.loads(text)

    def _note(self, message):
        tab = self._tabs.get(message.get("sessionId"))
        if tab:
            tab.note(message["method"], message["params"])


class Tab:
    """What it complained of and asked for is kept."""

    KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowDown": 40, "ArrowRight": 39,
            "Home": 36, "End": 35}

    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.complaints, self.requests = [], []

    def call(self, method, params=None):
        return self._browser.call(method, params, self._session)

    def note(self, method, params):
        if method == "Runtime.exceptionThrown":
            its = params["exceptionDetails"]
            self.complaints.append(its.get("exception", {}).get("description", its["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def close(self):
        self._browser.call("Target.closeTarget", {"targetId": self._target})

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def set_dark(self, is_dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("Emulation.setEmulatedMedia", {"features": [scheme]})

    def value(self, expression):
        """Of JavaScript, as JSON has it."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True,
                                                "returnByValue": True})
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression, seconds=PATIENCE_S):
        """Until it is true; whether it came to be."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.value(expression):
                return True
            time.sleep(0.1)
        return False

    def press(self, key, shift=False):
        """As the keyboard would; nothing but its events."""
        its = {"key": key, "code": key if len(key) > 1 else "Key" + key.upper(),
               "windowsVirtualKeyCode": self.KEYS.get(key, ord(key[0].upper())),
               "modifiers": 8 if shift else 0}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent",
                  {"type": "keyDown" if text else "rawKeyDown", "text": text, **its})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **its})

    def picture(self, file, height=None, scale=1):
        """Of the whole page, or as much of it from above; smaller by `scale`."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"],
                "height": min(height or size["height"], size["height"]), "scale": scale}
        answer = self.call("Page.captureScreenshot",
                           {"format": "png", "captureBeyondViewport": True, "clip": clip})
        with open(file, "wb") as out:
            out.write(base64.b64decode(answer["data"]))

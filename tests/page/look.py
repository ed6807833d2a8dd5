"""Looks at a gateway's page as people do: at all widths, in light and dark, by keyboard alone.

    look.py --browser PROGRAM --order URL --read URL --line SOCKET --gateway PID [--pictures FOLDER]
    look.py --browser PROGRAM --demo URL [--pictures FOLDER]

ORDER and READ are the page of the same gateway for those who may order and those who may only read;
SOCKET is where causeway-wan is told to change the way to the peer `west`. Prints what it has seen;
ends with 1 and a sentence where the page is not as it should be. With --pictures it also leaves the
pictures of bench/report/page.md there, which takes two minutes. DEMO is the page of ./demo --page.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import sys
import time
import urllib.parse
import urllib.request

from browser import Browser

WIDTHS = (390, 768, 1280, 1920)
STRANGE_NAME = "<img src=x onerror=alert(1)> & a name longer than boxes have"

# Of each text: how far its colour is from what is behind it (WCAG 2.2, 1.4.3).
CONTRASTS = """(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode());) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility() || node.closest("script, .unseen")) continue;
    const style = getComputedStyle(node);
    const own = light(parse(node.closest("svg") ? style.fill : style.color));
    const behind = light(ground(node));
    const ratio = (Math.max(own, behind) + 0.05) / (Math.min(own, behind) + 0.05);
    if (ratio < 4.5) poor.push(`${text.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return poor;
})()"""

# What assistive technology would find no name for, and headings that skip a level.
NAMELESS = """(() => {
  const found = [];
  for (const each of document.querySelectorAll("button, input, select, summary, a")) {
    if (!each.checkVisibility()) continue;
    const name = each.getAttribute("aria-label") || each.labels?.[0]?.textContent ||
      (each.matches("button, summary, a") && each.textContent);
    if (!name?.trim()) found.push(each.outerHTML.slice(0, 80));
  }
  for (const each of document.querySelectorAll("section")) {
    const title = document.getElementById(each.getAttribute("aria-labelledby"));
    if (!title?.textContent.trim()) found.push("a section without a name");
  }
  let level = 0;
  for (const each of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!each.checkVisibility()) continue;
    const its = Number(each.tagName[1]);
    if (its > level + 1) found.push(`${each.tagName} ${each.textContent} after h${level}`);
    level = its;
  }
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  if (!document.querySelector("main, header")) found.push("no landmarks");
  return found;
})()"""

# Elements that reach beyond the window; a list that scrolls in itself is none.
TOO_WIDE = """(() => {
  const wide = [];
  for (const each of document.querySelectorAll("body *")) {
    if (!each.checkVisibility() || each.closest(".unseen, .skip, svg, .wide thead")) continue;
    const its = each.getBoundingClientRect();
    if (its.right > innerWidth + 0.5) wide.push(each.outerHTML.slice(0, 80));
  }
  if (document.documentElement.scrollWidth > innerWidth) wide.push("the document");
  return wide;
})()"""

rows = "document.querySelectorAll({!r}).length".format


def require(is_so, sentence):
    if not is_so:
        raise AssertionError(sentence)


def seen(sentence):
    print("seen:", sentence, flush=True)


def change_line(path, request):
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        line.sendall(request.encode() + b"\n")
        answer = line.recv(4096).decode()
    require(answer.startswith("ok"), f"the line says {answer}")


def ask(url, path):
    with urllib.request.urlopen(urllib.parse.urljoin(url, path), timeout=10) as answer:
        return json.load(answer)


def check_content(tab):
    require(tab.wait("document.title.startsWith('south')"), "the site's name never came")
    require(tab.wait("document.getElementById('own-out').textContent.includes('bit/s')"),
            "no goodput is shown")
    for what, selector, least in (
            ("figures", "#figures li", 8), ("peers", "#peers > li", 3),
            ("paths", "#peers .path", 5), ("classes", "#classes tbody tr", 6),
            ("kinds of mending", "#mended tbody tr", 6), ("drops", "#drops tbody tr", 1),
            ("events", "#events > li", 2), ("classes that adapt", "#adaptive-list > li", 1)):
        require(tab.wait(rows(selector) + f" >= {least}"), f"fewer than {least} {what}")
    require(tab.wait("[...document.querySelectorAll('.chart')].every((each) => "
                     "each.querySelectorAll('.first, .second').length === 2 && "
                     "each.querySelector('.first').getAttribute('d').includes('L'))"),
            "a chart has no line")
    require(tab.value(rows("#drops td.sentence")) ==
            tab.value("[...document.querySelectorAll('#drops td.sentence')]"
                      ".filter((each) => each.textContent.length > 10).length"),
            "a drop has no sentence")
    seen("every section has content")


def check_strange_name(tab):
    require(tab.value(rows("main img, img")) == 0, "a name became markup")
    texts = tab.value("[...document.querySelectorAll('.site .title')].map((e) => e.textContent)")
    require(STRANGE_NAME in texts, f"no such peer among {texts}")
    seen("a name of markup is text")


def check_looks(tab):
    for is_dark in (False, True):
        tab.set_dark(is_dark)
        for width in WIDTHS:
            tab.resize(width, 900)
            time.sleep(1.2)
            where = f"at {width} px, {'dark' if is_dark else 'light'}"
            for question, what in ((TOO_WIDE, "is too wide"), (CONTRASTS, "is hard to read"),
                                   (NAMELESS, "has no name or place")):
                found = tab.value(question)
                require(not found, f"{where} {what}: {found}")
    seen("nothing scrolls sideways and all can be read, light and dark, at " + str(WIDTHS))


def tab_until(tab, expression):
    """By keyboard, until this is true of the focus."""
    for _ in range(60):
        if tab.value(expression):
            return
        tab.press("Tab")
    raise AssertionError(f"the keyboard does not reach {expression}")


def tab_to(tab, place):
    tab_until(tab, f"document.activeElement.id === '{place}'")


def choose(tab, place, text):
    tab_to(tab, place)
    tab.press("Home")
    for _ in range(20):
        shown = tab.value(f"document.getElementById('{place}').selectedOptions[0].textContent")
        if shown.startswith(text):
            return
        tab.press("ArrowDown")
    raise AssertionError(f"{place} has no {text}")


def policy_out(url, name, peer):
    lanes = ask(url, "/v1/classes")["classes"]
    return next(each["policy"]["out"] for each in lanes
                if each["class"] == name and each["peer"] == peer)


def check_order(tab, url):
    """A swap by keyboard alone, first taken back, then confirmed; and one that is refused."""
    tab.press("Tab")
    require(tab.value("document.activeElement.className") == "skip", "no link past the header")
    choose(tab, "f-class", "storage")
    choose(tab, "f-peer", "north")
    choose(tab, "f-policy", "go_back_n")
    require(tab.value(rows("#f-params .param")) >= 2, "no parameters are offered")
    tab_to(tab, "f-params-open")
    tab.press("Enter")
    tab_to(tab, "param-alpha")
    tab.press("3")
    tab_to(tab, "f-go")
    tab.press("Enter")
    require(tab.wait("document.activeElement.id === 'f-yes'", 5), "nobody asks for confirmation")
    question = tab.value("document.getElementById('f-question').textContent")
    require("storage" in question and "go_back_n" in question and "alpha=3" in question, question)
    tab.press("Escape")
    require(tab.wait("document.activeElement.id === 'f-go'", 5), "Escape does not go back")
    before = policy_out(url, "storage", "north")
    require(before != "go_back_n", "it was swapped without a confirmation")
    tab.press("Enter")
    tab.press("Enter")
    answer = "document.getElementById('f-answer').textContent"
    require(tab.wait(answer + ".includes('done')"), "the form says " + tab.value(answer))
    require(policy_out(url, "storage", "north") == "go_back_n", "the gateway still has " + before)
    top = "[...document.querySelectorAll('#events > li')].map((each) => each.textContent)"
    require(tab.wait(top + ".some((text) => text.includes('storage to north') && "
                     f"text.includes('{before} → go_back_n'))", 10), "the swap is not told")
    require(tab.wait(top + ".some((text) => text.includes('storage to north') && "
                     "/ → .* → /.test(text))"), "what it changed is not told")
    tab_to(tab, "param-alpha")
    tab.press("End")
    for key in "000":
        tab.press(key)
    tab_to(tab, "f-go")
    tab.press("Enter")
    tab.press("Enter")
    require(tab.wait(answer + ".includes('alpha is 3000')", 10),
            "a mistake is told as " + tab.value(answer))
    tab.complaints = [each for each in tab.complaints if "status of 400" not in each]
    seen("a swap was ordered by keyboard alone, and told with what it changed")


def check_table(tab):
    """What a chart shows, for who cannot see it."""
    tab_until(tab, "document.activeElement.matches('.charts summary')")
    tab.press("Enter")
    require(tab.wait(rows(".charts details[open] tbody tr") + " >= 1", 5), "a chart has no table")
    cells = tab.value("[...document.querySelectorAll('.charts details[open] td')]"
                      ".map((each) => each.textContent)")
    require(all("bit/s" in each for each in cells), f"its table has {cells}")
    tab.press("Enter")
    seen("a chart's numbers are a table")


def check_adapt(tab, url):
    """What somebody has ordered stands, until the model is let choose again, from the page."""
    body = {"class": "the rest", "peer": "west", "policy": "selective_repeat"}
    headers = {"Content-Type": "application/json", "X-Causeway": "1"}
    request = urllib.request.Request(urllib.parse.urljoin(url, "/v1/swap"),
                                     json.dumps(body).encode(), headers)
    urllib.request.urlopen(request, timeout=10).close()
    state = ("[...document.querySelectorAll('#adaptive-list > li')].find((each) => "
             "each.textContent.startsWith('the rest to west')).querySelector('.chip').textContent")
    require(tab.wait(state + " === 'held'", 20), "an order does not hold: " + tab.value(state))
    tab_until(tab, "document.activeElement.textContent === 'Let it choose again'")
    tab.press("Enter")
    require(tab.wait(state + " !== 'held'", 20), "it is not let choose again")
    seen("a class that was held was let choose again by keyboard")


def check_reader(tab):
    require(tab.wait("document.getElementById('who').textContent.includes('may read')"),
            "it does not say that one may only read")
    require(tab.wait(rows("#classes tbody tr") + " >= 6"), "a reader sees no classes")
    visible = "[...document.querySelectorAll('form, button')].filter((e) => e.checkVisibility())"
    require(tab.value(visible + ".length") == 0, "a reader is offered a form")
    require(tab.value("!document.getElementById('line').checkVisibility()"), "or a line")
    seen("whoever may only read has no form")


def check_silence(tab, gateway):
    shown = "document.getElementById('silence').checkVisibility()"
    require(not tab.value(shown), "it says that nobody answers")
    os.kill(gateway, signal.SIGSTOP)
    try:
        require(tab.wait(shown, 15), "a gateway that does not answer is not told")
        text = tab.value("document.getElementById('silence').textContent")
        require("has not answered since" in text, text)
    finally:
        os.kill(gateway, signal.SIGCONT)
    require(tab.wait("!" + shown, 15), "one that answers again is not told")
    seen("silence is told, and its end")


def check_manners(tab, url):
    place = urllib.parse.urlsplit(url).netloc
    others = [each for each in tab.requests
              if urllib.parse.urlsplit(each).netloc != place and not each.startswith("data:")]
    require(not others, f"it asked elsewhere: {others}")
    require(not tab.complaints, f"the console says {tab.complaints[:3]}")
    seen(f"{len(tab.requests)} requests, all to the gateway, and nothing in the console")


def take_pictures(tab, line, folder):
    """While the line to one site gets worse and better, a swap is seen and a path fails."""
    tab.resize(1280, 900)
    tab.set_dark(False)
    for request in ("loss=0%", "loss=2%", "loss=0.5%"):
        change_line(line, request)
        time.sleep(35)
    tab.picture(folder / "page-light.png", 1480, 0.8)
    tab.resize(390, 844)
    time.sleep(2)
    tab.picture(folder / "page-phone.png", 1500)
    change_line(line, "hole=4792")
    require(tab.wait("document.getElementById('alarms').checkVisibility()", 60), "no alarm")
    tab.set_dark(True)
    tab.resize(1920, 1080)
    time.sleep(3)
    tab.picture(folder / "page-dark.png", 1500, 0.65)
    change_line(line, "hole=")


def check_line(tab, url):
    """Turned up by keyboard, until the gateway itself has seen it."""
    loss = "fetch('/demo/line').then((its) => its.json()).then((its) => its.loss)"
    require(tab.wait("document.getElementById('line').checkVisibility()"), "there is no line")
    before = tab.value(loss)
    tab_to(tab, "line-loss")
    for _ in range(8):
        tab.press("ArrowRight")
    require(tab.wait(loss + f".then((its) => its > {before} * 2)", 10), "the line is as it was")
    paths = ask(url, "/v1/paths")["paths"]
    end = time.monotonic() + 30
    while max(each["loss_there"] for each in paths) < before * 1.5:
        require(time.monotonic() < end, f"the gateway sees no such loss: {paths}")
        time.sleep(0.5)
        paths = ask(url, "/v1/paths")["paths"]
    seen("the line was turned up by keyboard, and the gateway has seen it")


def look_at_demo(browser, options):
    tab = browser.open(options.demo, 1280, 900)
    check_line(tab, options.demo)
    check_looks(tab)
    if options.pictures:
        tab.resize(1280, 900)
        tab.set_dark(True)
        time.sleep(30)
        tab.picture(options.pictures / "page-demo.png", 1180, 0.8)
    check_manners(tab, options.demo)


def look(browser, options):
    tab = browser.open(options.order, 1280, 900)
    check_content(tab)
    check_strange_name(tab)
    check_order(tab, options.order)
    check_table(tab)
    check_adapt(tab, options.order)
    check_looks(tab)
    if options.pictures:
        take_pictures(tab, options.line, options.pictures)
    check_manners(tab, options.order)
    reader = browser.open(options.read, 768, 900)
    check_reader(reader)
    check_manners(reader, options.read)
    check_silence(tab, options.gateway)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--browser", required=True)
    for name in ("--order", "--read", "--line", "--demo"):
        parser.add_argument(name)
    parser.add_argument("--gateway", type=int)
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    browser = Browser(options.browser)
    try:
        (look_at_demo if options.demo else look)(browser, options)
    except (AssertionError, RuntimeError) as mistake:
        print("the page is not as it should be:", mistake)
        return 1
    finally:
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

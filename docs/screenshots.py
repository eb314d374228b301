"""Pictures of the workbench for its page: every screen on the fictional survey, light and dark.

    python docs/screenshots.py

It starts a workbench in a temporary folder, walks through it in a headless chromium and writes the pictures
docs/images/workbench_*.png.
"""

from __future__ import annotations

import base64
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

IMAGES = Path(__file__).resolve().parent / "images"
SCHEMES = ("light", "dark")
_PATIENCE = 300_000  # milliseconds


def main() -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as played:
        command = [sys.executable, "-m", "microveil.cli", "workbench", "--no-open", "--workspace", f"{folder}/space"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        browser = played.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-lcd-text"])
        try:
            pages = {scheme: _page(browser, scheme, address) for scheme in SCHEMES}
            _walk(pages["light"], address.partition("/?")[0])
            for scheme, page in pages.items():
                _pictures(page, scheme, address.partition("/?")[0], f"{folder}/space")
        finally:
            browser.close()
            server.send_signal(signal.SIGINT)
            server.wait()


def _page(browser: Any, scheme: str, address: str) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme=scheme).new_page()
    page.set_default_timeout(_PATIENCE)
    page.goto(address)
    return page


def _walk(page: Any, base: str) -> None:
    """Load the sample and make some releases of it."""
    page.get_by_role("button", name="Load the sample").click()
    page.wait_for_selector("table.attributes")
    candidates = 0
    for method, parameter, values in (
        ("mdav-generic", "k", "3, 5, 10, 20"),
        ("rank-swapping", "p", "5, 15, 30"),
        ("mondrian", "k", "5, 20"),
    ):
        page.goto(f"{base}/try?method={method}")
        page.select_option("#vary", parameter)
        page.fill("#values", values)
        page.get_by_role("button", name="Run them all").click()
        candidates += len(values.split(","))
        page.wait_for_selector(f"table.candidates tbody tr:nth-child({candidates})")
    page.fill("#bound-risk", "25")
    page.fill("#bound-loss", "40")
    page.get_by_role("button", name="Set").click()
    page.wait_for_selector("#bound-risk[value='25.0']")
    page.locator("table.candidates tr", has_text="mdav-generic k=5").get_by_role("button").click()
    page.wait_for_selector(".chip[aria-current]:has-text('mdav-generic k=5')")
    page.goto(f"{base}/out")
    page.get_by_role("button", name="Export").click()
    page.get_by_role("link", name="Everything as a zip").wait_for()


# the temporary folder is shown under the name that a user would choose
_RENAMED = """([folder, name]) => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replaceAll(folder, name);
}"""


def _pictures(page: Any, scheme: str, base: str, folder: str) -> None:
    for name, path in (
        ("data", "/data"),
        ("risk", "/risk"),
        ("try", "/try?method=mdav-generic"),
        ("map", "/map"),
        ("out", "/out"),
    ):
        page.goto(base + path)
        page.wait_for_selector({"risk": ".number", "try": "#effect table"}.get(name, "h1"))
        page.wait_for_timeout(500)
        page.evaluate(_RENAMED, [folder, "earnings-2026"])
        (IMAGES / f"workbench_{name}_{scheme}.png").write_bytes(_small(page.context.browser, page.screenshot()))


# the browser itself reads the picture back as pixels
_PIXELS = """async (address) => {
  const picture = await createImageBitmap(await (await fetch(address)).blob());
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const bytes = context.getImageData(0, 0, picture.width, picture.height).data;
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return [picture.width, picture.height, btoa(text)];
}"""


def _small(browser: Any, picture: bytes) -> bytes:
    """The same picture with at most 256 colours: a page has few, and shades between them for the edges of letters."""
    page = browser.new_page()
    width, height, text = page.evaluate(_PIXELS, f"data:image/png;base64,{base64.b64encode(picture).decode()}")
    page.close()
    pixels = np.frombuffer(base64.b64decode(text), np.uint8).reshape(-1, 4)[:, :3]
    coarse = (pixels & 0xF0).astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)
    shades, of_pixel, counts = np.unique(coarse, return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(of_pixel, pixels[:, i], len(shades)) for i in range(3)], axis=1)
    colours = sums / counts[:, None]
    kept = np.argsort(-counts, kind="stable")[:256]
    nearest = np.square(colours[:, None] - colours[kept][None]).sum(axis=2).argmin(axis=1)
    rows = nearest[of_pixel].astype(np.uint8).reshape(height, width)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    palette = colours[kept].round().astype(np.uint8).tobytes()
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


if __name__ == "__main__":
    main()

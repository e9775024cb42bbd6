"""Pictures of the dashboard and the report for docs/images/, in both themes and both widths.

    .venv/bin/python scripts/screenshots.py ARCHIVE RUN

ARCHIVE holds finished runs; RUN is the one whose page and best trial are shown. Needs Chromium and playwright.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.web.browser import browser, serving  # noqa: E402

from evoengineer.archive import Archive  # noqa: E402
from evoengineer.archive.reading import summary  # noqa: E402
from evoengineer.cli import main as evoengineer  # noqa: E402

WIDTHS = {"wide": (1200, 900), "phone": (390, 844)}
OUT = ROOT / "docs" / "images"


def main(archive: Path, run: str) -> int:
    OUT.mkdir(exist_ok=True)
    with Archive(archive, read_only=True) as opened:
        best = summary(opened, run).best_number or 0
    with tempfile.TemporaryDirectory() as folder, serving(archive) as address, browser() as opened_browser:
        evoengineer(["report", str(archive), "--out", folder, "--title", "Methods on three starter problems"])
        pages = {
            "runs": f"{address}/",
            "run": f"{address}/run?{urlencode({'id': run})}",
            "trial": f"{address}/trial?{urlencode({'run': run, 'n': best})}",
            "compare": f"{address}/compare?{urlencode({'a': run, 'an': best, 'b': run, 'bn': 1})}",
            "report": (Path(folder) / "report.html").as_uri(),
        }
        for theme in ("light", "dark"):
            for width, (across, down) in WIDTHS.items():
                page = opened_browser.new_page(viewport={"width": across, "height": down}, color_scheme=theme)
                for name, where in pages.items():
                    page.goto(where)
                    page.wait_for_timeout(700)  # charts are drawn
                    page.screenshot(path=OUT / f"{name}-{width}-{theme}.png")
                page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))

"""The page and the release in one HTML file: it works from a disk, needs no server and asks for nothing.

Its policy forbids every request from the start. The modules are put one after the other, each in a function of its own,
and the policy names the checksum of the only script and the only style that may run.
"""

import base64
import hashlib
import re
from pathlib import Path

from discreet.doors import checked
from discreet.files import write_whole
from discreet.releases.release import Release
from discreet.web.export import release_file, site_files
from discreet.web.file_format import Precision

MODULES = (
    *("format", "algebra", "ratings", "logit", "rankings", "catalogue", "discreet"),
    *("promise", "proof", "search", "store", "view", "app"),
)
"""Each after those that it imports."""
_IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class) (\w+)", re.MULTILINE)


@checked
def export_page(release: Release, path: str | Path, *, precision: Precision = "float32") -> Path:
    """Write one HTML file that recommends by itself; it is replaced if it is there.

    Examples
    --------
    >>> import discreet as dc, tempfile
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> file = Path(tempfile.mkdtemp()) / "page.html"
    >>> "connect-src" in export_page(dc.Bias().fit(dc.NoPrivacy(ratings)), file).read_text()
    False
    """
    path = Path(path)
    write_whole(path, one_page(release_file(release, precision)).encode())
    return path


def one_page(release: bytes) -> str:
    """The page around the file of a release."""
    files = {name: content.decode() for name, content in site_files().items() if not name.endswith(".discreet")}
    script, style = _script(files), files["style.css"]
    icon = base64.b64encode(files["icon.svg"].encode()).decode()
    policy = (
        f"default-src 'none'; script-src '{_checksum(script)}'; style-src '{_checksum(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = re.sub(r'<link rel="(?:manifest|modulepreload)"[^>]*>\n', "", files["index.html"])
    page = page.replace('href="icon.svg"', f'href="data:image/svg+xml;base64,{icon}"')
    page = re.sub(r'(Content-Security-Policy" content=")[^"]*', lambda found: found.group(1) + policy, page)
    page = page.replace('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>")
    page = page.replace('<script type="module" src="app.js"></script>\n', "")
    data = base64.b64encode(release).decode()
    inside = f'<script type="application/octet-stream" id="release">{data}</script>\n<script>{script}</script>\n</body>'
    return page.replace("</body>", inside)


def _script(files: dict[str, str]) -> str:
    parts = []
    for name in MODULES:
        source = _IMPORT.sub(r"const { \1 } = modules.\2;\n", files[f"{name}.js"])
        offered = ", ".join(found[1] for found in _EXPORT.findall(source))
        source = _EXPORT.sub(r"\1 \2", source)
        start = "(async () => {" if name == "app" else f"modules.{name} = (() => {{"
        end = "})();" if name == "app" else f"return {{ {offered} }};\n}})();"
        parts.append(f"{start}\n{source}{end}")
    return '"use strict";\nconst modules = {};\n' + "\n".join(parts)


def _checksum(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"

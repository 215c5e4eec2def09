"""Build the documentation site from the Markdown that there is, with a reference of everything that is public.

    python docs/site/build.py OUTPUT

Pages and what they link to are copied beside each other, pages of the reference are written from the lists of public
names, and Sphinx makes HTML of it. A link that leads nowhere, and a docstring that cannot be read, end it with 1.
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "benchmarks/README.md"]
GUIDES = {
    "Begin": ["data", "choosing", "guarantee", "evaluation", "notebooks"],
    "In production": ["production", "service", "device", "budgets", "priors", "spark", "cost", "gpu"],
    "Privacy": ["pitfalls", "audits", "personal_privacy", "collection", "untrusted", "untrusted_programs"],
    "Models": ["models", "neighbourhood", "autoencoders", "your_own_model", "extending", "papers"],
    "More": [],
}
"""The guides in the order in which they are needed."""
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FOLDERS = ["data", "populations", "privacy", "models", "releases", "evaluation", "audit", "collect", "papers"]
FOLDERS += ["nightly", "web", "spark"]  # with names of their own, where they have any


def pages() -> list[Path]:
    """Everything written for people."""
    written = sorted((ROOT / "docs").rglob("*.md"))
    return [*(ROOT / name for name in FIRST), *written]


def stage(folder: Path) -> None:
    """Copy pages, and the files that they link to, and write the reference."""
    for page in pages():
        _copy(page, folder)
        _without_folders(folder / page.relative_to(ROOT), page)
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            linked = (page.parent / target).resolve()
            if not target.startswith("http") and linked.is_file() and linked.suffix != ".md":
                _copy(linked, folder)
    names = reference(folder / "reference")
    front = folder / "README.md"
    front.write_text(front.read_text(encoding="utf-8") + _contents(names), encoding="utf-8")


def _without_folders(copy: Path, page: Path) -> None:
    """Links to folders of the source are for readers of the repository: here their words stay."""

    def kept(found: re.Match[str]) -> str:
        folder = not found[2].startswith("http") and (page.parent / found[2]).is_dir()
        return found[1] if folder else found[0]

    written = page.read_text(encoding="utf-8")
    copy.write_text(re.sub(r"\[([^\]]*)\]\(([^)#\s]+)\)", kept, written), encoding="utf-8")


def _copy(path: Path, folder: Path) -> None:
    place = folder / path.relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, place)


def reference(folder: Path) -> list[str]:
    """A page for the names at the top, by where they are from, and one for each folder with names of its own."""
    import discreet

    folder.mkdir(parents=True)
    elsewhere = {*FOLDERS, "errors", *vars(discreet.errors)}
    top = [name for name in discreet.__all__ if name not in elsewhere]
    written = {"discreet": ("discreet", top), "errors": ("discreet.errors", None)}
    for name in FOLDERS:
        own = getattr(discreet, name, None)
        if own is not None and getattr(own, "__all__", None):
            written[f"discreet.{name}"] = (f"discreet.{name}", own.__all__)
    for title, (module, names) in written.items():
        lines = _page(title, module, names)
        (folder / f"{title}.md").write_text("\n".join(lines), encoding="utf-8")
    return list(written)


def _page(title: str, module: str, names: Iterable[str] | None) -> Iterable[str]:
    import inspect
    from importlib import import_module

    yield f"# {title}\n"
    if names is None:
        yield f"```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n```\n"
        return
    holder = import_module(module)
    for name in sorted(names):
        kind = "class" if inspect.isclass(getattr(holder, name)) else "function"
        yield f"## {name}\n\n```{{eval-rst}}\n.. auto{kind}:: {module}.{name}\n```\n"


def _contents(reference: list[str]) -> str:
    """The list of all pages, for the side of every page."""
    pages = {path.stem: path.relative_to(ROOT).with_suffix("") for path in sorted((ROOT / "docs").glob("*.md"))}
    guides = {caption: [pages.pop(name) for name in names if name in pages] for caption, names in GUIDES.items()}
    guides["More"] += pages.values()  # whatever is new
    papers = [path.relative_to(ROOT).with_suffix("") for path in sorted((ROOT / "docs/papers").glob("*.md"))]
    parts = {
        **guides,
        "Papers": papers,
        "Reference": [Path("reference") / name for name in reference],
        "Project": [Path(name).with_suffix("") for name in FIRST[1:]],
    }
    blocks = []
    for caption, own in parts.items():
        listed = "\n".join(path.as_posix() for path in own)
        if own:
            blocks.append(f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {caption}\n\n{listed}\n```\n")
    return "".join(blocks)


def main() -> int:
    """Build into the folder that is named, or ``build/site``."""
    from sphinx.cmd.build import build_main

    output = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/site")
    with tempfile.TemporaryDirectory() as scratch:
        stage(Path(scratch) / "source")
        own = ["-c", str(Path(__file__).parent), "-d", f"{scratch}/kept", f"{scratch}/source", str(output)]
        found = build_main(["-b", "html", "--fail-on-warning", "--keep-going", "--quiet", *own])
    if found == 0:
        shutil.copyfile(output / "README.html", output / "index.html")
        sys.stdout.write(f"The site is {output / 'index.html'}\n")
    return found


if __name__ == "__main__":
    sys.exit(main())

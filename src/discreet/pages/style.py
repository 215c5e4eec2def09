"""The look: colours by role, in the light and in the dark, and the style sheet and script of a page.

The pictures are drawn in the light colours. On a page the style sheet gives every element that has one of
them the colour of the same role, so that pictures follow the reader's choice of light or dark.
"""

from importlib.resources import files

FONT = "Inter, system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

INK = "#1d2430"
QUIET = "#5d6675"
LINE = "#e3e6eb"
PALE = "#cbd3df"
SERIES = (
    "#3366a8",
    "#c8553d",
    "#2f8f83",
    "#c98f1f",
    "#7a5ea8",
    "#5b8c3a",
    "#b5527f",
    "#3f9cc4",
    "#8a6d4f",
    "#6f7785",
)
SHAPES = ("circle", "square", "diamond", "triangle-up")  # of the first ten models, the next ten, and so on
DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3))

# Light, then dark. The first seven are the page itself, the others are also in the pictures.
ROLES: dict[str, tuple[str, str]] = {
    "page": ("#f7f6f3", "#14171c"),
    "card": ("#ffffff", "#1b2027"),
    "edge": ("#e7e5df", "#2a313b"),
    "accent": ("#2b5a97", "#8fb6ea"),
    "wash": ("#eef3fa", "#202a38"),
    "good": ("#2a7048", "#7fd1a0"),
    "bad": ("#a93a26", "#f3937f"),
    "ink": (INK, "#e9ecf1"),
    "quiet": (QUIET, "#a0a9b7"),
    "line": (LINE, "#2f3742"),
    "pale": (PALE, "#475264"),
    "series0": (SERIES[0], "#7aa7e0"),
    "series1": (SERIES[1], "#ee8a73"),
    "series2": (SERIES[2], "#62c4b6"),
    "series3": (SERIES[3], "#ecc063"),
    "series4": (SERIES[4], "#b09adf"),
    "series5": (SERIES[5], "#97c66f"),
    "series6": (SERIES[6], "#e08db2"),
    "series7": (SERIES[7], "#86cbe6"),
    "series8": (SERIES[8], "#c4a582"),
    "series9": (SERIES[9], "#a3abb8"),
}
IN_PICTURES = [role for role in ROLES if role in ("ink", "quiet", "line", "pale") or role.startswith("series")]


def style_sheet() -> str:
    """Everything a page looks like."""
    light = "".join(f"--{role}:{pair[0]};" for role, pair in ROLES.items())
    dark = "".join(f"--{role}:{pair[1]};" for role, pair in ROLES.items())
    pictures = "".join(
        f'figure svg [fill="{ROLES[role][0]}"]{{fill:var(--{role})}}'
        f'figure svg [stroke="{ROLES[role][0]}"]{{stroke:var(--{role})}}'
        for role in IN_PICTURES
    )
    return (
        f":root{{color-scheme:light;{light}}}"
        f'@media (prefers-color-scheme:dark){{:root:not([data-theme="light"]){{color-scheme:dark;{dark}}}}}'
        f':root[data-theme="dark"]{{color-scheme:dark;{dark}}}'
        f"@media print{{:root,:root[data-theme]{{color-scheme:light;{light}}}}}"
        + pictures
        + _text("page.css").replace("FONT", FONT)
    )


def script() -> str:
    """Three small things, none of which is needed to read the page.

    Sort a table, show what a mark of a picture stands for, change between light and dark.
    """
    return _text("page.js")


def _text(name: str) -> str:
    return files("discreet.pages").joinpath(name).read_text(encoding="utf-8")

"""A drawing as one inline `<svg>`, in the colour of the text around it and without ids."""

from dataclasses import dataclass, field
from html import escape

MONO = ' font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"'
SMALL = ' font-size="12"'
DASHED, FAINT = ' stroke-dasharray="3 4"', ' stroke-opacity=".5"'
HEADS = {  # of arrows, by where they point
    "down": "m-3.5-6 3.5 6 3.5-6",
    "right": "m-6-3.5 6 3.5-6 3.5",
    "left": "m6-3.5-6 3.5 6 3.5",
    "loop": "m-6.5-1.5 6.5 1.5-4.5 5",
}


@dataclass
class Drawing:
    """Lines and texts, in pixels; a text's y is its baseline."""

    width: float
    height: float
    lines: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def line(self, way: str, extra: str = "") -> None:
        """Add a path."""
        self.lines.append(f'<path d="{way}"{extra}/>')

    def box(self, x: float, y: float, width: float, height: float, extra: str = "") -> None:
        """Add a box with round corners, by its upper left corner."""
        size = f'width="{width:g}" height="{height:g}"'
        self.lines.append(f'<rect x="{x:g}" y="{y:g}" {size} rx="7"{extra}/>')

    def text(self, x: float, y: float, words: str, extra: str = "", anchor: str = "middle") -> None:
        """Add a text."""
        place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
        self.texts.append(f"<text {place}{extra}>{escape(words)}</text>")

    def svg(self, label: str, description: str) -> str:
        """Return the drawing as HTML; screen readers get the label and the description."""
        size = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        style = f"width:{self.width / 16:g}rem;max-width:100%;height:auto;overflow:visible"
        pen = 'fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"'
            f' aria-label="{escape(label)}" style="{style}" font-size="13">'
            f"<desc>{escape(description)}</desc>"
            f'<g {pen} transform="translate(.5 .5)">{"".join(self.lines)}</g>'
            f'<g fill="currentColor">{"".join(self.texts)}</g></svg>'
        )

"""Shares over time as a picture: one coloured band per queue, drawn as SVG with nothing but text."""

from __future__ import annotations

from html import escape

from fairway.sim.report import Report

_WIDTH, _HEIGHT, _LEFT, _TOP, _LEGEND = 900, 320, 60, 30, 18
_BANDS_MAX = 12


def draw(report: Report) -> str:
    names = _names(report)
    height = _TOP + _HEIGHT + 40 + _LEGEND * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + _LEFT + 20}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-weight="bold">{escape(report.scenario)}: usage by queue over time</text>',
    ]
    if report.shares:
        parts += _bands(report, names)
    parts += _axes(report)
    for index, name in enumerate(names):
        y = _TOP + _HEIGHT + 40 + index * _LEGEND
        parts.append(f'<rect x="{_LEFT}" y="{y - 10}" width="12" height="12" fill="{_colour(index)}"/>')
        parts.append(f'<text x="{_LEFT + 18}" y="{y}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _names(report: Report) -> list[str]:
    """The queues that used most have a band of their own; the rest share one."""
    total: dict[str, int] = {}
    for _, usage in report.shares:
        for name, amount in usage.items():
            total[name] = total.get(name, 0) + amount
    most = sorted(total, key=lambda name: (-total[name], name))
    return most if len(most) <= _BANDS_MAX else [*most[: _BANDS_MAX - 1], "others"]


def _bands(report: Report, names: list[str]) -> list[str]:
    end = max(at for at, _ in report.shares) or 1.0
    highest = max((sum(usage.values()) for _, usage in report.shares), default=0) or 1
    parts: list[str] = []
    below = [0] * len(report.shares)
    for index, name in enumerate(names):
        above = [low + _amount(usage, name, names) for low, (_, usage) in zip(below, report.shares, strict=True)]
        xs = [_LEFT + at / end * _WIDTH for at, _ in report.shares]
        upper = [f"{x:.1f},{_y(value, highest):.1f}" for x, value in zip(xs, above, strict=True)]
        lower = [f"{x:.1f},{_y(value, highest):.1f}" for x, value in zip(xs, below, strict=True)]
        parts.append(f'<polygon points="{" ".join([*upper, *reversed(lower)])}" fill="{_colour(index)}"/>')
        below = above
    return parts


def _amount(usage: dict[str, int], name: str, names: list[str]) -> int:
    if name != "others":
        return usage.get(name, 0)
    return sum(amount for key, amount in usage.items() if key not in names)


def _axes(report: Report) -> list[str]:
    bottom = _TOP + _HEIGHT
    end = max((at for at, _ in report.shares), default=report.makespan_s)
    return [
        f'<line x1="{_LEFT}" y1="{bottom}" x2="{_LEFT + _WIDTH}" y2="{bottom}" stroke="black"/>',
        f'<line x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT}" y2="{bottom}" stroke="black"/>',
        f'<text x="{_LEFT}" y="{bottom + 16}">0 s</text>',
        f'<text x="{_LEFT + _WIDTH}" y="{bottom + 16}" text-anchor="end">{end:.1f} s</text>',
    ]


def _y(value: int, highest: int) -> float:
    return _TOP + _HEIGHT * (1 - value / highest)


def _colour(index: int) -> str:
    return f"hsl({index * 137 % 360},55%,{45 + index % 3 * 10}%)"

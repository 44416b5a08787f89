"""The report of ``metrics`` in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = [1024 << 2 * step for step in range(13)]
"""Of the histogram's buckets, in nanoseconds: from a microsecond to seventeen seconds."""


def prometheus(report: dict[str, Any]) -> str:
    """A report in Prometheus' text format."""
    return "".join(f"{line}\n" for line in _prometheus_lines(report))


def _prometheus_lines(report: dict[str, Any]) -> Iterator[str]:
    requests: dict[str, dict[str, Any]] = report["requests"]
    yield from _head("memfs_requests_total", "counter", "Requests that the kernel's cache did not answer.")
    for kind, each in requests.items():
        yield f'memfs_requests_total{{kind="{kind}"}} {each["count"]}'
    yield from _head("memfs_refused_total", "counter", "Requests that were answered with an error.")
    for kind, each in requests.items():
        yield f'memfs_refused_total{{kind="{kind}"}} {each["refused"]}'
    yield from _head(
        "memfs_request_seconds", "histogram", "How long answers took; a sample where they come fast."
    )
    for kind, each in requests.items():
        yield from _histogram(kind, each["timed"], each["nanoseconds"])
    for name, help_text, value in (
        ("open_files", "Files that are open.", report["openFiles"]),
        ("files", "Files in the scope.", report["files"]),
        ("max_files", "Files the scope may have.", report["maxFiles"]),
        ("bytes", "Bytes in all files of the scope.", report["bytes"]),
        ("max_bytes", "Bytes the scope may have.", report["maxBytes"]),
        ("version", "Changes of the scope.", report["version"]),
    ):
        yield from _head(f"memfs_{name}", "gauge", help_text)
        yield f"memfs_{name} {value}"


def _head(name: str, kind: str, help_text: str) -> Sequence[str]:
    return f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"


def _histogram(kind: str, timed: dict[str, int], nanoseconds: int) -> Iterator[str]:
    rest, below = sorted((int(bound), times) for bound, times in timed.items()), 0
    for bound in BOUNDS:
        while rest and rest[0][0] <= bound:
            below += rest.pop(0)[1]
        yield f'memfs_request_seconds_bucket{{kind="{kind}",le="{bound / 1e9:.9g}"}} {below}'
    total = sum(timed.values())
    yield f'memfs_request_seconds_bucket{{kind="{kind}",le="+Inf"}} {total}'
    yield f'memfs_request_seconds_sum{{kind="{kind}"}} {nanoseconds / 1e9:.9g}'
    yield f'memfs_request_seconds_count{{kind="{kind}"}} {total}'

"""The words of the scripts of a page; their translations are those of `i18n.messages`."""

from __future__ import annotations

__all__ = ["LABELS", "OBSTACLES"]

# What run.js shows, by the name it has there.
LABELS = {
    "run": "Run",
    "edit": "Edit",
    "reset": "Reset",
    "about": "Runs in your browser. The first run loads Python, about %s MB.",
    "loading": "Loading Python: %s of %s MB",
    "starting": "Starting Python …",
    "running": "Running …",
    "same": "The output is the same as on this page.",
    "different": "The output is not the same as on this page.",
    "edited": "Your program ran.",
    "silent": "The program printed nothing.",
    "limit": "The program was ended after %s s.",
    "failed": "The program could not be run: %s",
    "blocked": "A program that lasts this long blocks the event loop, for example with time.sleep.",
    "advice": "Code that blocks the event loop",
    "unloaded": "The files of Python could not be loaded. Is this browser offline?",
    "before": "An example above raised %s:",
    "errors": "Standard error in your browser",
    "defines": "The program printed nothing: it defines names for the examples below.",
    "program": "Program, to be edited",
    "output": "Output in your browser",
    "download": "Download the program",
}
# Why an example cannot run in a browser.
OBSTACLES = {
    "process": "This program needs a process, thread or socket, which a browser does not have.",
    "perl": "This program is written in Perl, which does not run in a browser.",
    "trio": "This program runs on trio, which this page does not load.",
}

"""The error of a command."""

from __future__ import annotations


class Failure(Exception):
    """What stops a command: a message for standard error."""

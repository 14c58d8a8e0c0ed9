"""The error of a command."""

from __future__ import annotations


class CommandError(Exception):
    """What stops a command: a message for standard error."""

"""The machine: its devices and threads, and what its memory asks of a layout: banks and TMA."""

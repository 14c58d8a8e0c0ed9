"""Fetch the pinned CUTLASS release from the package index and unpack its headers, and the programs of CuTe's tutorial.

Usage: fetch_cutlass.py PIN_JSON DESTINATION

The headers go to DESTINATION, the programs to the folder "tutorial" beside it. The wheel's SHA-256 is checked before
anything is unpacked. Each folder appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath


def main(pin_file: Path, destination: Path) -> None:
    pin = json.loads(pin_file.read_text())
    requirement = f"{pin['distribution']}=={pin['version']}"
    with tempfile.TemporaryDirectory(dir=destination.parent) as scratch:
        wheel = download(requirement, Path(scratch))
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if digest != pin["sha256"]:
            sys.exit(f"{wheel.name} has SHA-256 {digest}, but {pin_file.name} says {pin['sha256']}")
        headers, programs = Path(scratch) / "headers", Path(scratch) / "programs"
        for prefix in pin["headers"]:
            unpack(wheel, prefix, headers)
        unpack(wheel, pin["programs"], programs)
        # The headers come last: that they are there means that all is.
        for made, place in ((programs, destination.parent / "tutorial"), (headers, destination)):
            if place.exists():
                shutil.rmtree(place)
            made.rename(place)


def download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    result = subprocess.run([*command, f"--dest={folder}", requirement], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(
            f"could not download {requirement} with pip:\n{result.stderr.strip()}\n"
            "next: pass -DCUTLASS_DIR=<folder that holds include/cute> to use headers that you have"
        )
    return next(folder.glob("*.whl"))


def unpack(wheel: Path, prefix: str, destination: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.startswith(prefix) or name.endswith("/"):
                continue
            relative = PurePosixPath(name).relative_to(prefix)
            if ".." in relative.parts:
                sys.exit(f"{wheel.name} holds a path that leaves its folder: {name}")
            target = destination.joinpath(*relative.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))

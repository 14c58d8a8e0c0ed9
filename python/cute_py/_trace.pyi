def trace(
    name: str,
    extents: tuple[int, int, int],
    a: tuple[int, tuple[int, int]],
    b: tuple[int, tuple[int, int]],
    c: tuple[int, tuple[int, int]],
    factors: str,
    result: str,
    spaces: int,
    limit: int,
) -> bytes | None: ...

#pragma once

// CUTE_SECTION("main loop"): a section of a kernel, for a timeline, in a program that includes cute_py/marks.hpp first
// (examples/timelines, docs/workbench.md). Elsewhere there is no code.
#ifdef CUTE_PY_MARK
#define CUTE_SECTION(name) CUTE_PY_MARK(name)
#else
#define CUTE_SECTION(name) static_cast<void>(0)
#endif

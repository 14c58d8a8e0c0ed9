#pragma once

// CUTE_PY_MARK("main loop"): the section of a kernel that begins here, as the first lane of each warp comes to it. In
// the emulator it becomes a span of the timeline in nominal cycles, on a GPU one by the global timer, for what
// `cute-py run --timeline` writes. CUTE_PY_MARK("") ends a section. CUTE_PY_CLEAR_MARKS(), on the host, forgets those
// of the launches before; in the emulator the timeline is that of the first launch.
#ifdef CUTE_PY_IN_EMULATOR

#define CUTE_PY_MARK(name) ::cute_py::workbench::mark(name)
#define CUTE_PY_CLEAR_MARKS() static_cast<void>(0)

#else

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace cute_py::marks {

struct Mark {
  unsigned long long ns;
  unsigned block;
  unsigned warp;
  char name[24];
};
constexpr unsigned kMost = 1u << 16;

static __device__ Mark taken[kMost];
static __device__ unsigned count;

static __device__ inline void take(char const* name) {
  unsigned const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  if (thread % 32 != 0) return;
  unsigned const i = atomicAdd(&count, 1u);
  if (i >= kMost) return;
  Mark& mark = taken[i];
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(mark.ns));
  mark.block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  mark.warp = thread / 32;
  int c = 0;
  for (; name[c] != '\0' && c < 23; ++c) mark.name[c] = name[c];
  mark.name[c] = '\0';
}

// Writes what was marked so far to the file that CUTE_PY_MARKS names, a line for each: nanoseconds, block, warp, name.
// It is called at the program's end, too.
inline void write() {
  char const* const path = std::getenv("CUTE_PY_MARKS");
  unsigned marked = 0;
  if (path == nullptr || cudaMemcpyFromSymbol(&marked, count, sizeof(marked)) != cudaSuccess) return;
  std::vector<Mark> marks(marked < kMost ? marked : kMost);
  if (marks.empty() || cudaMemcpyFromSymbol(marks.data(), taken, marks.size() * sizeof(Mark)) != cudaSuccess) return;
  if (FILE* const file = std::fopen(path, "w")) {
    for (Mark const& m : marks) std::fprintf(file, "%llu %u %u %s\n", m.ns, m.block, m.warp, m.name);
    std::fclose(file);
  }
}

inline void clear() {
  unsigned const none = 0;
  cudaMemcpyToSymbol(count, &none, sizeof(none));
}

// An object of the main thread: those are destroyed before the runtime takes the program's kernels, and the marks with
// them, off the GPU, which an object of the program would come too late for.
struct WritesAtEnd {
  ~WritesAtEnd() { write(); }
  bool exists() const { return true; }
};
static thread_local WritesAtEnd writes_at_end;
static bool const writes = writes_at_end.exists();

}  // namespace cute_py::marks

#define CUTE_PY_MARK(name) ::cute_py::marks::take(name)
#define CUTE_PY_CLEAR_MARKS() ::cute_py::marks::clear()

#endif

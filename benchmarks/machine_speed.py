"""How slow this machine is, beside the one that budgets of core-seconds were set on: 1.2 is a fifth slower.

Usage: python benchmarks/machine_speed.py

Two compilers at a time translate one fixed source, as tests and builds run two processes at a time. Prints one number, at
least 1, for .ci/run.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
template <int n>
int work(std::string const& text) {
  std::map<std::string, std::vector<int>> found;
  std::regex const words("([a-z]+)" + std::to_string(n));
  for (std::sregex_iterator i(text.begin(), text.end(), words), end; i != end; ++i) found[i->str(1)].push_back(n);
  std::vector<std::pair<std::string, int>> sums;
  for (auto const& [word, all] : found) sums.emplace_back(word, static_cast<int>(all.size()) * n);
  std::sort(sums.begin(), sums.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
  return sums.empty() ? n : sums.front().second;
}
int main() { return work<1>("a") + work<2>("b") + work<3>("c") + work<4>("d") + work<5>("e"); }
"""

# Core-seconds of both together where installing takes about 235, and the tests about 1,950.
REFERENCE = 7.1


def main() -> None:
    least = min(measured() for _ in range(3))
    if "--core-seconds" in sys.argv:
        print(f"{least:.2f}")
    else:
        print(f"{max(1.0, least / REFERENCE):.2f}")


def measured() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.cpp"
        source.write_text(SOURCE)
        command = ["g++", "-std=c++17", "-O2", "-c", str(source)]
        running = [subprocess.Popen([*command, "-o", str(Path(folder) / f"{i}.o")]) for i in range(2)]
        if any(process.wait() for process in running):
            sys.exit("the compiler failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()

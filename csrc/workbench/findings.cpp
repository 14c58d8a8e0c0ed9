#include "workbench/findings.hpp"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>

#include "workbench/machine.hpp"
#include "workbench/report.hpp"

namespace cute_py::workbench {
namespace {

constexpr std::size_t kMostFindings = 200;
constexpr int kMostFrames = 24;

char const* name_of(Kind kind) {
  switch (kind) {
    case Kind::race:
      return "race";
    case Kind::proxy_fence:
      return "missing-fence";
    case Kind::uninitialised:
      return "uninitialised";
    case Kind::out_of_bounds:
      return "out-of-bounds";
    case Kind::misaligned:
      return "misaligned";
    case Kind::barrier:
      return "barrier";
    case Kind::deadlock:
      return "deadlock";
    case Kind::divergence:
      return "divergence";
    case Kind::asynchronous:
      return "asynchronous";
    case Kind::rule:
      return "rule";
    case Kind::assertion:
      return "assertion";
    case Kind::crash:
      return "crash";
    case Kind::api:
      return "api";
    default:
      return "unsupported";
  }
}

struct Counted {
  Finding finding;
  std::uint64_t count = 0;
};

struct Report {
  std::mutex mutex;
  std::vector<Counted> findings;
  std::map<std::tuple<Kind, std::uintptr_t, std::uintptr_t, std::string>, std::size_t> known;
  std::uint64_t left_out = 0;
  std::vector<LaunchRecord> launches;
  std::vector<std::pair<std::string, Cost>> costs;
  std::vector<std::pair<std::string, std::vector<Span>>> timelines;
};

Report& report() {
  static Report* const made = new Report;
  return *made;
}

// Where the program is loaded: addresses in the report are counted from there.
std::uintptr_t load_address() {
  static std::uintptr_t const found = [] {
    std::uintptr_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          auto const here = reinterpret_cast<std::uintptr_t>(&load_address);
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            auto const& segment = info->dlpi_phdr[i];
            if (segment.p_type != PT_LOAD) continue;
            if (here - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
              *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
              return 1;
            }
          }
          return 0;
        },
        &base);
    return base;
  }();
  return found;
}

std::string quoted(std::string const& text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json(Place const& place) {
  std::string out = "{\"code\": [";
  for (std::size_t i = 0; i < place.code.size(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(place.code[i] - load_address());
  }
  out += "]";
  if (place.thread[0] >= 0) {
    auto const triple = [](int const* x) {
      return "[" + std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " + std::to_string(x[2]) + "]";
    };
    out += ", \"thread\": " + triple(place.thread) + ", \"block\": " + triple(place.block);
  }
  return out + "}";
}

}  // namespace

bool is_warning(Kind kind) { return kind == Kind::uninitialised; }

void note(Finding finding) {
  Report& all = report();
  std::lock_guard const lock(all.mutex);
  auto const first = [](Place const& place) { return place.code.empty() ? 0 : place.code.front(); };
  auto const key = std::make_tuple(finding.kind, first(finding.place), first(finding.other),
                                   first(finding.place) == 0 ? finding.text : std::string());
  auto const found = all.known.find(key);
  if (found != all.known.end()) {
    ++all.findings[found->second].count;
    return;
  }
  if (all.findings.size() == kMostFindings) {
    ++all.left_out;
    return;
  }
  all.known.emplace(key, all.findings.size());
  all.findings.push_back({std::move(finding), 1});
  if (options().report.empty()) {
    std::fprintf(stderr, "%s: %s\n", name_of(all.findings.back().finding.kind),
                 all.findings.back().finding.text.c_str());
  }
  if (options().stops) __builtin_trap();
}

std::vector<std::uintptr_t> code_from(void const* frame, std::uintptr_t first) {
  std::vector<std::uintptr_t> code;
  if (first != 0) code.push_back(first);
  // A frame begins with its caller's, and the address that it returns to.
  auto const stack = reinterpret_cast<std::uintptr_t>(frame) / kStackBytes;
  auto at = reinterpret_cast<std::uintptr_t>(frame);
  bool is_first = true;
  while (at != 0 && at / kStackBytes == stack && at % sizeof(void*) == 0 && code.size() < kMostFrames) {
    auto const* const words = reinterpret_cast<std::uintptr_t const*>(at);
    std::uintptr_t const returns = words[1];
    if (!is_first && returns != 0) code.push_back(returns);
    is_first = false;
    if (words[0] <= at) break;
    at = words[0];
  }
  return code;
}

bool any_errors() {
  Report& all = report();
  std::lock_guard const lock(all.mutex);
  return std::any_of(all.findings.begin(), all.findings.end(),
                     [](Counted const& c) { return !is_warning(c.finding.kind); });
}

void note_launch(LaunchRecord record) {
  Report& all = report();
  std::lock_guard const lock(all.mutex);
  for (auto& known : all.launches) {
    if (known.kernel == record.kernel && known.shape == record.shape) {
      known.count += record.count;
      known.seconds += record.seconds;
      return;
    }
  }
  all.launches.push_back(std::move(record));
}

void note_costs(std::string const& kernel, std::vector<Cost> costs) {
  Report& all = report();
  std::lock_guard const lock(all.mutex);
  for (Cost const& cost : costs) all.costs.emplace_back(kernel, cost);
}

void note_timeline(std::string const& kernel, std::vector<Span> const& spans) {
  Report& all = report();
  std::lock_guard const lock(all.mutex);
  all.timelines.emplace_back(kernel, spans);
}

void write_report() {
  std::string const& path = options().report;
  if (path.empty()) return;
  Report& all = report();
  std::unique_lock const lock(all.mutex, std::try_to_lock);
  if (!lock) return;  // in a signal handler, of a thread that notes something
  std::string text = "{\"findings\": [";
  for (std::size_t i = 0; i < all.findings.size(); ++i) {
    Finding const& f = all.findings[i].finding;
    text += (i == 0 ? "" : ",") + std::string("\n {\"kind\": \"") + name_of(f.kind) +
            "\", \"is_warning\": " + (is_warning(f.kind) ? "true" : "false") +
            ", \"count\": " + std::to_string(all.findings[i].count) + ", \"kernel\": " + quoted(f.kernel) +
            ", \"text\": " + quoted(f.text) + ", \"place\": " + json(f.place) + ", \"other\": " + json(f.other) + "}";
  }
  text += "],\n \"left_out\": " + std::to_string(all.left_out) + ",\n \"launches\": [";
  for (std::size_t i = 0; i < all.launches.size(); ++i) {
    LaunchRecord const& l = all.launches[i];
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.6f", l.seconds);
    text += (i == 0 ? "" : ",") + std::string("\n {\"kernel\": ") + quoted(l.kernel) +
            ", \"shape\": " + quoted(l.shape) + ", \"count\": " + std::to_string(l.count) +
            ", \"seconds\": " + seconds + "}";
  }
  text += "],\n \"costs\": [";
  for (std::size_t i = 0; i < all.costs.size(); ++i) {
    auto const& [kernel, cost] = all.costs[i];
    text += (i == 0 ? "" : ",") + std::string("\n {\"kernel\": ") + quoted(kernel) +
            ", \"code\": " + std::to_string(cost.code - load_address()) +
            ", \"space\": " + (cost.is_shared ? "\"shared\"" : "\"global\"") +
            ", \"is_write\": " + (cost.is_write ? "true" : "false") + ", \"bytes\": " + std::to_string(cost.bytes) +
            ", \"requests\": " + std::to_string(cost.requests) + ", \"needed\": " + std::to_string(cost.needed) +
            ", \"taken\": " + std::to_string(cost.taken) + "}";
  }
  text += "],\n \"timelines\": [";
  for (std::size_t i = 0; i < all.timelines.size(); ++i) {
    auto const& [kernel, spans] = all.timelines[i];
    text += (i == 0 ? "" : ",") + std::string("\n {\"kernel\": ") + quoted(kernel) + ", \"spans\": [";
    for (std::size_t j = 0; j < spans.size(); ++j) {
      Span const& s = spans[j];
      text += (j == 0 ? "" : ",") + std::string("\n  [") + quoted(s.kind) + ", " + quoted(s.track) + ", " +
              quoted(s.name) + ", " + std::to_string(s.begin) + ", " + std::to_string(s.end) + ", " +
              std::to_string(s.code == 0 ? 0 : s.code - load_address()) + "]";
    }
    text += "]}";
  }
  text += "]}\n";
  int const file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return;
  char const* at = text.data();
  std::size_t left = text.size();
  while (left > 0) {
    auto const written = write(file, at, left);
    if (written <= 0) break;
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  close(file);
}

}  // namespace cute_py::workbench

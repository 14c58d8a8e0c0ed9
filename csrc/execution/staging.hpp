#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "execution/memory.hpp"
#include "problem/entry.hpp"

// Host arrays on a GPU: each travels there, and the result comes back.
namespace cute_py::execution {

// A host array and its copy, which is compact, its modes in the order of their strides on the host. A mode along which
// the host array is repeated is repeated there, too.
class Copy {
 public:
  // Gives the strides of an array in a geometry to the copy, and the copy's to the geometry.
  Copy(Geometry& geometry, Role role);

  // How many elements travel.
  std::int64_t elements() const { return elements_; }
  int element_bytes() const { return bytes_; }

  void send(Memory const& memory, void const* host, void* device, Execution const& execution) const;

  // Writes the elements, and nothing between them, back to the host.
  void fetch(Memory const& memory, void const* device, void* host, Execution const& execution) const;

 private:
  struct Run {
    std::int64_t extent;
    std::int64_t stride;  // on the host, in elements; on the device they are compact
  };

  template <class Work>
  void for_each_run(std::int64_t first, std::int64_t count, Work const& work) const;

  template <class Work>
  void copy_elements(char* host, char* packed, std::int64_t first, std::int64_t count, Work const& work) const;

  std::vector<Run> modes_;  // those that are not repeated, from the shortest stride on; adjacent ones coalesced
  std::int64_t elements_ = 1;
  int bytes_;
};

class Staging {
 public:
  explicit Staging(Geometry const& host);

  // The product as it is on the GPU.
  Geometry const& geometry() const { return geometry_; }

  // Brings the arrays there, calls work(arguments) with theirs, and brings the result back.
  template <class Work>
  void run(Memory const& memory, Arguments const& host, Execution const& execution, Work const& work) const {
    OnDevice const there(*this, memory, host, execution);
    work(there.arguments());
    there.fetch();
  }

 private:
  // The arrays on the GPU, for one call.
  class OnDevice {
   public:
    OnDevice(Staging const& staging, Memory const& memory, Arguments const& host, Execution const& execution);
    OnDevice(OnDevice const&) = delete;
    OnDevice& operator=(OnDevice const&) = delete;
    ~OnDevice();

    Arguments const& arguments() const { return arguments_; }
    void fetch() const;

   private:
    Staging const& staging_;
    Memory const& memory_;
    Arguments const& host_;
    Arguments arguments_;
    std::vector<void*> allocated_;
    Execution const& execution_;
  };

  Geometry geometry_;
  std::vector<std::optional<Copy>> copies_;  // by role
};

}  // namespace cute_py::execution

#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "emulator/cta.hpp"
#include "problem/tensor_box.hpp"

// What SM90 has beside what came before: mbarriers, TMA, products of a warpgroup (wgmma) out of shared memory.
namespace cute_py::emulator {

// An mbarrier, as it lies in shared memory: phases that end when as many threads have arrived as it was made for, and
// all bytes that were announced.
void mbarrier_init(void const* at, std::uint32_t threads);
void mbarrier_arrive(void const* at);  // of any CTA of the cluster
void mbarrier_expect(void const* at, std::uint32_t bytes);
bool mbarrier_has_ended(void const* at, std::uint32_t parity);  // the phase of this parity
void mbarrier_wait(void const* at, std::uint32_t parity);       // until it has

// A box of an array with its address: the tensor map that TMA gets.
TensorMap map_of(TensorBox const& box, void* data);

// TMA loads that were issued and are not done yet. A load is done before a thread that waits for it goes on, which is
// the latest moment that the hardware allows, or at once, or by chance: the order of threads decides.
class Tma {
 public:
  struct Load {
    TensorMap map;  // itself: the thread that issued the load may have left the kernel before it is done
    void* barrier;  // of the CTA that issued it
    void* to;
    int at[kBoxModes];
    unsigned ctas;  // one bit for each that gets the box
  };

  void begin(EmulatorOptions const& options);
  void issue(Load const& load);
  bool copy_one();  // false if there is nothing left
  bool is_idle() const { return loads_.empty(); }
  bool does_so_at_once() {
    return order_ == ThreadOrder::backward || (order_ == ThreadOrder::random && random_() % 2 == 0);
  }

 private:
  static void copy(Load const& load);

  std::vector<Load> loads_;
  ThreadOrder order_ = ThreadOrder::forward;
  std::mt19937_64 random_;
};

// TMA stores that a thread has issued, in groups. Each leaves shared memory at the wait for it.
class Boxes {
 public:
  void clear() {
    asked_.clear();
    groups_.clear();
  }
  void ask(TensorMap const* map, void const* from, std::array<int, kBoxModes> const& at);
  void commit() { groups_.push_back(asked_.size()); }
  void wait(int groups_left_pending);
  bool is_idle() const { return asked_.empty(); }

 private:
  struct Asked {
    TensorMap const* map;
    void const* from;
    std::array<int, kBoxModes> at;
  };
  std::vector<Asked> asked_;
  std::vector<std::size_t> groups_;
};

void load_box(TensorMap const* map, void* barrier, void* to, unsigned ctas, std::array<int, kBoxModes> const& at);

void store_box(TensorMap const* map, void const* from, std::array<int, kBoxModes> const& at);
void store_commit();
void store_wait(int groups_left_pending);

// What a thread wrote is seen by TMA, and what it wrote by cp.async by a warpgroup's products, after its
// fence.
void note_unfenced_write();
void fence_async_proxy();
void check_fenced();       // by all threads of the warpgroup
bool has_fenced_copies();  // has this thread?

// mbarriers that a thread made, before it comes to a barrier, and registers of sums, before a warpgroup multiplies for
// the first time or again after it has waited. Whether anybody touched them in between, the emulator does not see.
void note_mbarrier();
void fence_mbarriers();
void note_registers_fenced(bool are);
bool has_fenced_registers();

// stmatrix: each lane gives the address of 16 bytes and two elements of each of four matrices of 8x8.
void store_matrices(void* to, std::uint32_t const (&pieces)[4], bool transposed);

// A value of another lane.
std::uint32_t shuffle(std::uint32_t value, int lane);

// A factor as a descriptor tells where it lies, decoded: the rules of the hardware are checked.
struct FactorInShared {
  std::uint64_t descriptor;
  bool k_major;
  int element_bytes;

  // Where the elements of a row and of the first steps of k are, in bytes from the beginning of the CTA's shared
  // memory.
  void places_of_row(int row, int count, std::uint32_t* places) const;
  void check(char const* name) const;
};

// Four numbers of 32 bits of a factor A (64,8) in registers of a thread of a warpgroup, (row,k) of lane l:
// (l/4,l%4), (l/4+8,l%4), (l/4,l%4+4), (l/4+8,l%4+4), of the 16 rows of its warp.
struct FactorInRegisters {
  static constexpr int kValues = 4;
  static constexpr int kRows = 2;  // of A, that a thread's results need
  static constexpr int kSteps = 8;

  std::uint32_t const* own = nullptr;  // null: A is in shared memory
  std::array<std::uint32_t, kValues> asked_with{};
  std::array<std::array<std::uint32_t, kSteps>, kRows> rows{};

  // Whole warps ask.
  void collect(std::uint32_t const* values);
  void require_unchanged() const;
};

// An instruction D (m,n) += A (m,k) B (n,k)^T of a warpgroup.
struct WarpgroupMma {
  int m;
  int n;
  int k;
  int values;  // of D, of a thread
  std::uint16_t const* element;
  float (*number)(void const* element);  // an element as a number
  bool is_integer;                       // sums are int32, otherwise float32
  numeric::FactorFormat format_a;
  numeric::FactorFormat format_b;
};

// The products (wgmma) that a thread has issued, in groups. Each is done, for the thread's own values, at the wait
// for it.
class Warpgroup {
 public:
  void clear() {
    asked_.clear();
    groups_.clear();
  }
  void ask(WarpgroupMma const& mma, FactorInShared const& a, FactorInShared const& b, void* d, bool accumulates);
  void ask(WarpgroupMma const& mma, FactorInRegisters const& a, FactorInShared const& b, void* d, bool accumulates);
  void commit() { groups_.push_back(asked_.size()); }
  void wait(int groups_left_pending, int thread);
  bool is_idle() const { return asked_.empty(); }

 private:
  struct Asked {
    WarpgroupMma const* mma;
    FactorInShared a;
    FactorInShared b;
    void* d;
    bool accumulates;
    FactorInRegisters a_in_registers{};
  };
  static void multiply(Asked const& asked, int thread);

  std::vector<Asked> asked_;
  std::vector<std::size_t> groups_;
};

void warpgroup_multiply(WarpgroupMma const& mma, FactorInShared const& a, FactorInShared const& b, void* d,
                        bool accumulates);
void warpgroup_multiply(WarpgroupMma const& mma, std::uint32_t const* a, FactorInShared const& b, void* d,
                        bool accumulates);
void warpgroup_commit();
void warpgroup_wait(int groups_left_pending);

// Of the cluster that runs on this operating-system thread.
int ctas_of_cluster();
void* shared_memory_of_cta(int rank);
Tma& tma();
Warpgroup& products_on_their_way();
Boxes& boxes_on_their_way();

}  // namespace cute_py::emulator

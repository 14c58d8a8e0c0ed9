#if __has_include(<cute/atom/mma_traits_sm90_gmma_sparse.hpp>)
#include <cute/atom/mma_traits_sm90_gmma_sparse.hpp>
#endif

#include "base/errors.hpp"
#include "catalogue/reflect.hpp"

namespace cute_py::catalogue {
namespace {

using namespace cute;

// Atoms are many, their layouts few: what makes these is shared by all that have them.
struct MmaEntry {
  char const* name;
  int architecture;
  MmaLayouts (*layouts)();
  ValueType (*types[4])();

  MmaRecord record() const {
    MmaLayouts l = layouts();
    return {name, architecture, l.shape_mnk, l.thr_id, l.a, l.b, l.c, types[0](), types[1](), types[2](), types[3]()};
  }
};

struct CopyEntry {
  char const* name;
  int architecture;
  CopyRecord (*reflect)(char const*, int);

  CopyRecord record() const { return reflect(name, architecture); }
};

template <class Operation>
constexpr MmaEntry mma(char const* name, int architecture) {
  using Traits = MMA_Traits<Operation>;
  return {name,
          architecture,
          &mma_layouts<typename Traits::Shape_MNK, typename Traits::ThrID, typename Traits::ALayout,
                       typename Traits::BLayout, typename Traits::CLayout>,
          {&value_type<typename Traits::ValTypeA>, &value_type<typename Traits::ValTypeB>,
           &value_type<typename Traits::ValTypeC>, &value_type<typename Traits::ValTypeD>}};
}

template <class Operation, class... Arguments>
constexpr CopyEntry copy(char const* name, int architecture) {
  return {name, architecture, &reflect_copy<Copy_Traits<Operation, Arguments...>>};
}

constexpr auto K = GMMA::Major::K;
constexpr auto MN = GMMA::Major::MN;
constexpr auto UK = UMMA::Major::K;
constexpr auto UMN = UMMA::Major::MN;

// The atoms that the headers name, found there by cmake/atom_names.py, and of SM100's and SM120's templates the
// instances it lists.
constexpr MmaEntry kMma[] = {
    mma<UniversalFMA<float>>("UniversalFMA<float>", 0),
    mma<UniversalFMA<double>>("UniversalFMA<double>", 0),
#include "catalogue/mma_atoms.inc"
};

constexpr CopyEntry kCopy[] = {
    copy<UniversalCopy<uint8_t>>("UniversalCopy<uint8_t>", 0),
    copy<UniversalCopy<uint16_t>>("UniversalCopy<uint16_t>", 0),
    copy<UniversalCopy<uint32_t>>("UniversalCopy<uint32_t>", 0),
    copy<UniversalCopy<uint64_t>>("UniversalCopy<uint64_t>", 0),
    copy<UniversalCopy<uint128_t>>("UniversalCopy<uint128_t>", 0),
    copy<UniversalCopy<float>>("UniversalCopy<float>", 0),
    copy<UniversalCopy<double>>("UniversalCopy<double>", 0),
    copy<SM80_CP_ASYNC_CACHEALWAYS<uint32_t>>("SM80_CP_ASYNC_CACHEALWAYS<uint32_t>", 80),
    copy<SM80_CP_ASYNC_CACHEALWAYS<uint64_t>>("SM80_CP_ASYNC_CACHEALWAYS<uint64_t>", 80),
    copy<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>>("SM80_CP_ASYNC_CACHEALWAYS<uint128_t>", 80),
    copy<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>>("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", 80),
    copy<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint32_t>>("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint32_t>", 80),
    copy<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint64_t>>("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint64_t>", 80),
    copy<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint128_t>>("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint128_t>", 80),
    copy<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>>("SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>", 80),
#include "catalogue/copy_atoms.inc"
    copy<SM90_BULK_COPY_G2S, Int<8 * 1024>>("SM90_BULK_COPY_G2S<1024 bytes>", 90),
    copy<SM90_TMA_LOAD_OP, Int<8 * 128 * 64>>("SM90_TMA_LOAD<8192 bytes>", 90),
    copy<SM90_TMA_LOAD_OP, Int<8 * 128 * 128>>("SM90_TMA_LOAD<16384 bytes>", 90),
};

template <class Record, class Entry, std::size_t count>
std::vector<Record> reflect_all(Entry const (&entries)[count], std::vector<Defect>& defects) {
  std::vector<Record> result;
  for (Entry const& entry : entries) {
    try {
      result.push_back(entry.record());
    } catch (LayoutError const& error) {
      defects.push_back({entry.name, error.what()});
    }
  }
  return result;
}

}  // namespace

std::vector<MmaRecord> mma_atoms(std::vector<Defect>& defects) { return reflect_all<MmaRecord>(kMma, defects); }

std::vector<CopyRecord> copy_atoms(std::vector<Defect>& defects) { return reflect_all<CopyRecord>(kCopy, defects); }

}  // namespace cute_py::catalogue

// Prints every atom that the headers have traits for, a line of JSON each. tests/tables.py compiles and runs it.
#if __has_include(<cute/atom/mma_traits_sm90_gmma_sparse.hpp>)
#include <cute/atom/mma_traits_sm90_gmma_sparse.hpp>
#endif

#include "base/errors.hpp"
#include "catalogue/json.hpp"
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
  ScaleRecord (*scales)();  // null of a product without

  MmaRecord record() const {
    MmaLayouts l = layouts();
    MmaRecord r{name, architecture, l.shape_mnk, l.thr_id,   l.a,       l.b,
                l.c,  types[0](),   types[1](),  types[2](), types[3]()};
    if (scales != nullptr) r.scales = scales();
    return r;
  }
};

struct CopyEntry {
  char const* name;
  int architecture;
  CopyRecord (*reflect)(char const*, int);

  CopyRecord record() const { return reflect(name, architecture); }
};

// The type of scales in tensor memory. Not all traits that have them name it, but all name this.
template <class Fragment>
struct ScaleOf;
template <class Type, int length, int ctas, bool is_a, UMMA::TmemAllocMode mode>
struct ScaleOf<UMMA::tmem_sf_frg<Type, length, ctas, is_a, mode>> {
  using type = Type;
};

// Where the scales lie: in the threads' registers, or in tensor memory, of which the headers have no such layout.
template <class Traits>
constexpr auto scales_of() -> ScaleRecord (*)() {
  if constexpr (HasScaleLayouts<Traits>::value) {
    return &scales_of_threads<typename Traits::ValTypeSF, Traits::SFVecSize, typename Traits::SFALayout,
                              typename Traits::SFBLayout>;
  } else if constexpr (HasScales<Traits>::value) {
    return &scales<typename ScaleOf<typename Traits::FrgTypeSFA>::type, Traits::SFVecSize>;
  } else {
    return nullptr;
  }
}

template <class Operation, class... Arguments>
constexpr MmaEntry mma(char const* name, int architecture) {
  using Traits = MMA_Traits<Operation, Arguments...>;
  return {name,
          architecture,
          &mma_layouts<typename Traits::Shape_MNK, typename Traits::ThrID, typename Traits::ALayout,
                       typename Traits::BLayout, typename Traits::CLayout>,
          {&value_type<typename Traits::ValTypeA>, &value_type<typename Traits::ValTypeB>,
           &value_type<typename Traits::ValTypeC>, &value_type<typename Traits::ValTypeD>},
          scales_of<Traits>()};
}

template <class Operation, class... Arguments>
constexpr CopyEntry copy(char const* name, int architecture) {
  return {name, architecture, &reflect_copy<Copy_Traits<Operation, Arguments...>>};
}

constexpr auto K = GMMA::Major::K;
constexpr auto MN = GMMA::Major::MN;
constexpr auto UK = UMMA::Major::K;
constexpr auto UMN = UMMA::Major::MN;
constexpr auto One = UMMA::ScaleIn::One;

template <auto value>
using Constant = cute::integral_constant<decltype(value), value>;

// The atoms that the headers name, found there by tests/atom_names.py, and of SM100's and SM120's templates the
// instances it lists.
constexpr MmaEntry kMma[] = {
    mma<UniversalFMA<float>>("UniversalFMA<float>", 0),
    mma<UniversalFMA<double>>("UniversalFMA<double>", 0),
#include "mma_atoms.inc"
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
#include "copy_atoms.inc"
    copy<SM90_BULK_COPY_G2S, Int<8 * 1024>>("SM90_BULK_COPY_G2S<1024 bytes>", 90),
    copy<SM90_TMA_LOAD_OP, Int<8 * 128 * 64>>("SM90_TMA_LOAD<8192 bytes>", 90),
    copy<SM90_TMA_LOAD_OP, Int<8 * 128 * 128>>("SM90_TMA_LOAD<16384 bytes>", 90),
};

template <class Entry, std::size_t count>
void print_all(char const* kind, Entry const (&entries)[count]) {
  for (Entry const& entry : entries) {
    std::string printed;
    try {
      printed = json::value(entry.record());
    } catch (LayoutError const& error) {  // traits that are no layouts
      printed = json::object({{"name", json::text(entry.name)}, {"defect", json::text(error.what())}});
    }
    std::printf("%s %s\n", kind, printed.c_str());
  }
}

}  // namespace
}  // namespace cute_py::catalogue

int main() {
  using namespace cute_py::catalogue;
  print_all("mma", kMma);
  print_all("copy", kCopy);
}

#include "base/errors.hpp"
#include "catalogue/reflect.hpp"

namespace cute_py::catalogue {
namespace {

using namespace cute;

struct MmaEntry {
  char const* name;
  int architecture;
  MmaRecord (*reflect)(char const*, int);
};

struct CopyEntry {
  char const* name;
  int architecture;
  CopyRecord (*reflect)(char const*, int);
};

template <class Operation>
constexpr MmaEntry mma(char const* name, int architecture) {
  return {name, architecture, &reflect_mma<MMA_Traits<Operation>>};
}

template <class Operation, class... Arguments>
constexpr CopyEntry copy(char const* name, int architecture) {
  return {name, architecture, &reflect_copy<Copy_Traits<Operation, Arguments...>>};
}

constexpr auto K = GMMA::Major::K;
constexpr auto MN = GMMA::Major::MN;
constexpr auto UK = UMMA::Major::K;

// The atoms that the headers name, found there by cmake/atom_names.py, and of those that are templates the common ones.
constexpr MmaEntry kMma[] = {
    mma<UniversalFMA<float>>("UniversalFMA<float>", 0),
    mma<UniversalFMA<double>>("UniversalFMA<double>", 0),
#include "catalogue/mma_atoms.inc"
    mma<SM100_MMA_TF32_SS<tfloat32_t, tfloat32_t, float, 128, 128, UK, UK>>(
        "SM100_MMA_TF32_SS<tfloat32_t,tfloat32_t,float,128,128,K,K>", 100),
    mma<SM100_MMA_F16BF16_SS<half_t, half_t, float, 64, 128, UK, UK>>(
        "SM100_MMA_F16BF16_SS<half_t,half_t,float,64,128,K,K>", 100),
    mma<SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 128, UK, UK>>(
        "SM100_MMA_F16BF16_SS<half_t,half_t,float,128,128,K,K>", 100),
    mma<SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, UK, UK>>(
        "SM100_MMA_F16BF16_SS<half_t,half_t,float,128,256,K,K>", 100),
    mma<SM100_MMA_F16BF16_SS<bfloat16_t, bfloat16_t, float, 128, 128, UK, UK>>(
        "SM100_MMA_F16BF16_SS<bfloat16_t,bfloat16_t,float,128,128,K,K>", 100),
    mma<SM100_MMA_F16BF16_SS<bfloat16_t, bfloat16_t, float, 128, 256, UK, UK>>(
        "SM100_MMA_F16BF16_SS<bfloat16_t,bfloat16_t,float,128,256,K,K>", 100),
    mma<SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 128, UK, UK>>(
        "SM100_MMA_F16BF16_2x1SM_SS<half_t,half_t,float,256,128,K,K>", 100),
    mma<SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 256, UK, UK>>(
        "SM100_MMA_F16BF16_2x1SM_SS<half_t,half_t,float,256,256,K,K>", 100),
    mma<SM100_MMA_S8_SS<int8_t, int8_t, int32_t, 128, 128, UK, UK>>(
        "SM100_MMA_S8_SS<int8_t,int8_t,int32_t,128,128,K,K>", 100),
    mma<SM120_16x8x32_TN<float_e4m3_t, float_e4m3_t, float>>("SM120_16x8x32_TN<float_e4m3_t,float_e4m3_t,float>", 120),
    mma<SM120_16x8x32_TN<float_e5m2_t, float_e5m2_t, float>>("SM120_16x8x32_TN<float_e5m2_t,float_e5m2_t,float>", 120),
    mma<SM120_16x8x32_TN<float_e2m1_t, float_e2m1_t, float>>("SM120_16x8x32_TN<float_e2m1_t,float_e2m1_t,float>", 120),
    mma<SM120_16x8x32_TN<float_e2m3_t, float_e2m3_t, float>>("SM120_16x8x32_TN<float_e2m3_t,float_e2m3_t,float>", 120),
    mma<SM120_16x8x32_TN<float_e3m2_t, float_e3m2_t, float>>("SM120_16x8x32_TN<float_e3m2_t,float_e3m2_t,float>", 120),
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
      result.push_back(entry.reflect(entry.name, entry.architecture));
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

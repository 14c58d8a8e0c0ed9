#pragma once

#include <cute/tensor.hpp>
#include <type_traits>

#include "kernels/common/mode_map.hpp"

// The Config of a variant with some of its fields replaced by a user (python/cute_py/workbench/configs.py). Fields has
// all that can be replaced, also what was not; what a Config derives from them is derived again here.
namespace cute_py::kernels {

// The offset table of an operand whose copies move `vector` elements, where the variant has one.
template <class Table, int tile_mn, int tile_k, int vector>
struct ReplacedOffsets {
  using type = NoOffsetTable;
};
template <int old_mn, int old_k, int along_mn, int along_k, int tile_mn, int tile_k, int vector>
struct ReplacedOffsets<OffsetTable<old_mn, old_k, along_mn, along_k>, tile_mn, tile_k, vector> {
  using type = OffsetTable<tile_mn, tile_k, (along_mn > 1 ? vector : 1), (along_k > 1 ? vector : 1)>;
};

template <class Base, class = void>
struct OffsetsOf {
  using A = NoOffsetTable;
  using B = NoOffsetTable;
};
template <class Base>
struct OffsetsOf<Base, std::void_t<typename Base::OffsetsA>> {
  using A = typename Base::OffsetsA;
  using B = typename Base::OffsetsB;
};

template <class Base, class = void>
struct VectorBytesOf {
  static constexpr int a = 0;
  static constexpr int b = 0;
};
template <class Base>
struct VectorBytesOf<Base, std::void_t<decltype(Base::vector_bytes_a)>> {
  static constexpr int a = Base::vector_bytes_a;
  static constexpr int b = Base::vector_bytes_b;
};

// Shared memory of A and B, aligned as that of the variant is.
template <class Base, class SmemLayoutA, class SmemLayoutB>
struct ReplacedArrays {
  static constexpr int alignment = alignof(typename Base::SharedStorage);
  alignas(alignment) typename Base::TA a[cute::cosize_v<SmemLayoutA>];
  alignas(alignment) typename Base::TB b[cute::cosize_v<SmemLayoutB>];
};

// Of a kernel that partitions by a TiledCopy and a TiledMMA.
template <class Base, class Fields>
struct ReplacedTiles : Base {
  using CtaTiler = typename Fields::CtaTiler;
  using TiledCopyA = typename Fields::TiledCopyA;
  using TiledCopyB = typename Fields::TiledCopyB;
  using TiledMma = typename Fields::TiledMma;
  using SmemLayoutA = typename Fields::SmemLayoutA;
  using SmemLayoutB = typename Fields::SmemLayoutB;
  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;
  static constexpr int stages = Fields::stages;
  static constexpr int ctas_per_multiprocessor = Fields::ctas;

  static constexpr int vector_a = Fields::vector_a;
  static constexpr int vector_b = Fields::vector_b;
  static constexpr int vector_bytes_a =
      VectorBytesOf<Base>::a > 0 ? vector_a * static_cast<int>(sizeof(typename Base::TA)) : 0;
  static constexpr int vector_bytes_b =
      VectorBytesOf<Base>::b > 0 ? vector_b * static_cast<int>(sizeof(typename Base::TB)) : 0;
  template <class Table, int mode, int vector>
  using Offsets =
      typename ReplacedOffsets<Table, cute::size<mode>(CtaTiler{}), cute::size<2>(CtaTiler{}), vector>::type;
  using OffsetsA = Offsets<typename OffsetsOf<Base>::A, 0, vector_a>;
  using OffsetsB = Offsets<typename OffsetsOf<Base>::B, 1, vector_b>;

  using Arrays = ReplacedArrays<Base, SmemLayoutA, SmemLayoutB>;
  struct WithTables : Arrays {
    OffsetsA offsets_a;
    OffsetsB offsets_b;
  };
  using SharedStorage = cute::conditional_t<std::is_same_v<OffsetsA, NoOffsetTable>, Arrays, WithTables>;
};

// Of a kernel that partitions by thread layouts.
template <class Base, class Fields>
struct ReplacedThreads : Base {
  using CtaTiler = typename Fields::CtaTiler;
  using ThreadLayoutA = typename Fields::ThreadLayoutA;
  using ThreadLayoutB = typename Fields::ThreadLayoutB;
  using ThreadLayoutC = typename Fields::ThreadLayoutC;
  using SmemLayoutA = typename Fields::SmemLayoutA;
  using SmemLayoutB = typename Fields::SmemLayoutB;
  static constexpr int threads = cute::size(ThreadLayoutC{});
  static constexpr int ctas_per_multiprocessor = Fields::ctas;

  using SharedStorage = ReplacedArrays<Base, SmemLayoutA, SmemLayoutB>;
};

}  // namespace cute_py::kernels

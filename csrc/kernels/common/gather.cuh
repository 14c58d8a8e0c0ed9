#pragma once

#include <type_traits>

#include <cute/tensor.hpp>

#include "kernels/common/modes.cuh"

// Gather: operands of any modes on their way to shared memory, by offset tables.
namespace cute_py::kernels {

// The tiles (MN,K) of an operand of any modes that a CTA reads, one after the other, as a thread sees them: `mn` and
// `k` are its first coordinate in a tile.
//
// Rows beyond the last are clamped: other rows are read for them, and their results are written nowhere. Each reads a
// different row, because one row for all would be a hot spot of L2. Steps of k beyond the last are filled with 0.
template <class T, class Table, class Stride>
struct GatheredTiles {
  using Tables = Table;
  Table& table;
  Stride const& stride;
  int first_mn;   // the tile's first row
  int extent_mn;  // of the whole operand
  int extent_k;
  int mn;
  int k;

  // Finds the offset of row i of the tile. A barrier makes the offsets visible, here and in the next two.
  CUTE_DEVICE void find_row(T const* data, int i) const {
    table.rows[Table::place(i)] = reinterpret_cast<char const*>(data + stride.mn.offset(row_read_as(i), 0));
  }

  // Finds the offsets of two chunks of steps of k; the first chunk has those of tile first_tile.
  template <int threads>
  CUTE_DEVICE void begin(int first_tile) const {
    find_steps<threads>(first_tile * Table::tile_k / Table::chunk * Table::chunk, 2 * Table::chunk);
  }

  // Called before the main loop loads the first tile of a chunk: all threads have read the chunk before it, whose
  // place gets the offsets of the chunk after it.
  template <int threads>
  CUTE_DEVICE void advance(int k_tile) const {
    find_steps<threads>(k_tile * Table::tile_k + Table::chunk, Table::chunk);
  }

  // Of a tile, how far this thread's first step is from its row, and how many steps exist from there on.
  CUTE_DEVICE std::int64_t const* steps(int k_tile) const {
    return table.steps + (k_tile * Table::tile_k % (2 * Table::chunk) + k) / Table::step;
  }
  CUTE_DEVICE int left(int k_tile) const { return extent_k - k_tile * Table::tile_k - k; }

 private:
  // The row that is read for row i of the tile: beyond the last row, a row of the tile before, or of this one, where
  // vectors begin, too.
  CUTE_DEVICE int row_read_as(int i) const {
    int const row = first_mn + i;
    if (row < extent_mn) return row;
    if (first_mn > 0) return row - Table::tile_mn;
    if (extent_mn < Table::along_mn) return 0;
    return row & (power_of_two_up_to(extent_mn) - 1);
  }

  // The greatest that is no more than x > 0.
  CUTE_DEVICE static int power_of_two_up_to(int x) {
#ifdef __CUDA_ARCH__
    return 1 << (31 - __clz(x));
#else
    return 1 << (31 - __builtin_clz(static_cast<unsigned>(x)));
#endif
  }

  template <int threads>
  CUTE_DEVICE void find_steps(int first, int count) const {
    int const end = cute::min(first + count, extent_k);
    for (int step = first + threadIdx.x * Table::step; step < end; step += threads * Table::step) {
      table.steps[step % (2 * Table::chunk) / Table::step] = stride.k.offset(step, 0) * std::int64_t{sizeof(T)};
    }
  }
};

// Copies vectors whose elements lie side by side, each with one instruction.
template <class T, class Table, class Stride, int rows>
struct VectorCopies : GatheredTiles<T, Table, Stride> {
  char const* row[rows];

  CUTE_DEVICE explicit VectorCopies(GatheredTiles<T, Table, Stride> const& tiles)
      : GatheredTiles<T, Table, Stride>(tiles) {}

  // After begin and a barrier. As in ElementCopies::copy, coords (V,MN',K') are what thread 0 has of a tile.
  template <class Coords>
  CUTE_DEVICE void read_rows(Coords const& coords) {
    CUTE_UNROLL
    for (int i = 0; i < rows; ++i)
      row[i] = this->table.rows[Table::place(this->mn) + Table::place(cute::get<0>(coords(0, i, 0)))];
  }

  // Tile k_tile, or, if it does not exist, zeros.
  template <class Coords, class Dst>
  CUTE_DEVICE void copy(int k_tile, bool exists, Coords const& coords, Dst&& dst) const {
    using Vector = cute::uint_bit_t<8 * sizeof(T) * decltype(cute::size<0>(dst))::value>;
    using ZeroFill = cute::conditional_t<sizeof(Vector) == 16, cute::SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<Vector>,
                                         cute::SM80_CP_ASYNC_CACHEALWAYS_ZFILL<Vector>>;
    constexpr int count = decltype(cute::size<2>(dst))::value;
    std::int64_t const* const steps = this->steps(k_tile);
    int const left = exists ? this->left(k_tile) : 0;
    std::int64_t offset[count];
    CUTE_UNROLL
    for (int j = 0; j < count; ++j) {
      int const step = cute::get<1>(coords(0, 0, j));
      offset[j] = step < left ? steps[step / Table::step] : 0;
    }
    CUTE_UNROLL
    for (int j = 0; j < count; ++j) {
      CUTE_UNROLL
      for (int i = 0; i < rows; ++i) {
        ZeroFill::copy(*reinterpret_cast<Vector const*>(row[i] + offset[j]), reinterpret_cast<Vector&>(dst(0, i, j)),
                       cute::get<1>(coords(0, 0, j)) < left);
      }
    }
  }
};

// Copies elements of any strides, in accesses as wide as strides and extents allow, along `major`.
template <Major major, class T, class Table, class Stride>
struct ElementCopies : GatheredTiles<T, Table, Stride> {
  CUTE_DEVICE explicit ElementCopies(GatheredTiles<T, Table, Stride> const& tiles)
      : GatheredTiles<T, Table, Stride>(tiles) {}

  template <class Coords>
  CUTE_DEVICE void read_rows(Coords const&) {}

  // Copies a thread's part of a tile. coords (V,MN',K') are those of thread 0, dst (V,MN',K') is where this
  // thread's elements go to; the V elements of a vector are contiguous along `major`.
  template <class Coords, class Dst>
  CUTE_DEVICE void copy(int k_tile, bool exists, Coords const& coords, Dst&& dst) const {
    if (!exists) return;
    Stride const& stride = this->stride;
    constexpr int size = sizeof(T);
    constexpr int vector = decltype(cute::size<0>(dst))::value * size;  // bytes
    int const bytes = stride.access.bytes;
    if constexpr (vector > size) {
      if (stride.access.whole) {
        if constexpr (vector >= 16) {
          if (bytes >= 16) return copy_parts<16, true>(k_tile, coords, dst);
        }
        if constexpr (vector >= 8 && size < 8) {
          if (bytes >= 8) return copy_parts<8, true>(k_tile, coords, dst);
        }
        if constexpr (size < 4) {
          if (bytes >= 4) return copy_parts<4, true>(k_tile, coords, dst);
        }
        return copy_parts<size, true>(k_tile, coords, dst);
      }
      if constexpr (size < 4) {
        if (bytes >= 4) return copy_parts<4, false>(k_tile, coords, dst);
      }
    }
    copy_parts<size, false>(k_tile, coords, dst);
  }

 private:
  // `bytes` at a time. `whole`: the elements of a vector follow its first one.
  template <int bytes, bool whole, class Coords, class Dst>
  CUTE_DEVICE void copy_parts(int k_tile, Coords const& coords, Dst& dst) const {
    constexpr int vector = decltype(cute::size<0>(dst))::value;
    constexpr int together = cute::max(1, bytes / int(sizeof(T)));
    static_assert(Table::step == 1);
    char const* const* const rows = this->table.rows + Table::place(this->mn);
    std::int64_t const* const steps = this->steps(k_tile);
    int const left = this->left(k_tile);
    int const left_mn = this->extent_mn - this->first_mn - this->mn;
    CUTE_UNROLL
    for (int j = 0; j < cute::size<2>(dst); ++j) {
      CUTE_UNROLL
      for (int i = 0; i < cute::size<1>(dst); ++i) {
        // Element v of the vector, or the first one that is read with it.
        auto const find = [&](int v, bool exists = true) -> T const& {
          int const first = whole ? 0 : v;
          int const row = cute::get<0>(coords(first, i, j));
          int const step = cute::get<1>(coords(first, i, j));
          auto const* const from = rows[Table::place(row)] + (step < left ? steps[step] : 0);
          return reinterpret_cast<T const*>(from)[exists ? v - first : 0];
        };
        auto const exists = [&](int v) {
          int const step = cute::get<1>(coords(v, i, j));
          int const row = cute::get<0>(coords(v, i, j));
          // Of elements beyond the last row, the first of a vector decides whether it is read.
          bool const row_exists = major == Major::k || !whole || together == vector || row < left_mn;
          return step < left && row_exists;
        };
        if constexpr (bytes >= 4) {
          using Bytes = cute::uint_bit_t<8 * bytes>;
          using ZeroFill = cute::conditional_t<bytes == 16, cute::SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<Bytes>,
                                               cute::SM80_CP_ASYNC_CACHEALWAYS_ZFILL<Bytes>>;
          CUTE_UNROLL
          for (int v = 0; v < vector; v += together) {
            ZeroFill::copy(reinterpret_cast<Bytes const&>(find(v)), reinterpret_cast<Bytes&>(dst(v, i, j)), exists(v));
          }
        } else {  // less than cp.async takes
          using Bits = cute::uint_bit_t<8 * sizeof(T)>;
          auto elements = cute::make_tensor<Bits>(cute::Int<vector>{});
          // Loads without conditions: of conditional ones ptxas 13.0 makes zeros that are not there yet when they are
          // read.
          CUTE_UNROLL
          for (int v = 0; v < vector; ++v) elements(v) = __ldg(reinterpret_cast<Bits const*>(&find(v, exists(v))));
          CUTE_UNROLL
          for (int v = 0; v < vector; ++v) elements(v) = exists(v) ? elements(v) : Bits(0);
          cute::copy_aligned(elements, cute::recast<Bits>(dst(cute::_, i, j)));
        }
      }
    }
  }
};

// The tiles of A and B that a CTA reads, as a thread sees them.
template <class Config, class CopiesA, class CopiesB>
struct GatheredOperands {
  CopiesA a;
  CopiesB b;
  static constexpr int threads = Config::threads;

  CUTE_DEVICE void begin(typename Config::TA const* data_a, typename Config::TB const* data_b, int first_tile) const {
    // Rows of A and of B by different threads, side by side.
    constexpr int rows_a = CopiesA::Tables::tile_mn;
    constexpr int rows_b = CopiesB::Tables::tile_mn;
    for (int i = threadIdx.x; i < rows_a + rows_b; i += threads) {
      if (i < rows_a) {
        a.find_row(data_a, i);
      } else {
        b.find_row(data_b, i - rows_a);
      }
    }
    a.template begin<threads>(first_tile);
    b.template begin<threads>(first_tile);
  }
  CUTE_DEVICE void read_rows() {
    a.read_rows(coords_a(cute::Int<0>{}));
    b.read_rows(coords_b(cute::Int<0>{}));
  }

  // Before tile k_tile is loaded in the main loop. Returns the first tile that this has to be called for again.
  CUTE_DEVICE int advance(int k_tile) const {
    constexpr int tile_k = CopiesA::Tables::tile_k;
    constexpr int tiles = CopiesA::Tables::chunk / tile_k;
    constexpr int ahead = Config::stages - 1;  // tiles that are loaded before the main loop
    static_assert(tiles % kTilesPerSplit == 0 && ahead < kTilesPerSplit, "the first one is in the first chunk");
    if (k_tile % tiles == 0) {
      a.template advance<threads>(k_tile);
      b.template advance<threads>(k_tile);
    }
    return (k_tile / tiles + 1) * tiles;
  }
  template <class Dst>
  CUTE_DEVICE void copy_a(int k_tile, bool exists, Dst&& dst) const {
    a.copy(k_tile, exists, coords_a(cute::Int<0>{}), dst);
  }
  template <class Dst>
  CUTE_DEVICE void copy_b(int k_tile, bool exists, Dst&& dst) const {
    b.copy(k_tile, exists, coords_b(cute::Int<0>{}), dst);
  }

  // A thread's elements of a tile of A and of B, as coordinates (V,MN',K').
  template <class Thread>
  CUTE_DEVICE static auto coords_a(Thread thread) {
    auto const tile = cute::make_identity_tensor(cute::select<0, 2>(typename Config::CtaTiler{}));
    return typename Config::TiledCopyA{}.get_slice(thread).partition_S(tile);
  }
  template <class Thread>
  CUTE_DEVICE static auto coords_b(Thread thread) {
    auto const tile = cute::make_identity_tensor(cute::select<1, 2>(typename Config::CtaTiler{}));
    return typename Config::TiledCopyB{}.get_slice(thread).partition_S(tile);
  }
};

// Those of a CTA whose tile of C begins at `origin`.
template <class Config, class Shared, class AStride, class BStride, class Origin, class Shape>
CUTE_DEVICE auto gathered_operands(Shared& shared, AStride const& dA, BStride const& dB, Origin const& origin,
                                   Shape const& shape_MNK) {
  using namespace cute;
  using Coords = GatheredOperands<Config, int, int>;
  using RowsA = decltype(size<1>(Coords::coords_a(Int<0>{})));
  using RowsB = decltype(size<1>(Coords::coords_b(Int<0>{})));
  using CopiesA =
      conditional_t<Config::in_vectors,
                    VectorCopies<typename Config::TA, typename Config::OffsetsA, AStride, RowsA::value>,
                    ElementCopies<Config::along_a, typename Config::TA, typename Config::OffsetsA, AStride>>;
  using CopiesB =
      conditional_t<Config::in_vectors,
                    VectorCopies<typename Config::TB, typename Config::OffsetsB, BStride, RowsB::value>,
                    ElementCopies<Config::along_b, typename Config::TB, typename Config::OffsetsB, BStride>>;
  auto const first_a = Coords::coords_a(int(threadIdx.x))(0);
  auto const first_b = Coords::coords_b(int(threadIdx.x))(0);
  int const extent_k = get<2>(shape_MNK);
  return GatheredOperands<Config, CopiesA, CopiesB>{
      CopiesA({shared.offsets_a, dA, int(get<0>(origin)), int(get<0>(shape_MNK)), extent_k, get<0>(first_a),
               get<1>(first_a)}),
      CopiesB({shared.offsets_b, dB, int(get<1>(origin)), int(get<1>(shape_MNK)), extent_k, get<0>(first_b),
               get<1>(first_b)})};
}

}  // namespace cute_py::kernels

// What the headers make of tensors and tiles: the box, its modes, the descriptor's extents and strides, and the
// coordinates.
#include <cute/tensor.hpp>

#include <cute/atom/copy_traits_sm90_tma.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>

using namespace cute;

template <class T, class Op, class G, class S, class Tile, class Cluster>
void show(char const* name, Op op, G const& layout, S const& smem, Tile const& tile, Cluster cluster, int cta) {
  Tensor global = make_tensor(make_gmem_ptr(static_cast<T*>(nullptr)), layout);
  auto copy = make_tma_copy(op, global, smem, tile, cluster);
  auto basis = detail::construct_tma_gbasis<T>(global, get_nonswizzle_portion(smem),
                                               make_identity_layout(shape(global)).compose(tile));
  array<uint64_t, 5> shape_of_modes{1, 1, 1, 1, 1};
  array<uint64_t, 5> stride_of_modes{};
  detail::fill_tma_gmem_shape_stride(global, stride(basis), shape_of_modes, stride_of_modes);
  Tensor coordinates = copy.get_tma_tensor(shape(global));
  Tensor tiles = zipped_divide(coordinates, tile);  // (tile,rest)
  Tensor shared = make_tensor(make_smem_ptr(static_cast<T*>(nullptr)), smem);
  constexpr int rank_of_smem = decltype(rank(smem))::value;
  auto [of_global, of_shared] =
      tma_partition(copy, cta, make_layout(cluster), group_modes<0, rank_of_smem>(shared), tiles);
  print("%s|", name);
  print(basis);
  print("|");
  for (int i = 0; i < rank(basis); ++i) print("%lu:%lu,", shape_of_modes[i], stride_of_modes[i]);
  print("|");
  print(coordinates.layout());
  print("|");
  print(of_global.data());
  print("|");
  print(of_global.layout());
  print("|%d|", static_cast<int>(raw_pointer_cast(of_shared.data()) - static_cast<T*>(nullptr)));
  print(get_nonswizzle_portion(of_shared.layout()));
  print("\n");
}

int main() {
  using K64 = GMMA::Layout_K_SW128_Atom<half_t>;
  using M64 = GMMA::Layout_MN_SW128_Atom<half_t>;
  auto k_major = make_layout(make_shape(1000, 520), make_stride(520, _1{}));
  auto m_major = make_layout(make_shape(1000, 520), make_stride(_1{}, 1000));
  auto tile = make_shape(Int<128>{}, Int<64>{});
  auto smem_k = tile_to_shape(K64{}, tile);
  auto smem_m = tile_to_shape(M64{}, tile);
  show<half_t>("k_major", SM90_TMA_LOAD{}, k_major, smem_k, tile, _1{}, 0);
  show<half_t>("m_major", SM90_TMA_LOAD{}, m_major, smem_m, tile, _1{}, 0);
  show<half_t>("shared by two", SM90_TMA_LOAD_MULTICAST{}, k_major, smem_k, tile, _2{}, 1);
  show<half_t>("shared by four", SM90_TMA_LOAD_MULTICAST{}, m_major, smem_m, tile, _4{}, 3);
  show<half_t>("store", SM90_TMA_STORE{}, k_major, smem_k, tile, _1{}, 0);
  show<float>("no swizzle", SM90_TMA_LOAD{}, m_major, make_layout(make_shape(Int<64>{}, Int<16>{})),
              make_shape(Int<64>{}, Int<16>{}), _1{}, 0);
  show<float>("across", SM90_TMA_LOAD{}, k_major,
              make_layout(make_shape(Int<64>{}, Int<16>{}), make_stride(Int<16>{}, _1{})),
              make_shape(Int<64>{}, Int<16>{}), _1{}, 0);
  show<float>("more than 256", SM90_TMA_LOAD{}, m_major, make_layout(make_shape(Int<512>{}, Int<4>{})),
              make_shape(Int<512>{}, Int<4>{}), _1{}, 0);
  auto batch = make_layout(make_shape(1000, 520, 3), make_stride(520, _1{}, 520000));
  show<half_t>("batches", SM90_TMA_LOAD{}, batch, smem_k, make_shape(Int<128>{}, Int<64>{}, _1{}), _1{}, 0);
  auto deep = make_layout(make_shape(make_shape(Int<64>{}, 7), make_shape(Int<32>{}, 5)),
                          make_stride(make_stride(_1{}, 64 * 32), make_stride(Int<64>{}, 64 * 32 * 7)));
  auto small = make_shape(Int<64>{}, Int<32>{});
  show<half_t>("nested", SM90_TMA_LOAD{}, deep, tile_to_shape(M64{}, small), small, _1{}, 0);
  auto fixed = make_layout(make_shape(Int<8>{}, Int<16>{}, 40), make_stride(_1{}, Int<8>{}, Int<128>{}));
  show<float>("merged", SM90_TMA_LOAD{}, fixed, make_layout(make_shape(Int<8>{}, Int<16>{}, Int<4>{})),
              make_shape(Int<8>{}, Int<16>{}, Int<4>{}), _1{}, 0);
}

// Instructions of one thread and of a warp, against what they are defined to give.
#include <cstdint>
#include <cstdio>
#include <cstring>

__device__ unsigned bits(float x) { return __float_as_uint(x); }

template <class T>
__device__ void expect(int* wrong, int line, T got, T wanted) {
  if (memcmp(&got, &wanted, sizeof(T)) == 0) return;
  atomicAdd(wrong, 1);
  if (threadIdx.x == 0) printf("line %d: got %lld, expected %lld\n", line, (long long)got, (long long)wanted);
}
#define EXPECT(got, wanted) expect<decltype(wanted)>(wrong, __LINE__, got, wanted)

__global__ void check(int* wrong) {
  unsigned const lane = threadIdx.x;
  unsigned r = 0;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(0x33221100u), "r"(0x77665544u), "r"(0x7140u));
  EXPECT(r, 0x77114400u);
  asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(r) : "r"(0xf0f0f0f0u), "r"(0xccccccccu), "r"(0xaaaaaaaau));
  EXPECT(r, 0xe8e8e8e8u);
  asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(3u), "r"(40u));
  EXPECT(r, 0u);
  int s = 0;
  asm("shr.s32 %0, %1, %2;" : "=r"(s) : "r"(-9), "r"(40u));
  EXPECT(s, -1);
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(-7), "r"(6), "r"(2));
  EXPECT(s, -40);
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(0x80000000u), "r"(6u));
  EXPECT(r, 3u);
  unsigned long long wide = 0;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(0xffffffffu), "r"(0xffffffffu));
  EXPECT(wide, 0xfffffffe00000001ull);
  asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(s) : "f"(300.0f));
  EXPECT(s & 0xff, 127);
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(1.0f), "f"(-2.0f));
  EXPECT(r, 0x3c00c000u);
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(0x3f801000u)));
  EXPECT(r, 0x3f802000u);
  float f = 0;
  asm("fma.rm.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(1.0f), "f"(1.0f), "f"(-0x1p-30f));
  EXPECT(bits(f), bits(0x1.fffffep-1f));
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(f) : "f"(1.0f), "f"(__uint_as_float(0x7fc00000u)));
  EXPECT(f != f, true);
  asm("{\n"
      ".reg .pred p;\n"
      "setp.gt.u32 p, %1, 3;\n"
      "selp.u32 %0, 10, 20, p;\n"
      "@!p add.u32 %0, %0, 1;\n"
      "}\n"
      : "=r"(r)
      : "r"(lane));
  EXPECT(r, lane > 3 ? 10u : 21u);
  unsigned low = 0;
  unsigned high = 0;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(0x1122334455667788ull));
  EXPECT(low, 0x55667788u);
  EXPECT(high, 0x11223344u);
  asm("{\n"
      ".reg .u32 i;\n"
      "mov.u32 i, 0;\n"
      "mov.u32 %0, 0;\n"
      "NEXT:\n"
      ".reg .pred again;\n"
      "add.u32 %0, %0, i;\n"
      "add.u32 i, i, 1;\n"
      "setp.lt.u32 again, i, 5;\n"
      "@again bra NEXT;\n"
      "}\n"
      : "=r"(r));
  EXPECT(r, 10u);
  asm("mov.u32 %0, %%laneid;" : "=r"(r));
  EXPECT(r, lane);

  EXPECT(__shfl_sync(~0u, lane, 5), 5u);
  EXPECT(__shfl_up_sync(~0u, lane, 3), lane < 3 ? lane : lane - 3);
  EXPECT(__shfl_down_sync(~0u, lane, 3, 16), lane % 16 > 12 ? lane : lane + 3);
  EXPECT(__shfl_xor_sync(~0u, lane, 9), lane ^ 9u);
  EXPECT(__shfl_sync(~0u, 1.5 * lane, 4), 6.0);
  EXPECT(__ballot_sync(~0u, lane % 2), 0xaaaaaaaau);
  EXPECT(__all_sync(~0u, lane < 32), 1);
  EXPECT(__any_sync(~0u, lane == 40), 0);
  asm("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(lane));
  EXPECT(r, 496u);
  asm("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(lane / 8));
  EXPECT(r, 0xffu << lane / 8 * 8);
  unsigned is_first = 0;
  asm("{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(is_first));
  EXPECT(is_first, lane == 0 ? 1u : 0u);

  __shared__ alignas(16) std::uint16_t matrix[8 * 8];
  matrix[lane] = static_cast<std::uint16_t>(lane);
  matrix[lane + 32] = static_cast<std::uint16_t>(lane + 32);
  __syncwarp();
  auto const row = static_cast<unsigned>(__cvta_generic_to_shared(matrix + lane % 8 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(row));
  EXPECT(r, (2 * lane) | (2 * lane + 1) << 16);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(row));
  EXPECT(r, (lane % 4 * 16 + lane / 4) | (lane % 4 * 16 + 8 + lane / 4) << 16);
  unsigned turned = 0;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"((2 * lane) | (2 * lane + 1) << 16));
  EXPECT(turned, r);
  __shared__ alignas(16) std::uint16_t stored[8 * 8];
  auto const to = static_cast<unsigned>(__cvta_generic_to_shared(stored + lane % 8 * 8));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to), "r"(turned));
  __syncwarp();
  EXPECT(stored[lane], matrix[lane]);
  EXPECT(stored[lane + 32], matrix[lane + 32]);

  EXPECT(__byte_perm(0x33221100u, 0x77665544u, 0x7140u), 0x77114400u);
  EXPECT(__byte_perm(0x33228100u, 0x77665544u, 0xf980u), 0x00ff0000u);
  EXPECT(__dp4a(0x01fe0380, 0x02030405, 7), 1 * 2 - 2 * 3 + 3 * 4 - 128 * 5 + 7);
  EXPECT(__dp4a(0x01fe0380u, 0x02030405u, 7u), 1u * 2 + 254u * 3 + 3u * 4 + 128u * 5 + 7u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT(__syncthreads_count(lane > i), static_cast<int>(31 - i));
    EXPECT(__syncthreads_and(lane >= i), i == 0 ? 1 : 0);
    EXPECT(__syncthreads_or(lane == i + 30), i < 2 ? 1 : 0);
  }
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.lt.u32 p, %1, 20;\n"
               "bar.red.popc.u32 %0, 1, 32, p;\n"
               "}\n"
               : "=r"(r)
               : "r"(lane));
  EXPECT(r, 20u);
  __shared__ char first;
  __shared__ alignas(256) union {
    unsigned word;
    unsigned char byte[4];
  } second;
  if (lane == 0) {
    first = 1;
    second.word = 0x04030201u;
  }
  __syncwarp();
  EXPECT(__cvta_generic_to_shared(&second) % 256, std::size_t{0});
  EXPECT(second.byte[2] + first, 4);
}

int main() {
  int* wrong;
  int result = 0;
  cudaMalloc(&wrong, sizeof(int));
  cudaMemset(wrong, 0, sizeof(int));
  check<<<1, 32>>>(wrong);
  cudaMemcpy(&result, wrong, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(wrong);
  printf("%d are wrong\n", result);
  return result != 0;
}

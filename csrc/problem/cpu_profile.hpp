#pragma once

#include <cstddef>

namespace cute_py {

// What the cost model knows of a machine, as data: rates of one core, and the microseconds of what goes with them.
// Fitted so that the fastest kernel is found, on cores that are up to four times as fast: it is ratios that count.
struct CpuProfile {
  // Bandwidths, in bytes per microsecond.
  double l1_bytes_per_us = 80e3;
  double l2_bytes_per_us = 40e3;
  double l3_bytes_per_us = 24e3;
  double dram_bytes_per_us = 16e3;

  // What it takes with narrower vectors: of what multiplies or moves registers most of the time, and of what waits for
  // memory.
  double vector_slowdown = 1;
  double memory_slowdown = 1;
  double call_us = 1;
  double cycles_per_us = 1600;

  // Multiply-adds in a microsecond: of the micro-kernel in float32, of int8 relative to that; of lines of GEMV, and if
  // one of the factors is the same along the line.
  double fma_per_us = 32e3;
  double int8_speedup = 1;
  double gemv_fma_per_us = 5700;
  double axpy_fma_per_us = 12e3;

  // Elements in a microsecond: packed in vectors, and one by one; interleaved in registers; scattered, where the result
  // is in L2 and beyond.
  double packed_per_us = 2500;
  double packed_apart_per_us = 640;
  double interleaved_per_us = 2500;
  double scattered_per_us = 600;
  double scattered_far_per_us = 150;

  // Packed products: one of a batch, and a register tile, stored from registers or by way of memory. Unpacked ones: the
  // same; the cycles before a sum can be used, and those that transpose a vector of rows for a step of k, gather one,
  // or convert a column.
  double product_us = 1;
  double tile_us = 0.01;
  double tile_by_memory_us = 0.12;
  double small_product_us = 0.05;
  double small_tile_us = 0.015;
  double latency_cycles = 4;
  double transpose_cycles = 1.25;
  double gather_cycles = 60;
  double convert_cycles = 4;

  // Lines and rows: a call beside that of a small product; a part of a line, or of rows; a step of k of all lanes, and
  // of each gathered lane. Dot products: a block of K.
  double loops_call_us = 0.1;
  double line_us = 0.1;
  double rows_us = 0.1;
  double row_step_us = 0.003;
  double gather_step_us = 0.002;
  double block_us = 0.008;

  // Elementwise: an element that is transposed, or gathered; a vector of sums, or of plain products; a rectangle.
  double transposed_element_us = 0.0002;
  double gathered_element_us = 0.0016;
  double vector_of_sums_us = 0.0032;
  double vector_of_products_us = 0.0012;
  double rectangle_us = 0.03;

  // Copies: a piece that is contiguous in both arrays, and an element that is transposed in fewer rows or columns than
  // a vector has lanes.
  double piece_us = 0.003;
  double short_transposed_us = 0.00075;
};

// A rate by its name.
struct CpuRate {
  char const* name;
  double CpuProfile::* value;
};
inline constexpr std::size_t kCpuRates = sizeof(CpuProfile) / sizeof(double);
extern CpuRate const cpu_rates[kCpuRates];

}  // namespace cute_py

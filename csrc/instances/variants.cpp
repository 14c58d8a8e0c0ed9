#include "instances/variants.hpp"

#include "problem/decision.hpp"

namespace cute_py::kernels {

extern Rules const gemm_skinny_rules;
extern Rules const gemm_sm80_rules;
extern Rules const gemm_sm90_rules;
extern Rules const gemm_small_rules;
extern Rules const permute_rules;
extern Rules const sgemm_1_rules;
extern Rules const sgemm_2_rules;
extern Rules const sgemm_sm70_rules;
extern Rules const sgemm_sm80_rules;
extern Rules const wgmma_sm90_rules;
extern Rules const wgmma_tma_sm90_rules;

}  // namespace cute_py::kernels

namespace cute_py::instances {
namespace {

constexpr Entry kVariants[] = {
#include "instances/variants.inc"
};

}  // namespace

Variants gpu_variants() { return {std::begin(kVariants), std::end(kVariants)}; }

}  // namespace cute_py::instances

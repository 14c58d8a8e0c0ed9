#include "kernels/common/simt_rules.hpp"

// Cost model of sgemm_1.
namespace cute_py::kernels {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to 730 runs of random products on an H200, November 2026, which they meet within 25 %.
constexpr model::SimtSpeeds kSgemm1Speeds{
    /* whole */ {34.4, 0.94, 1.0},
    /* predicated */ {31.1, 0.83, 1.8},
    /* nested */ {17.5, 0.6, 22},
    /* gett */ {22.1, 1, 30},  // each thread writes its own results, wherever two modes have them
};

extern Rules const sgemm_1_rules;
Rules const sgemm_1_rules = model::kSimtRules<kSgemm1Speeds>;

}  // namespace cute_py::kernels

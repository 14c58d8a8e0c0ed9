#include "kernels/common/simt_rules.hpp"

// Cost model of sgemm_sm70.
namespace cute_py::kernels {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to 741 runs of random products on an H200, November 2026, which they meet within 25 %.
constexpr model::SimtSpeeds kSgemmSm70Speeds{
    /* whole */ {48.1, 1, 1.8},
    /* predicated */ {40.0, 0.95, 9.0},
    /* nested */ {12.4, 0.82, 30},
    /* gett */ {40.0, 0.95, 9.0},
    /* nested, float64 */ {5.3, 0.8, 5.5},
    /* nested, complex64 */ {4.0, 0.93, 9.4},
    /* nested, complex128 */ {1.6, 0.88, 5.8},
};

extern Rules const sgemm_sm70_rules;
Rules const sgemm_sm70_rules = model::kSimtRules<kSgemmSm70Speeds>;

}  // namespace cute_py::kernels

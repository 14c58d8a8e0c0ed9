"""Products: GEMM and contractions, called, planned and explained."""

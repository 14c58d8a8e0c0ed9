"""Classify handwritten digits by their nearest neighbours, with matrix products by cute_py.

The data are scikit-learn's bundled digits: 1797 images of 8x8 pixels, here 1200 to learn from and 597 to classify. The squared
distances between all pairs of images are one product,

    D(m,n) = |x_m|^2 + |y_n|^2 - 2 sum_k X(m,k) Y(n,k),

so C starts as the sum of the squared lengths, alpha is -2 and beta is 1. Pixels are small integers, so float32 is exact and the
result must equal NumPy's, bit for bit.

    python examples/digits_knn.py [--kernel sgemm_sm80] [--device emulator]
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from sklearn.datasets import load_digits

import cute_py

TRAINING = 1200
NEIGHBOURS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description="Classify digits by their nearest neighbours.")
    parser.add_argument("--kernel", default="auto", help="a name that `cute-py kernels` shows")
    parser.add_argument(
        "--device",
        choices=["cpu", "emulator", "cuda"],
        help="where to compute (default: the CPU; for a GPU kernel the emulator, if there is no GPU)",
    )
    options = parser.parse_args()

    digits = load_digits()
    images = digits.data.astype(np.float32)
    learned, labels = images[:TRAINING], digits.target[:TRAINING]  # (N,K)
    asked, truth = images[TRAINING:], digits.target[TRAINING:]  # (M,K)

    lengths = np.add.outer((asked**2).sum(axis=1), (learned**2).sum(axis=1))  # (M,N)
    call = {"kernel": options.kernel, "device": options.device}
    start = time.perf_counter()
    distances = cute_py.gemm(asked, learned, lengths.copy(), alpha=-2, beta=1, **call)
    seconds = time.perf_counter() - start

    if not np.array_equal(distances, lengths - 2 * (asked @ learned.T)):
        sys.exit("the distances differ from NumPy's")

    nearest = np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOURS]
    predicted = np.array([np.bincount(votes).argmax() for votes in labels[nearest]])
    accuracy = (predicted == truth).mean()

    explanation = cute_py.gemm.explain(asked, learned, **call)
    print(f"{len(asked)} digits classified by {NEIGHBOURS} of {TRAINING} neighbours: accuracy {accuracy:.1%}")
    print(f"distances: {distances.shape} in {seconds * 1e3:.1f} ms, equal to NumPy's bit for bit")
    print(f"kernel: {explanation.chosen} on {explanation.target}")


if __name__ == "__main__":
    main()

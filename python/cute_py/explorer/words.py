"""The words of the explorer's pages, in a sentence each."""

from __future__ import annotations

__all__ = ["WORDS"]

# Of each group the words, and what they mean.
WORDS: dict[str, dict[str, str]] = {
    "Layouts": {
        "layout": "a function from coordinates to indices, written shape:stride; index = sum of coordinate times stride",
        "mode": "one of the entries of a shape with its stride; a mode may be a tuple of modes, and is nested then",
        "coordinate": "a position in a shape, such as (1,2); one integer counts through a shape, the first mode fastest",
        "index": "what a layout gives for a coordinate: a place in memory, counted in elements",
        "_8": "an integer that is part of a type in C++ (static); 8 without _ is known at run time (dynamic)",
        "size, cosize": "how many coordinates there are; one more than the largest index",
        "rank, depth": "how many modes there are; how deep they are nested",
        "coalesce": "the same function with as few modes as possible",
        "complement": "a layout of the indices that another one leaves out",
        "left_inverse, right_inverse": "from an index back to its coordinate; a coordinate for each of the first indices",
        "injective": "no two coordinates have the same index",
        "image without gaps": "every index between the first and the last is reached",
        "order, cycles": "as a permutation: how often it is to be applied until nothing has moved, and what moves round",
        "over GF(2)": "the matrix that makes the bits of the index of the bits of the coordinate, where there is one",
        "Sw<2,0,3>": "a swizzle: of an index, 2 bits from bit 3 on are added, without carry, to those from bit 0 on",
        "1@0": "a basis element: index 1 in mode 0 of a coordinate, as layouts of coordinates give them",
    },
    "Operations": {
        "composition": "A o B: first B, then A",
        "tiler": "what an array is cut by: an extent, or a layout, for each mode; <3:4,8:2> is one of two layouts",
        "logical_divide": "each mode becomes (tile, rest)",
        "zipped_divide": "the same, all tiles in the first mode and all rests in the second",
        "logical_product": "a layout repeated: (tile, which tile)",
        "blocked_product, raked_product": "the copies as blocks side by side; or element by element, in turns",
        "law": "what an operation promises of its result; here it is checked at every coordinate",
    },
    "Banks": {
        "bank": "one of the 32 parts of shared memory, each of which delivers one word of 4 bytes at a time",
        "wavefront": "what all banks deliver at a time; an instruction without conflicts takes as few as its bytes need",
        "bank conflict": "a wavefront more, because a bank has two of the words that are wanted",
        "segment": "32 bytes of global memory, the least that is moved",
        "(thread, value) to coordinate": "a layout that says which element of a tile is the value v of the thread t",
        "vector": "the values that one instruction moves for each thread, which have to be contiguous",
        "padding, swizzle": "room behind each row, or other places within it, so that a column is in different banks",
        "ldmatrix": "an instruction by which a warp reads matrices of 8x8 elements of 16 bits, a row for each thread",
    },
    "Atoms": {
        "atom": "one instruction with the layouts of its operands: an MMA multiplies and adds, a copy moves",
        "warp, lane": "32 threads that run together; one of them",
        "T0V0": "the value 0 of the thread 0",
        "ThrID, Shape_MNK": "which threads take part; the extents of the product",
        "LayoutA_TV": "(thread, value) to the element (m,k) of A; of B (n,k), of C (m,n)",
        "ValLayoutSrc, ValLayoutDst, ValLayoutRef": "of a copy, (thread, value) to a bit, of its source, of its target, and of the side that tilings go by",
        "SM80_16x8x16_F32F16F16F32_TN": "from compute capability 8.0 on, M x N x K, types of D, A, B and C, A and B k-major",
    },
    "Kernels": {
        "CTA": "the threads that share shared memory, a thread block; each has a tile of C",
        "BLK_M, BLK_N, BLK_K": "the extents of a CTA's tile",
        "nt, tn, nn, tt": "A m-major or k-major, then B: n is not transposed in column-major BLAS, t is",
        "predicated": "with a check whether an element exists, for extents that are no multiples of a tile",
        "nested, gett": "for groups of modes in the place of M, N and K; for two modes in M, as a CuTe shape",
        "stages": "tiles of A and B in shared memory at a time, most of them on their way",
        "mA, gA, sA, tAgA, tCrC": "A; the CTA's tile in global memory; in shared memory; gA partitioned by tA; C in registers, partitioned for the math",
        "accumulator": "a register in which an element of C is summed",
        "phase": "what a CTA does between two barriers",
        "warpgroup, wgmma": "four warps; the instruction of SM90 by which they multiply tiles out of shared memory",
        "mbarrier": "a barrier in shared memory that also counts bytes which arrive",
    },
}

"""The judge of the layout algebra: CuTe's own headers.

Cases are made from a seed, written as C++ over static integers, compiled, run, and what CuTe prints is compared with what
`cute_py` prints, to the character, and the values with the values.
"""

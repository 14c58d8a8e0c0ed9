"""The kernels as values: what each is made of, where its threads read and write, and reports."""

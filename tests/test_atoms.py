"""The catalogue of atoms, tiled copies and tiled MMAs: what they cover, and bad input. Their layouts are judged in test_judge."""

from __future__ import annotations

import numpy as np
import pytest

import cute_py.layout as cl
from cute_py import (
    LayoutError,
    OperandError,
    atoms,
    bank_conflicts,
    make_tensor,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_mma,
)
from cute_py.atoms import tiled, value_type
from cute_py.layout import Layout, layout_values


def test_the_catalogue_reaches_from_sm61_to_sm120() -> None:
    assert {atom.architecture for atom in atoms.mma.values()} >= {61, 70, 75, 80, 89, 90, 100, 120}
    assert len(atoms.mma.find("SM90_64x", "F32F16F16_SS<")) == 32 * 4  # extents of N, majors
    assert len(atoms.mma.find("sparse", "64x", "f32f16f16_ss<")) == 32 * 4
    assert len(atoms.mma.find("SM100_MMA_F16BF16_SS<")) == 33 * 3 * 4  # extents of M and N, types, majors
    for part in ("UniversalCopy", "SM80_CP_ASYNC", "LDSM", "STSM", "TMA", "BULK"):
        assert atoms.copy.find(part), part
    assert len(atoms.mma) > 5500
    assert len(atoms.copy) > 200


def test_mma_atoms_cover_their_tiles() -> None:
    # The pinned headers give B of the 4-bit 16x8x32 atoms a stride of 32 where it takes 64 to reach all of K.
    assert set(atoms.mma.suspects) == {n for n in atoms.mma.find("SM80_16x8x32_S32") if "4" in n.split("_")[2][3:]}
    for name, atom in atoms.mma.items():
        for operand, layout, size in atom.tiles():
            if name not in atoms.mma.suspects:
                image = cl.filter(layout)
                assert sorted(set(layout_values(image, image.size))) == list(range(size)), (name, operand)
            assert cl.size(layout, 0) == atom.thr_id.size
        m, n, _ = (int(extent) for extent in atom.shape_mnk)
        assert atom.layout_c_tv.size == m * n, f"{name}: each result has one owner"


def test_scales_of_block_scaled_atoms() -> None:
    scaled = [atom for atom in atoms.mma.values() if atom.scale is not None]
    assert {atom.architecture for atom in scaled} == {100, 103, 120}
    for atom in scaled:
        m, n, k = (int(extent) for extent in atom.shape_mnk)
        assert k % atom.scale_length == 0
        assert (atom.layout_sfa_tv is None) == (atom.layout_sfb_tv is None) == (atom.architecture != 120)
        for layout, size in ((atom.layout_sfa_tv, m * k), (atom.layout_sfb_tv, n * k)):
            if layout is not None:  # the threads' scales reach every element
                assert cl.size(layout, 0) == 32
                assert sorted(set(layout_values(layout, layout.size))) == list(range(size))
    assert atoms.mma["SM80_16x8x16_F32F16F16F32_TN"].scale is None
    for parts in (
        ("SM100", "TS"),
        ("SM100", "MXF4"),
        ("SM103", "ULTRA"),
        ("SM120", "SPARSE", "VS"),
        ("SM100", "F8F6F4", "SPARSE"),
    ):
        assert atoms.mma.find(*parts), parts


def test_malformed_traits_are_reported() -> None:
    for name, reason in atoms.mma.defects.items():
        assert name not in atoms.mma
        with pytest.raises(OperandError, match="malformed"):
            atoms.mma[name]
        assert "congruent" in reason


def test_unknown_names_list_near_ones() -> None:
    with pytest.raises(OperandError, match=r"near: .*SM80_16x8x16_F32F16F16F32_TN"):
        atoms.mma["SM80_16x8x16_F32F16F16F32_NT"]
    with pytest.raises(OperandError, match=r"lists all"):
        atoms.copy["?"]


@pytest.mark.parametrize(
    ("value", "name", "bits"),
    [
        ("half_t", "half_t", 16),
        (np.float32, "float", 32),
        (np.dtype("complex128"), "complex<double>", 128),
        ("uint8", "uint8_t", 8),
        (24, "24b", 24),
    ],
)
def test_value_types(value: object, name: str, bits: int) -> None:
    found = value_type(value)
    assert (found.name, found.bits) == (name, bits)


@pytest.mark.parametrize("value", ["no type", object(), None, 0, -8, "U7", True])
def test_no_value_types(value: object) -> None:
    with pytest.raises(OperandError, match="value_type"):
        value_type(value)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("UniversalFMA<float, float, float>", "UniversalFMA<float>"),
        ("UniversalFMA<double,double,double,double>", "UniversalFMA<double>"),
        ("cute::SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>", "SM90_64x64x16_F32F16F16_SS<K,MN>"),
    ],
)
def test_names_as_cpp_spells_them(spelled: str, name: str) -> None:
    assert atoms.mma[spelled] is atoms.mma[name]
    assert spelled in atoms.mma
    assert "UniversalFMA<float, half_t>" not in atoms.mma


def test_shapes_of_parts() -> None:
    wide = make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], Layout("(_2,_2,_1)"), (32, 32, 16))
    one = wide.get_thread_slice(5)
    assert tiled.tile_shape(wide) == (32, 32, 16)
    assert [tiled.tile_size(wide, i) for i in range(3)] == [32, 32, 16]
    for name, extents in (("A", (64, 48)), ("B", (96, 32)), ("C", (64, 96)), ("A", (64, 48, 3))):
        part = getattr(one, f"partition_{name}")(Layout(extents))
        assert getattr(tiled, f"partition_shape_{name}")(wide, extents) == part.shape
        registers = getattr(tiled, f"partition_fragment_{name}")(wide, extents)
        expected = getattr(one, f"partition_fragment_{name}")(Layout(extents))
        assert (str(registers.layout), registers.dtype) == (str(expected.layout), expected.dtype)
    copy_of = make_tiled_copy(atoms.copy["UniversalCopy<float>"].atom("float"), Layout("(_32,_8)"))
    assert tiled.tile_shape(copy_of) == copy_of.tile_shape
    assert cl.size(wide) == 128
    assert cl.size(copy_of) == 256
    for wrong in (
        lambda: tiled.tile_shape(3),
        lambda: tiled.tile_size(wide, 3),
        lambda: tiled.partition_shape_C(3, (4, 4)),
    ):
        with pytest.raises((OperandError, LayoutError), match=r"^(tile_shape|tile_size|partition_shape_C): "):
            wrong()
    with pytest.raises(OperandError, match="give a shape; next: "):
        tiled.partition_fragment_C(wide, make_tensor(Layout((64, 96))))


def test_partitions_of_all_threads_cover_the_operand_once() -> None:
    mma = make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], Layout("(_2,_2,_1)"), (32, 32, 16))
    tile = Layout("(_64,_96)")
    seen = [int(v) for t in range(mma.size) for v in mma.get_slice(t).partition_C(tile).numpy(copy=True).ravel()]
    assert sorted(seen) == list(range(64 * 96))
    copy = make_tiled_copy(atoms.copy["UniversalCopy<uint128_t>"].atom("float"), Layout("(_32,_8)"), Layout("(_4,_1)"))
    tile = Layout("(_128,_16)")
    seen = [int(v) for t in range(copy.size) for v in copy.get_slice(t).partition_S(tile).numpy(copy=True).ravel()]
    assert sorted(seen) == list(range(128 * 16))


def test_ldmatrix_delivers_what_the_mma_wants() -> None:
    mma = make_tiled_mma(atoms.mma["SM80_16x8x16_F32F16F16F32_TN"], Layout("(_2,_2,_1)"), (32, 32, 16))
    copy = make_tiled_copy_A(atoms.copy["SM75_U32x4_LDSM_N"].atom("half_t"), mma)
    tile = Layout("(_32,_16):(_16,_1)")
    for t in range(mma.size):
        wanted = mma.get_slice(t).partition_A(tile).numpy(copy=True).ravel(order="F")
        got = copy.get_slice(t).partition_D(tile).numpy(copy=True).ravel(order="F")
        np.testing.assert_array_equal(np.sort(wanted), np.sort(got))


def test_bad_input() -> None:
    atom = atoms.mma["SM80_16x8x16_F32F16F16F32_TN"]
    ldsm = atoms.copy["SM75_U32x4_LDSM_N"]
    mma = make_tiled_mma(atom)
    for call, error, message in [
        (lambda: make_tiled_mma("SM80"), OperandError, "must come from cute_py.atoms.mma"),
        (lambda: make_tiled_mma(atom, (1, 1, 1, 1)), LayoutError, "rank 4"),
        (lambda: make_tiled_mma(atom, None, (1, 2, 3, 4)), LayoutError, "4 elements"),
        (lambda: make_tiled_mma(atom, 2.5), LayoutError, "atom_layout must be a Layout"),
        (lambda: mma.get_slice(32), LayoutError, "no thread 32"),
        (lambda: mma.get_slice(-1), LayoutError, "no thread -1"),
        (lambda: mma.get_slice(0).partition_C(Layout(128)), LayoutError, "rank 1"),
        (lambda: make_tiled_copy(ldsm, (32, 1)), OperandError, "give the atom an element type"),
        (lambda: make_tiled_copy("ldmatrix", (32, 1)), OperandError, "must come from cute_py.atoms.copy"),
        (
            lambda: make_tiled_copy(ldsm.atom("half_t"), (16, 1), (1, 8)),
            LayoutError,
            "16 threads are no multiple of the 32",
        ),
        (
            lambda: make_tiled_copy(ldsm.atom("half_t"), (32, 1), (1, 2)),
            LayoutError,
            "val_layout a multiple of 8 elements",
        ),
        (lambda: ldsm.atom(24), LayoutError, "neither divides|whole elements"),
        (lambda: make_tiled_copy_A(ldsm.atom("half_t"), atom), OperandError, "mma must be a TiledMMA"),
    ]:
        with pytest.raises(error, match=message):
            call()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("atoms_mnk", [(1, 1, 1), (2, 2, 1), (2, 1, 2)])
@pytest.mark.parametrize("name", ["SM70_8x8x4_F32F16F16F32_NT", "SM80_16x8x8_F32F16F16F32_TN", "UniversalFMA<float>"])
def test_slices_and_tv_layouts_and_pictures_agree_on_every_thread(name: str, atoms_mnk: tuple[int, int, int]) -> None:
    mma = make_tiled_mma(atoms.mma[name], atoms_mnk)
    m, n, k = mma.tile_shape
    for operand, shape in (("A", (m, k)), ("B", (n, k)), ("C", (m, n))):
        tv = getattr(mma, f"layout_{operand.lower()}_tv")
        assert mma.threads == cl.size(tv, 0) >= mma.size
        for thread in range(mma.threads):
            part = getattr(mma.get_slice(thread), f"partition_{operand}")(Layout(shape)).numpy(copy=True)
            assert part.ravel(order="F").tolist() == [tv(thread, v) for v in range(cl.size(tv, 1))], (operand, thread)
    held = {
        thread: sorted(mma.layout_c_tv(thread, v) for v in range(cl.size(mma.layout_c_tv, 1)))
        for thread in range(mma.threads)
    }
    assert sorted(index for held_by in {tuple(h) for h in held.values()} for index in held_by) == list(range(m * n))
    panel = mma._picture().panels[2]
    for row in panel.cells:
        for cell in row:
            facts = dict(cell.facts)
            threads = {t for t, indices in held.items() if int(facts["index in C"]) in indices}
            assert cell.text.startswith(f"T{min(threads)}{'+' if len(threads) > 1 else ''}\n")


def test_threads_that_the_quad_pair_leaves_out_hold_what_others_hold() -> None:
    mma = make_tiled_mma(atoms.mma["SM70_8x8x4_F32F16F16F32_NT"])
    assert (mma.size, mma.threads) == (8, 32)
    for thread, same in ((4, 0), (9, 1), (15, 3), (21, 17), (31, 19)):
        assert mma.get_slice(thread).thr_vmnk == mma.get_slice(same).thr_vmnk
    for thread in (-1, 32, 1.0, True, "1", None):
        with pytest.raises(LayoutError, match=r"get_slice: there is no thread .*; next: give one of the 32 "):
            mma.get_slice(thread)  # type: ignore[arg-type]
    assert mma.get_slice(np.int64(17)).thr_vmnk == mma.get_slice(17).thr_vmnk


@pytest.mark.parametrize("value", ["2:_1", "float3", "", "(4,", 0, -8, None, [], "no such type"])
def test_what_is_no_element_type(value: object) -> None:
    with pytest.raises(OperandError, match="value_type"):
        value_type(value)
    if value not in (None, []):
        with pytest.raises(OperandError, match="value_type"):
            bank_conflicts(Layout(32), Layout((32, 1)), value)


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("UniversalFMA<float>", "1x1x1, float = float x float + float, by each thread"),
        ("SM80_16x8x16_F32F16F16F32_TN", "16x8x16, float = half_t x half_t + float, by 32 threads"),
        ("SM80_16x8x32_S32S8S8S32_TN", "16x8x32, int32_t = int8_t x int8_t + int32_t, by 32 threads"),
        (
            "SM120_16x8x64_TN_VS<float_e2m1_t,float_e2m1_t,float,float_ue4m3_t,16>",
            "16x8x64, float = uint4_t x uint4_t + float, a scale (float_ue4m3_t) for each 16 along K, by 32 threads",
        ),
        (
            "SM100_MMA_MXF8F6F4_2x1SM_SS<float_e4m3_t,float_e2m1_t,float,float_ue8m0_t,256,128,K,K>",
            "256x128x32, float = float_e4m3_t x float_e2m1_t + float, a scale (float_ue8m0_t) for each 32 along K, by one thread for two CTAs",
        ),
        (
            "SM100_MMA_F16BF16_TS<half_t,half_t,float,128,64,K,K>",
            "128x64x16, float = half_t x half_t + float, by one thread for its CTA",
        ),
        ("SM90_64x128x16_F32BF16BF16_SS<K,K>", "64x128x16, float = bfloat16_t x bfloat16_t + float, by 128 threads"),
    ],
)
def test_a_sentence_about_an_atom(name: str, about: str) -> None:
    assert atoms.mma[name].about == about
    assert len(atoms.mma[name].lanes) == atoms.mma[name].thr_id.size

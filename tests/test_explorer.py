"""The explorer: what its views say, who is let in, and the page in a browser."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import pytest

import cute_py
from cute_py.errors import OperandError
from cute_py.explorer import Explorer, Server, pages, serve, views
from cute_py.explorer.words import WORDS
from pace import takes_under
from test_pictures import tool

explorer = Explorer()


def text_of(page: str) -> str:
    """Return a page's text, without tags and pictures."""
    without = re.sub(r'<div class="picture".*?</svg></div>', " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", without)))


def show(view: str, **query: object) -> str:
    answer = explorer.answer(view, {name: str(value) for name, value in query.items()})
    assert answer.status == 200, text_of(answer.body)
    return answer.body


# ---- What the views say


def test_a_layout_tells_what_it_is() -> None:
    page = show("layout", text="(4,4):(0,1)")
    text = text_of(page)
    assert "size, cosize 16, 4" in text
    assert "injective no: ((0,0),(1,0)) both give 0" in text
    assert "left_inverse 4:_4" in text or "left_inverse" in text
    assert page.count("<svg") == 1


def test_a_permutation_and_its_matrix() -> None:
    page = show("layout", text="(2,3):(3,1)")
    assert "as a permutation order 4, 1 cycles: (1,3,4,2)" in text_of(page)
    assert "has 6 elements, which is no power of two" in text_of(page)
    matrix = re.search(r'<table class="matrix">(.*?)</table>', show("layout", text="(2,2):(2,1)"))
    assert matrix is not None
    assert re.findall(r"<td>(\d)</td>", matrix[1]) == ["0", "1", "1", "0"]


@pytest.mark.parametrize("text", [text for text, _ in views._LAYOUTS])
def test_the_examples_of_layouts_have_pictures(text: str) -> None:
    assert "<svg" in show("layout", text=text)


@pytest.mark.parametrize("query", [query for _, query in views._OPERATIONS], ids=lambda query: query["op"])
def test_an_operation_shows_result_law_steps_and_picture(query: dict[str, str]) -> None:
    page = show("operation", **query)
    second = [] if not query["b"] else [views._second(query["op"], query["b"])]
    result = getattr(cute_py, query["op"])(cute_py.Layout(query["a"]), *second)
    assert f"result {result} law" in text_of(page)
    assert "that were looked at" in text_of(page)
    assert f"Result: {result}" in text_of(page)
    assert "<svg" in page


def test_conflicts_and_the_swizzle_that_mends_them() -> None:
    text = text_of(show("banks"))
    assert "read 1024 wavefronts in 32 instructions, 992 of them bank conflicts" in text
    best = text[text.index("With the best swizzle") :]
    assert "layout Sw<5,0,5> o _0 o (32,32):(32,1) write 32 wavefronts in 32 instructions, no bank conflicts" in best
    assert "read 32 wavefronts in 32 instructions, no bank conflicts" in best


def test_atoms_are_found_and_shown() -> None:
    page = show("atoms", find="sm80 16x8x16 f16", name="SM80_16x8x16_F32F16F16F32_TN")
    assert str(cute_py.atoms.mma["SM80_16x8x16_F32F16F16F32_TN"]).split("\n")[0] in unescape(page)
    assert "name=SM80_16x8x16_F16F16F16F16_TN" in page
    assert "<svg" in page
    assert "<svg" in show("atoms", name="SM75_U32x4_LDSM_N", type="half_t")


def test_a_kernels_owner() -> None:
    kernel = cute_py.kernels()["sgemm_1_nt_f32"]
    owner = kernel.owner_of(C=(130, 7))
    page = show("kernel", name=kernel.name, show="Owners of C", i=130, j=7)
    assert (
        f"C[130, 7]: block (1,0), thread {owner.thread} (warp {owner.warp}, lane {owner.lane}), accumulator {owner.register}"
        in text_of(page)
    )


@pytest.mark.parametrize("show_", [*views.SECTIONS, "Trace"])
def test_every_part_of_a_kernel(show_: str) -> None:
    page = show("kernel", name="sgemm_sm70_nt_f32", show=show_)
    assert f'<option value="{show_}" selected>' in page


def test_a_trace_step_by_step() -> None:
    steps = cute_py.kernels()["sgemm_sm80_tn_f32"].trace().instructions(warp=3)
    page = show("kernel", name="sgemm_sm80_tn_f32", show="Trace", warp=3, step=17)
    assert str(steps[17]) in unescape(page)
    assert f'max="{len(steps) - 1}" value="17"' in page
    assert page.count('<rect class="') == len(steps) + 1


BAD = [
    ("layout", {"text": "(4,8:1"}, "expected ')'"),
    ("layout", {"text": "__import__('os').getcwd()"}, "there is no __import__"),
    ("layout", {"text": "kernels()['sgemm_1_nt_f32'].report('OWNED')"}, "report"),
    ("layout", {"text": "(4,8)", "tile": "2,x"}, "tile: cannot read '2,x'"),
    ("layout", {"text": "(4,8)", "color": "red"}, "color"),
    ("operation", {"op": "system"}, "there is none named 'system'"),
    ("operation", {"op": "composition", "b": ""}, "composition needs B"),
    ("operation", {"op": "zipped_divide", "a": "atoms"}, "A is a layout"),
    ("operation", {"op": "zipped_divide", "a": "(4,4)", "b": "(2,2,2)"}, "zipped_divide"),
    ("banks", {"type": "fload"}, "fload"),
    ("banks", {"read_vector": "three"}, "read_vector: cannot read 'three'"),
    ("banks", {"read": "(32,64):(1,32)"}, "coordinate"),
    ("atoms", {"name": "SM80_nothing"}, "there is none named 'SM80_nothing'"),
    ("kernel", {"name": "sgemm_9"}, "sgemm_9"),
    ("kernel", {"show": "<script>"}, "there is no '<script>' to show"),
    ("kernel", {"show": "Trace", "step": "1000000"}, "makes steps 0 to"),
    ("kernel", {"show": "Trace", "step": "x"}, "step: cannot read 'x'"),
    ("kernel", {"show": "Trace", "step": ""}, "step: one integer is needed"),
    ("layout", {"text": "zip(())"}, "no tuple of tuples"),
    ("layout", {"text": "(4,8)", "mark": "len"}, "Slice: cannot read 'len'"),
    ("kernel", {"show": "Trace", "warp": "99"}, "warp must be"),
    ("kernel", {"show": "Owners of C", "i": "-1"}, "-1"),
    ("kernel", {"name": "cpu_baseline_f32", "show": "Tiles"}, "CPU kernel"),
]


@pytest.mark.parametrize(("view", "query", "words"), BAD, ids=lambda value: str(value)[:40])
def test_what_cannot_be_shown_is_explained_beside_the_form(view: str, query: dict[str, str], words: str) -> None:
    answer = explorer.answer(view, query)
    assert answer.status == 400
    error = re.search(r'<p class="error" role="alert">(.*?)</p>', answer.body, re.DOTALL)
    assert error is not None
    assert words in unescape(error[1])
    for value in query.values():
        assert value == "" or re.search(r"[<&'\"]", value) or value in answer.body


@pytest.mark.parametrize(("mark", "coloured"), [("1,_", 8), ("(1,_),3", 2), ("_,(0,2)", 4), ("_", 32), ("", 32)])
def test_a_slice_keeps_its_colours(mark: str, coloured: int) -> None:
    page = show("layout", text="((2,2),(2,4)):((1,4),(2,8))", mark=mark)
    assert len(re.findall(r'<rect [^>]*fill="#(?!fff)\w+" stroke="#666"', page)) == coloured


def test_a_slice_of_a_vector_and_a_swizzle_alone() -> None:
    assert len(re.findall(r'fill="#(?!fff)\w+" stroke="#666"', show("layout", text="8:1", mark="3"))) == 1
    page = show("layout", text="Sw<2,0,3>")
    assert "Sw<2,0,3> o 0 o (4,8):(8,1)" in text_of(page)
    assert '<table class="matrix">' in page


def test_what_would_take_long_is_not_looked_at() -> None:
    slow = {"tile": "(64,128):(128,1)", "type": "half_t", "write": "(1,8192):(0,1)", "read": "(8192,1):(1,0)"}
    tile = {"tile": "(2048,2048):(2048,1)", "write": "(128,32768):(32768,1)", "read": "(128,32768):(32768,1)"}
    with takes_under(10):
        assert "a swizzle is looked for where" in text_of(show("banks", **slow))
        assert "4194304 values" in explorer.answer("banks", tile).body


def test_laws_by_modes_of_a_swizzled_layout_are_not_claimed() -> None:
    text = text_of(show("operation", op="logical_product", a="Sw<2,0,3> o _0 o (8,8):(8,1)", b="(4,3)"))
    assert "is not looked at" in text
    assert "does not hold" not in text
    text = text_of(show("operation", op="right_inverse", a="(4,8):(8,1)", b="garbage((("))
    assert "right_inverse takes A alone: B is not used" in text


def test_text_is_escaped() -> None:
    answer = explorer.answer("layout", {"text": "<script>alert(1)</script>\"'"})
    assert "<script>alert" not in answer.body
    assert "&lt;script&gt;alert" in answer.body


EXERCISES = Path(__file__).parents[1] / "examples" / "exercises"


def test_a_config_says_what_follows_and_what_does_not_fit() -> None:
    text = text_of(show("config", base="sgemm_sm80_nt_f32", tiler="128,64,16", stages=4))
    assert "sgemm_sm80_nt_f32 with tiler, stages" in text
    assert "256 threads, 49152 bytes of shared memory" in text
    assert "struct Fields" in text
    answer = explorer.answer("config", {"base": "sgemm_sm80_nt_f32", "tiler": "(48,64,16)"})
    assert answer.status == 400
    assert "BLK_M=48 is no multiple of the 64 that the MMA covers" in text_of(answer.body)
    assert 'value="(48,64,16)"' in answer.body
    assert "tiler: cannot read 'a'" in text_of(explorer.answer("config", {"tiler": "a,b"}).body)


def test_without_folders_no_program_is_compiled() -> None:
    assert "cute-py explore --programs FOLDER" in text_of(show("program"))
    assert "cute-py explore --programs FOLDER" in text_of(show("program", file=str(EXERCISES / "02_smooth.cu")))
    with pytest.raises(OperandError, match="there is no folder"):
        Explorer([EXERCISES / "gone"])


@pytest.mark.compiler
def test_programs_of_a_folder_are_run_and_nothing_else(tmp_path: Path) -> None:
    folder, outside = tmp_path / "inside", tmp_path / "outside.cu"
    folder.mkdir()
    outside.write_text("int main() {}\n")
    (folder / "link.cu").symlink_to(outside)
    (folder / "waits.cu").write_text(
        "__global__ void waits(int* x) {\n"
        "  for (unsigned i = 0; i < threadIdx.x; ++i) x[threadIdx.x] = i;\n"
        "  __syncthreads();\n"
        "  x[0] = 1;\n"
        "}\n"
        "int main() { int* x; cudaMalloc(&x, 256); waits<<<1, 64>>>(x); return cudaDeviceSynchronize(); }\n"
    )
    opened = Explorer([folder])
    page = opened.answer("program", {})
    assert "inside/waits.cu" in page.body
    assert "link.cu" not in page.body
    for name in ("inside/link.cu", "../outside.cu", "inside/../../outside.cu", str(outside)):
        answer = opened.answer("program", {"file": name})
        assert answer.status == 400
        assert "there is no program" in text_of(answer.body)
    shown = text_of(opened.answer("program", {"file": "inside/waits.cu"}).body)
    assert "Show compiles it and runs it with these arguments" in shown
    assert "__global__ void waits" in shown
    answer = opened.answer(
        "program", {"file": "inside/waits.cu", "arguments": "", "track": "block 0 warp 0", "step": "0"}
    )
    assert answer.status == 200, text_of(answer.body)
    text = text_of(answer.body)
    assert "waits.cu:4: race: waits: thread 0 of block 0 writes 4 bytes" in text.replace("&#x27;", "'")
    assert "step 0 of 0 to 0 of block 0 warp 0: __syncthreads" in text
    assert 'class="current"><td class="number">3</td>' in answer.body
    assert 'class="marked"><td class="number">4</td>' in answer.body
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="timeline"' in answer.body
    assert "<style>" not in answer.body
    beyond = opened.answer(
        "program", {"file": "inside/waits.cu", "arguments": "", "track": "block 0 warp 0", "step": "7"}
    )
    assert beyond.status == 400
    assert "has steps 0 to 0, not 7" in text_of(beyond.body)


@pytest.mark.parametrize("view", ["layout", "operation", "banks", "atoms", "kernels", "kernel", "config", "program"])
def test_a_page_is_complete_and_refers_to_nothing_outside(view: str) -> None:
    class Checked(HTMLParser):
        opened: list[str]

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            for name, value in attributes:
                assert name not in ("style", "onclick", "onload"), "the policy allows no inline styles and scripts"
                if name in ("href", "src", "action"):
                    assert value is not None
                    assert not re.match(r"\w+:|/", value), value
            if tag in ("div", "main", "aside", "table", "form", "section", "svg", "label"):
                self.opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            if self.opened and tag in ("div", "main", "aside", "table", "form", "section", "svg", "label"):
                assert self.opened.pop() == tag

    checker = Checked()
    checker.opened = []
    page = show(view)
    checker.feed(page)
    assert checker.opened == []
    assert page.count("<main>") == 1
    assert "aria-current" in page


# ---- Who is let in


@pytest.fixture
def server() -> Iterator[Server]:
    running = serve()
    yield running
    running.shutdown()
    running.server_close()


def ask(server: Server, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", path, headers=headers)
    return connection.getresponse()


def test_pages_are_served_with_a_strict_policy(server: Server) -> None:
    response = ask(server, f"/{server.token}/layout?{urlencode({'text': '(4,8):(8,1)'})}")
    assert response.status == 200
    assert "(4,8):(8,1)" in response.read().decode()
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert ask(server, f"/{server.token}/").headers["Location"] == "layout"
    for name, kind in (("style.css", "text/css"), ("script.js", "text/javascript")):
        assert ask(server, f"/{server.token}/{name}").headers["Content-Type"].startswith(kind)


def test_the_address_is_of_this_machine_alone(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert re.fullmatch(rf"http://127\.0\.0\.1:{server.server_port}/[\w-]{{22}}/", server.url)
    another = Server()
    assert another.token != server.token
    another.server_close()


@pytest.mark.parametrize("path", ["/", "/layout", "//layout", "/{wrong}/layout", "/../{token}/layout", "/%2e/{token}/"])
def test_without_the_token_there_is_nothing(server: Server, path: str) -> None:
    response = ask(server, path.format(token=server.token, wrong="x" * 22))
    assert response.status == 403
    assert b"<" not in response.read()


def test_a_name_that_was_made_to_point_here_is_refused(server: Server) -> None:
    assert ask(server, f"/{server.token}/layout", Host="evil.example:80").status == 403
    assert ask(server, f"/{server.token}/layout", Host=f"localhost:{server.server_port}").status == 200


def test_files_outside_are_not_served(server: Server) -> None:
    for path in ("../__init__.py", "pages.py", "..%2f..%2fpyproject.toml", "style.css/../pages.py"):
        assert ask(server, f"/{server.token}/{path}").status == 404
    assert ask(server, f"/{server.token}/layout?text={'a' * 20000}").status == 414


def test_odd_addresses_get_an_answer(server: Server) -> None:
    assert ask(server, f"/{server.token}").headers["Location"] == f"/{server.token}/layout"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        connection.sendall(f"GET http://[x/ HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
        assert connection.makefile("rb").readline().split()[1] == b"400"


def test_a_port_that_is_taken_or_none(server: Server) -> None:
    with pytest.raises(OperandError, match=f"cannot listen at port {server.server_port}: .*\n  next: another port"):
        Server(server.server_port)
    with pytest.raises(OperandError, match="port must be 0 to 65535, not 70000"):
        Server(70000)


def test_the_command_prints_the_address_and_ends_at_ctrl_c() -> None:
    command = [sys.executable, "-m", "cute_py", "explore", "--no-browser"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what is ignored here would be ignored there
    try:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with running:
        try:
            assert running.stdout is not None
            assert running.stderr is not None
            line = running.stdout.readline()
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 0, running.stderr.read()
            assert running.stderr.read() == ""
        finally:
            running.kill()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{22}/  \(Ctrl-C ends it\)\n", line)


# ---- In a browser


def in_browser(server: Server, path: str, script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the page after a script, which comes with the explorer's own because the policy allows no other."""
    own = pages._file
    monkeypatch.setattr(pages, "_file", lambda name: own(name) + (script if name == "script.js" else ""))
    run = subprocess.run(
        [tool("chromium"), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
         "--virtual-time-budget=5000", "--dump-dom", server.url + path],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.tools
def test_typing_changes_the_answer_and_the_address(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
    const line = document.querySelector("input[name=text]");
    line.value = "(3,5):(5,1)";
    line.dispatchEvent(new Event("input", { bubbles: true }));
    setInterval(() => { document.title = decodeURIComponent(location.search); }, 100);
    """
    page = in_browser(server, "layout?text=(4,8)", script, tmp_path, monkeypatch)
    assert "size, cosize 15, 15" in text_of(page)
    title = re.search(r"<title>(.*?)</title>", page)
    assert title is not None
    assert "text=(3,5):(5,1)" in title[1]


@pytest.mark.tools
def test_a_cell_tells_its_facts_and_marks_those_of_both_pictures(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
    const cell = [...document.querySelectorAll("g[data-columns] > g")].find(g => g.textContent.includes("index: 17"));
    cell.focus();
    """
    query = urlencode({"op": "zipped_divide", "a": "(8,12):(12,1)", "b": "(4,3)"})
    page = in_browser(server, f"operation?{query}", script, tmp_path, monkeypatch)
    facts = re.search(r'<dl id="facts".*?</dl>', page, re.DOTALL)
    assert facts is not None
    assert "<dt>index</dt><dd>17</dd>" in facts[0]
    marked = re.findall(r'<g [^>]*class="[^"]*\bsame\b[^"]*"[^>]*><title>(.*?)</title>', page, re.DOTALL)
    assert len(marked) == 2
    assert all("index: 17" in title for title in marked)


@pytest.mark.tools
def test_another_part_of_a_kernel_has_another_form(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
    const part = document.querySelector("select[name=show]");
    if (part.value === "Facts") {
      part.value = "Trace";
      part.dispatchEvent(new Event("change", { bubbles: true }));
    }
    """
    page = in_browser(server, "kernel?name=sgemm_sm80_nt_f32", script, tmp_path, monkeypatch)
    assert 'type="range"' in page
    assert "Play</button>" in page


@pytest.mark.tools
def test_while_one_types_the_last_answer_stays(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
    const line = document.querySelector("input[name=text]");
    line.value = "(4,8):(8,";
    line.dispatchEvent(new Event("input", { bubbles: true }));
    """
    page = in_browser(server, "layout?text=(4,8):(8,1)", script, tmp_path, monkeypatch)
    assert "size, cosize 32, 32" in text_of(page)
    assert 'class="stale"' in page
    assert page.count('class="error"') == 1


@pytest.mark.tools
def test_the_player_goes_on(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
    [...document.querySelectorAll("button")].find(button => button.textContent === "Step").click();
    """
    query = urlencode({"name": "sgemm_sm80_nt_f32", "show": "Trace", "step": 4})
    page = in_browser(server, f"kernel?{query}", script, tmp_path, monkeypatch)
    step = cute_py.kernels()["sgemm_sm80_nt_f32"].trace().instructions()[5]
    assert str(step) in unescape(page)
    assert "Play</button>" in page


def test_every_word_has_a_meaning_and_can_be_found() -> None:
    explorer = Explorer()
    page = explorer.answer("words", {}).body
    for group, meanings in WORDS.items():
        assert f"<h2>{group}</h2>" in page
        for word, meaning in meanings.items():
            assert escape(word) in page
            assert len(meaning) > 15
            assert not meaning.endswith(".")
    found = explorer.answer("words", {"find": "wavefront"}).body
    assert "what all banks deliver at a time" in found
    assert "mbarrier" not in found
    assert "no word has" in explorer.answer("words", {"find": "<x>"}).body
    assert "<x>" not in explorer.answer("words", {"find": "<x>"}).body


def test_an_error_says_who_and_what_would_do_beside_the_examples() -> None:
    answer = Explorer().answer("banks", {"type": "int4_t"})
    assert answer.status == 400
    assert "Writers: bank_conflicts: 1 elements of 4 bits" in answer.body
    assert "next: vectors of 2, 4, 8, 16, 32 elements" in answer.body
    assert 'class="examples"' in answer.body


def test_what_a_picture_says_is_above_its_box() -> None:
    body = Explorer().answer("layout", {"text": "(256,256):(1,256)"}).body
    assert re.search(r'<p class="said">[^<]*of 256[^<]*</p><div class="picture"', body)

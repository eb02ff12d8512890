# SPDX-License-Identifier: Apache-2.0
"""The exporter against what PeakRDL's own elaboration says, and its refusals."""

import re
import subprocess
from pathlib import Path

import pytest
from systemrdl.node import AddrmapNode, RegNode

from peakrdl_sallyport import golang, scala
from peakrdl_sallyport.model import ModelError, build
from tests.regs.elaboration import REGS, elaborate

PREFIX = '`include "common.rdl"\n'
BOX = "addrmap chip_a {{ {body} }}; addrmap sallyport {{ chip_a a @ 0; }};"


def refuse(tmp_path: Path, body: str) -> str:
    source = tmp_path / "bad.rdl"
    source.write_text(PREFIX + BOX.format(body=body))
    with pytest.raises(ModelError) as caught:
        build(elaborate(source))
    return str(caught.value)


def test_offsets_are_those_of_the_rdl(top: AddrmapNode) -> None:
    model = build(top)
    assert [chip.name for chip in model.chips] == ["inner", "crypto", "outer"]
    for chip in model.chips:
        ours = {r.name: (r.offset, r.count) for r in model.common + chip.registers}
        space = top.find_by_path(f"{chip.name}.registers")
        assert isinstance(space, AddrmapNode)
        theirs = {
            n.inst_name: (n.raw_absolute_address - space.absolute_address, n.n_elements)
            for n in space.descendants()
            if isinstance(n, RegNode)
        }
        assert ours == theirs
        assert all(offset + 4 * count <= 0x1000 for offset, count in ours.values())


def test_each_path_of_each_chip_has_a_balance(top: AddrmapNode) -> None:
    for chip in build(top).chips:
        for path in ("encrypt", "decrypt"):
            kinds = {c.kind for c in chip.counters if c.path == path}
            assert {"received", "sent", "drop"} <= kinds, f"{chip.name} {path}"
            # What puts packets together holds some of them.
            assert "held" in kinds or "merged" not in kinds, f"{chip.name} {path}"
        assert [c.index for c in chip.counters] == list(range(len(chip.counters)))
        for c in chip.counters:
            assert c.name.startswith("drop_") == (c.kind == "drop"), c.name
            assert c.name.startswith("punt_") == (c.kind == "punted"), c.name


def test_rows_fit_the_window_and_keys_are_write_only(top: AddrmapNode) -> None:
    model = build(top)
    assert all(row.bits <= 1024 for row in model.rows)
    write_only = {t.name for chip in model.chips for t in chip.tables if t.write_only}
    assert write_only == {"outbound_key", "inbound_key", "inbound_number"}


def test_flow_row_is_the_head_of_a_rule_row(top: AddrmapNode) -> None:
    rows = {row.name: row for row in build(top).rows}
    assert set(rows["flow_row"].fields) <= set(rows["rule_row"].fields)


def test_scala_prints_every_register_counter_and_field(top: AddrmapNode) -> None:
    model = build(top)
    text = scala.files(model)
    assert (
        'val portMtu = RegisterDesc("port_mtu", 0x208, RegisterRole.Control, writable = 0x3fffL, reset = 0x256eL)'
        in text["OuterRegs.scala"]
    )
    assert "zeroize = RowField(31, 1)" in text["CryptoRegs.scala"]
    assert "pulse = 0xc0000000L, cleared = 0xfL)" in text["CryptoRegs.scala"]
    assert "val auth = RowField(256, 512)" in text["Rows.scala"]
    assert 'CounterDesc("drop_dec_icv", 23, "decrypt", "drop")' in text["Counters.scala"]
    counters = [c.name for chip in model.chips for c in chip.counters]
    assert re.findall(r'CounterDesc\("(\w+)"', text["Counters.scala"]) == counters
    assert max(len(line) for body in text.values() for line in body.splitlines()) <= 120


def test_go_compiles_and_reads_what_it_writes(top: AddrmapNode, tmp_path: Path) -> None:
    for name, text in golang.files(build(top)).items():
        (tmp_path / name).write_text(text)
    here = REGS.parent / "mgmt/internal/regs"
    (tmp_path / "descriptors.go").write_text((here / "descriptors.go").read_text())
    (tmp_path / "go.mod").write_text("module regs\n\ngo 1.24\n")
    subprocess.run(["go", "vet", "./..."], cwd=tmp_path, check=True)


def test_address_map_without_space_is_refused(tmp_path: Path) -> None:
    body = "addrmap { reg { field {} v; } one @ 0; } registers @ 0;"
    assert "no 'space' property" in refuse(tmp_path, body)


def test_gap_between_counters_is_refused(tmp_path: Path) -> None:
    body = (
        "addrmap { space = space_e::counters; regfile { path = path_e::encrypt;"
        " counter_drop drop_a @ 0x8; } encrypt @ 0; } counters @ 0;"
    )
    assert "drop_a: counters must be consecutive" in refuse(tmp_path, body)


def test_straddling_row_field_is_refused(tmp_path: Path) -> None:
    body = (
        "addrmap { space = space_e::tables; reg { regwidth = 64; accesswidth = 32;"
        " table_kind = table_kind_e::direct; field {} v[39:24]; } row @ 0; } tables @ 0;"
    )
    assert "row.v: the field straddles a 32-bit data word" in refuse(tmp_path, body)


def test_two_registers_of_one_name_are_refused(tmp_path: Path) -> None:
    body = (
        "addrmap { space = space_e::registers; regfile { reg { field {} v; } one @ 0; } x @ 0;"
        " regfile { reg { field {} v; } one @ 0; } y @ 4; } registers @ 0;"
    )
    assert "a second register of this name" in refuse(tmp_path, body)


def test_committed_files_are_what_the_rdl_says() -> None:
    subprocess.run([REGS / "generate.sh", "--check"], check=True)

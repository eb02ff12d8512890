# SPDX-License-Identifier: Apache-2.0
"""Reports of rows made by hand: the page in a browser without a network, its figures against the
rows, CSV and JSON."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sallyport import report, stateful
from sallyport.errors import InputError
from sallyport.progress import outcome
from sallyport.report import cells
from sallyport.report.columns import sheet
from sallyport.report.kinds import KINDS, note
from sallyport.report.settings import TIMED
from tests.support.browsers import Watched
from tests.support.paths import ROOT
from tests.tester.report_rows import SETUP, every, loss, of_latency, result, row, throughput

COMMAND = "./sallyport rfc2544 --test all --seed 1 --html 'a b.html'"
SCREEN = {"width": 1440, "height": 900}


class Page(Watched):
    """A report in a browser without a network."""

    def __init__(self, browser, folder: Path, rows: list[dict]) -> None:
        super().__init__(browser, offline=True, viewport=SCREEN)
        self.path = folder / "report.html"
        report.write_all(rows, self.path, None, COMMAND)
        self.page.goto(self.path.as_uri())
        self.page.wait_for_function(
            "[...document.querySelectorAll('.plotly-graph-div')].every(p => p.querySelector('.trace'))"
        )


@pytest.fixture(scope="session")
def whole(browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A report of every test."""
    return Page(browser, tmp_path_factory.mktemp("report"), every())


def numbers(cells: list[str]) -> list[float]:
    return [float(re.sub(r"[≥, ]", "", cell)) for cell in cells]


def near(values: list[float], digits: int) -> object:
    """The figures written with so many decimals."""
    return pytest.approx(values, abs=0.5000001 * 10**-digits)


def test_the_page_needs_nothing_but_itself(whole: Page) -> None:
    assert whole.errors == []
    assert [url.split("#")[0] for url in whole.requests] == [whole.path.as_uri()]


def test_every_test_has_a_section_and_a_line_in_the_summary(whole: Page) -> None:
    sections = whole.page.eval_on_selector_all("section.test", "all => all.map(each => each.id)")
    assert sections == list(KINDS)
    summary = whole.columns("summary")
    assert summary["Test"] == [kind.title for kind in KINDS.values()]
    others = {
        "loss": "—",
        "back-to-back": "—",
        "recovery": "Failed",
        "ike-first-packet": "Failed",
        "tcp-throughput": "Failed",
    }
    assert summary["Verdict"] == [*(dict.fromkeys(KINDS, "Passed") | others).values()]
    timed = {
        "ike-rekeys": "simulated", "ike-tunnels": f"simulated and {TIMED}", "ike-half-open": "simulated",
        "ike-first-packet": TIMED, "ike-dead-peer": TIMED, **dict.fromkeys(stateful.TESTS, "measured"),
    }  # fmt: skip
    assert summary["Figures"] == [*(dict.fromkeys(KINDS, "simulated") | timed).values()]
    assert "system recovery at 1400 B" in whole.page.inner_text(".overall")


def test_the_summary_says_how_to_get_the_figures_again(whole: Page) -> None:
    said = whole.page.inner_text("#summary dl")
    assert COMMAND in said
    assert f"Sallyport {(ROOT / 'VERSION').read_text().strip()}" in said
    assert re.search(r"Python 3\.\d+\.\d+, Verilator 5\.\d+", said)
    assert re.search(r"Seed\s+1\n", said)
    assert "imix aaaaaaaAAAAg (A=594)" in said
    assert re.search(r"CPU\s+\S", said)


def test_every_plot_is_drawn_and_says_where_its_figures_come_from(whole: Page) -> None:
    drawn = whole.page.eval_on_selector_all(
        "figure",
        "all => all.map(f => [f.closest('section').id, f.querySelector('figcaption').innerText, f.querySelectorAll('svg .trace').length, "
        "f.querySelector('svg').getBoundingClientRect().width])",
    )
    assert all("simulated" in caption and traces > 0 and width > 200 for _, caption, traces, width in drawn)
    count = {section: sum(1 for name, *_ in drawn if name == section) for section in KINDS}
    # Of latency percentiles and a histogram for each of four sizes.
    assert count == dict.fromkeys(KINDS, 0) | {"throughput": 1, "tunnels": 1, "latency": 4 + 4, "loss": 1}
    traces = {caption.split(",")[0].split(" against")[0]: number for _, caption, number, _ in drawn}
    assert traces["Throughput and theoretical maximum"] == 2
    assert traces["Frame loss"] == 5  # sizes
    assert traces["Latency"] == 6  # min, max and four percentiles
    assert whole.page.eval_on_selector_all("section.test .headline .origin", "all => all.length") == len(KINDS)


def test_throughput_has_the_columns_and_figures_of_its_rows(whole: Page) -> None:
    rows, shown = throughput(), whole.columns("throughput")
    assert list(shown) == [
        "Trial", "Frame size B", "Iteration", "Duration s", "Intended load % of line", "Offered load % of line", "Intended load fps",
        "Tx frames", "Rx frames", "Lost frames", "Loss %", "Throughput L2 Mb/s", "Throughput L1 Mb/s", "Result", "Theoretical maximum fps",
        "Theoretical maximum % of line", "Of theoretical %", "Latency min µs", "Latency avg µs", "Latency max µs", "Out of sequence frames",
        "Duplicated frames", "Damaged frames",
    ]  # fmt: skip
    assert shown["Frame size B"] == ["64", "512", "1400", "1518", "IMIX"]
    assert shown["Result"] == ["Passed"] * 5
    for name, column, digits in (
        ("Iteration", "trials", 0), ("Duration s", "duration_s", 6), ("Intended load % of line", "load_pct", 2),
        ("Offered load % of line", "offered_pct", 2), ("Intended load fps", "intended_fps", 0), ("Tx frames", "tx_frames", 0),
        ("Rx frames", "rx_frames", 0), ("Lost frames", "lost", 0), ("Loss %", "loss_pct", 2),
        ("Theoretical maximum fps", "theoretical_fps", 0),
        ("Theoretical maximum % of line", "theoretical_pct", 2), ("Out of sequence frames", "reordered", 0),
    ):  # fmt: skip
        assert numbers(shown[name]) == near([r[column] for r in rows], digits), name
    assert numbers(shown["Throughput L2 Mb/s"]) == near([1000 * r["gbps_l2"] for r in rows], 1)
    assert numbers(shown["Throughput L1 Mb/s"]) == near([1000 * r["gbps_l1"] for r in rows], 1)
    assert numbers(shown["Of theoretical %"]) == near([100 * r["ratio"] for r in rows], 2)
    for key in ("min", "avg", "max"):
        assert numbers(shown[f"Latency {key} µs"]) == near([r["latency_ns"][key] / 1000 for r in rows], 3)


def test_latency_has_a_line_for_each_kind(whole: Page) -> None:
    rows, shown = of_latency(), whole.columns("latency")
    assert shown["Type"] == ["LIFO", "FIFO"] * len(rows)
    assert numbers(shown["Load % of throughput"][::2]) == [r["of_throughput_pct"] for r in rows]
    for key in ("min", "avg", "max", "p50", "p99", "p99_99"):
        both = numbers(shown[f"{key.replace('_', '.')} µs"])
        assert both[::2] == near([r["latency_ns"][key] / 1000 for r in rows], 3)
        assert both[1::2] == near([r["latency_fifo_ns"][key] / 1000 for r in rows], 3)
    assert numbers(shown["Jitter µs"][::2]) == near([r["jitter_ns"] / 1000 for r in rows], 3)


def test_a_figure_of_ike_has_its_unit_and_its_clock(whole: Page) -> None:
    """A run that a figure is missing of gives the row none, and the reason below the table."""
    shown = whole.columns("ike-tunnels")
    assert (shown["Figure"], shown["Unit"], shown["Clock"]) == (
        ["tunnels set up", "requests sent again"], ["1/s", "count"], ["wall", "—"],
    )  # fmt: skip
    assert (shown["Median"], shown["Least"], shown["Most"]) == (["8.25", "0"], ["7.50", "0"], ["8.50", "0"])
    assert shown["Result"] == ["Passed", "Passed"]
    first = whole.columns("ike-first-packet")
    assert (first["Median"], first["Result"]) == (["1,426.91", "—"], ["Passed", "Failed"])
    said = whole.page.inner_text("#ike-first-packet")
    assert "IKE and its SAs: charon did not say when" in said and "no card's" in said


def test_figures_of_connections_have_their_objects(whole: Page) -> None:
    shown = whole.columns("http-connections")
    assert (shown["Object B"], shown["Median"]) == (["1,024", "65,536"], ["31,877.25", "1,762.80"])
    assert (shown["Unit"], shown["Clock"]) == (["1/s", "1/s"], ["tester", "tester"])
    none = whole.columns("tcp-throughput")
    assert (none["Median"], none["Least"], none["Result"]) == (["—"], ["—"], ["Failed"])
    assert "charon" not in whole.page.inner_text("#tcp-throughput")


def test_loss_is_frame_size_by_load(whole: Page) -> None:
    shown = whole.columns("loss")
    assert list(shown) == ["Frame size B", *(f"{load} % of line" for load in (100, 90, 80, 70, 60, 50))]
    rows = {
        (str(r["frame_size"]).replace("imix", "IMIX"), r["load_pct"]): r["loss_pct"]
        for r in every()
        if r["test"] == "loss"
    }
    sizes = shown.pop("Frame size B")
    cells = {
        (size, float(load.split()[0])): cell
        for load, column in shown.items()
        for size, cell in zip(sizes, column, strict=True)
    }
    assert {at for at, cell in cells.items() if cell != "—"} == set(rows)
    assert numbers([cells[at] for at in rows]) == near(list(rows.values()), 2)


def test_the_other_tests_show_their_own_figures(whole: Page) -> None:
    bursts = whole.columns("back-to-back")
    assert bursts["Burst frames"] == ["3,072", "≥ 20,000"]
    assert (bursts["Corrected buffer frames"], bursts["Corrected buffer B"]) == (["1,201.9", "—"], ["76,922", "—"])
    assert numbers(bursts["Burst s"]) == [2.0640e-05, 0.002272]
    assert bursts["Trials"] == ["2", "1"]
    assert whole.columns("tunnels")["SAs a direction"] == ["1", "2", "16", "128", "1,024"] * 2
    recovery = whole.columns("recovery")
    assert (recovery["Recovery µs"], recovery["Result"]) == (
        ["4.312", "0.000", "never"],
        ["Passed", "Passed", "Failed"],
    )
    assert whole.columns("reset")["Outage µs"] == ["21.327"] * 2
    attack = whole.columns("attack")
    assert attack["Attack"] == ["replay", "bad-icv", "unknown-spi"]
    assert attack["Dropped, by counter packets"][0] == "box1.inner.drop_replay 9,058"


# Of a page: drawings that leave their figure, lie on one another or on what describes them.
OVERLAPS = """() => {
  const box = e => e.getBoundingClientRect(), found = [];
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const figures = [...document.querySelectorAll("figure")], drawing = f => box(f.querySelector(".main-svg"));
  figures.forEach((f, n) => {
    const [own, drawn, caption] = [box(f), drawing(f), box(f.querySelector("figcaption"))], name = f.innerText.slice(0, 40);
    if (drawn.right > own.right + 1 || drawn.bottom > own.bottom + 1) found.push(`${name} leaves its figure`);
    figures.slice(n + 1).forEach(g => { if (meet(drawn, drawing(g))) found.push(`${name} and its neighbour`); });
    const texts = [...f.querySelectorAll(".xtick text, .ytick text, .legendtext, .xtitle, .ytitle")].filter(t => t.textContent);
    texts.forEach((t, m) => texts.slice(m + 1).forEach(u => {
      if (meet(box(t), box(u))) found.push(`${t.textContent} ${u.textContent}`);
    }));
    const legend = f.querySelector(".legend"), plot = f.querySelector(".nsewdrag");
    if (legend && (meet(box(legend), caption) || meet(box(legend), box(plot)))) found.push(`legend of ${name}`);
  });
  return found;
}"""


@pytest.mark.parametrize("which", ["whole", "of_a_lab"])
@pytest.mark.parametrize(("width", "media"), [(800, "screen"), (1000, "screen"), (1400, "screen"), (1046, "print")])
def test_nothing_overlaps(browser, request: pytest.FixtureRequest, which: str, width: int, media: str) -> None:
    """Drawn for a screen of that width; in print as a screen of 1440 drew it."""
    whole = request.getfixturevalue(which)
    seen = Watched(browser, offline=True, viewport={"width": width if media == "screen" else 1440, "height": 900})
    seen.page.goto(whole.path.as_uri())
    seen.page.wait_for_function(
        "[...document.querySelectorAll('.plotly-graph-div')].every(p => p.querySelector('.trace'))"
    )
    assert overlaps(seen) == []
    if media == "print":
        seen.page.set_viewport_size({"width": width, "height": 700})
        seen.page.emulate_media(media="print")
        assert overlaps(seen) == []
    seen.page.close()


def overlaps(seen: Watched) -> list[str]:
    """Those that stay: plots follow their place a moment later, each by itself."""
    for _ in range(10):
        seen.page.wait_for_timeout(500)
        if not (found := seen.page.evaluate(OVERLAPS)):
            break
    return found


def measured() -> list[dict]:
    """Rows of every test as a lab has them: with a cable, reasons and drop counters."""
    busy = {"cpu_pct": 41.0, "rx_cpu_pct": 97.0, "queue_full": 0, "start_ms": [49.5, 49.5]}
    about = {"name": "TRex", "version": "v3.08", "server": "192.0.2.10:4501", "driver": "net_mlx5", "lab": "lab.yaml"}
    why = ["TRex at 192.0.2.10:4501 may have lost frames by itself: its receiving cores were 97 % busy"]
    found = []
    for each in every():
        floor = {"fps": each["theoretical_fps"] * 0.97, "bounded": False, "latency_ns": {"avg": 1900.0}}
        found.append(
            each
            | {
                "simulated": False,
                "checks": each["checks"] or why,
                "dropped": each.get("dropped", {"box0.outer.drop_mtu": 4}),
            }
            | {"latency_ns": each["latency_fifo_ns"], "latency_type": "FIFO (RFC 1242 bit forwarding)"}
            | {"tester": {**about, **busy, "cable": floor}}
        )
    return found


@pytest.fixture(scope="session")
def of_a_lab(browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page(browser, tmp_path_factory.mktemp("lab"), measured())


def test_plots_of_a_lab_have_the_cable(of_a_lab: Page) -> None:
    drawn = of_a_lab.page.eval_on_selector_all(
        "figure",
        "all => all.map(f => [f.closest('section').id, [...f.querySelectorAll('.legendtext')].map(t => t.textContent)])",
    )
    assert [names for section, names in drawn if section == "throughput"] == [
        ["throughput", "theoretical maximum", "the tester through a cable"]
    ]
    assert all("cable" in names for section, names in drawn if section == "latency" and len(names) > 1)
    assert of_a_lab.errors == []
    head = of_a_lab.page.inner_text("header")
    assert head.index("Failed") < head.index("Calibration by a cable: ") < head.index("A published appliance")


def test_the_verdict_its_reason_and_a_comparison_come_first() -> None:
    bad = row("1400", "throughput", passed=False, checks=["TRex sent 90.00 % of the intended load"])
    page = report.html([bad, row("1400", "latency", of_throughput_pct=100.0)], COMMAND)
    head = page.split("<header>")[1].split("</header>")[0]
    order = ["Failed</strong>", "sent 90.00 %", "average latency at 1400 B: here"]
    assert [head.index(words) for words in order] == sorted(head.index(words) for words in order)
    assert "published 89 µs" in head and "85.94" not in head  # of a throughput that was not found
    good = row("1400", "throughput")
    said = f"Throughput at 1400 B: here {good['throughput_pct']:.2f} % of line rate, published 85.94 %"
    assert said in report.html([good], COMMAND)
    assert "A published appliance" not in report.html([row("64", "throughput")], COMMAND)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_tables_and_nothing_else(whole: Page, scheme: str) -> None:
    with whole.shown_on(390, 844, color_scheme=scheme) as page:
        # Plots follow the width of their window a moment later.
        page.wait_for_function("() => document.documentElement.scrollWidth == 390")
        text, paper = page.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )
        label = page.eval_on_selector(".infolayer .xtitle", "title => getComputedStyle(title).fill")
        # Plots as the page: light letters on dark paper, or the other way round.
        lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (text, label, paper)]
        assert (
            (lightness[2] > 600 > max(lightness[:2]))
            if scheme == "light"
            else (lightness[2] < 150 < min(lightness[:2]))
        )
    assert whole.errors == []


def test_print_cuts_no_table_and_no_plot(whole: Page) -> None:
    """On A4 landscape between its margins, from the screen on which the page was drawn."""
    with whole.shown_on(1046, 700, media="print") as page:
        right = "all => Math.max(...all.map(each => each.getBoundingClientRect().right))"
        assert page.eval_on_selector_all("table", right) <= 1046
        assert page.eval_on_selector_all("figure .main-svg", right) <= 1046
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")


def test_rows_that_differ_in_more_than_size_are_told_apart(browser, tmp_path: Path) -> None:
    both = [*throughput(), *throughput(setup=replace(SETUP, sas=16)), row("64", "throughput", simulated=False)]
    page = Page(browser, tmp_path, both)
    shown = page.columns("throughput")
    assert shown["SAs"] == ["1"] * 5 + ["16"] * 5 + ["1"]
    assert shown["Origin"] == ["simulated"] * 10 + ["measured"]
    assert "simulated and measured" in page.page.inner_text(".overall")


def test_a_failure_says_why_wherever_it_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    why = "TRex sent 90.00 % of the intended load"
    bad = row("64", "throughput") | {"passed": False, "duplicated": 3, "corrupted": 2, "checks": [why, "and more"]}
    assert f"</b> {why}</li>" in report.html([bad], COMMAND)
    report.write_all([bad], tmp_path / "x.html", None, COMMAND)
    (line,) = csv.DictReader((tmp_path / "x.csv").read_text().splitlines())
    assert (line["duplicated"], line["corrupted"], line["checks"]) == ("3", "2", f"{why}; and more")
    report.table([bad])
    assert f": {why}\n" in capsys.readouterr().out
    assert outcome(result(reordered=1, lost=2, checks=[why])) == f"lost 2 of 10; 1 reordered; {why}"


def test_a_reason_that_many_rows_have_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    why = "TRex may have lost frames by itself"
    found = [each | {"checks": [why]} for each in loss()]
    report.table(found)
    (said,) = [line for line in capsys.readouterr().out.splitlines() if why in line]
    first = [f"64 B at {load}.00 %" for load in (100, 90, 80)]
    assert said == f"{', '.join(first)} and {len(found) - 3} more: {why}"
    assert report.html(found, COMMAND).count(why) == 1
    few = [found[0], found[-1]]
    report.table(few)
    assert f"64 B at 100.00 % and IMIX at {few[1]['load_pct']:.2f} %: {why}" in capsys.readouterr().out


def test_latency_of_a_tester_that_has_one_kind_is_one_line() -> None:
    real = of_latency(simulated=False)[:1]
    real[0] |= {"latency_ns": real[0]["latency_fifo_ns"], "latency_type": "FIFO (RFC 1242 bit forwarding)"}
    (line,) = sheet("latency", real).rows
    assert "FIFO" in line
    assert "real tester times latency frames alone" in note(real) and "Every" not in note(real)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.00"), (0.001234567, "0.00123"), (0.0999, "0.0999"), (0.5, "0.500"), (1.0, "1.00"), (99.996, "100.00")],
)
def test_small_percentages_keep_three_digits(value: float, shown: str) -> None:
    assert cells.percent(value) == shown


def test_names_are_text_in_the_page() -> None:
    bad = row("64", "throughput") | {"suite": "<script>alert(1)</script>", "frame_size": "</script><b>x"}
    text = report.html([bad], COMMAND)
    assert "<script>alert" not in text
    assert "</script><b>" not in text


def test_csv_and_json_lie_beside_the_page(tmp_path: Path) -> None:
    rows = every()
    assert report.write_all(rows, tmp_path / "deep" / "x.html", None, COMMAND) == [
        tmp_path / "deep" / f"x.{end}" for end in ("html", "csv", "json")
    ]
    assert json.loads((tmp_path / "deep" / "x.json").read_text()) == rows
    with (tmp_path / "deep" / "x.csv").open(newline="") as lines:
        flat = list(csv.DictReader(lines))
    assert len(flat) == len(rows)
    for line, made in zip(flat, rows, strict=True):
        assert "histogram" not in line
        for name in ("min", "p50", "p99_99"):
            assert float(line[f"latency_{name}_ns"]) == made["latency_ns"][name]
            assert float(line[f"latency_fifo_{name}_ns"]) == made["latency_fifo_ns"][name]
        for name, value in made.items():
            if isinstance(value, bool):
                assert line[name] == ("true" if value else "false")
            elif isinstance(value, int | float):
                assert float(line[name]) == value
            elif isinstance(value, str):
                assert line[name] == value
    assert [line for line in flat if line["test"] == "attack"][-1]["dropped_box1.inner.drop_unknown_spi"] == "9058"
    assert next(line for line in flat if line["test"] == "ike-tunnels")["figure_runs"] == "8.25 7.5 8.5"
    assert next(line for line in flat if line["test"] == "back-to-back")["burst_runs"] == "3068 3075"


def test_the_json_goes_where_it_is_asked_for(tmp_path: Path) -> None:
    page, other = tmp_path / "x.html", tmp_path / "rows"
    assert report.write_all(throughput(), page, other) == [page, tmp_path / "x.csv", other]
    assert report.write_all(throughput(), None, other) == [other]
    assert report.write_all(throughput(), None, None) == []


def test_files_that_cannot_be_are_refused_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for page, rows, why in (
        (tmp_path / "x.csv", None, "would be one file"),
        (tmp_path / "x.html", tmp_path / "x.html", "would be one file"),
        (tmp_path, None, "is a folder"),
        (None, tmp_path, "is a folder"),
        (tmp_path / "file" / "x.html", None, "is a file"),
    ):
        with pytest.raises(InputError, match=why):
            report.check_places(page, rows)
    report.check_places(tmp_path / "new" / "folder" / "x.html", None)


def test_a_pipe_gets_the_whole_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    other = replace(SETUP, sas=16, tables="full", nat_t=True, mode="transport", seed=2)
    report.table([*throughput(), *throughput(setup=other)])
    text = capsys.readouterr().out
    assert "…" not in text
    assert text.count("transport") == 5 + 1  # a line for each row, and the heading


def test_the_terminal_shows_the_columns_of_each_test(capsys: pytest.CaptureFixture[str]) -> None:
    report.table(every())
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 160
    for words in (
        "RFC 2544 throughput, simulated: two boxes",
        "of throughput %",
        "corrected frames",
        "recovery µs",
        "outage µs",
        "hostile %",
    ):
        assert words in text
    assert "║" not in text and "…" not in text  # nothing cut off

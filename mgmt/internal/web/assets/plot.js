// SPDX-License-Identifier: Apache-2.0
// A plot of the last five minutes.
/* global uPlot */
import { make, say } from "./dom.js";
import { clock, rate } from "./words.js";

const SECONDS = 300;
const HEIGHT = 200;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/**
 * Lines have a label, a colour (`encrypt` or `decrypt`), perhaps `dashed`, and what they say of a
 * point: null where that is not known.
 */
export class Plot {
  constructor(figure, title, unit, lines) {
    this.lines = lines;
    this.unit = unit;
    this.time = make("span", { name: "time" });
    this.values = lines.map(() => make("b"));
    const keys = lines.map(({ label, colour, dashed }, at) =>
      make("li", { name: `${colour}${dashed ? " dashed" : ""}`, inside: [`${label} `, this.values[at]] }),
    );
    this.place = make("div", { name: "canvas" });
    figure.append(
      make("figcaption", { inside: [make("span", { text: title }), this.time, make("ul", { inside: keys })] }),
      this.place,
    );
    this.points = [];
    this.plot = new uPlot(this.options(), [[], ...lines.map(() => [])], this.place);
    new ResizeObserver(() => this.plot.setSize({ width: this.place.clientWidth, height: HEIGHT })).observe(this.place);
    // Colours are the page's, which follow the system's.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.plot.redraw(false));
  }

  options() {
    const axis = { stroke: () => colour("soft"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false } };
    const values = (_, ticks) => ticks.map((tick) => rate(tick, this.unit, false));
    return {
      width: this.place.clientWidth || 300,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false } },
      scales: {
        x: { range: () => [this.end() - SECONDS, this.end()] },
        y: { range: (_, low, high) => [0, high > 0 ? 1.1 * high : 10] },
      },
      axes: [
        { ...axis, space: 45, size: 28, values: (_, ticks) => ticks.map((tick) => clock(1000 * tick).slice(-8, -3)) },
        { ...axis, size: 78, values },
      ],
      series: [
        {},
        ...this.lines.map((line) => ({
          stroke: () => colour(line.colour),
          width: 2,
          dash: line.dashed ? [4, 4] : undefined,
          points: { show: false },
        })),
      ],
      hooks: { setCursor: [() => this.key()] },
    };
  }

  end() {
    return this.points.length ? this.points.at(-1).at / 1000 : Date.now() / 1000;
  }

  /** Draw points, the oldest first. */
  show(points) {
    this.points = points;
    this.plot.setData([points.map(({ at }) => at / 1000), ...this.lines.map(({ value }) => points.map(value))]);
    this.key();
  }

  /** The values under the cursor, or the last ones. */
  key() {
    const under = this.plot?.cursor.idx;
    const point = this.points[under ?? this.points.length - 1];
    say(this.time, under == null || !point ? "" : clock(point.at));
    this.lines.forEach(({ value }, at) => say(this.values[at], point ? rate(value(point), this.unit) : "—"));
  }
}

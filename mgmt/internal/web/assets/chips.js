// SPDX-License-Identifier: Apache-2.0
// The chips, each a card, and the box's faults.
import { make } from "./dom.js";
import { duration } from "./words.js";

const SIZES = [
  ["sas", "SAs a direction"], ["flow_rows", "flows"], ["sad_rows", "rows of the SAD"], ["rules", "rules"], ["next_hops", "next hops"],
  ["replay_window", "packets of a replay window"], ["lanes", "lanes a direction"],
];

// Chips have zeros where a table is not theirs, and ones where that is 2^0.
const sizes = (capabilities) =>
  SIZES.filter(([key]) => capabilities[key] > 1).map(([key, what]) => `${capabilities[key].toLocaleString("en")} ${what}`);

function card(chip) {
  const links = Object.entries(chip.links).map(([far, up]) => `to ${far} ${up ? "up" : "down"}`);
  const lines = [
    ["Version", chip.version + (chip.simulation ? ", built for simulation" : "")],
    ["State", [chip.ready ? "ready" : "not ready", ...(chip.tamper ? ["tamper input was active"] : [])].join(", ")],
    ["Links", links.join(", ")],
    ["Since reset", duration(chip.uptime)],
    ["Sizes", sizes(chip.capabilities).join(", ")],
    ["Suites", (chip.capabilities.suites ?? []).join(", ")],
  ];
  const list = lines
    .filter(([, text]) => text)
    .flatMap(([term, text]) => [make("dt", { text: term }), make("dd", { text })]);
  return make("article", {
    name: troubles([chip]).length ? "bad" : "",
    inside: [make("h3", { text: chip.name }), make("dl", { inside: list })],
  });
}

/** The faults of chips, a few words each. */
export function troubles(chips) {
  return chips.flatMap(({ name, ready, tamper, links }) => [
    ...(ready ? [] : [`${name} chip not ready`]),
    ...(tamper ? ["tamper"] : []),
    ...Object.entries(links).filter(([, up]) => !up).map(([far]) => `${name} chip has no link to ${far}`),
  ]);
}

/** Show a card of each chip. */
export const showChips = (place, chips) => place.replaceChildren(...chips.map(card));

// SPDX-License-Identifier: Apache-2.0
// Asks the daemon each second for the changes, and shows them.
import { showChips, troubles } from "./chips.js";
import { say, Table } from "./dom.js";
import { Plot } from "./plot.js";
import { clock, count, lastUse, rate } from "./words.js";

const PERIOD = 1000; // milliseconds
const PATIENCE = 10_000;
const MOST_POINTS = 300;
const MOST_EVENTS = 200;

const at = (id) => document.getElementById(id);
const dash = (text) => text || "—";

// Columns that both tables of what carries packets have.
const CARRIED = [
  { title: "Packets", number: true, value: (row) => (row.packets === undefined ? "—" : count(row.packets)) },
  { title: "Bytes", number: true, value: (row) => (row.bytes === undefined ? "—" : count(row.bytes)) },
  { title: "Last use", number: true, value: (row) => (row.last_use === undefined ? "—" : lastUse(row.last_use)) },
];

const sas = new Table(at("sas"), [
  { title: "Direction", value: (sa) => sa.dir },
  { title: "Source", value: (sa) => sa.src },
  { title: "Destination", value: (sa) => sa.dst },
  { title: "SPI", value: (sa) => sa.spi },
  { title: "Suite", value: (sa) => sa.suite },
  { title: "Mode", value: (sa) => sa.mode },
  { title: "UDP ports", value: (sa) => dash(sa.udp) },
  { title: "Reqid", number: true, value: (sa) => String(sa.reqid) },
  ...CARRIED,
  { title: "Added", number: true, value: (sa) => dash(sa.added && clock(1000 * sa.added)) },
], "No SA is installed.");

const policies = new Table(at("policies"), [
  { title: "Direction", value: (policy) => policy.dir },
  { title: "Selector", value: (policy) => policy.selector },
  { title: "Action", value: (policy) => (policy.tunnel ? "protect" : policy.action) },
  { title: "Template", value: (policy) => dash(policy.tunnel) },
  { title: "Priority", number: true, value: (policy) => String(policy.priority) },
  ...CARRIED,
], "No policy is installed.");

const drops = new Table(at("drops"), [
  { title: "Counter", value: (drop) => drop.name },
  { title: "Chip", value: (drop) => drop.chip },
  { title: "Path", value: (drop) => drop.path },
  { title: "Packets", number: true, value: (drop) => count(drop.total) },
  { title: "Now", number: true, value: (drop) => rate(drop.rate, "pps") },
], "Nothing was dropped since the chips' reset.");

const events = new Table(at("events"), [
  { title: "Time", value: (event) => clock(event.at) },
  { title: "Event", value: (event) => event.kind },
  { title: "What", name: "long", value: (event) => event.text },
], "No event since the daemon started.");

const PORTS = [
  { label: "red in", colour: "encrypt", key: "red_in" },
  { label: "black out", colour: "encrypt", key: "black_out", dashed: true },
  { label: "black in", colour: "decrypt", key: "black_in" },
  { label: "red out", colour: "decrypt", key: "red_out", dashed: true },
];
const ofPorts = (what) => PORTS.map((port) => ({ ...port, value: (point) => point[port.key]?.[what] ?? null }));

const plots = [
  new Plot(at("plot-bits"), "Bits", "bit/s", ofPorts("bits")),
  new Plot(at("plot-frames"), "Packets", "pps", ofPorts("frames")),
  new Plot(at("plot-drops"), "Dropped packets", "pps", [
    { label: "encrypt", colour: "encrypt", value: (point) => point.drops_encrypt },
    { label: "decrypt", colour: "decrypt", value: (point) => point.drops_decrypt },
  ]),
];

const kept = { place: "", points: [], events: [], answered: Date.now(), ever: false };

function keep(answer) {
  if (answer.fresh) kept.points = kept.events = [];
  kept.points = [...kept.points, ...answer.points].slice(-MOST_POINTS);
  kept.events = [...kept.events, ...answer.events].slice(-MOST_EVENTS);
  kept.place = answer.next;
}

/** How many are listed, if that is not all. */
function some(list, numbers) {
  const all = Object.values(numbers).reduce((sum, number) => sum + number, 0);
  return list.length < all ? `These are the first ${list.length} of ${all.toLocaleString("en")}; sallyctl lists all.` : "";
}

function show(answer) {
  const wrong = [...(answer.configured ? [] : ["not configured"]), ...troubles(answer.chips)];
  say(at("state"), wrong.length ? wrong.join(", ") : "configured, links up");
  at("state").className = wrong.length ? "bad" : "good";
  say(at("daemon"), `sallyportd ${answer.daemon}`);
  const last = kept.points.at(-1) ?? {};
  const load = (port) => (last[port] ? `${rate(last[port].bits, "bit/s")}\n${rate(last[port].frames, "pps")}` : "—");
  say(at("now-encrypt"), load("red_in"));
  say(at("now-decrypt"), load("black_in"));
  const dropped = last.drops_encrypt == null || last.drops_decrypt == null ? null : last.drops_encrypt + last.drops_decrypt;
  const total = answer.drops.reduce((sum, drop) => sum + BigInt(drop.total), 0n);
  say(at("now-drops"), `${rate(dropped, "pps")}\n${count(total)} since reset`);
  const [out, into] = ["out", "in"].map((dir) => answer.sas[dir] ?? 0);
  say(at("now-sas"), `${count(out + into)}\n${count(out)} out, ${count(into)} in`);
  for (const plot of plots) plot.show(kept.points);
  sas.show(answer.sa_list, some(answer.sa_list, answer.sas));
  policies.show(answer.policy_list, some(answer.policy_list, answer.policies));
  drops.show(answer.drops);
  events.show(kept.events.toReversed());
  showChips(document.querySelector("#chips .chips"), answer.chips);
}

/** Say whether the daemon answers; its last answer stays. */
function heard(yes) {
  if (yes) [kept.answered, kept.ever] = [Date.now(), true];
  document.body.classList.toggle("stale", !yes);
  at("silence").hidden = yes;
  const rest = kept.ever ? " What is shown is from then." : "";
  if (!yes) say(at("silence"), `No answer from sallyportd since ${clock(kept.answered)}.${rest}`);
}

async function ask() {
  const url = `api/box?after=${encodeURIComponent(kept.place)}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE) });
  if (!response.ok) throw new Error(response.statusText);
  return response.json();
}

async function turn() {
  let answer;
  try {
    answer = await ask();
  } catch {
    // Whatever it is: refused, too slow, or cut off.
  }
  heard(answer !== undefined);
  if (answer) {
    keep(answer);
    show(answer);
  }
}

/** A hidden page has no reader: it asks no more until it is seen again. */
const seen = () =>
  document.hidden
    ? new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }))
    : Promise.resolve();

for (;;) {
  await seen();
  await turn();
  await new Promise((resolve) => setTimeout(resolve, PERIOD));
}

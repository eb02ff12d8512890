// SPDX-License-Identifier: Apache-2.0
// How figures and times are written.

const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const THREE = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, minimumSignificantDigits: 3 });
const PREFIXES = ["", "k", "M", "G", "T"];

/** A count. As a string it may be longer than a number holds. */
export const count = (number) => WHOLE.format(BigInt(number));

/**
 * A rate with at most three digits, a prefix and its unit: 98.7 Gbit/s; where it is `steady`, with
 * three if it has a prefix.
 */
export function rate(value, unit, steady = true) {
  if (value == null) return "—";
  let power = 0;
  while (value >= 999.5 && power < PREFIXES.length - 1) {
    value /= 1000;
    power += 1;
  }
  return `${(steady && power ? THREE : SHORT).format(value)} ${PREFIXES[power]}${unit}`;
}

/** The time of day of milliseconds since the epoch, with the date if it is not today's. */
export function clock(at) {
  const date = new Date(at);
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString("en-CA")} `;
  return day + date.toLocaleTimeString("en-GB");
}

/** The same of seconds, for which 0 is never. */
export const lastUse = (seconds) => (seconds ? clock(1000 * seconds) : "never");

/** How long milliseconds are. */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${SHORT.format(milliseconds)} ms`;
  const seconds = Math.floor(milliseconds / 1000);
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([length]) => seconds >= length);
  return parts
    .slice(first, first + 2)
    .map(([length, unit], i) => `${Math.floor((i ? seconds % parts[first][0] : seconds) / length)} ${unit}`)
    .join(" ");
}

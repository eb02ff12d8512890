// SPDX-License-Identifier: Apache-2.0
const PAPER = 1040; // CSS pixels across A4 landscape between its margins

// Lets the print style stretch a drawing to the paper: its coordinates stay those it was
// drawn with.
for (const plot of document.querySelectorAll(".plotly-graph-div")) {
  const fit = () => {
    for (const svg of plot.querySelectorAll(".main-svg")) {
      const [width, height] = [svg.getAttribute("width"), svg.getAttribute("height")];
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      plot.style.setProperty("--shape", `${width} / ${height}`);
    }
  };
  plot.on("plotly_afterplot", fit);
  // The first plots were drawn before their neighbours took part of the line.
  Plotly.Plots.resize(plot);
  fit();
}

// How much smaller a table must be to fit the paper.
for (const table of document.querySelectorAll(".test table")) {
  table.style.width = "min-content";
  const width = table.getBoundingClientRect().width;
  table.style.width = "";
  table.style.setProperty("--fit", Math.min(1, PAPER / width).toFixed(3));
}

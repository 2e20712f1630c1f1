// Charts to zoom and point at: everything they show is in the log too.
"use strict";

const HEIGHT = 200;
const PERIODS = [["All", Infinity], ["Two years", 730], ["One year", 365], ["Three months", 91]];
const DAY = 86400;
const MINUS = "\u2212";

function read() {
  const points = JSON.parse(document.getElementById("points").textContent);
  let minutes = 0;
  const taken = points.taken.map((step) => (minutes += step) * 60);
  return { ...points, taken };
}

// Steps of scales: whole numbers, and sizes that are round in their unit.
const COUNTS = Array.from({ length: 10 }, (_, it) => [1, 2, 5].map((digit) => digit * 10 ** it)).flat();
const SIZES = Array.from({ length: 40 }, (_, it) => 2 ** it);

const number = new Intl.NumberFormat("en");

function size(mebibytes) {
  const [unit, length] = [["TiB", 1048576], ["GiB", 1024]].find(([, it]) => mebibytes >= it) ?? ["MiB", 1];
  return `${number.format(Math.round((mebibytes / length) * 10) / 10)} ${unit}`;
}

const signed = (value) => (value < 0 ? `${MINUS}${number.format(-value)}` : `+${number.format(value)}`);
const day = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

// Dates as everywhere else, as short as the distance between two of them allows.
function days(_chart, splits, _axis, _space, step) {
  const [from, to] = step >= 360 * DAY ? [0, 4] : step >= 28 * DAY ? [0, 7] : step >= DAY ? [5, 10] : [11, 16];
  return splits.map((it) => new Date(it * 1000).toISOString().slice(from, to));
}

// The width of the labels of an axis in pixels; they are not known at first.
function widthOf(_chart, labels) {
  return 14 + 7 * Math.max(...(labels ?? ["0"]).map((it) => it.length));
}

// What each chart shows: its columns, how its values are written, and how they are drawn.
function kinds(points, color) {
  // No area: these scales begin near the least value. Those of bars have 0.
  const line = (values, shown, steps) => ({
    range: (_chart, min, max) => {
      const room = (max - min || max || 1) / 20;
      return [Math.max(0, min - room), max + room];
    },
    columns: [values],
    steps,
    text: (at) => (values[at] == null ? "unknown" : shown(values[at])),
    shown,
    series: [{ stroke: color("--bar"), width: 1.5, points: { show: values.length < 60, fill: color("--pico-background-color") } }],
  });
  const bars = uPlot.paths.bars({ size: [0.7, 12], align: 0 });
  const bar = (name) => ({ stroke: color(name), fill: color(name), width: 0, paths: bars, points: { show: false } });
  return {
    specs: line(points.specs, number.format, COUNTS),
    packages: line(points.packages, number.format, COUNTS),
    size: line(points.size, size, SIZES),
    changes: {
      range: (_chart, min, max) => [1.05 * Math.min(0, min), 1.05 * Math.max(0, max)],
      steps: COUNTS,
      columns: [points.added, points.removed.map((it) => -it)],
      text: (at) => `+${number.format(points.added[at])} ${MINUS}${number.format(points.removed[at])}`,
      shown: (it) => (it === 0 ? "0" : signed(it)),
      series: [bar("--added"), bar("--removed")],
    },
  };
}

function options(figure, kind, points, color) {
  const at = figure.querySelector(".at");
  const axis = { stroke: color("--muted"), grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false } };
  const { length, 0: first, [length - 1]: last } = points.taken;
  const beside = (last - first) / (length - 1) / 2; // room for half a bar
  const told = (chart) => {
    const { idx } = chart.cursor;
    at.textContent = idx == null ? "" : `${day(points.taken[idx])}: ${kind.text(idx)}`;
  };
  return {
    width: figure.querySelector(".plot").clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: "growth" }, y: false, points: { show: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { x: { time: true, range: (_chart, min, max) => [min - beside, max + beside] }, y: { range: kind.range } },
    axes: [
      { ...axis, values: days, space: 70, size: 30 },
      { ...axis, values: (_chart, splits) => splits.map(kind.shown), size: widthOf, incrs: kind.steps },
    ],
    series: [{}, ...kind.series],
    hooks: { setCursor: [told], setSelect: [(chart) => chart.select.width > 0 && press(null)] },
  };
}

function draw(points) {
  // Of a variable with a value for light and one for dark, a canvas needs the one that applies.
  const probe = document.getElementById("charts");
  const color = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const every = kinds(points, color);
  const drawn = [...document.querySelectorAll("[data-chart]")].map((figure) => {
    const kind = every[figure.dataset.chart];
    const plot = figure.querySelector(".plot");
    return new uPlot(options(figure, kind, points, color), [points.taken, ...kind.columns], plot);
  });
  probe.style.color = "";
  return drawn;
}

// Which button says what the charts show: none where somebody dragged across one.
function press(pressed) {
  for (const it of document.querySelectorAll(".periods button")) it.setAttribute("aria-pressed", String(it === pressed));
}

// Buttons for the keyboard; with a mouse, dragging across a chart does the same.
function buttons(points, show) {
  const length = (points.taken.at(-1) - points.taken[0]) / DAY;
  const fitting = PERIODS.filter(([, most]) => most === Infinity || most < length);
  if (fitting.length < 2) return;
  const group = document.createElement("div");
  group.className = "periods";
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Time that the charts show");
  for (const [label, most] of fitting) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "secondary outline";
    button.textContent = label;
    button.setAttribute("aria-pressed", String(most === Infinity));
    button.addEventListener("click", () => {
      show(most);
      press(button);
    });
    group.append(button);
  }
  document.getElementById("charts").before(group);
}

document.addEventListener("DOMContentLoaded", () => {
  const points = read();
  let charts = draw(points);
  const show = (most) => {
    const max = points.taken.at(-1);
    const min = Math.max(points.taken[0], max - most * DAY);
    for (const chart of charts) chart.setScale("x", { min, max });
  };
  buttons(points, show);
  const resized = new ResizeObserver(() => {
    for (const chart of charts) {
      const width = chart.root.parentElement.clientWidth;
      if (width !== chart.width) chart.setSize({ width, height: HEIGHT });
    }
  });
  resized.observe(document.getElementById("charts"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of charts) chart.destroy();
    charts = draw(points);
    press(document.querySelector(".periods button"));
  });
});

/** The plots, with their library: a bundle of its own, loaded when there is something to plot. */
import uPlot from "uplot";
import type { StatisticsView } from "../../read/model.js";

const DAY_MS = 86_400_000;
const DAY_S = 86_400;
/** The days between two dates of the axis. */
const DAYS = [1, 2, 7, 14, 30, 91, 182, 365];
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** As many days are shown at least. */
const DAYS_MIN = 14;

function filled(days: StatisticsView["days"]): StatisticsView["days"] {
  const known = new Map(days.map((day) => [day.day, day]));
  const last = Date.parse(days.at(-1)?.day ?? "");
  const first = Math.min(Date.parse(days[0]?.day ?? ""), last - (DAYS_MIN - 1) * DAY_MS);
  return Array.from({ length: Math.round((last - first) / DAY_MS) + 1 || 0 }, (_, index) => {
    const day = new Date(first + index * DAY_MS).toISOString().slice(0, 10);
    return known.get(day) ?? { day, started: 0, completed: 0 };
  });
}

/** Draws sessions a day into an element, as wide as it is. Returns a function that removes the plot. */
export function plotDays(element: HTMLElement, given: StatisticsView["days"]): () => void {
  const days = filled(given);
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name);
  // Colours are defined as light-dark(): what a canvas gets is the one that applies.
  const resolved = (name: string) => {
    element.style.color = `var(${name})`;
    const { color } = getComputedStyle(element);
    element.style.color = "";
    return color;
  };
  const axis = {
    stroke: resolved("--quiet"),
    grid: { stroke: resolved("--rule"), width: 1 },
    font: `12px ${colour("font-family")}`,
  };
  const size = () => ({ width: element.clientWidth, height: 220 });
  const plot = new uPlot(
    {
      ...size(),
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
      scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [
        {
          ...axis,
          incrs: DAYS.map((days) => days * DAY_S),
          values: (_, days) => days.map((seconds) => date.format(new Date(seconds * 1000))),
        },
        { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000], size: 60 },
      ],
      series: [
        { label: "day", value: "{YYYY}-{MM}-{DD}" },
        { label: "started", stroke: resolved("--accent"), width: 2 },
        { label: "completed", stroke: resolved("--good"), width: 2, dash: [6, 4] },
      ],
    },
    [
      days.map(({ day }) => Date.parse(day) / 1000),
      days.map(({ started }) => started),
      days.map(({ completed }) => completed),
    ],
    element,
  );
  const observer = new ResizeObserver(() => plot.setSize(size()));
  observer.observe(element);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
}

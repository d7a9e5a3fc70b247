/** The plots, with their library: a bundle of its own, loaded when there is something to plot. */
import uPlot from "uplot";
import type { StatisticsView } from "../wire.js";

/** Draws sessions a day into an element, as wide as it is. Returns a function that removes the plot. */
export function plotDays(element: HTMLElement, days: StatisticsView["days"]): () => void {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name);
  // Colours are defined as light-dark(): what a canvas gets is the one that applies.
  const resolved = (name: string) => {
    element.style.color = `var(${name})`;
    const { color } = getComputedStyle(element);
    element.style.color = "";
    return color;
  };
  const axis = { stroke: resolved("--quiet"), grid: { stroke: resolved("--rule"), width: 1 }, font: `12px ${colour("font-family")}` };
  const size = () => ({ width: element.clientWidth, height: 220 });
  const plot = new uPlot(
    {
      ...size(),
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
      scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [axis, { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000], size: 48 }],
      series: [
        { value: "{YYYY}-{MM}-{DD}" },
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

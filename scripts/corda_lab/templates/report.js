"use strict";
(() => {
  const { charts, span } = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim() || getComputedStyle(root).getPropertyValue("--faint").trim();

  const toTrace = (trace, chart) => {
    const c = colour(trace.colour);
    const unit = chart.y_title;
    const base = { name: trace.name, x: trace.x, y: trace.y, hovertemplate: `%{y:,.4~g} ${unit}<extra>${trace.name}</extra>` };
    if (trace.kind === "bars") return { ...base, type: "bar", marker: { color: c }, hovertemplate: `about %{x:,.4~g} ms: %{y:,} ${unit}<extra></extra>` };
    if (trace.kind === "dots") return { ...base, type: "scatter", mode: "markers", marker: { color: c, size: 4.5, opacity: 0.5 } };
    const line = { color: c, width: 2, dash: trace.dash };
    if (trace.kind === "steps") {
      const hover = chart.is_over_time ? base.hovertemplate : `%{y:.4~g} % within %{x:,.4~g} ms<extra></extra>`;
      return { ...base, type: "scatter", mode: "lines", line: { ...line, shape: "hv" }, hovertemplate: hover };
    }
    return { ...base, type: "scatter", mode: "lines", line, ...(trace.kind === "area" ? { fill: "tozeroy", fillcolor: c + "22" } : {}) };
  };

  const marksOf = (chart) => {
    const shapes = [], annotations = [];
    const quiet = colour("quiet");
    const label = (x, text, extra) => annotations.push({ x, y: 1, yref: "paper", yanchor: "top", xanchor: "left", showarrow: false, text, font: { size: 12, color: quiet }, ...extra });
    if (chart.is_over_time) {
      const shade = (x0, x1) => shapes.push({ type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, fillcolor: colour("shade"), line: { width: 0 }, layer: "below" });
      if (span.warm_up_end > 0) { shade(0, span.warm_up_end); label(0, "warm-up", { xshift: 4 }); }
      if (span.end - span.stop > span.end / 100) { shade(span.stop, span.end); if (chart.is_wide) label(span.stop, "stopping", { xanchor: "right", xshift: -4 }); }
    }
    for (const mark of chart.marks) {
      const line = { color: colour("ink"), width: 1.5, dash: "dash" };
      if (mark.kind === "mean") {
        shapes.push({ type: "line", xref: "x", yref: "y", x0: span.warm_up_end, x1: span.stop, y0: mark.value, y1: mark.value, line });
        annotations.push({ x: span.stop, y: mark.value, xanchor: "right", yanchor: "bottom", showarrow: false, text: mark.text, font: { size: 12.5, color: colour("ink") }, bgcolor: colour("card"), borderpad: 2, yshift: 3 });
      } else {
        shapes.push({ type: "line", xref: "x", yref: "paper", x0: mark.value, x1: mark.value, y0: 0, y1: 1, line });
        label(mark.value, mark.text, { xshift: 3 });
      }
    }
    return { shapes, annotations };
  };

  const layoutOf = (chart) => {
    const axis = { gridcolor: colour("grid"), linecolor: colour("line"), zeroline: false, tickfont: { size: 12 }, automargin: true, exponentformat: "none", separatethousands: true };
    const range = chart.is_over_time ? { range: [0, span.end] } : {};
    const many = chart.traces.length > 1;
    // Room above the bars for the names of the percentiles.
    const headroom = chart.marks.some((mark) => mark.kind === "quantile") ? { range: [0, 1.12 * Math.max(...chart.traces.flatMap((trace) => trace.y))] } : {};
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("quiet"), family: "system-ui, sans-serif", size: 12.5 },
      margin: { l: 8, r: 12, t: many ? 34 : 10, b: 8 }, bargap: 0.04, showlegend: many, hovermode: chart.is_over_time ? "x unified" : "closest",
      hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12.5 } },
      xaxis: { ...axis, title: { text: chart.x_title, standoff: 6 }, ...range },
      yaxis: { ...axis, title: { text: chart.y_title, standoff: 6 }, rangemode: "tozero", ...headroom },
      ...marksOf(chart),
    };
  };

  const draw = () => {
    for (const chart of charts) {
      const place = document.getElementById(chart.id);
      if (place) Plotly.react(place, chart.traces.map((trace) => toTrace(trace, chart)), layoutOf(chart), { responsive: true, displayModeBar: false });
    }
  };

  const setTheme = (name) => { root.dataset.theme = name; draw(); };
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
  document.getElementById("copy").addEventListener("click", async (event) => {
    const text = document.getElementById("command");
    try {
      await navigator.clipboard.writeText(text.textContent);
      event.target.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(text);
    }
  });
})();

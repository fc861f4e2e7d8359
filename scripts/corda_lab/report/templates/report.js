"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { charts, spans } = data;
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim() || getComputedStyle(root).getPropertyValue("--faint").trim();
  const RIGHT = { xanchor: "right" };

  const around = (middle, low, high) => ({
    type: "data", symmetric: false, thickness: 1.6, width: 5,
    array: middle.map((value, place) => (high[place] == null ? 0 : high[place] - value)),
    arrayminus: middle.map((value, place) => (low[place] == null ? 0 : value - low[place])),
  });

  const toTrace = (trace, chart) => {
    const c = colour(trace.colour);
    const unit = chart.panels.length ? chart.panels[trace.panel] : chart.y_title;
    const base = { name: trace.name, x: trace.x, y: trace.y, hovertemplate: `%{y:,.4~g} ${unit}<extra>${trace.name}</extra>` };
    if (trace.labels) Object.assign(base, { customdata: trace.labels, hovertemplate: `%{customdata}<extra>${trace.name}</extra>` });
    if (trace.panel) Object.assign(base, { yaxis: `y${trace.panel + 1}` });
    if (chart.panels.length) Object.assign(base, { legendgroup: trace.name });
    if (trace.is_in_legend === false) base.showlegend = false;
    if (trace.kind === "bars") {
      const pattern = trace.pattern === undefined ? {} : { pattern: { shape: trace.pattern, fgcolor: colour("card"), fgopacity: 0.55, size: 8, solidity: 0.18, fillmode: "overlay" } };
      return { ...base, type: "bar", marker: { color: c, ...pattern, line: { width: 0 } }, ...(trace.labels || chart.is_stacked ? {} : { hovertemplate: `about %{x:,.4~g} ms: %{y:,} ${unit}<extra></extra>` }) };
    }
    if (trace.kind === "dots") return { ...base, type: "scatter", mode: "markers", marker: { color: c, size: 4.5, opacity: 0.5 } };
    if (trace.kind === "points-only") return { ...base, type: "scatter", mode: "markers", marker: { color: c, symbol: trace.symbol, size: 13 } };
    if (trace.kind === "marks") {
      const plain = trace.symbol === "x" || trace.symbol === "cross";
      return { ...base, type: "scatter", mode: "markers", marker: { color: c, symbol: trace.symbol, size: plain ? 9 : 6, opacity: plain ? 1 : 0.55, line: { width: 0 } } };
    }
    const line = { color: c, width: 2, dash: trace.dash };
    if (trace.kind === "points" || trace.kind === "intervals") {
      const hollow = trace.hollow ?? trace.x.map(() => false);
      return {
        ...base, type: "scatter", mode: (trace.kind === "intervals" ? "markers" : "lines+markers") + (trace.texts ? "+text" : ""), line, cliponaxis: chart.x_max !== null || chart.y_max !== null,
        marker: { color: hollow.map((is) => (is ? colour("card") : c)), symbol: trace.symbol, size: 9, line: { color: c, width: 2 } },
        ...(trace.texts ? { text: trace.texts, textposition: "top left", textfont: { size: 11.5, color: colour("quiet") } } : {}),
        ...(trace.y_low ? { error_y: { ...around(trace.y, trace.y_low, trace.y_high), color: c } } : {}),
        ...(trace.x_low ? { error_x: { ...around(trace.x, trace.x_low, trace.x_high), color: c } } : {}),
      };
    }
    if (trace.kind === "steps") {
      const hover = chart.is_over_time ? base.hovertemplate : `%{y:.4~g} % within %{x:,.4~g} ms<extra></extra>`;
      return { ...base, type: "scatter", mode: "lines", line: { ...line, shape: "hv" }, hovertemplate: hover };
    }
    return { ...base, type: "scatter", mode: "lines", connectgaps: false, line: { ...line, width: chart.panels.length ? 1.5 : 2 }, ...(trace.kind === "area" ? { fill: "tozeroy", fillcolor: c + "22" } : {}) };
  };

  const marksOf = (chart, own) => {
    const shapes = [], annotations = [];
    const quiet = colour("quiet");
    const label = (x, text, extra) => annotations.push({ x, y: 1, yref: "paper", yanchor: "top", xanchor: "left", showarrow: false, text, font: { size: 12, color: quiet }, ...extra });
    const shade = (x0, x1, fillcolor) => shapes.push({ type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, fillcolor, line: { width: 0 }, layer: "below" });
    if (chart.is_over_time && own.length === 1) {
      const [span] = own;
      if (span.warm_up_end > 0) { shade(0, span.warm_up_end, colour("shade")); label(0, "warm-up", { xshift: 4 }); }
      if (span.end - span.stop > span.end / 100) { shade(span.stop, span.end, colour("shade")); if (chart.width === "wide") label(span.stop, "stopping", { ...RIGHT, xshift: -4 }); }
    } else if (chart.is_over_time) {
      const every = Math.ceil(own.length / 26);
      own.forEach((span, place) => {
        shade(span.start, span.warm_up_end, colour("shade"));
        shade(span.warm_up_end, span.stop, colour(span.is_valid ? "measured" : "bad-back"));
        shapes.push({ type: "line", xref: "x", yref: "paper", x0: span.start, x1: span.start, y0: 0, y1: 1.005, line: { color: quiet, width: 1, dash: "dot" }, layer: "below" });
        if (place % every === 0 || !span.is_valid) label((span.start + span.stop) / 2, span.is_valid ? span.name : `<b>✗${span.name}</b>`, { y: 1.0, yanchor: "bottom", xanchor: "center", font: { size: 11, color: colour(span.is_valid ? "quiet" : "bad") } });
      });
    }
    if (chart.is_over_time) {
      // Dark while a fault lasts, light until throughput is back.
      const end = own.length ? own[own.length - 1].end : 0;
      for (const fault of own.flatMap((span) => span.faults ?? [])) {
        shade(fault.start, Math.max(fault.end, fault.start + end / 400), colour("fault"));
        if (fault.back !== null && fault.back > fault.end) shade(fault.end, fault.back, colour("fault-after"));
        annotations.push({ x: fault.start, y: 0.98, yref: "paper", yanchor: "top", xanchor: "left", showarrow: false, textangle: 90, text: chart.width === "wide" ? fault.text : fault.name, hovertext: fault.text, font: { size: 11, color: colour("bad") } });
      }
    }
    for (const mark of chart.marks) {
      const line = { color: colour("ink"), width: 1.5, dash: "dash" };
      if (mark.kind === "mean") {
        const [span] = own;
        shapes.push({ type: "line", xref: "x", yref: "y", x0: span.warm_up_end, x1: span.stop, y0: mark.value, y1: mark.value, line });
        annotations.push({ x: span.stop, y: mark.value, xanchor: "right", yanchor: "bottom", showarrow: false, text: mark.text, font: { size: 12.5, color: colour("ink") }, bgcolor: colour("card"), borderpad: 2, yshift: 3 });
      } else if (mark.kind === "level") {
        shapes.push({ type: "line", xref: "paper", yref: "y", x0: 0, x1: 1, y0: mark.value, y1: mark.value, line });
        annotations.push({ x: 1, xref: "paper", y: mark.value, xanchor: "right", yanchor: "bottom", showarrow: false, text: mark.text, font: { size: 12, color: colour("ink") }, yshift: 2 });
      } else {
        shapes.push({ type: "line", xref: "x", yref: "paper", x0: mark.value, x1: mark.value, y0: 0, y1: 1, line });
        label(mark.value, mark.text, { xshift: 3 });
      }
    }
    return { shapes, annotations };
  };

  const layoutOf = (chart, own, place) => {
    const axis = { gridcolor: colour("grid"), linecolor: colour("line"), zeroline: false, tickfont: { size: 12 }, automargin: true, exponentformat: "none", separatethousands: true };
    const range = chart.is_over_time ? { range: [0, own[own.length - 1].end] } : {};
    const ticks = chart.ticks ? { tickmode: "array", tickvals: chart.ticks, ticktext: chart.ticks.map((value) => value.toLocaleString("en")) } : {};
    const type = { linear: {}, zero: { rangemode: "tozero" } }[chart.axis] ?? { type: chart.axis };
    const many = chart.traces.length > 1 && chart.width !== "third";
    const size = root.classList.contains("printing") ? { autosize: false, width: place.clientWidth, height: place.clientHeight } : { autosize: true, width: null, height: null };
    const titleFont = { size: 12.5 };
    // Space above the bars for the labels of the percentiles.
    const headroom = chart.marks.some((mark) => mark.kind === "quantile") ? { range: [0, 1.12 * Math.max(...chart.traces.flatMap((trace) => trace.y))] } : {};
    const count = chart.panels.length;
    const until = (end) => (end === null ? {} : { range: [0, end] });
    const y = { ...axis, rangemode: chart.is_y_from_zero ? "tozero" : "normal", ...headroom, ...until(chart.y_max) };
    const yAxes = count
      ? Object.fromEntries(chart.panels.map((title, place) => [`yaxis${place ? place + 1 : ""}`, {
        ...y, nticks: 5, title: { text: title, standoff: 6, font: { size: 12 } }, domain: [1 - (place + 0.9) / count, 1 - place / count],
      }]))
      : { yaxis: { ...y, title: { text: chart.y_title, standoff: 6, font: titleFont } } };
    return {
      ...size, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("quiet"), family: "system-ui, sans-serif", size: 12.5 },
      margin: { l: 8, r: 12, t: count ? 54 : many ? 34 : 10, b: 8 }, bargap: chart.is_stacked ? 0.3 : 0.04, barmode: chart.is_stacked ? "stack" : "group", showlegend: many,
      hovermode: chart.is_over_time ? "x unified" : "closest", hoverdistance: 40,
      hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
      legend: { orientation: "h", x: 0, y: count ? 1.028 : 1.02, yanchor: "bottom", font: { size: 12.5 }, traceorder: "normal" },
      xaxis: { ...axis, title: { text: chart.x_title, standoff: 6, font: titleFont }, ...range, ...ticks, ...type, ...until(chart.x_max), ...(count ? { anchor: `y${count}` } : {}) },
      ...yAxes,
      ...marksOf(chart, own),
    };
  };

  const drawOne = (chart, own) => {
    const place = document.getElementById(chart.id);
    if (place && chart.traces.length) Plotly.react(place, chart.traces.map((trace) => toTrace(trace, chart)), layoutOf(chart, own, place), { responsive: true, displayModeBar: false });
  };

  const chooser = document.getElementById("step");
  const drawStep = () => {
    if (!chooser) return;
    const step = data.steps[chooser.value];
    document.querySelectorAll("[data-step]").forEach((facts) => { facts.hidden = facts.dataset.step !== chooser.value; });
    for (const chart of step.charts) {
      drawOne(chart, [step.span]);
      document.getElementById(chart.id).setAttribute("aria-label", `${chart.title} of step ${chooser.value}`);
    }
  };

  const draw = () => {
    for (const chart of charts) drawOne(chart, spans);
    drawStep();
  };

  if (chooser) {
    chooser.addEventListener("change", drawStep);
    const go = (by) => {
      const place = Math.min(Math.max(chooser.selectedIndex + by, 0), chooser.options.length - 1);
      chooser.selectedIndex = place;
      drawStep();
    };
    document.getElementById("step-before").addEventListener("click", () => go(-1));
    document.getElementById("step-after").addEventListener("click", () => go(1));
    document.querySelectorAll("a[data-open]").forEach((link) => link.addEventListener("click", () => {
      chooser.value = link.dataset.open;
      drawStep();
      chooser.focus({ preventScroll: true });
    }));
  }

  const setTheme = (name) => { root.dataset.theme = name; draw(); };
  const systemTheme = () => (dark.matches ? "dark" : "light");
  setTheme(systemTheme());
  dark.addEventListener("change", () => setTheme(systemTheme()));
  document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));

  // Print in light mode and at the width of a page, so that nothing is cut off.
  let shown = null;
  addEventListener("beforeprint", () => { shown ??= root.dataset.theme; root.classList.add("printing"); setTheme("light"); });
  addEventListener("afterprint", () => { root.classList.remove("printing"); setTheme(shown ?? systemTheme()); shown = null; });

  document.querySelectorAll("button.copy").forEach((button) => button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(text);
    }
  }));
})();

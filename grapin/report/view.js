// The page's only script: draws the plots, and shows the prediction that the reader chooses.
"use strict";
(() => {
  const { figures, choices, axis } = JSON.parse(document.getElementById("data").textContent);
  const NAMES = ["machine", "system", "cache", "answer"];
  const MIB = 2 ** 20;
  const PAPER = 680; // pixels that fit between the margins of A4 and of letter paper
  const find = (id) => document.getElementById(id);
  const controls = Object.fromEntries(NAMES.map((name) => [name, find(name)]));

  // plotly reads a little HTML; names are to be shown as they are.
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  function draw(id, data, layout) {
    const still = { fixedrange: true, automargin: true };
    const whole = {
      font: { family: "system-ui, sans-serif", size: 13 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hovermode: "closest",
      dragmode: false,
      legend: { orientation: "h", traceorder: "normal", x: 0, y: 1, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
      ...layout,
      margin: { l: 10, r: 20, t: 40, b: 50, ...layout.margin },
      xaxis: { ...still, ...layout.xaxis },
      yaxis: { ...still, ticks: "outside", tickcolor: "rgba(0,0,0,0)", ...layout.yaxis },
    };
    return Plotly.react(find(id), data, whole, { displayModeBar: false, responsive: true });
  }

  function fill(select, values) {
    for (const value of values) select.add(new Option(value, value));
  }

  function chosen() {
    return Object.fromEntries(NAMES.map((name) => [name, controls[name].value]));
  }

  // A system that keeps no copies was predicted once, without a cache.
  function predicted({ machine, system, answer, cache }) {
    for (const room of [cache, "none"]) {
      const outcome = choices.outcomes[[machine, system, answer, room].join("|")];
      if (outcome) return { ...outcome, cache: room };
    }
    return null;
  }

  function under(choice) {
    return Object.keys(choices.systems)
      .map((system) => ({ system, outcome: predicted({ ...choice, system }) }))
      .filter(({ outcome }) => outcome);
  }

  function element(kind, content, name = "") {
    const made = document.createElement(kind);
    if (name) made.className = name;
    made.append(...[content].flat());
    return made;
  }

  function showRows(choice, found) {
    const rows = found.map(({ system, outcome }) => {
      const spot = element("span", "", "spot");
      spot.style.background = choices.systems[system].colour;
      const name = element("th", [spot, system]);
      name.scope = "row";
      name.title = choices.systems[system].summary;
      const columns = ["bytes", "requests", "wire", "rounds", "start", "seconds", "used", "dominant"];
      const row = element("tr", [
        name,
        element("td", outcome.cache),
        ...columns.map((column) => element("td", outcome.text[column], "number")),
      ]);
      row.setAttribute("aria-selected", String(system === choice.system));
      return row;
    });
    find("rows").replaceChildren(...rows);
  }

  function showSentence(choice, outcome, found) {
    const { machine, system, answer } = choice;
    find("summary").textContent = `${system}: ${choices.systems[system].summary}.`;
    find("said").style.setProperty("--system", choices.systems[system].colour);
    if (!outcome) {
      find("said").textContent = `${answer} was not run under ${system}, nor under a system that reads the same lists.`;
      return;
    }
    const room = outcome.cache === "none" ? "without a cache" : `with a cache of ${outcome.cache} of the edges`;
    const text = outcome.text;
    const best = found.reduce((least, one) => (one.outcome.seconds < least.outcome.seconds ? one : least));
    const beside =
      best.system === system
        ? "No other system is faster here."
        : `The fastest here is ${best.system}, with ${best.outcome.text.seconds}.`;
    find("said").textContent =
      `On ${machine} (${choices.machines[machine]}), ${system} ${room} moves ${text.bytes} a batch and takes ` +
      `${text.seconds} for ${answer}, most of it for ${text.dominant}. ${beside}`;
  }

  function showSystems(choice, found) {
    const dots = {
      type: "scatter",
      mode: "markers",
      x: found.map(({ outcome }) => outcome.seconds),
      y: found.map(({ system }) => plain(system)),
      hovertext: found.map(({ outcome }) => `${outcome.text.seconds}, ${outcome.text.bytes}`),
      hovertemplate: "%{y}: %{hovertext}<extra></extra>",
      marker: {
        color: found.map(({ system }) => choices.systems[system].colour),
        size: found.map(({ system }) => (system === choice.system ? 19 : 11)),
        opacity: 1,
        line: { width: 0 },
      },
    };
    return draw("systems", [dots], {
      height: 90 + 30 * found.length,
      margin: { t: 10 },
      xaxis: { ...axis, title: { text: "time a batch, logarithmic" } },
      yaxis: { autorange: "reversed", type: "category" },
    });
  }

  function showCaches(choice) {
    const tried = choices.caches
      .map((cache) => predicted({ ...choice, cache }))
      .filter((outcome, place) => outcome && outcome.cache === choices.caches[place]);
    const kinds = Object.keys(choices.kindColours).filter((kind) => tried.some(({ kinds }) => kinds[kind] > 0));
    const bars = kinds.map((kind) => ({
      type: "bar",
      orientation: "h",
      name: kind,
      y: tried.map(({ cache }) => cache),
      x: tried.map((outcome) => outcome.kinds[kind] / MIB),
      hovertext: tried.map((outcome) => outcome.kindText[kind]),
      hovertemplate: `%{y}: %{hovertext} ${kind}<extra></extra>`,
      marker: {
        color: choices.kindColours[kind],
        opacity: tried.map(({ cache }) => (cache === predicted(choice).cache ? 1 : 0.5)),
      },
    }));
    find("room").textContent =
      tried.length > 1
        ? `What a larger cache does to ${choice.system}`
        : `${choice.system} keeps no copies: what it moves`;
    return draw("caches", bars, {
      barmode: "stack",
      height: 120 + 30 * tried.length,
      showlegend: true,
      xaxis: { rangemode: "tozero", title: { text: "MiB a batch over the link" } },
      yaxis: { autorange: "reversed", type: "category", title: { text: "cache" } },
    });
  }

  function show() {
    const choice = chosen();
    const found = under(choice);
    showRows(choice, found);
    showSentence(choice, predicted(choice), found);
    showSystems(choice, found);
    showCaches(choice);
  }

  function readAddress() {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const known = controls[name] && [...controls[name].options].some((option) => option.value === value);
      if (known) controls[name].value = value;
    }
  }

  for (const [id, { data, layout }] of Object.entries(figures)) draw(id, data, layout);
  fill(controls.machine, Object.keys(choices.machines));
  fill(controls.system, Object.keys(choices.systems));
  fill(controls.cache, choices.caches);
  fill(controls.answer, choices.answers);
  readAddress();
  show();
  find("choice").addEventListener("input", () => {
    // Embedded in another page it has no address of its own.
    if (location.protocol !== "about:") history.replaceState(null, "", `#${new URLSearchParams(chosen())}`);
    show();
  });
  const plots = [...document.querySelectorAll(".plot")];
  addEventListener("beforeprint", () => plots.forEach((plot) => Plotly.relayout(plot, { width: PAPER })));
  addEventListener("afterprint", () => plots.forEach((plot) => Plotly.relayout(plot, { width: null, autosize: true })));
  addEventListener("hashchange", () => {
    readAddress();
    show();
  });
})();

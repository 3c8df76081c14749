/* Both plans on one time axis. A row's geometry lives in CSS variables (shares of the horizon), so
   that a changed plan glides to its new shape and the layout follows the width by itself. */

const ROW_MARKS = ["first_visible_s", "done_s", "reader_done_s", "total_s"];
const LABEL_FLIPS_AT = 0.86; // right of this share of the axis a bar's duration stands on its left
const MARK_LABEL_PX = 34;
const MARK_PUSH_PX = 26;

class Waterfall {
  #groups = new Map();
  #hints = new WeakMap();
  #horizon = 1;
  #most = 0;
  #plan = "";

  constructor(tooltip) {
    this.tooltip = tooltip;
    this.grid = el("div", { class: "plot grid", "aria-hidden": "true" });
    this.lanes = el("div", { class: "lanes" });
    this.veil = el("div", { class: "veil" });
    this.playhead = el("div", { class: "playhead" });
    this.legend = el("ul", { class: "legend" });
    this.body = el(
      "div",
      { class: "body" },
      this.grid,
      this.lanes,
      el("div", { class: "plot cover", "aria-hidden": "true" }, this.veil),
      el("div", { class: "plot", "aria-hidden": "true" }, this.playhead),
    );
    this.root = el("section", { class: "waterfall" }, this.body);
    this.#listen();
  }

  #listen() {
    const explain = (event) => {
      const track = event.target.closest?.(".track");
      const hint = track && this.#hints.get(track);
      if (hint) this.tooltip.show(track, hint.offset, hint.content());
      else this.tooltip.hide();
    };
    this.body.addEventListener("pointerover", explain);
    this.body.addEventListener("focusin", explain);
    this.body.addEventListener("focusout", () => this.tooltip.hide());
    this.body.addEventListener("pointerleave", () => this.tooltip.hide());
  }

  update(data, say) {
    this.#horizon = data.horizon_s;
    setAttributes(this.root, { "aria-label": say("waterfall") });
    const lanes = data.lanes.map((lane, index) => this.#updateLane(lane, index, say));
    arrange(this.lanes, lanes);
    for (const id of this.#groups.keys())
      if (!data.lanes.some((lane) => lane.id === id)) this.#groups.delete(id);
    this.#keepHeight(data.lanes);
    this.legend.replaceChildren(...legendOf(data.lanes, say));
    const focusable = this.tracks();
    focusable.forEach((track, index) => track.setAttribute("tabindex", index === 0 ? 0 : -1));
  }

  /* A toggle may take rows away; what stands below must not jump. Another scenario starts afresh. */
  #keepHeight(lanes) {
    const plan = lanes[0].steps.map((step) => step.id).join(" ");
    const rows = lanes.reduce((sum, lane) => sum + lane.steps.length, 0);
    this.#most = plan === this.#plan ? Math.max(this.#most, rows) : rows;
    this.#plan = plan;
    this.lanes.style.setProperty("--rows", this.#most);
    this.lanes.style.setProperty("--lane-count", lanes.length);
  }

  tracks() {
    return [...this.lanes.querySelectorAll(".track")];
  }

  #updateLane(lane, index, say) {
    let group = this.#groups.get(lane.id);
    if (!group) {
      group = this.#openLane();
      this.#groups.set(lane.id, group);
    }
    setAttributes(group.root, { "data-lane": lane.id, "data-index": index });
    setAttributes(group.list, { "aria-label": lane.title });
    this.#updateSeen(group, lane, say);
    arrange(group.list, [
      group.head,
      ...lane.steps.map((step) => this.#updateStep(group, step, say)),
    ]);
    for (const id of group.rows.keys())
      if (!lane.steps.some((step) => step.id === id)) group.rows.delete(id);
    group.links.replaceChildren(...criticalLinks(lane.steps, (time) => this.#share(time)));
    group.lines.replaceChildren(
      ...this.#marksOf(lane).map(({ mark, share }) =>
        el("i", { class: "mark-line", "data-mark": mark, style: `left:${share}` }),
      ),
    );
    return group.root;
  }

  #openLane() {
    const [name, meaning] = [el("strong"), el("span", { class: "label" })];
    const seen = el("span", { class: "track seen", role: "img", "aria-describedby": "tip" });
    const head = el(
      "li",
      { class: "row lane-head" },
      el("span", { class: "name" }, name, meaning),
      seen,
    );
    const [list, links, lines] = [
      el("ul", { class: "rows" }),
      el("div", { class: "plot links" }),
      el("div", { class: "plot lines" }),
    ];
    return {
      root: el("div", { class: "group" }, lines, list, links),
      list,
      head,
      name,
      meaning,
      seen,
      links,
      lines,
      rows: new Map(),
    };
  }

  #share(time) {
    return `${((Math.min(time, this.#horizon) / this.#horizon) * 100).toFixed(3)}%`;
  }

  #marksOf(lane) {
    return ROW_MARKS.filter((mark) => isTime(lane.marks[mark]))
      .map((mark) => ({
        mark,
        at: lane.marks[mark],
        share: this.#share(lane.marks[mark]),
        beyond: lane.marks[mark] > this.#horizon,
      }))
      .sort((one, other) => one.at - other.at);
  }

  /* The row of perception: nothing, then a reaction, then the answer, then reading on. */
  #updateSeen(group, lane, say) {
    setText(group.name, lane.title);
    setText(group.meaning, say("seen"));
    const {
      ack_s: ack,
      first_visible_s: first,
      done_s: done,
      reader_done_s: reader,
      total_s: total,
    } = lane.marks;
    const shown = first ?? total ?? this.#horizon;
    const end = done ?? shown;
    const edges = {
      ack: Math.min(ack ?? shown, shown),
      first: shown,
      done: end,
      reader: Math.max(reader ?? end, end),
      total: total ?? end,
    };
    for (const [name, time] of Object.entries(edges))
      group.seen.style.setProperty(`--${name}`, this.#share(time));
    if (!group.seen.firstChild) group.seen.append(seenStrip());
    group.seen.querySelectorAll(".flag").forEach((flag) => flag.remove());
    group.seen.append(
      ...this.#marksOf(lane).map(({ mark, at, share, beyond }) =>
        el(
          "span",
          { class: "flag", "data-mark": mark, "data-beyond": beyond, style: `left:${share}` },
          el("b", {}, at.toFixed(2)),
          glyph(mark),
        ),
      ),
    );
    const facts = MARKS.filter((mark) => isTime(lane.marks[mark])).map(
      (mark) => `${say(`mark_${mark}`)} ${seconds(lane.marks[mark], say)}`,
    );
    setAttributes(group.seen, {
      "aria-label": `${lane.title}: ${say("seen")}. ${facts.join(", ")}`,
    });
    this.#hints.set(group.seen, {
      offset: 0,
      content: () => seenExplanation(lane, say),
      time: first ?? 0,
    });
  }

  #updateStep(group, step, say) {
    let row = group.rows.get(step.id);
    if (!row) {
      row = openRow();
      group.rows.set(step.id, row);
    }
    const first = step.first_s ?? step.end_s;
    for (const [name, time] of [
      ["ready", step.ready_s],
      ["start", step.start_s],
      ["first", first],
      ["end", step.end_s],
    ]) {
      row.track.style.setProperty(`--${name}`, this.#share(time));
    }
    const late = step.end_s / this.#horizon > LABEL_FLIPS_AT;
    const side = !late
      ? "right"
      : step.start_s / this.#horizon > 1 - LABEL_FLIPS_AT
        ? "left"
        : "inside";
    setAttributes(row.root, {
      "data-step": step.id,
      "data-kind": step.kind,
      "data-state": step.state,
      "data-critical": step.critical ? "yes" : "no",
      "data-streams": isTime(step.first_s) ? "yes" : "no",
      "data-side": side,
    });
    if (row.icon.dataset.icon !== step.kind) {
      const fresh = icon(step.kind);
      row.icon.replaceWith(fresh);
      row.icon = fresh;
    }
    setText(row.label, step.label);
    setAttributes(row.label, { title: step.label });
    setText(
      row.length,
      step.state === "skipped" ? say("step_skipped") : span(step.end_s - step.start_s, say),
    );
    setAttributes(row.track, { "aria-label": sentence(step, say) });
    this.#hints.set(row.track, {
      offset: step.start_s / this.#horizon,
      content: () => stepExplanation(step, say),
      time: step.start_s,
    });
    return row.root;
  }

  /* Arrow keys walk through the bars; one of them is in the tab order. */
  moveFocus(from, by) {
    const tracks = this.tracks();
    const next = tracks[tracks.indexOf(from) + by];
    if (!next) return;
    from.setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  }

  startOf(track) {
    return this.#hints.get(track)?.time ?? null;
  }

  /* Places what depends on pixels: grid lines, and the times on the flags where there is room. */
  layout(width, ticks) {
    this.width = width;
    this.grid.replaceChildren(
      ...ticks.map((time) => el("i", { style: `left:${this.#share(time)}` })),
    );
    for (const { seen } of this.#groups.values())
      placeFlags([...seen.querySelectorAll(".flag")], width);
  }

  show(time) {
    const x = (time / this.#horizon) * this.width;
    this.playhead.style.transform = `translateX(${x.toFixed(2)}px)`;
    this.veil.style.transform = `translateX(${x.toFixed(2)}px)`;
  }
}

function seenStrip() {
  return svg(
    "svg",
    { class: "strip", "aria-hidden": "true" },
    ...["nothing", "reaction", "answer", "reading", "after"].map((part) =>
      svg("rect", { class: part }),
    ),
  );
}

function openRow() {
  const bar = svg(
    "svg",
    { class: "bar", "aria-hidden": "true" },
    ...["queue", "wait", "stream", "hatch", "outline", "cap"].map((part) =>
      svg("rect", { class: part }),
    ),
  );
  const label = el("span", { class: "label" });
  const length = el("span", { class: "length" });
  const track = el(
    "span",
    { class: "track", role: "img", tabindex: -1, "aria-describedby": "tip" },
    bar,
    length,
  );
  const sign = icon("compute");
  const root = el("li", { class: "row" }, el("span", { class: "name" }, sign, label), track);
  return { root, track, label, length, icon: sign };
}

function sentence(step, say) {
  return [
    step.label,
    say(`kind_${step.kind}`),
    say(`step_${step.state}`),
    step.critical ? say("critical") : null,
    `${say("col_start")} ${seconds(step.start_s, say)}`,
    isTime(step.first_s) ? `${say("col_first")} ${seconds(step.first_s, say)}` : null,
    `${say("col_end")} ${seconds(step.end_s, say)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/* Hairlines from each critical step down to the next: the chain that decides the end. */
function criticalLinks(steps, share) {
  const chain = steps
    .map((step, row) => ({ ...step, row }))
    .filter((step) => step.critical)
    .sort((one, other) => one.start_s - other.start_s || one.end_s - other.end_s);
  return chain.slice(1).map((step, index) => {
    const [from, to] = [chain[index].row, step.row].sort((one, other) => one - other);
    return el("i", {
      class: "link",
      style: `left:${share(step.ready_s)};--from:${from};--to:${to}`,
    });
  });
}

/* A flag's time moves right to clear its neighbour, and goes where that would part it from its flag. */
function placeFlags(flags, width) {
  let taken = -Infinity;
  for (const flag of flags) {
    const centre = (parseFloat(flag.style.left) / 100) * width;
    const place = Math.min(Math.max(centre - MARK_LABEL_PX / 2, taken, 0), width - MARK_LABEL_PX);
    const fits = place >= taken && place - (centre - MARK_LABEL_PX / 2) <= MARK_PUSH_PX;
    flag.firstChild.hidden = !fits;
    if (!fits) continue;
    flag.firstChild.style.transform = `translateX(${(place - centre).toFixed(1)}px)`;
    taken = place + MARK_LABEL_PX + 2;
  }
}

function legendOf(lanes, say) {
  const steps = lanes.flatMap((lane) => lane.steps);
  const has = (test) => steps.some(test);
  const swatches = [
    ["wait", say("legend_wait"), true],
    ["stream", say("legend_stream"), has((step) => isTime(step.first_s))],
    ["queue", say("legend_queue"), has((step) => step.start_s > step.ready_s)],
    ["chain", say("legend_critical"), has((step) => step.critical)],
    ...["cached", "skipped", "cancelled", "failed"].map((state) => [
      state,
      say(`step_${state}`),
      has((step) => step.state === state),
    ]),
  ]
    .filter(([, , present]) => present)
    .map(([name, text]) =>
      el("li", {}, el("i", { class: `swatch ${name}`, "aria-hidden": "true" }), text),
    );
  const kinds = ["llm", "embed", "search", "rerank", "fetch", "compute", "show"]
    .filter((kind) => has((step) => step.kind === kind))
    .map((kind) => el("li", {}, icon(kind), say(`kind_${kind}`)));
  return [...swatches, ...kinds];
}

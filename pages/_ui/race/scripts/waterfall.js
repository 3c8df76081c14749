/* Both plans under one time axis, before above yours, and the hairline of the present moment. */

class Waterfall {
  #groups = new Map();
  #hints = new WeakMap(); // track -> what explains it
  #explained = null;
  #axis = axisOf(1);
  #width = 0;
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

  /* Only a moving pointer explains: a page scrolling beneath it must not talk over the focus. */
  #listen() {
    const hover = (event) => {
      const moved = event.movementX !== 0 || event.movementY !== 0;
      const track = event.target.closest(".track");
      if (moved && track !== this.#explained) this.#explain(track);
    };
    this.body.addEventListener("pointermove", hover);
    this.body.addEventListener("pointerleave", () => this.#explain(null));
    this.body.addEventListener("focusin", (event) => this.#explain(event.target.closest(".track")));
    this.body.addEventListener("focusout", () => this.#explain(null));
  }

  #explain(track) {
    this.#explained = track;
    const hint = track && this.#hints.get(track);
    if (hint) this.tooltip.show(track, hint.offset, hint.content());
    else this.tooltip.hide();
  }

  update(data, say) {
    this.#axis = axisOf(data.horizon_s);
    setAttributes(this.root, { "aria-label": say("waterfall") });
    arrange(
      this.lanes,
      data.lanes.map((lane, index) => this.#updateLane(lane, index, say)),
    );
    keepOnly(this.#groups, data.lanes);
    this.#keepHeight(data.lanes);
    this.legend.replaceChildren(...legendOf(data.lanes, say));
    this.tracks().forEach((track, index) =>
      setAttributes(track, { tabindex: index === 0 ? 0 : -1 }),
    );
  }

  /* A toggle may take rows away; what stands below must not jump. A new scenario starts afresh. */
  #keepHeight(lanes) {
    const plan = lanes[0].steps.map((step) => step.id).join(" ");
    const rows = lanes.reduce((sum, lane) => sum + lane.steps.length, 0);
    this.#most = plan === this.#plan ? Math.max(this.#most, rows) : rows;
    this.#plan = plan;
    this.lanes.style.setProperty("--rows", this.#most);
    this.lanes.style.setProperty("--lane-count", lanes.length);
  }

  #updateLane(lane, index, say) {
    const group = this.#groups.get(lane.id) ?? openGroup();
    this.#groups.set(lane.id, group);
    setAttributes(group.root, { "data-lane": lane.id, "data-index": index });
    setAttributes(group.list, { "aria-label": lane.title });
    group.seen.update(lane, this.#axis, say);
    this.#hints.set(group.seen.track, {
      offset: 0,
      start: lane.marks.first_visible_s ?? 0,
      content: () => seenExplanation(lane, say),
    });
    const rows = lane.steps.map((step) => this.#updateStep(group, step, say));
    arrange(group.list, [group.seen.root, ...rows]);
    keepOnly(group.rows, lane.steps);
    group.links.replaceChildren(...criticalLinks(lane.steps, this.#axis));
    group.lines.replaceChildren(...markLines(lane, this.#axis));
    return group.root;
  }

  #updateStep(group, step, say) {
    const row = group.rows.get(step.id) ?? new StepRow();
    group.rows.set(step.id, row);
    row.update(step, this.#axis, say);
    this.#hints.set(row.track, {
      offset: step.start_s / this.#axis.horizon,
      start: step.start_s,
      content: () => stepExplanation(step, say),
    });
    return row.root;
  }

  tracks() {
    return [...this.lanes.querySelectorAll(".track")];
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

  stopExplaining() {
    this.#explain(null);
  }

  startOf(track) {
    return this.#hints.get(track).start;
  }

  /* Places what depends on pixels: grid lines, and the times on the flags where there is room. */
  layout(width, ticks) {
    this.#width = width;
    const line = (time) => el("i", { style: `left:${this.#axis.share(time)}` });
    this.grid.replaceChildren(...ticks.map(line));
    for (const { seen } of this.#groups.values()) seen.layout(width);
  }

  show(time) {
    const x = (time / this.#axis.horizon) * this.#width;
    const move = `translateX(${x.toFixed(2)}px)`;
    this.playhead.style.transform = move;
    this.veil.style.transform = move;
  }
}

function openGroup() {
  const seen = new SeenRow();
  const list = el("ul", { class: "rows" });
  const links = el("div", { class: "plot links" });
  const lines = el("div", { class: "plot lines" });
  const root = el("div", { class: "group" }, lines, list, links);
  return { root, list, links, lines, seen, rows: new Map() };
}

function keepOnly(known, wanted) {
  for (const id of known.keys()) if (!wanted.some((one) => one.id === id)) known.delete(id);
}

/* The rows of one lane. Their geometry lives in CSS variables, as shares of the axis, so that a
   changed plan glides to its new shape and the layout follows the width by itself. */

const LABEL_FLIPS_AT = 0.86; // right of this share of the axis a bar's duration stands on its left
const FLAG_MARKS = ["first_visible_s", "done_s", "reader_done_s", "total_s"];
const FLAG_PX = 34; // the width of a flag's time in waterfall.css
const FLAG_PUSH_PX = 26;

/* Turns a time into its place on the axis; what lies beyond the axis stands at its end. */
function axisOf(horizon) {
  return {
    horizon,
    share: (time) => `${((Math.min(time, horizon) / horizon) * 100).toFixed(3)}%`,
  };
}

function place(track, times, axis) {
  for (const [name, time] of Object.entries(times)) {
    track.style.setProperty(`--${name}`, axis.share(time));
  }
}

function newTrack(kind, parts) {
  const shapes = parts.map((part) => svg("rect", { class: part }));
  return el(
    "span",
    { class: `track ${kind}`, role: "img", tabindex: -1, "aria-describedby": "tip" },
    svg("svg", { class: kind === "seen" ? "strip" : "bar", "aria-hidden": "true" }, ...shapes),
  );
}

/* One step: its wait to start, its silence, its output, and how it ended. */
class StepRow {
  constructor() {
    this.icon = icon("compute");
    this.label = el("span", { class: "label" });
    this.length = el("span", { class: "length" });
    this.track = newTrack("step", ["queue", "wait", "stream", "hatch", "outline", "cap"]);
    this.track.append(this.length);
    this.root = el("li", { class: "row" }, el("span", { class: "name" }, this.icon, this.label));
    this.root.append(this.track);
  }

  update(step, axis, say) {
    const first = step.first_s ?? step.end_s;
    const times = { ready: step.ready_s, start: step.start_s, first, end: step.end_s };
    place(this.track, times, axis);
    setAttributes(this.root, {
      "data-step": step.id,
      "data-kind": step.kind,
      "data-state": step.state,
      "data-critical": step.critical ? "yes" : "no",
      "data-streams": isTime(step.first_s) ? "yes" : "no",
      "data-side": labelSide(step, axis.horizon),
    });
    this.#showKind(step.kind);
    setText(this.label, step.label);
    setAttributes(this.label, { title: step.label });
    const skipped = step.state === "skipped";
    setText(this.length, skipped ? say("step_skipped") : span(step.end_s - step.start_s, say));
    setAttributes(this.track, { "aria-label": sentence(step, say) });
  }

  #showKind(kind) {
    if (this.icon.dataset.icon === kind) return;
    const fresh = icon(kind);
    this.icon.replaceWith(fresh);
    this.icon = fresh;
  }
}

function labelSide(step, horizon) {
  if (step.end_s / horizon <= LABEL_FLIPS_AT) return "right";
  return step.start_s / horizon > 1 - LABEL_FLIPS_AT ? "left" : "inside";
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

/* The row of perception: nothing, then a reaction, then the answer growing, then reading on. */
class SeenRow {
  constructor() {
    this.name = el("strong");
    this.label = el("span", { class: "label" });
    this.track = newTrack("seen", ["nothing", "reaction", "answer", "reading", "after"]);
    this.flags = el("span", { class: "flags" });
    this.track.append(this.flags);
    this.root = el("li", { class: "row lane-head" });
    this.root.append(el("span", { class: "name" }, this.name, this.label), this.track);
  }

  update(lane, axis, say) {
    setText(this.name, lane.title);
    setText(this.label, say("seen"));
    const { ack_s, first_visible_s, done_s, reader_done_s, total_s } = lane.marks;
    const first = first_visible_s ?? total_s ?? axis.horizon;
    const done = done_s ?? first;
    const times = { ack: Math.min(ack_s ?? first, first), first, done };
    place(this.track, { ...times, reader: reader_done_s ?? done, total: total_s ?? done }, axis);
    this.flags.replaceChildren(...flagsOf(lane).map(({ mark, at }) => this.#flag(mark, at, axis)));
    const facts = MARKS.filter((mark) => isTime(lane.marks[mark])).map(
      (mark) => `${say(`mark_${mark}`)} ${seconds(lane.marks[mark], say)}`,
    );
    setAttributes(this.track, {
      "aria-label": `${lane.title}: ${say("seen")}. ${facts.join(", ")}`,
    });
  }

  #flag(mark, at, axis) {
    const beyond = at > axis.horizon;
    const attributes = { class: "flag", "data-mark": mark, "data-beyond": beyond };
    return el(
      "span",
      { ...attributes, style: `left:${axis.share(at)}` },
      el("b", {}, at.toFixed(2)),
      glyph(mark),
    );
  }

  /* A flag's time moves right to clear its neighbour, and goes where that would part the two. */
  layout(width) {
    let taken = 0;
    for (const flag of this.flags.children) {
      const wanted = (parseFloat(flag.style.left) / 100) * width - FLAG_PX / 2;
      const left = Math.min(Math.max(wanted, taken), width - FLAG_PX);
      const fits = left >= taken && left - wanted <= FLAG_PUSH_PX;
      flag.firstChild.hidden = !fits;
      if (!fits) continue;
      flag.firstChild.style.transform = `translateX(${(left - wanted - FLAG_PX / 2).toFixed(1)}px)`;
      taken = left + FLAG_PX + 2;
    }
  }
}

function flagsOf(lane) {
  return FLAG_MARKS.filter((mark) => isTime(lane.marks[mark]))
    .map((mark) => ({ mark, at: lane.marks[mark] }))
    .sort((one, other) => one.at - other.at);
}

/* Hairlines from each critical step to the next: the chain that decides the end. */
function criticalLinks(steps, axis) {
  const chain = steps
    .map((step, row) => ({ step, row }))
    .filter(({ step }) => step.critical)
    .sort(
      (one, other) => one.step.start_s - other.step.start_s || one.step.end_s - other.step.end_s,
    );
  return chain.slice(1).map(({ step, row }, index) => {
    const [from, to] = [chain[index].row, row].sort((one, other) => one - other);
    const style = `left:${axis.share(step.ready_s)};--from:${from};--to:${to}`;
    return el("i", { class: "link", style });
  });
}

function markLines(lane, axis) {
  return flagsOf(lane).map(({ mark, at }) =>
    el("i", { class: "mark-line", "data-mark": mark, style: `left:${axis.share(at)}` }),
  );
}

/* What the shapes and icons mean, as far as these lanes use them. */
function legendOf(lanes, say) {
  const steps = lanes.flatMap((lane) => lane.steps);
  const shapes = [
    ["wait", "legend_wait", () => true],
    ["stream", "legend_stream", (step) => isTime(step.first_s)],
    ["queue", "legend_queue", (step) => step.start_s > step.ready_s],
    ["chain", "legend_critical", (step) => step.critical],
    ...["cached", "skipped", "cancelled", "failed"].map((state) => [
      state,
      `step_${state}`,
      (step) => step.state === state,
    ]),
  ];
  const swatch = (name) => el("i", { class: `swatch ${name}`, "aria-hidden": "true" });
  return [
    ...shapes
      .filter(([, , shownBy]) => steps.some(shownBy))
      .map(([name, key]) => el("li", {}, swatch(name), say(key))),
    ...STEP_KINDS.filter((kind) => steps.some((step) => step.kind === kind)).map((kind) =>
      el("li", {}, icon(kind), say(`kind_${kind}`)),
    ),
  ];
}

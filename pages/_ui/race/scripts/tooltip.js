/* The explanation beside a bar: what the step is, and its numbers. Shown on hover and on focus. */

const EDGE_PX = 8;

class Tooltip {
  #host;

  constructor(host) {
    this.#host = host;
    this.root = el("div", { class: "tip", role: "tooltip", id: "tip", hidden: true });
    host.append(this.root);
  }

  /* Below `anchor` from its bar's start on, above it where the window ends. */
  show(anchor, offset, content) {
    this.root.replaceChildren(...content);
    this.root.hidden = false;
    const host = this.#host.getBoundingClientRect();
    const box = anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.root;
    const left = box.left - host.left + offset * box.width;
    const below = box.bottom + height + EDGE_PX <= window.innerHeight || box.top < height + EDGE_PX;
    const top = below ? box.bottom - host.top + EDGE_PX : box.top - host.top - height - EDGE_PX;
    const most = Math.max(EDGE_PX, host.width - width - EDGE_PX);
    this.root.style.transform = `translate(${Math.min(Math.max(EDGE_PX, left), most)}px, ${top}px)`;
  }

  hide() {
    this.root.hidden = true;
  }
}

function numbers(pairs) {
  return el(
    "dl",
    { class: "numbers" },
    ...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

function stepExplanation(step, say) {
  const first = isTime(step.first_s);
  const spans = [
    [say("tip_queue"), step.start_s - step.ready_s],
    first ? [say("tip_first"), step.first_s - step.start_s] : null,
    first ? [say("tip_stream"), step.end_s - step.first_s] : null,
    [say("tip_whole"), step.end_s - step.start_s],
  ];
  const state =
    step.state === "ran"
      ? null
      : el("span", { class: "badge", "data-state": step.state }, say(`step_${step.state}`));
  const critical = step.critical
    ? el("span", { class: "badge", "data-state": "critical" }, say("critical"))
    : null;
  return [
    el(
      "p",
      { class: "tip-head" },
      icon(step.kind),
      el("strong", {}, step.label),
      el("span", { class: "kind" }, say(`kind_${step.kind}`)),
      state,
      critical,
    ),
    step.definition ? el("p", { class: "meaning" }, step.definition) : null,
    numbers(spans.filter(Boolean).map(([name, length]) => [name, span(length, say)])),
    step.facts?.length ? numbers(step.facts) : null,
  ].filter(Boolean);
}

function seenExplanation(lane, say) {
  const reached = MARKS.filter((mark) => isTime(lane.marks[mark]));
  return [
    el("p", { class: "tip-head" }, icon("show"), el("strong", {}, say("seen"))),
    el("p", { class: "meaning" }, say("seen_meaning")),
    el(
      "dl",
      { class: "numbers" },
      ...reached.flatMap((mark) => [
        el("dt", {}, glyph(mark), say(`mark_${mark}`)),
        el("dd", {}, seconds(lane.marks[mark], say)),
      ]),
    ),
  ];
}

/* The same facts in words: the moments worth stepping through, and the text table. */

const SPOKEN_MARKS = new Set(["first_visible_s", "done_s"]);
const SCREEN_MARKS = ["ack_s", "first_visible_s", "first_useful_s", "done_s"];
const SAME_MOMENT_S = 1e-6;

/* Every moment at which something a person would notice changes, sorted, one entry per time. The
   spoken ones are few: a screen reader hears a race, not a stream of tokens. */
function momentsOf(lanes, say) {
  const found = lanes.flatMap((lane) => [...markMoments(lane, say), ...eventMoments(lane, say)]);
  found.sort((one, other) => one.t - other.t);
  const moments = [];
  for (const one of found) {
    const last = moments.at(-1);
    if (last && one.t - last.t <= SAME_MOMENT_S) last.parts.push(one);
    else moments.push({ t: one.t, parts: [one] });
  }
  return moments.map(({ t, parts }) => ({
    t,
    spoken: parts.some((part) => part.spoken),
    text: lanes
      .filter((lane) => parts.some((part) => part.lane === lane))
      .map((lane) => {
        const what = parts.filter((part) => part.lane === lane).map((part) => part.what);
        return say("moment", { lane: lane.title, what: what.join(", "), time: seconds(t, say) });
      })
      .join(" · "),
  }));
}

/* Milestones of the screen that fall together are told by the furthest: a complete answer has its
   first words too. */
function markMoments(lane, say) {
  const reached = MARKS.filter((mark) => isTime(lane.marks[mark]));
  const surpassed = (mark) =>
    SCREEN_MARKS.slice(SCREEN_MARKS.indexOf(mark) + 1).some(
      (later) => SCREEN_MARKS.includes(mark) && lane.marks[later] === lane.marks[mark],
    );
  return reached
    .filter((mark) => !surpassed(mark))
    .map((mark) => ({
      t: lane.marks[mark],
      lane,
      what: say(`mark_${mark}`),
      spoken: SPOKEN_MARKS.has(mark),
    }));
}

/* Of a paragraph or a card its opening counts; what a milestone already tells is left out. */
function eventMoments(lane, say) {
  const told = MARKS.map((mark) => lane.marks[mark]).filter(isTime);
  const opened = new Set();
  return lane.events
    .filter((event) => {
      const continues =
        ["text", "field", "card"].includes(event.kind) && opened.has(event.unit ?? "");
      opened.add(event.unit ?? "");
      return (
        !continues &&
        event.kind !== "done" &&
        !told.some((t) => Math.abs(t - event.t) <= SAME_MOMENT_S)
      );
    })
    .map((event) => ({
      t: event.t,
      lane,
      what: event.text.trim() || say(`event_${event.kind}`),
      spoken: false,
    }));
}

class Facts {
  constructor() {
    this.summary = el("summary");
    this.tables = el("div", { class: "tables" });
    this.root = el("details", { class: "facts" }, this.summary, this.tables);
  }

  update(data, say) {
    setText(this.summary, say("table"));
    this.tables.replaceChildren(milestoneTable(data.lanes, say), stepTable(data.lanes, say));
  }
}

function table(caption, heads, rows, name) {
  return el(
    "table",
    { "data-table": name },
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    el(
      "tbody",
      {},
      ...rows.map((cells) =>
        el(
          "tr",
          {},
          ...cells.map((cell, index) =>
            el(index === 0 ? "th" : "td", index === 0 ? { scope: "row" } : {}, cell),
          ),
        ),
      ),
    ),
  );
}

function milestoneTable(lanes, say) {
  const heads = [say("col_mark"), ...lanes.map((lane) => lane.title), say("col_meaning")];
  const value = (time) => (isTime(time) ? seconds(time, say) : say("none"));
  const rows = MARKS.map((mark) => [
    say(`mark_${mark}`),
    ...lanes.map((lane) => value(lane.marks[mark])),
    say(`mean_${mark}`),
  ]);
  return table(say("table_marks"), heads, rows, "marks");
}

function stepTable(lanes, say) {
  const heads = [
    "step",
    "lane",
    "kind",
    "state",
    "critical",
    "ready",
    "start",
    "first",
    "end",
    "length",
  ].map((name) => say(`col_${name}`));
  const rows = lanes.flatMap((lane) =>
    lane.steps.map((step) => [
      step.label,
      lane.title,
      say(`kind_${step.kind}`),
      say(`step_${step.state}`),
      say(step.critical ? "yes" : "no"),
      span(step.ready_s, say),
      span(step.start_s, say),
      isTime(step.first_s) ? span(step.first_s, say) : say("none"),
      span(step.end_s, say),
      span(step.end_s - step.start_s, say),
    ]),
  );
  return table(say("table_steps"), heads, rows, "steps");
}

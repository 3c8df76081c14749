/* One lane as its user sees it: question, transcript, a large clock, and the milestones reached. */

class Pane {
  #signature = "";
  #stage = "";
  #transcript = null;
  #lane;
  #say;
  #cells = new Map();

  constructor() {
    this.title = el("h3", { class: "title" });
    this.subtitle = el("p", { class: "subtitle" });
    this.whole = document.createTextNode("0");
    this.hundredths = document.createTextNode("00");
    this.unit = el("span", { class: "unit" });
    this.caption = el("p", { class: "caption" });
    this.question = el("p", { class: "question" });
    this.flow = el("div", { class: "flow" }, this.question);
    this.marks = el("dl", { class: "marks" });
    this.root = el(
      "section",
      { class: "pane" },
      el(
        "header",
        { class: "head" },
        el("div", { class: "names" }, this.title, this.subtitle),
        el(
          "div",
          { class: "timer" },
          el(
            "p",
            { class: "clock" },
            this.whole,
            el("span", { class: "point" }, "."),
            this.hundredths,
            this.unit,
          ),
          this.caption,
        ),
      ),
      el("div", { class: "scroll" }, this.flow),
      this.marks,
    );
    for (const mark of MARKS) this.#cells.set(mark, this.#addCell(mark));
  }

  #addCell(mark) {
    const name = document.createTextNode("");
    const value = el("dd");
    const root = el(
      "div",
      { class: "mark", "data-mark": mark },
      el("dt", {}, glyph(mark), name),
      value,
    );
    this.marks.append(root);
    return { root, name, value };
  }

  update(lane, say) {
    this.#lane = lane;
    this.#say = say;
    this.#stage = "";
    setAttributes(this.root, { "data-lane": lane.id, "aria-label": lane.title });
    setText(this.title, lane.title);
    setText(this.subtitle, lane.subtitle);
    setText(this.unit, say("unit_s"));
    setText(this.question, lane.question);
    for (const [mark, cell] of this.#cells) {
      cell.name.data = say(`mark_${mark}`);
      setAttributes(cell.root, { title: say(`mean_${mark}`) });
    }
    const signature = JSON.stringify([
      lane.events,
      say("done_after"),
      say("nothing_yet"),
      say("in_s"),
    ]);
    if (signature === this.#signature) return;
    this.#signature = signature;
    const fresh = new Transcript(lane.events, say);
    if (this.#transcript) this.#transcript.root.replaceWith(fresh.root);
    else this.flow.append(fresh.root);
    this.#transcript = fresh;
  }

  /* `everyEnd` holds the end of every lane: who was sooner is told once all have finished. */
  show(time, everyEnd, atEnd) {
    const end = laneEnd(this.#lane);
    const digits = Math.min(time, end).toFixed(2);
    this.#showDigits(digits);
    this.#transcript.reveal(time);
    const reached = MARKS.filter(
      (mark) => isTime(this.#lane.marks[mark]) && this.#lane.marks[mark] <= time,
    );
    const ended = everyEnd.filter((lane) => lane.end <= time);
    setAttributes(this.root, { "data-clock": digits });
    const stage = `${reached} ${ended.length} ${time >= end} ${atEnd}`;
    if (stage === this.#stage) return;
    this.#stage = stage;
    const state = this.#state(time, end);
    setAttributes(this.root, { "data-state": state });
    setText(this.caption, this.#captionFor(state, end, ended, everyEnd));
    for (const [mark, cell] of this.#cells)
      this.#showMark(cell, this.#lane.marks[mark], time, atEnd);
  }

  #showDigits(digits) {
    const [whole, hundredths] = digits.split(".");
    if (this.whole.data !== whole) this.whole.data = whole;
    if (this.hundredths.data !== hundredths) this.hundredths.data = hundredths;
  }

  /* A milestone beyond the axis never comes while playing; at the end it is told, but faintly. */
  #showMark(cell, at, time, atEnd) {
    const state = !isTime(at) ? "none" : at <= time ? "reached" : "ahead";
    setAttributes(cell.root, { "data-state": state });
    const known = state === "reached" || (state === "ahead" && atEnd);
    setText(
      cell.value,
      known ? seconds(at, this.#say) : state === "none" ? this.#say("none") : "–",
    );
  }

  #state(time, end) {
    const { ack_s: ack, first_visible_s: first, done_s: done } = this.#lane.marks;
    if (time >= end) return isTime(done) ? "done" : "ended";
    if (isTime(first) && time >= first) return "answering";
    if (isTime(ack) && time >= ack) return "working";
    return "waiting";
  }

  #captionFor(state, end, ended, everyEnd) {
    const other = everyEnd.find((lane) => lane.id !== this.#lane.id);
    const bothAnswered = state === "done" && other?.done && ended.length === everyEnd.length;
    if (!bothAnswered) return this.#say(`state_${state}`);
    const gap = end - other.end;
    if (Math.abs(gap) < SAME_TIME_S) return this.#say("same_time");
    return this.#say(gap < 0 ? "sooner" : "later", { time: seconds(Math.abs(gap), this.#say) });
  }
}

const SAME_TIME_S = 0.005; // two decimals are shown: closer ends read as the same

function isTime(value) {
  return value !== null && value !== undefined;
}

/* Where a lane's clock stops: the last visible character, or the last work where none was seen. */
function laneEnd(lane) {
  return lane.marks.done_s ?? lane.marks.total_s ?? 0;
}

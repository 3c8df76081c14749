/* What one user sees of one lane. The whole transcript is built once from its events; every part
   then shows as much of itself as `count`, the number of events that have happened, allows. Forward
   and backward are therefore the same, and a frame touches only the parts that changed. */

const PIECES_PER_RUN = 60; // longer text nodes make the browser lay out the whole paragraph again
const SLOT_CLASS = { name: "item", price_level: "price_level", area: "area", reason: "reason" };
const CARD_ORDER = Object.keys(SLOT_CLASS);
const ANSWER_KINDS = new Set(["text", "card", "field"]);

/* Text that grows piece by piece inside one text node. */
class TextRun {
  #full = "";
  #index = [];
  #end = [];
  #shown = 0;

  constructor() {
    this.node = document.createTextNode("");
  }

  get pieces() {
    return this.#index.length;
  }

  add(index, piece) {
    this.#full += piece;
    this.#index.push(index);
    this.#end.push(this.#full.length);
  }

  reveal(count) {
    let shown = this.#shown;
    while (shown < this.#index.length && this.#index[shown] < count) shown += 1;
    while (shown > 0 && this.#index[shown - 1] >= count) shown -= 1;
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.node.data = shown === 0 ? "" : this.#full.slice(0, this.#end[shown - 1]);
  }
}

class Transcript {
  #events;
  #say;
  #parts = [];
  #units = new Map();
  #count = null;

  constructor(events, say) {
    this.#events = events;
    this.#say = say;
    this.root = el("div", { class: "transcript" });
    events.forEach((event, index) => this.#add(event, index));
    this.#addTyping();
  }

  /* Shows the state at `time`; the work is proportional to what changed since the last call. */
  reveal(time) {
    let count = this.#count ?? 0;
    while (count < this.#events.length && this.#events[count].t <= time) count += 1;
    while (count > 0 && this.#events[count - 1].t > time) count -= 1;
    if (count === this.#count) return;
    this.#count = count;
    for (const part of this.#parts) part.reveal(count);
  }

  #add(event, index) {
    switch (event.kind) {
      case "ack":
        return this.#addLine("ack", event.text, index);
      case "status":
        return this.#addStatus(event, index);
      case "text":
        return this.#addText(event, index);
      case "card":
        return void this.#card(event, index);
      case "field":
        return this.#addField(event, index);
      case "withdraw":
        return this.#withdraw(event, index);
      case "done":
        return this.#addDone(event, index);
      default:
        throw new Error(`unknown event kind: ${event.kind}`);
    }
  }

  #appear(node, from, parent = this.root) {
    node.hidden = true;
    parent.append(node);
    this.#parts.push({
      reveal: (count) => {
        node.hidden = count <= from;
      },
    });
    return node;
  }

  #addLine(kind, text, index) {
    this.#appear(el("p", { class: `line ${kind}`, "data-event": kind }, text), index);
  }

  #addStatus(event, index) {
    const line = el(
      "p",
      { class: "line status", "data-event": "status" },
      el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")),
      icon("check"),
      el("span", {}, event.text),
    );
    this.#appear(line, index);
    this.#parts.push({
      reveal: (count) => {
        line.dataset.state = count === index + 1 ? "active" : "past";
      },
    });
  }

  #addText(event, index) {
    const unit = event.unit ?? "";
    event.text.split(/\n{2,}/).forEach((piece, position) => {
      if (position > 0 || !this.#units.has(unit)) this.#openParagraph(unit, index);
      const paragraph = this.#units.get(unit);
      if (piece === "") return;
      if (paragraph.run === null || paragraph.run.pieces >= PIECES_PER_RUN) {
        paragraph.run = this.#run(paragraph.node);
      }
      paragraph.run.add(index, piece);
    });
  }

  #openParagraph(unit, index) {
    const nodes = this.#units.get(unit)?.nodes ?? [];
    const node = this.#appear(
      el("p", { class: "line text", "data-unit": unit, "data-event": "text" }),
      index,
    );
    this.#units.set(unit, { node, run: null, nodes: [...nodes, node] });
  }

  #run(parent) {
    const run = new TextRun();
    parent.append(run.node);
    this.#parts.push(run);
    return run;
  }

  /* Neighbouring cards share one grid; a card opens with its first event. */
  #card(event, index) {
    const known = this.#units.get(event.unit);
    if (known) return known;
    let grid = this.root.lastElementChild;
    if (!grid?.classList.contains("cards"))
      grid = this.#appear(el("div", { class: "cards" }), index);
    const node = this.#appear(
      el("article", { class: "card", "data-unit": event.unit }),
      index,
      grid,
    );
    if (event.kind === "card" && event.text)
      node.append(el("span", { class: "kicker" }, event.text));
    const card = { node, nodes: [node], slots: new Map() };
    this.#units.set(event.unit, card);
    return card;
  }

  /* A slot waits as a grey bar, so that a card keeps its size while its fields arrive. */
  #addField(event, index) {
    const card = this.#card(event, index);
    let slot = card.slots.get(event.field);
    if (!slot) {
      slot = this.#openSlot(card, event.field);
      card.slots.set(event.field, slot);
      this.#parts.push({
        reveal: (count) => {
          slot.node.toggleAttribute("data-waiting", count <= index);
        },
      });
    }
    if (slot.pips && /^[1-4]$/.test(event.text)) this.#addPips(slot, Number(event.text), index);
    else (slot.run ??= this.#run(slot.value)).add(index, event.text);
  }

  #openSlot(card, field) {
    const value = el("span", { class: "value" });
    const known = CARD_ORDER.includes(field);
    const label = this.#say(`field_${field}`);
    const name = label === `field_${field}` ? field.replaceAll("_", " ") : label;
    const node = el(
      "div",
      { class: `slot ${SLOT_CLASS[field] ?? "other"}`, "data-field": field },
      field === "area" ? icon("place") : null,
      known ? null : el("span", { class: "field" }, name),
      value,
    );
    const rank = (child) => CARD_ORDER.indexOf(child.dataset.field) + 1 || CARD_ORDER.length + 1;
    const later = [...card.node.children].find(
      (child) => child.dataset.field && rank(child) > rank(node),
    );
    card.node.insertBefore(node, later ?? null);
    return { node, value, run: null, pips: field === "price_level" };
  }

  #addPips(slot, level, index) {
    const text = this.#say("price_level_of", { level, most: 4 });
    const pips = el(
      "span",
      { class: "pips", role: "img", "aria-label": text, title: text },
      ...[1, 2, 3, 4].map((step) => el("i", { class: step <= level ? "on" : null })),
    );
    this.#appear(pips, index, slot.value);
  }

  /* What was shown and taken back stays readable as such: it did cost the reader's time. */
  #withdraw(event, index) {
    const withdrawn = event.unit ? [event.unit] : [...this.#units.keys()];
    const nodes = withdrawn.flatMap((unit) => this.#units.get(unit)?.nodes ?? []);
    withdrawn.forEach((unit) => this.#units.delete(unit));
    this.#parts.push({
      reveal: (count) =>
        nodes.forEach((node) => node.toggleAttribute("data-withdrawn", count > index)),
    });
    const note = el(
      "p",
      { class: "line withdraw", "data-event": "withdraw" },
      icon("withdrawn"),
      el("span", {}, event.text || this.#say("withdrawn")),
    );
    this.#appear(note, index);
  }

  #addDone(event, index) {
    const text = this.#say("done_after", { time: seconds(event.t, this.#say) });
    this.#appear(
      el(
        "p",
        { class: "line done", "data-event": "done" },
        glyph("done_s"),
        el("span", {}, event.text ? `${text} · ${event.text}` : text),
      ),
      index,
    );
  }

  /* Dots while there is nothing to read and no status line that says why. */
  #addTyping() {
    const first = this.#events.findIndex((event) => ANSWER_KINDS.has(event.kind));
    const typing = el(
      "div",
      { class: "typing", role: "img", "aria-label": this.#say("nothing_yet") },
      el("i"),
      el("i"),
      el("i"),
    );
    this.root.append(typing);
    this.#parts.push({
      reveal: (count) => {
        const last = this.#events[count - 1]?.kind;
        const answered = first >= 0 && count > first;
        typing.hidden = answered || last === "status" || last === "done";
      },
    });
  }
}

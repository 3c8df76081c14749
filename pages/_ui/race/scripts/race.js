/* The race: two lanes, one clock. Streamlit calls the default export again on the same node when
   the data or the theme changes, without running the previous call's cleanup; all state therefore
   lives in one object per node, and every call only hands it the newest data. */

const RACES = new WeakMap();
const LEFT_AT = new Map(); // run -> how its clock stood when its page was left
const MOST_LEFT = 16;
const SMALL_STEP_S = 0.1;
const LARGE_STEP_S = 1;

class Race {
  #calls = 0;
  #run = null;
  #data = null;
  #moments = [];
  #panes = new Map();
  #waiting = false; // a new run starts when it can be seen
  #inView = false;

  constructor(parent) {
    this.clock = new Clock(() => this.render());
    this.stage = el("div", { class: "stage" });
    this.controls = new Controls(this.clock, () => this.restart());
    this.ruler = new Ruler(this.clock);
    this.root = el("div", {
      class: "race",
      role: "group",
      tabindex: -1,
      "aria-keyshortcuts":
        "Space ArrowLeft ArrowRight Shift+ArrowLeft Shift+ArrowRight Home End 1 2 3 4 5",
    });
    this.waterfall = new Waterfall(new Tooltip(this.root));
    this.facts = new Facts();
    this.hint = el("p", { class: "hint" });
    this.waterfall.root.prepend(this.ruler.root);
    this.root.append(
      hatching(),
      this.stage,
      this.controls.root,
      this.waterfall.root,
      el("div", { class: "under" }, this.waterfall.legend, this.hint),
      this.facts.root,
    );
    parent.append(this.root);
    this.#watch();
  }

  #watch() {
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.resize = new ResizeObserver(() => this.#resized());
    this.resize.observe(this.ruler.scale);
    this.sight = new IntersectionObserver(
      ([entry]) => {
        this.#inView = entry.isIntersecting;
        if (this.#inView && this.#waiting) this.restart();
      },
      { threshold: 0.2 },
    );
    this.sight.observe(this.stage);
    this.root.addEventListener("keydown", (event) => this.#onKey(event));
    this.ruler.draggable(
      this.waterfall.body,
      (down) => down.pointerType === "mouse" && down.target.closest(".track") !== null,
    );
  }

  update(data) {
    this.#calls += 1;
    this.#data = data;
    const say = wording(data.labels);
    setAttributes(this.root, { lang: data.lang, "aria-label": say("race") });
    setText(this.hint, say("keys"));
    this.#paint(data.lanes);
    this.#moments = momentsOf(data.lanes, say);
    this.clock.setEnd(data.horizon_s);
    this.#updatePanes(data.lanes, say);
    this.controls.update(data, this.#moments, say);
    this.waterfall.update(data, say);
    this.ruler.update(data.horizon_s, say);
    this.facts.update(data, say);
    this.#layout();
    if (data.runId !== this.#run) this.#begin(data.runId);
    else this.render();
  }

  /* Streamlit's theme names the chart colours in one list; the first two are the lanes'. */
  #paint(lanes) {
    const listed = getComputedStyle(this.root).getPropertyValue("--st-chart-categorical-colors");
    const colors = listed
      .split(/,(?![^(]*\))/)
      .map((color) => color.trim())
      .filter(Boolean);
    lanes.forEach((_, index) => {
      if (colors[index]) this.root.style.setProperty(`--lane-${index}`, colors[index]);
    });
  }

  #updatePanes(lanes, say) {
    const roots = lanes.map((lane, index) => {
      const pane = this.#panes.get(lane.id) ?? new Pane();
      this.#panes.set(lane.id, pane);
      pane.update(lane, say);
      setAttributes(pane.root, { "data-index": index });
      return pane.root;
    });
    arrange(this.stage, roots);
    keepOnly(this.#panes, lanes);
    this.ends = lanes.map((lane) => ({
      id: lane.id,
      end: laneEnd(lane),
      done: isTime(lane.marks.done_s),
    }));
  }

  /* A run plays by itself once: not for those who asked for calm, nor anew on a revisited page. */
  #begin(run) {
    const left = this.#run === null ? LEFT_AT.get(run) : undefined;
    this.#run = run;
    this.#waiting = false;
    if (left !== undefined) this.#resume(left);
    else if (this.calm.matches) this.clock.stand(this.clock.end);
    else if (this.#inView) this.restart();
    else {
      this.clock.stand(0);
      this.#waiting = true;
    }
  }

  #resume({ time, playing }) {
    if (playing) this.clock.play(time);
    else this.clock.stand(time);
  }

  restart() {
    this.#waiting = false;
    this.clock.play(0);
  }

  #resized() {
    this.ruler.measure();
    this.#layout();
    this.render();
  }

  #layout() {
    this.waterfall.layout(this.ruler.width, this.ruler.layout());
  }

  render() {
    const { time, end, playing, speed } = this.clock;
    if (time > 0) this.#waiting = false;
    for (const pane of this.#panes.values()) pane.show(time, this.ends, time >= end);
    this.ruler.show(time);
    this.waterfall.show(time);
    this.controls.show();
    setText(this.ruler.ticker, this.#telling(time, playing));
    setAttributes(this.root, {
      "data-run-id": this.#run,
      "data-calls": this.#calls,
      "data-time": time.toFixed(2),
      "data-state": playing ? "playing" : time >= end ? "finished" : "paused",
      "data-speed": speed,
      "data-motion": this.calm.matches ? "reduced" : "full",
    });
  }

  /* Standing on a moment tells that moment; else the last milestone passed. */
  #telling(time, playing) {
    const exact = playing
      ? undefined
      : this.#moments.find(({ t }) => Math.abs(t - time) <= SAME_MOMENT_S);
    return (exact ?? this.#moments.findLast(({ t, spoken }) => spoken && t <= time))?.text ?? "";
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const track = event.target.closest(".track");
    const step = event.shiftKey ? LARGE_STEP_S : SMALL_STEP_S;
    const actions = {
      ArrowLeft: () => this.clock.seek(this.clock.time - step),
      ArrowRight: () => this.clock.seek(this.clock.time + step),
      ArrowUp: track && (() => this.waterfall.moveFocus(track, -1)),
      ArrowDown: track && (() => this.waterfall.moveFocus(track, 1)),
      Enter: track && (() => this.clock.seek(this.waterfall.startOf(track))),
      Home: () => this.clock.seek(0),
      End: () => this.clock.seek(this.clock.end),
      Escape: () => this.waterfall.stopExplaining(),
      " ": event.target.closest("button, summary") ? null : () => this.clock.toggle(),
    };
    const speed = SPEEDS[Number(event.key) - 1];
    const act = speed ? () => this.clock.setSpeed(speed) : actions[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  dispose() {
    LEFT_AT.delete(this.#run);
    const { time, playing } = this.clock;
    if (!this.#waiting) LEFT_AT.set(this.#run, { time, playing });
    if (LEFT_AT.size > MOST_LEFT) LEFT_AT.delete(LEFT_AT.keys().next().value);
    this.clock.pause();
    this.resize.disconnect();
    this.sight.disconnect();
    this.root.remove();
  }
}

/* The pattern for what came from a cache; bars refer to it by its id. */
function hatching() {
  return svg(
    "svg",
    { class: "defs", width: 0, height: 0, "aria-hidden": "true" },
    svg(
      "defs",
      {},
      svg(
        "pattern",
        { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" },
        svg("path", { d: "M-1 1 1-1M0 6 6 0M5 7 7 5", class: "hatch-line" }),
      ),
    ),
  );
}

export default function mount({ parentElement, data }) {
  let race = RACES.get(parentElement);
  if (!race) {
    race = new Race(parentElement);
    RACES.set(parentElement, race);
  }
  race.update(data);
  return () => {
    race.dispose();
    RACES.delete(parentElement);
  };
}

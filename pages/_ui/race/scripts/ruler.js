/* The shared time axis: its ticks, and the handle that drags the clock. It is the scrub slider. */

const TICK_STEPS_S = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300];
const TICK_ROOM_PX = 64;
const HANDLE_PX = 48; // its width in race.css
const SPOKEN_EVERY_S = 0.5; // how often a running clock tells its value to assistive technology

class Ruler {
  #clock;
  #horizon = 1;
  #width = 0;
  #spoken = null;
  #step = null;

  constructor(clock) {
    this.#clock = clock;
    this.ticker = el("p", { class: "ticker", role: "status", "aria-live": "polite" });
    this.ticks = el("div", { class: "ticks", "aria-hidden": "true" });
    this.now = document.createTextNode("0.00");
    this.handle = el("div", { class: "handle", "aria-hidden": "true" }, this.now);
    this.scale = el(
      "div",
      { class: "scale", role: "slider", tabindex: 0, "aria-valuemin": 0 },
      this.ticks,
      this.handle,
    );
    this.root = el("div", { class: "ruler" }, this.ticker, this.scale);
    this.draggable(this.scale, () => true);
  }

  get width() {
    return this.#width;
  }

  /* Dragging on `surface` scrubs; a playing clock waits meanwhile and then goes on. */
  draggable(surface, accepts) {
    surface.addEventListener("pointerdown", (down) => {
      if (down.button !== 0 || !accepts(down)) return;
      const resume = this.#clock.playing;
      if (resume) this.#clock.pause();
      const move = (event) => this.#clock.seek(this.#timeAt(event.clientX));
      const stop = () => {
        surface.removeEventListener("pointermove", move);
        surface.removeEventListener("pointerup", stop);
        surface.removeEventListener("pointercancel", stop);
        if (resume && this.#clock.time < this.#clock.end) this.#clock.play();
      };
      surface.setPointerCapture(down.pointerId);
      surface.addEventListener("pointermove", move);
      surface.addEventListener("pointerup", stop);
      surface.addEventListener("pointercancel", stop);
      move(down);
    });
  }

  #timeAt(clientX) {
    const box = this.scale.getBoundingClientRect();
    return ((clientX - box.left) / box.width) * this.#horizon;
  }

  update(horizon, say) {
    this.#horizon = horizon;
    this.say = say;
    this.#step = null;
    this.#spoken = null;
    setAttributes(this.scale, { "aria-label": say("scrub"), "aria-valuemax": horizon.toFixed(2) });
  }

  /* Measured when it changes, and not whenever new data come: that would lay out the page twice. */
  measure() {
    this.#width = this.scale.clientWidth;
  }

  /* Returns the tick times, in seconds, that fit the present width. */
  layout() {
    const step =
      TICK_STEPS_S.find((size) => (size / this.#horizon) * this.#width >= TICK_ROOM_PX) ??
      TICK_STEPS_S.at(-1);
    const times = [];
    for (let tick = 0; tick * step <= this.#horizon * 1.0001; tick += 1) times.push(tick * step);
    if (step !== this.#step) {
      this.#step = step;
      const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
      this.ticks.replaceChildren(...times.map((time) => this.#tick(time, digits)));
    }
    return times;
  }

  #tick(time, digits) {
    const share = time / this.#horizon;
    const text = time === 0 ? this.say("in_s", { value: 0 }) : time.toFixed(digits);
    return el(
      "span",
      { class: "tick", style: `left:${share * 100}%`, "data-edge": share > 0.97 ? "end" : null },
      text,
    );
  }

  show(time) {
    const x = (time / this.#horizon) * this.#width - HANDLE_PX / 2;
    const inside = Math.min(Math.max(0, x), this.#width - HANDLE_PX);
    this.handle.style.transform = `translateX(${inside.toFixed(2)}px)`;
    this.now.data = time.toFixed(2);
    const due = this.#spoken === null || Math.abs(time - this.#spoken) >= SPOKEN_EVERY_S;
    if (this.#clock.playing && !due) return;
    this.#spoken = time;
    setAttributes(this.scale, {
      "aria-valuenow": time.toFixed(2),
      "aria-valuetext": this.say("time_of", {
        time: seconds(time, this.say),
        end: seconds(this.#horizon, this.say),
      }),
    });
  }
}

/* The transport: play, restart, step, jump to a milestone, speed. */

const JUMPS = ["first_visible_s", "first_useful_s", "done_s"];

class Controls {
  #moments = [];
  #lanes = [];
  #clock;

  constructor(clock, restart) {
    this.#clock = clock;
    this.play = button("play", () => clock.toggle(), { icons: ["play", "pause"] });
    this.restart = button("restart", restart, { icons: ["restart"] });
    this.previous = button("previous", () => this.step(-1), { icons: ["previous"] });
    this.next = button("next", () => this.step(1), { icons: ["next"] });
    this.jumps = JUMPS.map((mark) => button("jump", () => this.jump(mark), { mark, text: true }));
    this.speeds = SPEEDS.map((speed) =>
      button("speed", () => clock.setSpeed(speed), { text: true }),
    );
    this.jumpName = el("span", { class: "set-name", id: "jump-name" });
    this.speedName = el("span", { class: "set-name", id: "speed-name" });
    this.root = el(
      "div",
      { class: "controls", role: "group" },
      el("div", { class: "set transport" }, this.play, this.restart, this.previous, this.next),
      el(
        "div",
        { class: "set", role: "group", "aria-labelledby": "jump-name" },
        this.jumpName,
        el("div", { class: "segments" }, ...this.jumps),
      ),
      el(
        "div",
        { class: "set", role: "group", "aria-labelledby": "speed-name" },
        this.speedName,
        el("div", { class: "segments" }, ...this.speeds),
      ),
    );
  }

  update(data, moments, say) {
    this.#lanes = data.lanes;
    this.#moments = moments;
    this.say = say;
    setAttributes(this.root, { "aria-label": say("controls") });
    for (const name of ["restart", "previous", "next"])
      setAttributes(this[name], { "aria-label": say(name), title: say(name) });
    setText(this.jumpName, say("jump"));
    setText(this.speedName, say("speed"));
    JUMPS.forEach((mark, index) => {
      setText(this.jumps[index].lastElementChild, say(`mark_${mark}`));
      setAttributes(this.jumps[index], {
        title: say(`mean_${mark}`),
        disabled: this.#timesOf(mark).length === 0 ? "" : null,
      });
    });
    SPEEDS.forEach((speed, index) => {
      setText(this.speeds[index].lastElementChild, `${speed}×`);
      setAttributes(this.speeds[index], {
        "aria-label": say("speed_of", { speed }),
        "data-speed": speed,
      });
    });
  }

  show() {
    const { playing, speed } = this.#clock;
    const name = this.say(playing ? "pause" : "play");
    setAttributes(this.play, {
      "data-shows": playing ? "pause" : "play",
      "aria-label": name,
      title: name,
    });
    SPEEDS.forEach((one, index) =>
      setAttributes(this.speeds[index], { "aria-pressed": one === speed }),
    );
  }

  #timesOf(mark) {
    return this.#lanes
      .map((lane) => lane.marks[mark])
      .filter(isTime)
      .sort((one, other) => one - other);
  }

  /* To the next lane that reaches `mark` after now; past the last one, to the first again. */
  jump(mark) {
    const times = this.#timesOf(mark);
    const next = times.find((time) => time > this.#clock.time + SAME_MOMENT_S) ?? times[0];
    if (next === undefined) return;
    this.#clock.pause();
    this.#clock.seek(next);
  }

  step(by) {
    const now = this.#clock.time;
    const ahead = this.#moments.filter(({ t }) =>
      by > 0 ? t > now + SAME_MOMENT_S : t < now - SAME_MOMENT_S,
    );
    this.#clock.pause();
    this.#clock.seek(by > 0 ? (ahead[0]?.t ?? this.#clock.end) : (ahead.at(-1)?.t ?? 0));
  }
}

function button(name, act, { icons = [], mark = null, text = false }) {
  const node = el(
    "button",
    { type: "button", class: name, "data-mark": mark },
    ...icons.map(icon),
    mark ? glyph(mark) : null,
    text ? el("span") : null,
  );
  node.addEventListener("click", act);
  return node;
}

/* One clock for everything on screen: one loop of animation frames, running only while it plays. */

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const LONGEST_FRAME_S = 0.25; // a tab that was hidden goes on from where it stood

class Clock {
  #request = null;
  #before = null;

  constructor(onChange) {
    this.onChange = onChange;
    this.time = 0;
    this.end = 0;
    this.speed = 1;
    this.playing = false;
  }

  /* From a moment, or from where it stands; from the end it begins again. */
  play(from = this.time) {
    this.time = from >= this.end ? 0 : from;
    this.playing = true;
    this.#before = null;
    this.#schedule();
    this.onChange();
  }

  pause() {
    this.playing = false;
    cancelAnimationFrame(this.#request);
    this.onChange();
  }

  /* Still, at a moment. */
  stand(time) {
    this.time = Math.min(this.end, time);
    this.pause();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  /* Playing goes on from the new moment; a clock at its end has nothing left to play. */
  seek(time) {
    this.time = Math.min(this.end, Math.max(0, time));
    if (this.playing && this.time >= this.end) this.pause();
    else this.onChange();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.onChange();
  }

  setEnd(end) {
    this.end = end;
    this.time = Math.min(this.time, end);
  }

  /* Cancelling first is what keeps it at one loop, however often the data changes. */
  #schedule() {
    cancelAnimationFrame(this.#request);
    this.#request = requestAnimationFrame(this.tick);
  }

  tick = (now) => {
    if (!this.playing) return;
    const passed =
      this.#before === null ? 0 : Math.min((now - this.#before) / 1000, LONGEST_FRAME_S);
    this.#before = now;
    this.time = Math.min(this.end, this.time + passed * this.speed);
    if (this.time >= this.end) this.playing = false;
    else this.#schedule();
    this.onChange();
  };
}

// The track of a number or a date: the data as a histogram, the row, the options, and the allowed range with ends to drag.

import { h } from "../../lib/dom.js";
import { formatBare, formatExact, formatValue, nameOf, snapOf, snapTo } from "./values.js";

const HEIGHT = 100; // of the histogram in its coordinates
const LEAST_BAR = 5; // so that a bin with one row is visible

/** The ends of the axis before any value beyond the data is shown. */
function axisOf({ lower, upper, histogram }) {
  const ends = [lower, upper, histogram?.edges[0], histogram?.edges.at(-1)].filter((end) => end !== null && end !== undefined);
  return ends.length ? [Math.min(...ends), Math.max(...ends)] : [Infinity, -Infinity];
}

/** Half the width of a bar if each bar is centred on one of few whole values, otherwise 0. */
function halfBar({ step, histogram }) {
  const width = histogram && histogram.edges[1] - histogram.edges[0];
  return width && width === step && histogram.edges[0] % step !== 0 ? step / 2 : 0;
}

/** The bars of a histogram as one path. */
function barsOf({ edges, counts }) {
  const most = Math.max(...counts, 1);
  const [first, last] = [edges[0], edges.at(-1)];
  const across = (edge) => ((edge - first) / (last - first || 1)) * 100;
  return counts
    .map((count, k) => {
      if (!count) return "";
      const top = HEIGHT - Math.max(LEAST_BAR, (count / most) * HEIGHT);
      return `M${across(edges[k])} ${HEIGHT}V${top}H${across(edges[k + 1])}V${HEIGHT}Z`;
    })
    .join("");
}

export class Track {
  /** `set(patch, live)` changes the range; `live` is true while an end moves. */
  constructor(feature, set) {
    this.feature = feature;
    this.set = set;
    this.base = axisOf(feature);
    this.axis = this.base;
    this.half = halfBar(feature);
    this.others = []; // the marks of the options that are not selected
    const { histogram } = feature;
    this.bars =
      histogram &&
      h(
        "svg:svg",
        { class: "bars", viewBox: `0 0 100 ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
        h("svg:path", { d: barsOf(histogram) }),
      );
    this.range = h("div", { class: "range" });
    this.outside = ["low", "high"].map((end) => h("div", { class: `outside ${end}` }));
    this.now = h("div", { class: "mark now", hidden: true });
    this.arrow = h("div", { class: "way-arrow", hidden: true });
    this.ends = ["low", "high"].map((end) => new RangeEnd(this, end));
    this.scale = ["low", "high"].map(() => h("span", {}));
    this.inner = h(
      "div",
      { class: "inner" },
      this.bars,
      this.outside,
      h("div", { class: "axis" }),
      this.range,
      this.ends.map((end) => end.node),
      this.arrow,
      this.now,
    );
    this.node = h("div", { class: "track" }, this.inner, h("div", { class: "track-ends", "aria-hidden": "true" }, this.scale));
  }

  /** The position of a value on the axis in per cent. */
  at(value) {
    const [first, last] = this.axis;
    return last > first ? Math.min(100, Math.max(0, ((value - first) / (last - first)) * 100)) : 50;
  }

  /** The end of the range that applies without a limit. */
  bound(end) {
    return end === "low" ? (this.feature.lower ?? this.endOfScale(0)) : (this.feature.upper ?? this.endOfScale(1));
  }

  get snap() {
    return snapOf(this.feature, this.control.step, this.axis[1] - this.axis[0] || 1);
  }

  /** `values` are the values of the options, undefined where an option does not change the feature. */
  update(control, value, values, selected) {
    this.control = control;
    if (!this.ends.some((end) => end.moving)) this.stretch([value, control.low, control.high, ...values]);
    const now = typeof value === "number" ? this.at(value) : null;
    place(this.now, now);
    const to = values[selected];
    this.arrow.hidden = now === null || to === undefined || to === value;
    if (!this.arrow.hidden) this.point(now, this.at(to), to > value);
    const others = values.filter((one, k) => k !== selected && one !== undefined);
    while (this.others.length < others.length) {
      this.others.push(h("div", { class: "mark other" }));
      this.now.before(this.others.at(-1));
    }
    this.others.forEach((mark, k) => place(mark, k < others.length ? this.at(others[k]) : null));
    this.showRange();
  }

  /** Draw the arrow from the row's value to the selected option's, whose tip is at the value. */
  point(from, to, up) {
    this.arrow.className = up ? "way-arrow up" : "way-arrow down";
    this.arrow.style.left = `${Math.min(from, to)}%`;
    this.arrow.style.width = `${Math.abs(to - from)}%`;
  }

  /** Extend the axis to values beyond the data; the histogram keeps its place on it. */
  stretch(values) {
    const shown = values.filter((one) => typeof one === "number");
    if (!(this.base[0] < this.base[1])) {
      const middle = Number.isFinite(this.base[0]) ? this.base[0] : (shown[0] ?? 0); // without data, around the row's value
      const width = Math.max(1, Math.abs(middle));
      shown.push(middle - width, middle + width);
    }
    const [first, last] = [Math.min(this.base[0], ...shown), Math.max(this.base[1], ...shown)];
    const unchanged = first === this.axis[0] && last === this.axis[1];
    if (unchanged && this.scale[0].textContent) return;
    this.axis = [first, last];
    if (!this.bars) return;
    const { edges } = this.feature.histogram;
    this.bars.style.left = `${this.at(edges[0])}%`;
    this.bars.style.width = `${Math.max(1, this.at(edges.at(-1)) - this.at(edges[0]))}%`;
  }

  /** The value at an end of the axis; a bar that is centred on the first or last value reaches beyond it. */
  endOfScale(k) {
    const { step } = this.feature;
    return step ? (k ? Math.floor : Math.ceil)(this.axis[k] / step) * step : this.axis[k];
  }

  showRange() {
    const { low, high } = this.control;
    const [left, right] = this.ends.map((end) => this.at(end.value));
    this.range.style.left = `${left}%`;
    this.range.style.width = `${Math.max(0, right - left)}%`;
    const [first, last] = this.ends.map((end) => end.value); // the whole bars of both are allowed
    this.outside[0].style.width = `${this.at(first - this.half)}%`;
    this.outside[1].style.width = `${100 - this.at(last + this.half)}%`;
    this.range.classList.toggle("set", low !== null || high !== null);
    this.ends.forEach((end, k) => end.show(k ? right : left));
    [
      [low, "≥ ", 0],
      [high, "≤ ", 1],
    ].forEach(([limit, sign, k]) => {
      const text = limit === null ? formatBare(this.feature, this.endOfScale(k)) : sign + formatExact(this.feature, limit, false);
      if (this.scale[k].textContent !== text) this.scale[k].textContent = text;
      this.scale[k].classList.toggle("set", limit !== null);
      const at = this.at(limit ?? this.endOfScale(k)); // below the end of the range, also where a bar is centred on the value
      this.scale[k].style[k ? "marginRight" : "marginLeft"] = `${limit === null ? (k ? 100 - at : at) : 0}%`;
    });
  }
}

function place(mark, percent) {
  mark.hidden = percent === null;
  if (percent !== null) mark.style.left = `${percent}%`;
}

/** One end of the allowed range: moved with the pointer or the keyboard, it keeps to the steps of the feature. */
class RangeEnd {
  constructor(track, end) {
    this.track = track;
    this.end = end;
    this.moving = false;
    this.bubble = h("span", { class: "bubble", "aria-hidden": "true" });
    this.node = h(
      "div",
      {
        class: `end ${end}`,
        role: "slider",
        tabindex: "0",
        title: `Drag to set ${end === "low" ? "a lower" : "an upper"} limit`,
        "aria-label": `${end === "low" ? "at least" : "at most"}, ${nameOf(track.feature)}`,
        onpointerdown: (event) => this.grasp(event),
        onpointermove: (event) => this.moving === "pointer" && this.drag(event),
        onpointerup: () => this.release(),
        onpointercancel: () => this.cancel(),
        onkeydown: (event) => this.press(event),
        onkeyup: () => this.moving === "keys" && this.release(),
        onblur: () => this.release(),
      },
      h("span", { class: "grip" }),
      this.bubble,
    );
  }

  get value() {
    return this.track.control[this.end] ?? this.track.bound(this.end);
  }

  start(how) {
    if (!this.moving) this.before = this.track.control[this.end];
    this.moving = how;
    this.node.classList.add("moving");
  }

  grasp(event) {
    if (event.button) return;
    event.preventDefault();
    this.node.focus({ preventScroll: true });
    this.node.setPointerCapture(event.pointerId);
    const { left, width } = this.track.inner.getBoundingClientRect();
    this.box = { left, width };
    this.offset = event.clientX - (left + (this.track.at(this.value) / 100) * width);
    this.start("pointer");
  }

  drag(event) {
    const [first, last] = this.track.axis;
    const share = (event.clientX - this.offset - this.box.left) / this.box.width;
    this.move(first + Math.min(1, Math.max(0, share)) * (last - first));
  }

  /** Move to a value: snapped, not beyond the other end, and without a limit at the end of the data. */
  move(value) {
    const { track, end } = this;
    const bound = track.bound(end);
    const other = track.ends.find((one) => one !== this).value;
    const snapped = snapTo(value, track.snap);
    const to = end === "low" ? Math.min(snapped, other) : Math.max(snapped, other);
    const beyond = end === "low" ? to <= bound : to >= bound;
    const limit = beyond || Math.abs(value - bound) < track.snap / 2 ? null : to;
    if (limit !== track.control[end]) track.set({ [end]: limit }, true);
  }

  /** The end of a movement: one step in the history. */
  release() {
    if (!this.moving) return;
    this.stop();
    const { track, end } = this;
    if (track.control[end] !== this.before) track.set({ [end]: track.control[end] }, false);
  }

  cancel() {
    if (!this.moving) return;
    this.stop();
    this.track.set({ [this.end]: this.before }, false); // no step, because nothing differs from the last one
  }

  stop() {
    this.moving = false;
    this.node.classList.remove("moving");
  }

  press(event) {
    if (event.key === "Escape" && this.moving) return this.cancel();
    const { snap, ends } = this.track;
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    const first = this.end === "low" ? this.track.bound("low") : ends[0].value;
    const last = this.end === "low" ? ends[1].value : this.track.bound("high");
    const to = steps ? this.value + steps * snap : { Home: first, End: last }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.start("keys");
    this.move(to);
  }

  show(percent) {
    const { track, end, node } = this;
    const { feature } = track;
    const limit = track.control[end];
    node.style.left = `${percent}%`;
    this.bubble.style.translate = `${end === "low" ? 100 - percent : -percent}% 0`; // within the track at both of its ends
    node.classList.toggle("set", limit !== null);
    const bound = end === "low" ? feature.lower : feature.upper;
    const open = (bound ?? null) === null ? `no ${end === "low" ? "lower" : "upper"} limit` : `${formatValue(feature, bound)}, the end of the range`;
    const text = limit === null ? open : formatExact(feature, limit);
    if (this.text === text && this.axis === track.axis) return;
    [this.text, this.axis] = [text, track.axis];
    this.bubble.textContent = text;
    node.setAttribute("aria-valuetext", text);
    node.setAttribute("aria-valuemin", track.axis[0]);
    node.setAttribute("aria-valuemax", track.axis[1]);
    node.setAttribute("aria-valuenow", this.value);
  }
}

// Grey levels and red/blue differences on small canvases.

import { h } from "./dom.js";

/** A picture of `side` pixels of the screen; ink is dark on light, whatever the page's colours. */
export function drawPicture(scale, values, shape, side) {
  const reach = scale.high - scale.low || 1;
  return canvas(
    values.map((value) => {
      const grey = 255 * (1 - (value - scale.low) / reach);
      return [grey, grey, grey];
    }),
    shape,
    side,
    "picture",
  );
}

/** What answer k adds (blue) and takes away (red), on the scale of its largest change. */
export function drawDifference(picture, k, shape, side) {
  const change = picture.answers[k].map((value, d) => value - picture.source[d]);
  const most = Math.max(...change.map(Math.abs)) || 1;
  return canvas(
    change.map((move) => tone(move / most)),
    shape,
    side,
    "red: less ink, blue: more ink",
  );
}

/** From red (-1) over white (0) to blue (1). */
export function tone(t) {
  const [r, g, b] = t < 0 ? [178, 24, 43] : [33, 102, 172];
  const a = Math.min(1, Math.abs(t));
  return [255 + (r - 255) * a, 255 + (g - 255) * a, 255 + (b - 255) * a];
}

export function canvas(colours, [tall, wide], side, label) {
  const node = h("canvas", { width: wide, height: tall, class: "pixels", role: "img", "aria-label": label });
  node.style.width = `${side * Math.min(1, wide / tall)}px`;
  node.style.aspectRatio = `${wide} / ${tall}`;
  const pixels = new ImageData(wide, tall);
  colours.forEach(([r, g, b], k) => pixels.data.set([r, g, b, 255], 4 * k));
  node.getContext("2d").putImageData(pixels, 0, 0);
  return node;
}

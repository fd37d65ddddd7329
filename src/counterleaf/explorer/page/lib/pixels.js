// Grey levels and red/blue differences on small canvases.

import { h } from "./dom.js";

/** An image of `side` screen pixels; ink is dark on white, also on a dark page. */
export function drawImage(levels, values, shape, side) {
  const span = levels.high - levels.low || 1;
  return canvas(
    values.map((value) => {
      const grey = 255 * (1 - (value - levels.low) / span);
      return [grey, grey, grey];
    }),
    shape,
    side,
    "image",
  );
}

/** The ink that answer k adds (blue) and removes (red), relative to its largest change. */
export function drawDifference(image, k, shape, side) {
  const changes = image.answers[k].map((value, d) => value - image.source[d]);
  const largest = Math.max(...changes.map(Math.abs)) || 1;
  return canvas(
    changes.map((change) => redToBlue(change / largest)),
    shape,
    side,
    "red: less ink, blue: more ink",
  );
}

/** A colour from red (-1) through white (0) to blue (1). */
export function redToBlue(t) {
  const [r, g, b] = t < 0 ? [178, 24, 43] : [33, 102, 172];
  const a = Math.min(1, Math.abs(t));
  return [255 + (r - 255) * a, 255 + (g - 255) * a, 255 + (b - 255) * a];
}

/** A canvas with one colour per pixel. */
export function canvas(colours, [height, width], side, label) {
  const node = h("canvas", { width, height, class: "pixels", role: "img", "aria-label": label });
  node.style.width = `${side * Math.min(1, width / height)}px`;
  node.style.aspectRatio = `${width} / ${height}`;
  const pixels = new ImageData(width, height);
  colours.forEach(([r, g, b], k) => pixels.data.set([r, g, b, 255], 4 * k));
  node.getContext("2d").putImageData(pixels, 0, 0);
  return node;
}

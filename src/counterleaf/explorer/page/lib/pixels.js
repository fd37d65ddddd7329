// Grey levels and differences on small canvases. More ink is teal and less ink is brown, which colour-blind readers can
// distinguish and which no class has.

import { h } from "./dom.js";

const [LESS, MORE] = [
  [140, 81, 10],
  [1, 102, 94],
];

/** An image of `side` screen pixels; ink is dark on white, also on a dark page. */
export function drawImage(levels, values, shape, side, label = "image") {
  const span = levels.high - levels.low || 1;
  return canvas(
    values.map((value) => {
      const grey = 255 * (1 - (value - levels.low) / span);
      return [grey, grey, grey];
    }),
    shape,
    side,
    label,
  );
}

/** The ink that answer k adds (teal) and removes (brown), relative to its largest change. */
export function drawDifference(image, k, shape, side, label = "difference: brown is less ink, teal is more ink") {
  const changes = image.answers[k].map((value, d) => value - image.source[d]);
  const largest = Math.max(...changes.map(Math.abs)) || 1;
  return canvas(
    changes.map((change) => brownToTeal(change / largest)),
    shape,
    side,
    label,
  );
}

/** A colour from brown (-1) through white (0) to teal (1). */
export function brownToTeal(t) {
  const [r, g, b] = t < 0 ? LESS : MORE;
  const a = Math.min(1, Math.abs(t));
  return [255 + (r - 255) * a, 255 + (g - 255) * a, 255 + (b - 255) * a];
}

/** A canvas with one colour per pixel; `side` is the length of its longer side on the screen, or null to fill its place; an image without a label is decoration. */
export function canvas(colours, [height, width], side, label) {
  const words = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  const node = h("canvas", { width, height, class: "pixels", ...words });
  if (side !== null) node.style.width = `${side * Math.min(1, width / height)}px`;
  node.style.aspectRatio = `${width} / ${height}`;
  const pixels = new ImageData(width, height);
  colours.forEach(([r, g, b], k) => pixels.data.set([r, g, b, 255], 4 * k));
  node.getContext("2d").putImageData(pixels, 0, 0);
  return node;
}

// The positions of the nodes of a tree: parents above the middle of their children, and neighbours side by side.

/** The x and the depth of each node by its id; `nodes` has each parent before its children, `gap` is the least distance. */
export function arrange(nodes, widthOf, childrenOf, gap) {
  const outlines = new Map(); // per level below a node: its leftmost and rightmost point, relative to the node
  const distances = new Map(); // between the two children of a node
  for (const node of [...nodes].reverse()) {
    const half = widthOf(node) / 2;
    const children = childrenOf(node);
    if (!children.length) {
      outlines.set(node.id, [[-half, half]]);
      continue;
    }
    const [left, right] = children.map((id) => outlines.get(id));
    const shared = Math.min(left.length, right.length);
    const distance = Math.max(...Array.from({ length: shared }, (_, k) => left[k][1] - right[k][0] + gap));
    distances.set(node.id, distance);
    const levels = Array.from({ length: Math.max(left.length, right.length) }, (_, k) => [
      (left[k] ? left[k][0] - distance / 2 : right[k][0] + distance / 2),
      (right[k] ? right[k][1] + distance / 2 : left[k][1] - distance / 2),
    ]);
    outlines.set(node.id, [[-half, half], ...levels]);
  }
  const places = new Map([[nodes[0].id, { x: 0, depth: 0 }]]);
  for (const node of nodes) {
    const { x, depth } = places.get(node.id);
    childrenOf(node).forEach((id, k) => places.set(id, { x: x + (k - 0.5) * distances.get(node.id), depth: depth + 1 }));
  }
  return places;
}

// Replies of the session in their future shape. To be removed when the session sends it.

export const modernScene = (scene) => ({ noun: "Row", kind: "class", probabilities: false, output: null, constraints: [], has_tree: true, ...scene });

export const modernRow = (row) => ({ class_index: 0, number: null, imputed: {}, problem: null, ...row });

export function modernAnswer(answer, state, scene) {
  if (answer.ways) return answer;
  const index = (label) => scene.classes.indexOf(label);
  const others = scene.classes.filter((label) => label !== answer.source_label);
  const ways = answer.answers.map((one, k) => ({
    ...one,
    class_index: index(one.label),
    number: null,
    proved: answer.status === "optimal",
    changes: Object.entries(answer.changes).flatMap(([feature, { source, to, direction }]) =>
      to[k] === "="
        ? []
        : [{ feature, label: feature.replaceAll("_", " "), from: source, to: to[k], direction: direction[k] ?? 0, share: null, share_text: "" }],
    ),
    effort: { share: Math.min(1, Number(one.cost)), words: `small: ${(100 * one.cost).toPrecision(2)} % of the usual range`, cost: one.cost },
  }));
  return {
    legacy: true,
    fewer: null,
    imputed: {},
    goal: { text: state.target.join(" or ") || (others.length === 1 ? others[0] : `anything but ${answer.source_label}`), at_least: null, at_most: null },
    source: { label: answer.source_label, class_index: index(answer.source_label), number: null },
    proof: { proved: answer.status !== "limit", text: "", lower_bound: answer.lower_bound },
    ...answer,
    ways,
  };
}

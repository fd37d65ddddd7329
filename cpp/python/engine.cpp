// The binding of the engine: questions go in, answers come out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>

#include "python/binding.hpp"
#include "search/engine.hpp"

using namespace nanobind::literals;

namespace counterleaf {
namespace {

using Whole = Line<std::int64_t>;

std::vector<Node> make_nodes(const Whole& left, const Whole& right, const Whole& form, const Whole& index,
                             const Table<double>& cuts) {
    const std::size_t n = left.size();
    expect(is_tree(left, right), "the nodes are not a tree");
    expect(form.size() == n && index.size() == n && cuts.shape(0) == 2 && cuts.shape(1) == n,
           "the arrays of the nodes differ in length");
    expect(are_within(form, 0, 4), "the form of a split is unknown");
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < n; ++i) {
        expect((left(i) < 0) == (form(i) == static_cast<std::int64_t>(Form::Leaf)), "a leaf has children, or a split has none");
        nodes.push_back({.form = static_cast<Form>(form(i)),
                         .left = static_cast<int>(left(i)),
                         .right = static_cast<int>(right(i)),
                         .index = static_cast<int>(index(i)),
                         .cut_left = cuts(0, i),
                         .cut_right = cuts(1, i)});
    }
    return nodes;
}

using Nodes = std::tuple<Whole, Whole, Whole, Whole, Table<double>>;  // left, right, form, index, cuts

std::unique_ptr<Engine> make_engine(const Nodes& arrays, const Rows& splits, const Layout& layout, bool right_closed,
                                    bool narrow, const Line<double>& margins, double guard) {
    const auto& [left, right, form, index, cuts] = arrays;
    std::vector<Node> nodes = make_nodes(left, right, form, index, cuts);
    const auto width = static_cast<int>(layout.group.size()), groups = static_cast<int>(layout.groups());
    expect(splits.size() == nodes.size(), "there must be one row per node");
    for (const Node& node : nodes) {
        expect(node.form != Form::Number || (0 <= node.index && node.index < width), "a number is out of range");
        expect(node.form != Form::Group || (0 <= node.index && node.index < groups), "a group is out of range");
    }
    for (int column : splits.columns) expect(column < width, "a column is out of range");
    expect(margins.size() == nodes.size(), "there must be one margin per node");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        expect(margins(i) >= 0.0 && std::isfinite(margins(i)), "a margin is not a finite number from 0");
        nodes[i].margin = margins(i);
    }
    const std::size_t depth = depth_of(nodes);
    return std::make_unique<Engine>(Model{.tree = {layout.group.size(), std::move(nodes), splits, depth, right_closed, narrow},
                                          .layout = layout,
                                          .guard = guard});
}

/// Check that a question fits the engine's tree, because the core trusts its indices.
void check_question(const Engine& engine, const Prices& prices, const Target& target, const Limits& limits) {
    const Tree& tree = engine.model().tree;
    const Layout& layout = engine.model().layout;
    expect(prices.size.size() == tree.width && prices.moves.size() == layout.groups(), "the prices do not fit the tree");
    for (std::size_t g = 0; g < layout.groups(); ++g) {
        const std::size_t values = layout.last[g] - layout.first[g];
        expect(prices.moves[g].size() == values * values, "the prices of changes do not fit the groups");
    }
    for (const Coupling& coupling : prices.coupling)
        for (std::size_t d = 0; d < tree.width; ++d)
            expect(layout.is_number(d) || coupling.matrix.start[d] == coupling.matrix.start[d + 1],
                   "a coupled cost has entries for a 0/1 variable");
    expect(target.below.size() == tree.nodes.size(), "the target does not fit the tree");
    expect(limits.width == tree.width, "the limits do not fit the tree");
    expect(prices.charges.empty() || prices.charges.size() == layout.features(), "the charges do not fit the features");
    for (const ChangeLimit& limit : limits.changes)
        expect(limit.members.size() == layout.features(), "the limits on changes do not fit the features");
}

void check_source(const Engine& engine, const Line<double>& source, std::int64_t leaf, const Limits& limits) {
    const Tree& tree = engine.model().tree;
    expect(source.size() == tree.width && limits.lines == 1, "the source does not fit the tree");
    expect(0 <= leaf && leaf < static_cast<std::int64_t>(tree.nodes.size()), "the leaf is out of range");
    expect(are_finite(span_of(source)), "the source holds NaN or infinity");
}

/// Whether a search can continue from a memory: every index in it must be valid.
bool fits(const Memory& memory, const Model& model, const Prices& prices, const Limits& limits) {
    const Tree& tree = model.tree;
    const auto is_sound = [&](const State& state) {
        const auto what = static_cast<std::size_t>(state.what);
        if (static_cast<std::size_t>(state.node) >= tree.nodes.size()) return false;
        if (state.parting == Parting::Cut && what >= tree.width) return false;
        if (state.parting == Parting::Clause && what >= limits.clauses.size()) return false;
        if (state.parent < 0) return state.rows == static_cast<int>(limits.rows.size());
        const State& above = memory.states[state.parent];
        const bool adds = state.parting == Parting::Split && tree.nodes[above.node].form == Form::Oblique;
        return state.rows == above.rows + (adds ? 1 : 0);
    };
    return memory.prices == prices.id && memory.changes.width() == tree.width &&
           memory.max_rows() == tree.depth + limits.rows.size() &&
           memory.basis.width() == memory.max_rows() + model.layout.groups() && std::ranges::all_of(memory.states, is_sound);
}

Answer find(const Engine& engine, const Line<double>& source, std::int64_t leaf, const Prices& prices, const Target& target,
            const Limits& limits, const BoundBudget& budget, const Answer* earlier) {
    check_question(engine, prices, target, limits);
    check_source(engine, source, leaf, limits);
    const Memory* memory = earlier == nullptr ? nullptr : earlier->memory.get();
    expect(memory == nullptr || fits(*memory, engine.model(), prices, limits), "the earlier answer is one to another question");
    Answer answer;
    StopReason reason;
    {
        const nb::gil_scoped_release unlocked;
        StopCheck stop_check = budget.stop_check();
        answer =
            engine.find(span_of(source), static_cast<int>(leaf), prices, target, limits, budget.limits, memory, stop_check);
        reason = stop_check.reason();
    }
    if (reason == StopReason::Interrupted) throw nb::python_error();
    return answer;
}

using Outcomes = std::tuple<Made<std::int8_t, 1>, Made<std::int64_t, 1>, Made<double, 1>, Made<double, 1>, Made<double, 2>>;

Outcomes find_many(const Engine& engine, const std::tuple<Table<double>, Whole, Whole>& queries, const Prices& prices,
                   const std::vector<const Target*>& targets, const Limits& limits, const BoundBudget& budget,
                   std::size_t threads) {
    const auto& [sources, leaves, kinds] = queries;
    const Tree& tree = engine.model().tree;
    const std::size_t n = sources.shape(0);
    expect(!targets.empty() && threads > 0, "there must be a target and a thread");
    for (const Target* target : targets) {
        expect(target != nullptr, "a target is None");
        check_question(engine, prices, *target, limits);
    }
    expect(sources.shape(1) == tree.width && leaves.size() == n && kinds.size() == n, "the sources do not fit the tree");
    expect(are_within(leaves, 0, tree.nodes.size()) && are_within(kinds, 0, targets.size()),
           "a leaf or a target is out of range");
    expect(limits.lines == 1 || limits.lines == n, "the limits do not fit the sources");
    const Constants all(sources.data(), sources.size());
    expect(are_finite(all), "the sources hold NaN or infinity");
    Array<std::int8_t, 1> outcome({n});
    Array<std::int64_t, 1> leaf({n});
    Array<double, 1> cost({n}), bound({n});
    Array<double, 2> points({n, tree.width});
    StopReason reason;
    {
        const nb::gil_scoped_release unlocked;
        StopCheck stop_check = budget.stop_check();
        const Answers out{{&outcome[0], n}, {&leaf[0], n}, {&cost[0], n}, {&bound[0], n}, {&points[0], n * tree.width}};
        const Batch batch{all, span_of(leaves), span_of(kinds), targets};
        reason = engine.find_many(batch, prices, limits, budget.limits, threads, stop_check, out);
    }
    if (reason == StopReason::Interrupted) throw nb::python_error();
    return {outcome.hand_over(), leaf.hand_over(), cost.hand_over(), bound.hand_over(), points.hand_over()};
}

}  // namespace

void bind_engine(nb::module_& m) {
    nb::class_<BoundBudget>(m, "Budget")
        .def(nb::new_(&make_budget), "count"_a.none(), "nodes"_a.none() = nb::none(), "seconds"_a.none() = nb::none(),
             "keep"_a = false, "stop"_a.none() = nb::none())
        .def_ro("seconds", &BoundBudget::seconds)
        .def(
            "lasting",
            [](const BoundBudget& self, std::optional<double> seconds) { return BoundBudget{self.limits, seconds, self.stop}; },
            "seconds"_a.none(), "The same limits with another number of seconds.")
        .def_prop_ro("count", [](const BoundBudget& self) {
            return self.limits.answers == ALL ? std::nullopt : std::optional(self.limits.answers);
        });
    nb::class_<Engine>(m, "Engine")
        .def(nb::new_(&make_engine), "nodes"_a, "splits"_a, "layout"_a, "right_closed"_a, "narrow"_a, "margins"_a, "guard"_a)
        .def("find", &find, "source"_a, "leaf"_a, "prices"_a, "target"_a, "limits"_a, "budget"_a,
             "earlier"_a.none() = nb::none())
        .def("find_many", &find_many, "sources"_a, "prices"_a, "targets"_a, "limits"_a, "budget"_a, "threads"_a = 1);
}

}  // namespace counterleaf

// The binding of the search for many rows on axis-aligned trees, and of the flag that stops a search from another thread.
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>

#include "axis_aligned/search.hpp"
#include "python/binding.hpp"
#include "question/layout.hpp"

using namespace nanobind::literals;

namespace counterleaf {
namespace axis_aligned {
namespace {

constexpr std::size_t PORTION = 64;  // rows that a thread takes at once

using Arrays = std::tuple<Made<std::int8_t, 1>, Made<std::int64_t, 1>, Made<double, 1>, Made<double, 2>>;

/// The limits on changes of each row: marks of features, one line after the other, and how many of the marked ones may change.
using Changes = std::tuple<Table<std::int8_t>, Table<std::int64_t>>;

/// The class that Python sees.
struct BoundBoxes {
    Boxes boxes;

    Arrays nearest(Table<double> rows, Table<double> least, Table<double> lower, Table<double> upper, double limit,
                   std::size_t threads, const StopFlag* stop) const;
    Arrays cheapest(Table<double> rows, Table<double> least, Line<std::int64_t> kinds, Table<double> lower, Table<double> upper,
                    double limit, const Changes& changes, std::size_t threads, const StopFlag* stop) const;
};

Fields make_fields(const Line<std::int64_t>& variable, const Line<std::int64_t>& size, const Grids& grids,
                   const Table<double>& prices, const Line<double>& charges, const Line<double>& moves) {
    const std::size_t n = size.size();
    expect(n > 0 && variable.size() == n && grids.steps.size() == n && prices.shape(0) == COSTS && prices.shape(1) == n &&
               charges.size() == n && are_finite(span_of(charges)),
           "the arrays of the features differ in length");
    constexpr std::size_t MOST = 1 << 24;
    expect(are_within(size, 0, MOST) && are_within(variable, 0, std::size_t{1} << 40), "a size or a variable is out of range");
    Fields fields{.all = {}, .moves = {moves.data(), moves.data() + moves.size()}};
    std::size_t at = 0;
    for (std::size_t d = 0; d < n; ++d) {
        const auto values = static_cast<std::size_t>(size(d));
        fields.all.push_back(
            {.phi = {HalfPhi{prices(CURVE_DOWN, d), prices(SLOPE_DOWN, d)}, HalfPhi{prices(CURVE_UP, d), prices(SLOPE_UP, d)}},
             .step = grids.steps[d],
             .variable = static_cast<std::size_t>(variable(d)),
             .moves = at,
             .size = static_cast<int>(size(d)),
             .charge = charges(d)});
        expect(values * values <= moves.size() - at, "the prices of changes do not fit the features");
        at += values * values;
    }
    expect(at == moves.size(), "the prices of changes do not fit the features");
    return fields;
}

BoundBoxes make_boxes(const Fields& fields, const Line<std::int64_t>& left, const Line<std::int64_t>& right,
                      const Line<std::int64_t>& feature, const Table<double>& cuts, const Line<std::int8_t>& sides,
                      const Line<std::int64_t>& labels) {
    const std::size_t n = left.size();
    expect(is_tree(left, right), "the nodes are not a tree");
    expect(feature.size() == n && cuts.shape(0) == 2 && cuts.shape(1) == n && labels.size() == n,
           "the arrays of the nodes differ in length");
    expect(are_within(feature, 0, fields.all.size()), "a feature is out of range");
    expect(are_within(labels, -1, std::numeric_limits<int>::max()), "a label is out of range");
    std::vector<Split> splits;
    std::size_t values = 0;
    for (std::size_t i = 0; i < n; ++i) {
        splits.push_back({.child = {static_cast<int>(left(i)), static_cast<int>(right(i))},
                          .feature = static_cast<int>(feature(i)),
                          .sides = 0,
                          .cut = {cuts(0, i), cuts(1, i)}});
        if (left(i) >= 0) values += static_cast<std::size_t>(fields.all[static_cast<std::size_t>(feature(i))].size);
    }
    expect(values == sides.size() && values <= std::numeric_limits<int>::max(), "the sides do not fit the splits");
    std::vector<Side> side_of_value;
    for (const std::int8_t side : span_of(sides)) {
        expect(0 <= side && side <= 2, "a side is out of range");
        side_of_value.push_back(static_cast<Side>(side));
    }
    return {{fields, std::move(splits), std::move(side_of_value), {labels.data(), labels.data() + n}}};
}

/// The questions of a batch; ``lower`` and ``upper`` have one line for all rows, or one per row.
struct Batch {
    Table<double> rows, least, lower, upper;
    double limit;
    const Changes* changes = nullptr;

    std::size_t size() const { return rows.shape(0); }
    std::size_t targets() const { return least.shape(0); }
    Query query(std::size_t k, Constants target) const {
        const std::size_t line = lower.shape(0) > 1 ? k : 0;
        Query query{row_of(rows, k), target, row_of(lower, line), row_of(upper, line), limit, {}, {}};
        if (changes != nullptr) {
            const auto& [members, most] = *changes;
            const std::size_t own = most.shape(0) > 1 ? k : 0;
            query.members = row_of(members, own), query.most = row_of(most, own);
        }
        return query;
    }
    void check(const Boxes& boxes) const {
        std::size_t variables = 0;
        for (const Field& field : boxes.fields().all)
            variables = std::max(variables, field.variable + static_cast<std::size_t>(std::max(field.size, 1)));
        expect(rows.shape(1) == boxes.width(), "the rows do not fit the tree");
        expect(targets() > 0 && least.shape(1) == boxes.splits().size(), "the class costs do not fit the tree");
        expect(lower.shape(1) >= variables && upper.shape(1) >= variables, "the limits do not fit the features");
        expect(lower.shape(0) == upper.shape(0) && (lower.shape(0) == 1 || lower.shape(0) == size()),
               "the limits do not fit the rows");
        if (changes == nullptr) return;
        const auto& [members, most] = *changes;
        expect(members.shape(0) == most.shape(0) && (most.shape(0) == 1 || most.shape(0) == size()) &&
                   members.shape(1) == most.shape(1) * boxes.width(),
               "the limits on changes do not fit the rows");
    }
};

/// Answer a batch; ``target_of(k)`` is the lowest class cost below each node for row k. Rows left by a stop are Unanswered.
template <bool PLAIN, class TargetOf>
Arrays answer(const Boxes& boxes, const Batch& batch, std::size_t threads, const StopFlag* stop, TargetOf target_of) {
    const std::size_t n = batch.size();
    expect(threads > 0, "there must be at least one thread");
    Array<std::int8_t, 1> outcome({n});
    Array<std::int64_t, 1> leaf({n});
    Array<double, 1> cost({n});
    Array<double, 2> point({n, boxes.width()});
    const auto put = [&](std::size_t k, const Found& found) {
        outcome[k] = static_cast<std::int8_t>(found.outcome);
        leaf[k] = found.leaf;
        cost[k] = found.cost;
    };
    StopReason reason;
    {
        const nb::gil_scoped_release unlocked;
        StopCheck stop_check({}, stop == nullptr ? nullptr : &stop->flag, is_interrupted);
        std::vector<char> done((n + PORTION - 1) / PORTION, false);
        std::vector<std::unique_ptr<Search>> searches(std::min(threads, done.size()));
        reason = share_out(n, PORTION, threads, stop_check,
                           [&](std::size_t worker, std::size_t first, std::size_t last, StopCheck&) {
                               if (!searches[worker]) searches[worker] = std::make_unique<Search>(boxes);
                               for (std::size_t k = first; k < last; ++k)
                                   put(k, searches[worker]->find<PLAIN>(batch.query(k, target_of(k)), point.line(k)));
                               done[first / PORTION] = true;
                           });
        for (std::size_t k = 0; reason == StopReason::Stopped && k < n; ++k) {
            if (done[k / PORTION]) continue;
            put(k, {Outcome::Unanswered});
            std::ranges::copy(row_of(batch.rows, k), point.line(k).begin());
        }
    }
    if (reason == StopReason::Interrupted) throw nb::python_error();
    return {outcome.hand_over(), leaf.hand_over(), cost.hand_over(), point.hand_over()};
}

Arrays BoundBoxes::nearest(Table<double> rows, Table<double> least, Table<double> lower, Table<double> upper, double limit,
                           std::size_t threads, const StopFlag* stop) const {
    const Batch batch{rows, least, lower, upper, limit};
    batch.check(boxes);
    expect(boxes.is_plain(), "some feature is not a plain number, or there is a margin");
    expect(batch.lower.shape(0) == 1, "the rows must share one box");
    const std::size_t nodes = boxes.splits().size(), targets = batch.targets();
    for (std::size_t i = 0; targets > 1 && i < nodes; ++i)
        expect(!boxes.splits()[i].is_leaf() || static_cast<std::size_t>(boxes.labels()[i]) < targets, "a label has no target");
    std::vector<double> reachable(batch.least.data(), batch.least.data() + targets * nodes);
    const auto line = [&](std::size_t target) { return Numbers(reachable).subspan(target * nodes, nodes); };
    for (std::size_t target = 0; target < targets; ++target)
        boxes.close(row_of(batch.lower, 0), row_of(batch.upper, 0), line(target));
    return answer<true>(boxes, batch, threads, stop, [&](std::size_t k) {
        return line(targets > 1 ? static_cast<std::size_t>(boxes.label_of(row_of(batch.rows, k))) : 0);
    });
}

Arrays BoundBoxes::cheapest(Table<double> rows, Table<double> least, Line<std::int64_t> kinds, Table<double> lower,
                            Table<double> upper, double limit, const Changes& changes, std::size_t threads,
                            const StopFlag* stop) const {
    const Batch batch{rows, least, lower, upper, limit, &changes};
    batch.check(boxes);
    const std::vector<std::size_t> targets(kinds.data(), kinds.data() + kinds.size());
    expect(targets.size() == batch.size() && std::ranges::all_of(targets, [&](std::size_t t) { return t < batch.targets(); }),
           "a row has no target");
    return answer<false>(boxes, batch, threads, stop, [&](std::size_t k) { return row_of(batch.least, targets[k]); });
}

}  // namespace
}  // namespace axis_aligned

void bind_boxes(nb::module_& m) {
    using namespace axis_aligned;
    nb::class_<StopFlag>(m, "Stop", "A flag that ends the work of another thread.")
        .def(nb::init<>())
        .def("set", [](StopFlag& self) { self.flag = true; })
        .def("is_set", [](const StopFlag& self) { return self.flag.load(); });
    nb::class_<Fields>(m, "Fields", "The features of an axis-aligned tree: numbers and finitely many values.")
        .def(nb::new_(&make_fields), "variable"_a, "size"_a, "grids"_a, "prices"_a, "charges"_a, "moves"_a);
    nb::class_<BoundBoxes>(m, "Boxes", "An axis-aligned tree and a separable cost, ready for many rows.")
        .def(nb::new_(&make_boxes), "fields"_a, "left"_a, "right"_a, "feature"_a, "cuts"_a, "sides"_a, "labels"_a)
        .def_prop_ro("plain", [](const BoundBoxes& self) { return self.boxes.is_plain(); })
        .def("nearest", &BoundBoxes::nearest, "rows"_a, "least"_a, "lower"_a, "upper"_a, "limit"_a, "threads"_a = 1,
             "stop"_a = nb::none())
        .def("cheapest", &BoundBoxes::cheapest, "rows"_a, "least"_a, "kinds"_a, "lower"_a, "upper"_a, "limit"_a, "changes"_a,
             "threads"_a = 1, "stop"_a = nb::none());
}

}  // namespace counterleaf

// The binding of the search over ensembles.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <bit>

#include "ensemble/search.hpp"
#include "python/binding.hpp"

using namespace nanobind::literals;

namespace counterleaf {
namespace {

using ensemble::Forest;
using Whole = Line<std::int64_t>;
using Marks = Line<std::uint8_t>;

std::vector<int> ints(const Whole& line) { return {span_of(line).begin(), span_of(line).end()}; }

template <class T>
std::vector<T> copy(const Line<T>& line) {
    return {span_of(line).begin(), span_of(line).end()};
}

void check_nodes(const Forest& forest) {
    const auto nodes = static_cast<int>(forest.nodes.size());
    const auto subsets = static_cast<int>(forest.subset_start.size());
    for (int i = 0; i < nodes; ++i) {
        const ensemble::Node& node = forest.nodes[i];
        if (node.coordinate < 0) continue;
        expect(node.coordinate < forest.coordinates(), "a coordinate is out of range");
        expect(i < node.left && node.left < nodes && i < node.right && node.right < nodes,
               "a child is out of range, or not behind its parent");
        if (!forest.grouped[node.coordinate]) continue;
        expect(0 <= node.cut && node.cut < subsets, "a subset is out of range");
        const auto end = static_cast<std::size_t>(forest.subset_start[node.cut]) + forest.count(node.coordinate);
        expect(forest.subset_start[node.cut] >= 0 && end <= forest.subset.size(), "a subset is out of range");
    }
    for (const int root : forest.root) expect(0 <= root && root < nodes, "a root is out of range");
}

using Sums = std::tuple<Line<double>, Whole, bool, bool, double>;  // start, outputs, narrow, late, divisor

std::unique_ptr<Forest> make_forest(const Whole& first_cell, const Marks& grouped, const Whole& roots,
                                    const Table<std::int64_t>& nodes, const std::tuple<Whole, Marks>& subsets,
                                    const Table<double>& value, const Sums& sums) {
    auto out = std::make_unique<Forest>();
    out->first_cell = ints(first_cell);
    out->grouped = copy(grouped);
    expect(grouped.size() > 0 && first_cell.size() == grouped.size() + 1 && first_cell(0) == 0 && nodes.shape(0) == 4,
           "the arrays of the forest do not fit together");
    for (int j = 0; j < out->coordinates(); ++j) expect(out->count(j) > 0, "a coordinate has no cells");
    out->root = ints(roots);
    const std::size_t n = nodes.shape(1);
    for (std::size_t i = 0; i < n; ++i)
        out->nodes.push_back({static_cast<int>(nodes(0, i)), static_cast<int>(nodes(1, i)), static_cast<int>(nodes(2, i)),
                              static_cast<int>(nodes(3, i))});
    out->subset_start = ints(std::get<0>(subsets));
    out->subset = copy(std::get<1>(subsets));
    check_nodes(*out);
    const auto& [start, output, narrow, late, divisor] = sums;
    expect(value.shape(0) == n && value.shape(1) > 0 && output.size() == roots.size() && roots.size() > 0,
           "the values do not fit the nodes");
    expect(value.shape(1) <= start.size() && are_within(output, 0, start.size() - value.shape(1) + 1),
           "an output is out of range");
    expect(are_finite({value.data(), value.size()}) && are_finite(span_of(start)), "a value is not finite");
    out->value.assign(value.data(), value.data() + value.size());
    out->width = value.shape(1);
    for (std::size_t i = 0; i < n; ++i) {  // the values of most models are few; a hash of 64 bits tells them apart
        std::uint64_t key = 0;
        for (std::size_t k = 0; k < out->width; ++k)
            key = (key ^ std::bit_cast<std::uint64_t>(value(i, k))) * 0xFF51AFD7ED558CCDULL + 0x632BE59BD9B4E019ULL;
        out->key.push_back(key ^ (key >> 29));
    }
    out->output = ints(output);
    out->start = copy(start);
    out->narrow = narrow;
    out->late = late;
    out->divisor = divisor;
    return out;
}

/// The row cell by cell; -1 and too large cells are refused.
void check_cells(const Forest& forest, const Table<std::int64_t>& rows) {
    expect(rows.shape(1) == forest.grouped.size(), "the rows do not fit the forest");
    for (std::size_t i = 0; i < rows.shape(0); ++i)
        for (std::size_t j = 0; j < rows.shape(1); ++j)
            expect(0 <= rows(i, j) && rows(i, j) < forest.count(static_cast<int>(j)), "a cell is out of range");
}

Made<double, 2> scores(const Forest& forest, const Table<std::int64_t>& rows) {
    check_cells(forest, rows);
    const std::size_t outputs = forest.start.size();
    Array<double, 2> out({rows.shape(0), outputs});
    {
        const nb::gil_scoped_release unlocked;
        std::vector<int> s(forest.grouped.size()), leaves(forest.root.size());
        std::vector<double> found;
        for (std::size_t i = 0; i < rows.shape(0); ++i) {
            for (std::size_t j = 0; j < s.size(); ++j) s[j] = static_cast<int>(rows(i, j));
            for (int t = 0; t < forest.trees(); ++t) leaves[t] = forest.leaf(t, s);
            forest.add(leaves, found);
            std::ranges::copy(found, out.line(i).begin());
        }
    }
    return out.hand_over();
}

/// ``coefficients`` (R, K) combine the scores before the division; ``intervals`` has the columns output, low, high.
std::unique_ptr<ensemble::Target> make_target(const Forest& forest, const Table<double>& coefficients, const Line<double>& bias,
                                              const std::tuple<double, double>& tolerances, std::int64_t winner, double margin,
                                              const Table<double>& intervals, const Marks& closed) {
    auto out = std::make_unique<ensemble::Target>();
    const std::size_t rows = coefficients.shape(0), outputs = forest.start.size(), n = forest.nodes.size();
    expect(rows > 0 && coefficients.shape(1) == outputs && bias.size() == rows, "the rows of the target do not fit the forest");
    expect(-1 <= winner && winner < static_cast<std::int64_t>(outputs), "the winner is out of range");
    expect(closed.size() == 0 || closed.size() == n, "the closed leaves do not fit the forest");
    expect(are_finite({coefficients.data(), coefficients.size()}) && are_finite(span_of(bias)),
           "a row of the target is not finite");
    expect(intervals.shape(1) == 3, "an interval has an output and two ends");
    for (std::size_t i = 0; i < intervals.shape(0); ++i) {
        expect(intervals(i, 0) >= 0.0 && intervals(i, 0) < static_cast<double>(outputs), "an output is out of range");
        out->intervals.push_back({static_cast<int>(intervals(i, 0)), intervals(i, 1), intervals(i, 2)});
    }
    out->rows = static_cast<int>(rows);
    out->bias = copy(bias);
    std::tie(out->room, out->noise) = tolerances;
    out->winner = static_cast<int>(winner);
    out->margin = margin;
    out->closed = copy(closed);
    out->gain.assign(n * rows, 0.0);
    std::vector<double> size(rows);
    for (std::size_t r = 0; r < rows; ++r) size[r] = std::fabs(bias(r));
    std::vector<bool> seen(n, false);
    for (int t = 0; t < forest.trees(); ++t) {
        std::vector<int> ahead{forest.root[t]};
        std::vector<double> most(rows, 0.0);
        while (!ahead.empty()) {
            const int node = ahead.back();
            ahead.pop_back();
            if (seen[node]) continue;  // nodes may share a child
            seen[node] = true;
            if (forest.nodes[node].coordinate >= 0) {
                ahead.push_back(forest.nodes[node].left);
                ahead.push_back(forest.nodes[node].right);
                continue;
            }
            for (std::size_t r = 0; r < rows; ++r) {
                double gain = 0.0;
                for (std::size_t k = 0; k < forest.width; ++k)
                    gain +=
                        coefficients(r, forest.output[t] + k) * forest.value[static_cast<std::size_t>(node) * forest.width + k];
                out->gain[static_cast<std::size_t>(node) * rows + r] = gain;
                most[r] = std::max(most[r], std::fabs(gain));
            }
        }
        for (std::size_t r = 0; r < rows; ++r) {
            size[r] += most[r];
            out->largest = std::max(out->largest, most[r]);
        }
    }
    out->scale = *std::ranges::max_element(size);
    return out;
}

struct ForestAnswer {
    ensemble::Result found;
    std::shared_ptr<void> question;  // what the proof refers to
};

/// All that a search reads, which its proof refers to as well.
struct PosedQuestion {
    std::vector<double> cost;
    std::vector<std::uint8_t> moved;
    std::vector<ensemble::ChangeLimit> limits;
    std::optional<ensemble::Question> question;
};

ForestAnswer find(const Forest& forest, const ensemble::Target& target, const Line<double>& cost, const Marks& moved,
                  const Table<std::uint8_t>& members, const Whole& most, const BoundBudget& budget, double below, bool proof,
                  ensemble::Progress* progress) {
    const auto cells = static_cast<std::size_t>(forest.cells()), size = forest.grouped.size();
    expect(cost.size() == cells && moved.size() == cells, "the costs do not fit the forest");
    expect(std::ranges::none_of(span_of(cost), [](double x) { return std::isnan(x) || x == -ensemble::INF; }),
           "a cost is not a number");
    expect(target.gain.size() == forest.nodes.size() * target.rows, "the target does not fit the forest");
    expect(members.shape(0) == most.size() && (most.size() == 0 || members.shape(1) == size),
           "the limits do not fit the forest");
    auto posed = std::make_shared<PosedQuestion>();
    posed->cost = copy(cost);
    posed->moved = copy(moved);
    for (std::size_t i = 0; i < most.size(); ++i)
        posed->limits.push_back({{row_of(members, i).begin(), row_of(members, i).end()},
                                 static_cast<int>(std::clamp<std::int64_t>(most(i), -1, 1 << 30))});
    posed->question.emplace(ensemble::Question{forest, target, posed->cost, posed->moved, posed->limits});
    ForestAnswer out;
    StopReason reason;
    {
        const nb::gil_scoped_release unlocked;
        StopCheck stop_check = budget.stop_check();
        constexpr auto ALL_NODES = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
        const auto nodes = static_cast<std::int64_t>(std::min(budget.limits.nodes, ALL_NODES));
        ensemble::Search search(*posed->question, stop_check, nodes, below, proof, progress);
        out.found = search.run();
        reason = stop_check.reason();
    }
    if (reason == StopReason::Interrupted) throw nb::python_error();
    out.question = posed;
    return out;
}

template <class T, class Get>
auto gathered(std::size_t n, Get get) {
    Array<T, 1> out({n});
    for (std::size_t k = 0; k < n; ++k) out[k] = static_cast<T>(get(k));
    return out.hand_over();
}

/// The proof as arrays by name.
nb::dict proof_of(const ForestAnswer& answer) {
    nb::dict out;
    if (!answer.found.proof) return out;
    const ensemble::Proof& proof = *answer.found.proof;
    const auto all = [](const auto& numbers) { return [&](std::size_t k) { return numbers[k]; }; };
    const auto put = [&]<class T>(const char* name, T, std::size_t n, auto get) { out[name] = gathered<T>(n, get); };
    put("parent", std::int64_t{}, proof.parent.size(), all(proof.parent));
    put("side", std::int64_t{}, proof.side.size(), all(proof.side));
    const auto& steps = proof.steps;
    put("step_node", std::int64_t{}, steps.size(), [&](std::size_t k) { return steps[k].node; });
    put("step_kind", std::int64_t{}, steps.size(), [&](std::size_t k) { return static_cast<int>(steps[k].kind); });
    put("step_multipliers", std::int64_t{}, steps.size(), [&](std::size_t k) { return steps[k].multipliers; });
    put("step_coordinate", std::int64_t{}, steps.size(), [&](std::size_t k) { return steps[k].coordinate; });
    put("step_cells", std::int64_t{}, steps.size(), [&](std::size_t k) { return steps[k].cells; });
    put("cells", std::uint8_t{}, proof.cells.size(), all(proof.cells));
    const auto& sets = proof.multipliers;
    put("mu", double{}, sets.size(), [&](std::size_t k) { return sets[k].mu; });
    put("unit", double{}, sets.size(), [&](std::size_t k) { return sets[k].unit; });
    put("set_links", std::int64_t{}, sets.size(), [&](std::size_t k) { return sets[k].links; });
    put("set_messages", std::int64_t{}, sets.size(), [&](std::size_t k) { return sets[k].messages; });
    put("weights", double{}, proof.weights.size(), all(proof.weights));
    put("links", std::int64_t{}, proof.links.size(), all(proof.links));
    put("messages", std::int64_t{}, proof.messages.size(), all(proof.messages));
    const auto& first = proof.first_links;
    put("link_tree", std::int64_t{}, first.size(), [&](std::size_t k) { return first[k].tree; });
    put("link_coordinate", std::int64_t{}, first.size(), [&](std::size_t k) { return first[k].coordinate; });
    put("link_pieces", std::int64_t{}, first.size(), [&](std::size_t k) { return first[k].pieces; });
    put("link_first", std::int64_t{}, first.size(), [&](std::size_t k) { return first[k].first; });
    put("piece_of", std::int64_t{}, proof.piece_of.size(), all(proof.piece_of));
    return out;
}

}  // namespace

void bind_ensemble(nb::module_& m) {
    nb::class_<ensemble::Progress>(m, "ForestProgress", "What a search over an ensemble has found so far.")
        .def(nb::init<>())
        .def_prop_ro("cost", [](const ensemble::Progress& self) { return self.cost.load(); })
        .def_prop_ro("lower_bound", [](const ensemble::Progress& self) { return self.lower_bound.load(); })
        .def_prop_ro("nodes", [](const ensemble::Progress& self) { return self.nodes.load(); });
    nb::class_<ensemble::Target>(m, "ForestTarget")
        .def(nb::new_(&make_target), "forest"_a, "coefficients"_a, "bias"_a, "tolerances"_a, "winner"_a, "margin"_a,
             "intervals"_a, "closed"_a)
        .def_ro("rows", &ensemble::Target::rows);
    nb::class_<ForestAnswer>(m, "ForestAnswer")
        .def_prop_ro("verdict", [](const ForestAnswer& self) { return static_cast<int>(self.found.verdict); })
        .def_prop_ro("cost", [](const ForestAnswer& self) { return self.found.cost; })
        .def_prop_ro("lower_bound", [](const ForestAnswer& self) { return self.found.lower_bound; })
        .def_prop_ro("nodes", [](const ForestAnswer& self) { return self.found.nodes; })
        .def_prop_ro(
            "cells",
            [](const ForestAnswer& self) {
                return gathered<std::int64_t>(self.found.cells.size(), [&](std::size_t k) { return self.found.cells[k]; });
            },
            nb::rv_policy::move)
        .def("proof", &proof_of);
    nb::class_<Forest>(m, "Forest", "Trees over coordinates that are cut into cells.")
        .def(nb::new_(&make_forest), "first_cell"_a, "grouped"_a, "roots"_a, "nodes"_a, "subsets"_a, "value"_a, "sums"_a)
        .def("scores", &scores, "rows"_a, "The scores of rows, given by their cells.")
        .def("find", &find, "target"_a, "cost"_a, "moved"_a, "members"_a, "most"_a, "budget"_a, "below"_a = ensemble::INF,
             "proof"_a = true, "progress"_a.none() = nb::none());
}

}  // namespace counterleaf

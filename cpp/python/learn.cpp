// The binding of the learner, as the submodule ``learn``.
//
// Large arrays are not copied: the objects created here keep them alive. Every number that becomes an index is checked on
// arrival, once for the rows, the tree and the columns.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "learn/narrow.hpp"
#include "learn/stump.hpp"
#include "learn/sweep.hpp"
#include "learn/wide.hpp"
#include "python/binding.hpp"

using namespace nanobind::literals;

namespace counterleaf {
namespace learn {
namespace {

template <class T>
using Line = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Indices = Line<const std::int64_t>;
using AnyTable = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;  // in any memory order
using AnyOutputs = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t N = 1>
using Made = nb::ndarray<nb::numpy, T, nb::ndim<N>>;

constexpr std::size_t MOST = std::numeric_limits<int>::max();

template <class T>
std::span<T> span_of(const Line<T>& line) {
    return {line.data(), line.size()};
}

/// Numbers from ``least`` to ``stop`` - 1, as ints.
std::vector<int> checked(const Indices& numbers, std::int64_t least, std::size_t stop, const char* what) {
    for (const std::int64_t one : span_of(numbers)) expect(least <= one && one < static_cast<std::int64_t>(stop), what);
    return {numbers.data(), numbers.data() + numbers.size()};
}

/// An array that Python owns, with a copy of these numbers.
template <class T, std::size_t N = 1>
Made<T, N> made(const auto& numbers, std::array<std::size_t, N> shape) {
    auto copy = std::make_unique_for_overwrite<T[]>(numbers.size());
    std::ranges::copy(numbers, copy.get());
    T* data = copy.get();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    copy.release();
    return {data, N, shape.data(), owner};
}
template <class T>
Made<T> made(const auto& numbers) {
    return made<T, 1>(numbers, {numbers.size()});
}

/// Training rows in arrays that Python owns.
struct HeldRows {
    Indices indptr;
    Line<const std::int32_t> indices;
    Line<const double> values;
    Rows rows;

    HeldRows(Indices starts, Line<const std::int32_t> columns, Line<const double> entries, std::size_t width)
        : indptr(std::move(starts)), indices(std::move(columns)), values(std::move(entries)),
          rows{span_of(indptr), span_of(indices), span_of(values), width} {
        expect(indptr.size() > 0 && rows.size() < MOST && width > 0 && width < MOST, "too few or too many rows or columns");
        expect(rows.starts.front() == 0 && std::ranges::is_sorted(rows.starts) && indices.size() == values.size() &&
                   rows.starts.back() == static_cast<std::int64_t>(values.size()),
               "the arrays of the rows do not fit together");
        for (std::size_t r = 0; r < rows.size(); ++r) {
            std::int32_t before = -1;
            for (const std::int32_t j : rows[r].columns) {
                expect(before < j && j < static_cast<std::int32_t>(width), "the columns of a row are out of order or range");
                before = j;
            }
        }
    }

    Made<double> project(const Indices& chosen, const Line<const double>& w) const {
        const std::vector<int> places = checked(chosen, 0, rows.size(), "a row is out of range");
        expect(w.size() == rows.width, "the weights do not fit the rows");
        std::vector<double> found(places.size());
        {
            nb::gil_scoped_release unlocked;
            learn::project(rows, places, span_of(w), found);
        }
        return made<double>(found);
    }

    Made<double, 2> sum_groups(const Indices& chosen, const Indices& group, const Line<const double>& weight,
                               std::size_t groups) const {
        const std::vector<int> places = checked(chosen, 0, rows.size(), "a row is out of range");
        expect(group.size() == places.size() && weight.size() == places.size(), "the arrays of the rows differ in length");
        expect(groups < MOST, "too many groups");
        const std::vector<int> groups_of = checked(group, 0, groups, "a group is out of range");
        std::vector<double> found(groups * rows.width);
        {
            nb::gil_scoped_release unlocked;
            learn::sum_groups(rows, places, groups_of, span_of(weight), {found.data(), groups, rows.width});
        }
        return made<double, 2>(found, {groups, rows.width});
    }
};

/// A tree whose weights and biases are in arrays that Python owns.
struct HeldTree {
    Weights W;
    Line<double> b;
    Tree tree;

    HeldTree(const Indices& left, const Indices& right, Weights weights, Line<double> biases)
        : W(std::move(weights)), b(std::move(biases)), tree{{}, W.data(), W.shape(1), span_of(b)} {
        const std::size_t n = b.size();
        expect(n > 0 && n < MOST && left.size() == n && right.size() == n && W.shape(0) == n,
               "the arrays of the nodes differ in length");
        std::vector<char> has_parent(n, 0);
        for (std::size_t k = 0; k < n; ++k) {
            tree.nodes.push_back({static_cast<int>(left(k)), static_cast<int>(right(k))});
            if (left(k) == -1 && right(k) == -1) continue;
            for (const std::int64_t child : {left(k), right(k)}) {
                expect(static_cast<std::int64_t>(k) < child && child < static_cast<std::int64_t>(n), "a child is out of range");
                expect(!has_parent[child], "a node has two parents");
                has_parent[child] = true;
            }
        }
        expect(std::ranges::count(has_parent, 0) == 1, "a node has no parent");
    }

    Made<std::int64_t> leaves(const HeldRows& held) const {
        expect(tree.width == held.rows.width, "the rows do not fit the tree");
        std::vector<int> found(held.rows.size());
        {
            nb::gil_scoped_release unlocked;
            for (std::size_t r = 0; r < found.size(); ++r) found[r] = tree.leaf_of(held.rows[r]);
        }
        return made<std::int64_t>(found);
    }

    bool is_axis_aligned() const {
        for (std::size_t k = 0; k < tree.size(); ++k)
            if (std::ranges::count_if(tree.split(k).w, [](double one) { return one != 0.0; }) > 1) return false;
        return true;
    }
};

/// The columns of a table that Python owns.
struct HeldColumns {
    AnyTable X;
    Columns columns;

    explicit HeldColumns(AnyTable table) : X(std::move(table)), columns(ranked(X)) {}

    static Columns ranked(const AnyTable& X) {
        const Table table{X.data(), X.shape(0), X.shape(1), static_cast<std::ptrdiff_t>(X.stride(0)),
                          static_cast<std::ptrdiff_t>(X.stride(1))};
        expect(table.rows < MOST && table.columns > 0, "too few columns or too many rows");
        for (std::size_t r = 0; r < table.rows; ++r)
            for (std::size_t j = 0; j < table.columns; ++j) expect(!std::isnan(table(r, j)), "the table has a NaN");
        nb::gil_scoped_release unlocked;
        return Columns(table);
    }

    bool fits(const Rows& rows) const { return X.shape(0) == rows.size() && X.shape(1) == rows.width; }
};

/// Some rows with the side to which each should go, in arrays that Python owns.
struct HeldSample {
    std::vector<int> chosen;
    Line<const double> side, weight;

    HeldSample(const Indices& places, Line<const double> sides, Line<const double> weights, std::size_t rows)
        : chosen(checked(places, 0, rows, "a row is out of range")), side(std::move(sides)), weight(std::move(weights)) {
        expect(side.size() == chosen.size() && weight.size() == chosen.size(), "the arrays of the rows differ in length");
        expect(std::ranges::all_of(span_of(side), [](double one) { return one == 1.0 || one == -1.0; }),
               "a side is neither 1 nor -1");
    }

    Sample sample() const { return {chosen, span_of(side), span_of(weight)}; }
};

/// The logistic regression of some rows.
struct Logistic {
    using Fit = void(const Problem&, Split&, const Effort&, Scratch&);

    const Rows& rows;
    HeldSample held;

    Logistic(const HeldRows& held_rows, const Indices& chosen, Line<const double> side, Line<const double> weight)
        : rows(held_rows.rows), held(chosen, std::move(side), std::move(weight), rows.size()) {}

    template <Fit fit>
    std::pair<Made<double>, double> run(const Line<const double>& w, double b, double lam, int steps, int passes,
                                        double tolerance) const {
        expect(w.size() == rows.width, "the weights do not fit the rows");
        std::vector<double> found(w.data(), w.data() + w.size());
        Split split{found, b};
        {
            nb::gil_scoped_release unlocked;
            Scratch scratch;
            fit({rows, held.sample(), lam}, split, {steps, passes, tolerance}, scratch);
        }
        return {made<double>(found), split.b};
    }
};

Cut find_cut(const HeldColumns& held, const Indices& chosen, Line<const double> side, Line<const double> weight, double lam) {
    const HeldSample sample(chosen, std::move(side), std::move(weight), held.X.shape(0));
    nb::gil_scoped_release unlocked;
    return best_cut(held.columns, sample.sample(), lam);
}

void make_sweep(Sweep* self, const HeldRows& rows, const HeldTree& tree, const Indices& labels,
                const Line<const double>& weight, const HeldColumns* columns) {
    const std::size_t n = rows.rows.size();
    expect(labels.size() == n && weight.size() == n && tree.tree.width == rows.rows.width,
           "the rows, their labels and the tree do not fit together");
    expect(!columns || (columns->fits(rows.rows) && tree.is_axis_aligned()), "the columns do not fit the rows and the tree");
    new (self) Sweep(rows.rows, columns ? &columns->columns : nullptr, tree.tree,
                     checked(labels, 0, MOST, "a label is out of range"), {weight.data(), weight.data() + n});
}

template <void (Sweep::*work)(RowRange)>
void over(Sweep& sweep, std::size_t first, std::size_t last) {
    expect(first <= last && last <= sweep.rows().size(), "the stretch of rows is out of range");
    (sweep.*work)({first, last});
}

void label(Sweep& sweep, const Indices& label, const Indices& sure) {
    const auto& nodes = sweep.tree().nodes;
    expect(label.size() == nodes.size() && sure.size() == nodes.size(), "the labels do not fit the tree");
    for (std::size_t k = 0; k < nodes.size(); ++k) expect(!nodes[k].is_leaf() || sure(k) >= 0, "a leaf has no label");
    sweep.label(checked(label, 0, MOST, "a label is out of range"), checked(sure, -1, MOST, "a label is out of range"));
}

/// ``loss``: 0 square, 1 log.
void compute(Sweep& sweep, int loss, const AnyOutputs& intercept, const Line<const double>& slope,
             const Line<const double>& targets) {
    const std::size_t nodes = sweep.tree().size(), outputs = intercept.shape(1), width = sweep.rows().width;
    expect(0 <= loss && loss <= 1 && intercept.shape(0) == nodes && outputs > 0 && targets.size() == sweep.rows().size() &&
               (slope.size() == 0 || slope.size() == nodes * outputs * width),
           "the outputs do not fit the tree and the rows");
    for (const double y : span_of(targets))
        expect(loss == 0 || (0.0 <= y && y < static_cast<double>(outputs)), "a label is out of range");
    nb::gil_scoped_release unlocked;
    sweep.compute({static_cast<Loss>(loss),
                   outputs,
                   width,
                   {intercept.data(), intercept.data() + nodes * outputs},
                   {slope.data(), slope.data() + slope.size()}},
                  {targets.data(), targets.data() + targets.size()});
}

void enter(Sweep& sweep, std::size_t depth) {
    expect(depth < sweep.depth(), "the tree has no split at this depth");
    sweep.enter(depth);
}

void improve(Sweep& sweep, const Indices& nodes, double alpha, bool cautious, bool narrow) {
    const std::vector<int> chosen = checked(nodes, 0, sweep.tree().size(), "a node is out of range");
    nb::gil_scoped_release unlocked;
    sweep.improve(chosen, {alpha, cautious, narrow});
}

void bind_data(nb::module_& m) {
    nb::class_<HeldRows>(m, "Rows", "Compressed training rows: views of three arrays, which must not change.")
        .def(nb::init<Indices, Line<const std::int32_t>, Line<const double>, std::size_t>(), "indptr"_a.noconvert(),
             "indices"_a.noconvert(), "values"_a.noconvert(), "width"_a)
        .def("project", &HeldRows::project, "chosen"_a.noconvert(), "w"_a.noconvert(), "x @ w of some rows.")
        .def("sum_groups", &HeldRows::sum_groups, "chosen"_a.noconvert(), "group"_a.noconvert(), "weight"_a.noconvert(),
             "groups"_a, "(groups, columns): the sum of some rows, each times its weight, by group.");
    nb::class_<HeldTree>(m, "Tree", "A tree of fixed shape; W and b are views, into which sweeps write.")
        .def(nb::init<Indices, Indices, Weights, Line<double>>(), "left"_a.noconvert(), "right"_a.noconvert(),
             "W"_a.noconvert(), "b"_a.noconvert())
        .def("leaves", &HeldTree::leaves, "rows"_a, "The leaf of each row.");
    nb::class_<HeldColumns>(m, "Columns", "The columns of a table, ranked for cuts; a span_of, which must not change.")
        .def(nb::init<AnyTable>(), "X"_a.noconvert());
}

void bind_fits(nb::module_& m) {
    nb::class_<Logistic>(m, "Logistic", "Sparse logistic regression of weighted rows, each with its side, 1 or -1.")
        .def(nb::init<const HeldRows&, Indices, Line<const double>, Line<const double>>(), nb::keep_alive<1, 2>(), "rows"_a,
             "chosen"_a.noconvert(), "side"_a.noconvert(), "weight"_a.noconvert())
        .def("fit_narrow", &Logistic::run<fit_narrow>, "w"_a.noconvert(), "b"_a, "lam"_a, "steps"_a, "passes"_a, "tolerance"_a,
             "Improve (w, b), for few columns.")
        .def("fit_wide", &Logistic::run<fit_wide>, "w"_a.noconvert(), "b"_a, "lam"_a, "steps"_a, "passes"_a, "tolerance"_a,
             "Improve (w, b), for many columns.");
    nb::class_<Cut>(m, "Cut", "Right iff sign (x[feature] - threshold) >= 0; without a feature iff sign > 0.")
        .def_ro("feature", &Cut::feature)
        .def_ro("threshold", &Cut::threshold)
        .def_ro("sign", &Cut::sign)
        .def_ro("missed", &Cut::missed);
    m.def("best_cut", &find_cut, "columns"_a, "chosen"_a.noconvert(), "side"_a.noconvert(), "weight"_a.noconvert(), "lam"_a,
          "The cut that sends the least weight to the wrong side.");
    m.def("strength", &strength, "alpha"_a, "total"_a, "The l1 strength of a node with rows of this total weight.");
}

void bind_sweep(nb::module_& m) {
    using Unlocked = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Sweep>(m, "Sweep",
                      "The state of sweeps over a tree: the path of each row, and the rows that each split decides about.")
        .def("__init__", &make_sweep, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 6>(), "rows"_a,
             "tree"_a, "labels"_a.noconvert(), "weight"_a.noconvert(), "columns"_a.none() = nb::none())
        .def("route", &over<&Sweep::route>, "first"_a, "last"_a, Unlocked(), "Follow rows to their leaves.")
        .def(
            "leaves", [](const Sweep& sweep) { return made<std::int64_t>(sweep.leaves()); }, "The leaf of each row.")
        .def("label", &label, "label"_a.noconvert(), "sure"_a.noconvert(),
             "Set the label of each node, and the label that all leaves below it share, or -1.")
        .def("compute", &compute, "loss"_a, "intercept"_a.noconvert(), "slope"_a.noconvert(), "targets"_a.noconvert(),
             "Set the outputs of each node, constants or linear functions of the row, and the target of each row.")
        .def(
            "losses", [](const Sweep& sweep) { return made<double>(sweep.losses()); }, "The loss of each row at its leaf.")
        .def("enter", &enter, "depth"_a, "Select the splits of one depth.")
        .def("judge", &over<&Sweep::judge>, "first"_a, "last"_a, Unlocked(), "Find the side to which each row should go.")
        .def(
            "gather", [](Sweep& sweep) { return made<std::int64_t>(sweep.collect()); },
            "Collect the rows about which each node decides. Returns their number, by node.")
        .def("improve", &improve, "nodes"_a.noconvert(), "alpha"_a, "cautious"_a, "narrow"_a,
             "Find better splits for some nodes.")
        .def("refresh", &over<&Sweep::refresh>, "first"_a, "last"_a, Unlocked(), "Update the labels of rows.");
}

}  // namespace
}  // namespace learn

void bind_learning(nb::module_& m) {
    nb::module_ learning = m.def_submodule("learn", "The kernels that learn trees.");
    learn::bind_data(learning);
    learn::bind_fits(learning);
    learn::bind_sweep(learning);
}

}  // namespace counterleaf

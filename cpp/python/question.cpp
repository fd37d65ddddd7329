// The binding of the parts of a question: rows, layouts, prices, targets and limits become checked values.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cmath>

#include "python/binding.hpp"
#include "question/question.hpp"
#include "question/route.hpp"

using namespace nanobind::literals;

namespace counterleaf {
namespace {

using Whole = Line<std::int64_t>;

std::vector<int> narrowed(const Whole& line) { return {line.data(), line.data() + line.size()}; }

template <class T>
std::vector<T> copied(const auto& numbers) {
    return {numbers.data(), numbers.data() + numbers.size()};
}

Rows make_rows(const Whole& indptr, const Whole& indices, const Line<double>& data, const Line<double>& bias,
               std::size_t width) {
    const std::size_t n = bias.size();
    expect(indptr.size() == n + 1 && indices.size() == data.size(), "the arrays of the rows differ in length");
    expect(indptr(0) == 0 && std::ranges::is_sorted(span_of(indptr)) && indptr(n) == static_cast<std::int64_t>(data.size()),
           "the rows do not fit together");
    expect(width <= std::numeric_limits<int>::max() && are_within(indices, 0, width), "a column is out of range");
    return {.start = {indptr.data(), indptr.data() + n + 1},
            .columns = narrowed(indices),
            .weights = copied<double>(data),
            .bias = copied<double>(bias)};
}

/// ``step`` holds numerators and denominators, ``starts`` where the list of each variable begins and ends in ``values``.
Grids make_grids(const Table<double>& step, const Whole& starts, const Line<double>& values) {
    const std::size_t width = step.shape(1);
    expect(step.shape(0) == 2 && starts.size() == width + 1, "the arrays of the grids differ in length");
    expect(starts(0) == 0 && std::ranges::is_sorted(span_of(starts)) && are_finite(span_of(values)) &&
               starts(width) == static_cast<std::int64_t>(values.size()),
           "the lists of the grids do not fit together");
    Grids grids;
    for (std::size_t d = 0; d < width; ++d) {
        expect(step(0, d) >= 0.0 && (step(0, d) == 0.0 || step(1, d) > 0.0), "a step is not positive");
        grids.steps.push_back({step(0, d), step(1, d)});
        if (starts(d) == starts(d + 1)) continue;
        std::vector<double> list(values.data() + starts(d), values.data() + starts(d + 1));
        expect(step(0, d) == 0.0 && std::ranges::is_sorted(list), "a list of numbers is not in order, or has a step");
        grids.steps.back().list = std::make_shared<const std::vector<double>>(std::move(list));
    }
    return grids;
}

Layout make_layout(const Whole& group, const Whole& feature, const Grids& grids, const Whole& first, const Whole& last) {
    const std::size_t width = group.size(), groups = first.size();
    expect(feature.size() == width && grids.steps.size() == width && last.size() == groups,
           "the arrays of the layout differ in length");
    expect(are_within(group, -1, groups) && are_within(first, 0, width) && are_within(last, 1, width + 1),
           "a group is out of range");
    Layout layout{.group = narrowed(group),
                  .feature = narrowed(feature),
                  .step = grids.steps,
                  .first = narrowed(first),
                  .last = narrowed(last)};
    layout.plain = groups == 0 && std::ranges::all_of(layout.step, [](const Step& step) { return step.is_free(); });
    expect(
        std::ranges::is_sorted(layout.feature) && (width == 0 || layout.feature.front() >= 0) && are_within(feature, 0, width),
        "the features of the variables are out of order");
    for (std::size_t g = 0; g < groups; ++g) {
        expect(layout.first[g] < layout.last[g], "a group is empty");
        for (int v = layout.first[g]; v < layout.last[g]; ++v)
            expect(layout.group[v] == static_cast<int>(g), "the groups do not fit the variables");
    }
    return layout;
}

Sparse make_sparse(const Whole& indptr, const Whole& indices, const Line<double>& data, std::size_t width) {
    expect(indptr.size() == width + 1 && indices.size() == data.size() && indptr(0) == 0 &&
               std::ranges::is_sorted(span_of(indptr)) && indptr(width) == static_cast<std::int64_t>(data.size()) &&
               are_within(indices, 0, width),
           "the matrix does not fit together");
    return {narrowed(indptr), narrowed(indices), copied<double>(data)};
}

Coupling make_coupling(const std::tuple<Whole, Whole, Line<double>>& matrix, const Line<double>& tangent_curve,
                       const Whole& order, const std::tuple<Whole, Whole, Line<double>>& scaled, double theta) {
    const std::size_t width = order.size();
    expect(tangent_curve.size() == width && are_finite(span_of(tangent_curve)), "tangent_curve does not fit the order");
    std::vector<bool> seen(width, false);
    expect(are_within(order, 0, width), "the order is out of range");
    for (std::int64_t d : span_of(order)) {
        expect(!seen[d], "the order names a variable twice");
        seen[d] = true;
    }
    const auto sparse = [&](const auto& parts) {
        return make_sparse(std::get<0>(parts), std::get<1>(parts), std::get<2>(parts), width);
    };
    return {sparse(matrix), copied<double>(tangent_curve), narrowed(order), sparse(scaled), theta};
}

Prices make_prices(const Table<double>& rows, const Line<double>& size, const std::vector<Table<double>>& moves,
                   const Line<double>& charges, bool curved, bool flat, bool runs, const Coupling* coupling) {
    const std::size_t width = size.size();
    expect(rows.shape(0) == COSTS && rows.shape(1) == width, "the prices differ in length");
    expect(are_finite({rows.data(), rows.size()}) && are_finite(span_of(size)), "the prices hold NaN or infinity");
    expect(are_finite(span_of(charges)) && std::ranges::none_of(span_of(charges), [](double one) { return one < 0.0; }),
           "a charge is not a finite number from 0");
    expect(coupling == nullptr || coupling->order.size() == width, "the coupling does not fit the prices");
    const auto line = [&](std::size_t k) { return std::vector<double>(row_of(rows, k).begin(), row_of(rows, k).end()); };
    static std::atomic<std::uint64_t> made{0};
    Prices prices{.id = ++made,
                  .curve_up = line(CURVE_UP),
                  .slope_up = line(SLOPE_UP),
                  .curve_down = line(CURVE_DOWN),
                  .slope_down = line(SLOPE_DOWN),
                  .size = copied<double>(size),
                  .moves = {},
                  .charges = copied<double>(charges),
                  .curved = curved,
                  .flat = flat,
                  .runs = runs,
                  .coupling = {}};
    for (const Table<double>& table : moves) {
        expect(table.shape(0) == table.shape(1), "the prices of changes are not square");
        expect(are_finite({table.data(), table.size()}), "the prices hold NaN or infinity");
        prices.moves.push_back(copied<double>(table));
    }
    if (coupling != nullptr) prices.coupling.push_back(*coupling);
    return prices;
}

Target make_target(const Line<double>& below, const Whole& first, const Whole& leaves) {
    expect(first.size() == below.size() && leaves.size() == below.size(), "the arrays of the target differ in length");
    expect(are_within(first, 0, below.size() + 1), "a leaf is out of range");
    return {copied<double>(below), narrowed(first), narrowed(leaves)};
}

/// The clauses: where the two boxes of each begin and end among the entries, and the entries, one line per source.
struct Clauses {
    std::vector<Clause> all;
    std::vector<int> where;
    std::vector<double> lower, upper;
    std::size_t lines = 1;
};

Clauses make_clauses(const Table<std::int64_t>& starts, const Whole& where, const Table<double>& lower,
                     const Table<double>& upper) {
    expect(starts.shape(1) == 3 && lower.shape(1) == where.size() && upper.shape(1) == where.size() &&
               lower.shape(0) == upper.shape(0),
           "the arrays of the clauses differ in length");
    Clauses out{{}, narrowed(where), copied<double>(lower), copied<double>(upper), lower.shape(0)};
    const auto is_nan = [](double end) { return std::isnan(end); };
    expect(std::ranges::none_of(out.lower, is_nan) && std::ranges::none_of(out.upper, is_nan), "a clause holds NaN");
    for (std::size_t i = 0; i < starts.shape(0); ++i) {
        expect(0 <= starts(i, 0) && starts(i, 0) <= starts(i, 1) && starts(i, 1) <= starts(i, 2) &&
                   starts(i, 2) <= static_cast<std::int64_t>(where.size()),
               "a clause is out of range");
        out.all.push_back({static_cast<int>(starts(i, 0)), static_cast<int>(starts(i, 1)), static_cast<int>(starts(i, 2))});
    }
    return out;
}

/// One line of marks per limit, one mark per feature; and how many of the marked features may change.
std::vector<ChangeLimit> make_change_limits(const Table<std::int64_t>& members, const Whole& most) {
    expect(members.shape(0) == most.size(), "the arrays of the limits on changes differ in length");
    std::vector<ChangeLimit> out;
    for (std::size_t i = 0; i < most.size(); ++i) {
        expect(most(i) >= 0 && most(i) <= std::numeric_limits<int>::max(), "a limit on changes is out of range");
        std::vector<char> marks(members.shape(1));
        for (std::size_t k = 0; k < marks.size(); ++k) marks[k] = members(i, k) != 0;
        out.push_back({std::move(marks), static_cast<int>(most(i))});
    }
    return out;
}

/// Limits on changes, as a value of their own.
struct ChangeLimits {
    std::vector<ChangeLimit> all;
};

Limits make_limits(const Table<double>& lower, const Table<double>& upper, bool widens, const Whole& held, const Rows& rows,
                   std::size_t equal, const ChangeLimits& changes, const Clauses& clauses) {
    const std::size_t width = lower.shape(1), lines = lower.shape(0);
    expect(upper.shape(0) == lines && upper.shape(1) == width && lines > 0, "the bounds differ in shape");
    expect(clauses.where.empty() || clauses.lines == lines, "the clauses do not fit the bounds");
    expect(equal <= rows.size() && are_within(held, 0, width), "the limits do not fit together");
    for (int v : clauses.where) expect(0 <= v && v < static_cast<int>(width), "a variable of a clause is out of range");
    for (int v : rows.columns) expect(v < static_cast<int>(width), "a variable of a row is out of range");
    return {.width = width,
            .lines = lines,
            .lower = copied<double>(lower),
            .upper = copied<double>(upper),
            .widens = widens,
            .not_choosable = narrowed(held),
            .rows = rows,
            .equal = equal,
            .changes = changes.all,
            .clauses = clauses.all,
            .where = clauses.where,
            .entry_lower = clauses.lower,
            .entry_upper = clauses.upper};
}

/// The splits are the rows of a CSR matrix, one per node.
Router make_router(const Line<std::int64_t>& left, const Line<std::int64_t>& right, const Line<std::int64_t>& indptr,
                   const Line<std::int64_t>& indices, const Line<double>& data, const Line<double>& bias, bool right_closed,
                   bool narrow) {
    const std::size_t n = left.size();
    expect(is_tree(left, right), "the nodes are not a tree");
    expect(bias.size() == n && indptr.size() == n + 1 && indices.size() == data.size(), "the weights do not fit together");
    expect(indptr(0) == 0 && std::ranges::is_sorted(span_of(indptr)) && static_cast<std::size_t>(indptr(n)) == data.size(),
           "the weights do not fit together");
    expect(are_within(indices, 0, std::numeric_limits<int>::max()), "a column is out of range");
    std::vector<Fork> forks;
    std::vector<Term> terms;
    for (std::size_t i = 0; i < n; ++i)
        forks.push_back({.left = static_cast<int>(left(i)),
                         .right = static_cast<int>(right(i)),
                         .first = static_cast<std::size_t>(indptr(i)),
                         .last = static_cast<std::size_t>(indptr(i + 1)),
                         .bias = bias(i)});
    for (std::size_t k = 0; k < data.size(); ++k) terms.push_back({static_cast<std::size_t>(indices(k)), data(k)});
    return {std::move(forks), std::move(terms), right_closed, narrow};
}

std::int64_t leaf(const Router& router, const Line<double>& row) {
    expect(row.size() >= router.width(), "the row does not fit the tree");
    return router.leaf(span_of(row));
}

Made<std::int64_t, 1> leaves(const Router& router, const Table<double>& rows) {
    expect(rows.shape(1) >= router.width(), "the rows do not fit the tree");
    Array<std::int64_t, 1> found({rows.shape(0)});
    {
        const nb::gil_scoped_release unlocked;
        for (std::size_t k = 0; k < rows.shape(0); ++k) found[k] = router.leaf(row_of(rows, k));
    }
    return found.hand_over();
}

}  // namespace

void bind_parts(nb::module_& m) {
    nb::class_<Rows>(m, "Rows").def(nb::new_(&make_rows), "indptr"_a, "indices"_a, "data"_a, "bias"_a, "width"_a);
    nb::class_<Layout>(m, "Layout").def(nb::new_(&make_layout), "group"_a, "feature"_a, "grids"_a, "first"_a, "last"_a);
    nb::class_<Grids>(m, "Grids").def(nb::new_(&make_grids), "step"_a, "starts"_a, "values"_a);
    nb::class_<Coupling>(m, "Coupling")
        .def(nb::new_(&make_coupling), "matrix"_a, "tangent_curve"_a, "order"_a, "scaled"_a, "theta"_a);
    nb::class_<Prices>(m, "Prices")
        .def(nb::new_(&make_prices), "rows"_a, "size"_a, "moves"_a, "charges"_a, "curved"_a, "flat"_a, "runs"_a,
             "coupling"_a.none() = nb::none());
    nb::class_<Target>(m, "Target").def(nb::new_(&make_target), "below"_a, "first"_a, "leaves"_a);
    nb::class_<Clauses>(m, "Clauses").def(nb::new_(&make_clauses), "starts"_a, "where"_a, "lower"_a, "upper"_a);
    nb::class_<ChangeLimits>(m, "ChangeLimits")
        .def(nb::new_([](const Table<std::int64_t>& members, const Whole& most) {
                 return ChangeLimits{make_change_limits(members, most)};
             }),
             "members"_a, "most"_a);
    nb::class_<Limits>(m, "Limits")
        .def(nb::new_(&make_limits), "lower"_a, "upper"_a, "widens"_a, "not_choosable"_a, "rows"_a, "equal"_a, "changes"_a,
             "clauses"_a);
}

void bind_route(nb::module_& m) {
    nb::class_<Router>(m, "Router", "Sends rows down a tree in the model's arithmetic.")
        .def(nb::new_(&make_router), "left"_a, "right"_a, "indptr"_a, "indices"_a, "data"_a, "bias"_a, "right_closed"_a,
             "narrow"_a)
        .def("leaf", &leaf, "row"_a, "The leaf of one row.")
        .def("leaves", &leaves, "rows"_a, "The leaf of each row.");
}

}  // namespace counterleaf

// The binding of the engine: what is known beforehand goes in as checked values, questions go in, answers come out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>

#include "binding.hpp"
#include "engine.hpp"

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
    expect(are_within(indices, 0, width), "a column is out of range");
    return {.start = {indptr.data(), indptr.data() + n + 1},
            .columns = narrowed(indices),
            .weights = copied<double>(data),
            .bias = copied<double>(bias)};
}

Layout make_layout(const Whole& group, const Whole& feature, const Table<double>& step, const Whole& first, const Whole& last) {
    const std::size_t width = group.size(), groups = first.size();
    expect(feature.size() == width && step.shape(0) == 2 && step.shape(1) == width && last.size() == groups,
           "the arrays of the layout differ in length");
    expect(are_within(group, -1, groups) && are_within(first, 0, width) && are_within(last, 1, width + 1),
           "a group is out of range");
    Layout layout{
        .group = narrowed(group), .feature = narrowed(feature), .step = {}, .first = narrowed(first), .last = narrowed(last)};
    layout.plain = groups == 0;
    for (std::size_t d = 0; d < width; ++d) {
        expect(step(0, d) >= 0.0 && (step(0, d) == 0.0 || step(1, d) > 0.0), "a step is not positive");
        layout.step.push_back({step(0, d), step(1, d)});
        layout.plain = layout.plain && step(0, d) == 0.0;
    }
    for (std::size_t g = 0; g < groups; ++g) {
        expect(layout.first[g] < layout.last[g], "a group is empty");
        for (int v = layout.first[g]; v < layout.last[g]; ++v)
            expect(layout.group[v] == static_cast<int>(g), "the groups do not fit the variables");
    }
    return layout;
}

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

Model make_model(std::vector<Node> nodes, Rows splits, Layout layout, bool right_closed, bool narrow, double margin,
                 double guard) {
    const std::size_t width = layout.group.size();
    expect(splits.size() == nodes.size(), "there must be one row per node");
    for (const Node& node : nodes) {
        expect(node.form != Form::Number || (0 <= node.index && node.index < static_cast<int>(width)),
               "a number is out of range");
        expect(node.form != Form::Group || (0 <= node.index && node.index < static_cast<int>(layout.groups())),
               "a group is out of range");
    }
    for (int column : splits.columns) expect(column < static_cast<int>(width), "a column is out of range");
    const std::size_t depth = depth_of(nodes);
    return {.tree = {width, std::move(nodes), std::move(splits), depth, right_closed, narrow},
            .layout = std::move(layout),
            .margin = margin,
            .guard = guard};
}

Sparse make_sparse(const Whole& indptr, const Whole& indices, const Line<double>& data, std::size_t width) {
    const Line<double>& none = data;
    expect(indptr.size() == width + 1 && indices.size() == none.size() && indptr(0) == 0 &&
               std::ranges::is_sorted(span_of(indptr)) && indptr(width) == static_cast<std::int64_t>(data.size()) &&
               are_within(indices, 0, width),
           "the matrix does not fit together");
    return {narrowed(indptr), narrowed(indices), copied<double>(data)};
}

Coupling make_coupling(const std::tuple<Whole, Whole, Line<double>>& matrix, const Whole& order,
                       const std::tuple<Whole, Whole, Line<double>>& scaled, double theta) {
    const std::size_t width = order.size();
    std::vector<bool> seen(width, false);
    expect(are_within(order, 0, width), "the order is out of range");
    for (std::int64_t d : span_of(order)) {
        expect(!seen[d], "the order names a variable twice");
        seen[d] = true;
    }
    const auto sparse = [&](const auto& parts) {
        return make_sparse(std::get<0>(parts), std::get<1>(parts), std::get<2>(parts), width);
    };
    return {sparse(matrix), narrowed(order), sparse(scaled), theta};
}

Prices make_prices(const Table<double>& rows, const Line<double>& size, const std::vector<Table<double>>& moves, bool curved,
                   bool flat, bool runs, const Coupling* coupling) {
    const std::size_t width = size.size();
    expect(rows.shape(0) == 4 && rows.shape(1) == width, "the prices differ in length");
    expect(coupling == nullptr || coupling->order.size() == width, "the coupling does not fit the prices");
    const auto line = [&](std::size_t k) { return std::vector<double>(row_of(rows, k).begin(), row_of(rows, k).end()); };
    static std::atomic<std::uint64_t> made{0};
    Prices prices{.id = ++made,
                  .curve_up = line(0),
                  .slope_up = line(1),
                  .curve_down = line(2),
                  .slope_down = line(3),
                  .size = copied<double>(size),
                  .moves = {},
                  .curved = curved,
                  .flat = flat,
                  .runs = runs,
                  .coupling = {}};
    for (const Table<double>& table : moves) {
        expect(table.shape(0) == table.shape(1), "the prices of changes are not square");
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

/// The clauses: where the two boxes of each begin and end among the entries, and the entries, a line per source.
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
    for (std::size_t i = 0; i < starts.shape(0); ++i) {
        expect(0 <= starts(i, 0) && starts(i, 0) <= starts(i, 1) && starts(i, 1) <= starts(i, 2) &&
                   starts(i, 2) <= static_cast<std::int64_t>(where.size()),
               "a clause is out of range");
        out.all.push_back({static_cast<int>(starts(i, 0)), static_cast<int>(starts(i, 1)), static_cast<int>(starts(i, 2))});
    }
    return out;
}

Limits make_limits(const Table<double>& lower, const Table<double>& upper, bool widens, const Whole& held, const Rows& rows,
                   std::size_t equal, int most, const Clauses& clauses) {
    const std::size_t width = lower.shape(1), lines = lower.shape(0);
    expect(upper.shape(0) == lines && upper.shape(1) == width && lines > 0, "the bounds differ in shape");
    expect(clauses.all.empty() || clauses.lines == lines, "the clauses do not fit the bounds");
    expect(equal <= rows.size() && are_within(held, 0, width), "the limits do not fit together");
    for (int v : clauses.where) expect(0 <= v && v < static_cast<int>(width), "a variable of a clause is out of range");
    for (int v : rows.columns) expect(v < static_cast<int>(width), "a variable of a row is out of range");
    return {.width = width,
            .lines = lines,
            .lower = copied<double>(lower),
            .upper = copied<double>(upper),
            .widens = widens,
            .held = narrowed(held),
            .rows = rows,
            .equal = equal,
            .most = most,
            .clauses = clauses.all,
            .where = clauses.where,
            .entry_lower = clauses.lower,
            .entry_upper = clauses.upper};
}

/// A question must fit the engine's tree: the core trusts its indices.
void check_question(const Engine& engine, const Prices& prices, const Target& target, const Limits& limits) {
    const Tree& tree = engine.model().tree;
    const Layout& layout = engine.model().layout;
    expect(prices.size.size() == tree.width && prices.moves.size() == layout.groups(), "the prices do not fit the tree");
    for (std::size_t g = 0; g < layout.groups(); ++g) {
        const std::size_t values = layout.last[g] - layout.first[g];
        expect(prices.moves[g].size() == values * values, "the prices of changes do not fit the groups");
    }
    expect(prices.coupling.empty() || layout.plain, "a coupled cost cannot have groups or grids");
    expect(target.below.size() == tree.nodes.size(), "the target does not fit the tree");
    expect(limits.width == tree.width, "the limits do not fit the tree");
}

bool are_finite(Constants numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
}

/// When to stop.
struct Patience {
    Budget budget;
    std::optional<double> seconds;

    Watch watch(const StopFlag* stop) const {
        Watch::Deadline deadline;
        if (seconds)
            deadline = Watch::Clock::now() + std::chrono::duration_cast<Watch::Clock::duration>(
                                                 std::chrono::duration<double>(std::min(*seconds, 1e9)));
        return Watch(deadline, stop == nullptr ? nullptr : &stop->flag, is_interrupted);
    }
};

Patience make_patience(std::optional<std::size_t> count, std::optional<std::size_t> nodes, std::optional<double> seconds,
                       bool keep) {
    constexpr std::size_t ALL = std::numeric_limits<std::size_t>::max();
    return {{count.value_or(ALL), nodes.value_or(ALL), keep}, seconds};
}

void check_source(const Engine& engine, const Line<double>& source, std::int64_t leaf, const Limits& limits) {
    const Tree& tree = engine.model().tree;
    expect(source.size() == tree.width && limits.lines == 1, "the source does not fit the tree");
    expect(0 <= leaf && leaf < static_cast<std::int64_t>(tree.nodes.size()), "the leaf is out of range");
    expect(are_finite(span_of(source)), "the source holds NaN or infinity");
}

Answer pose(const Engine& engine, const Line<double>& source, std::int64_t leaf, const Prices& prices, const Target& target,
            const Limits& limits) {
    check_question(engine, prices, target, limits);
    check_source(engine, source, leaf, limits);
    return engine.pose(span_of(source), static_cast<int>(leaf), prices, target, limits);
}

Answer find(const Engine& engine, const Line<double>& source, std::int64_t leaf, const Prices& prices, const Target& target,
            const Limits& limits, const Patience& patience, const StopFlag* stop, const Answer* earlier) {
    const Tree& tree = engine.model().tree;
    check_question(engine, prices, target, limits);
    check_source(engine, source, leaf, limits);
    const Memory* memory = earlier == nullptr ? nullptr : earlier->memory.get();
    if (memory != nullptr)
        expect(memory->changes.width() == tree.width && memory->rooms() == tree.depth + limits.rows.size() &&
                   std::ranges::all_of(memory->states,
                                       [&](const State& s) { return s.node < static_cast<int>(tree.nodes.size()); }),
               "the earlier answer is one to another question");
    Answer answer;
    Halt halt;
    {
        const nb::gil_scoped_release unlocked;
        Watch watch = patience.watch(stop);
        answer = engine.find(span_of(source), static_cast<int>(leaf), prices, target, limits, patience.budget, memory, watch);
        halt = watch.halt();
    }
    if (halt == Halt::Interrupted) throw nb::python_error();
    return answer;
}

using Outcomes = std::tuple<Made<std::int8_t, 1>, Made<std::int64_t, 1>, Made<double, 1>, Made<double, 1>, Made<double, 2>>;

Outcomes find_many(const Engine& engine, const std::tuple<Table<double>, Whole, Whole>& asked, const Prices& prices,
                   const std::vector<const Target*>& targets, const Limits& limits, const Patience& patience,
                   std::size_t threads, const StopFlag* stop) {
    const auto& [sources, leaves, kinds] = asked;
    const Tree& tree = engine.model().tree;
    const std::size_t n = sources.shape(0);
    expect(!targets.empty() && threads > 0, "there must be a target and a thread");
    for (const Target* target : targets) check_question(engine, prices, *target, limits);
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
    Halt halt;
    {
        const nb::gil_scoped_release unlocked;
        Watch watch = patience.watch(stop);
        const Answers out{{&outcome[0], n}, {&leaf[0], n}, {&cost[0], n}, {&bound[0], n}, {&points[0], n * tree.width}};
        const Batch batch{all, span_of(leaves), span_of(kinds), targets};
        halt = engine.find_many(batch, prices, limits, patience.budget, threads, watch, out);
    }
    if (halt == Halt::Interrupted) throw nb::python_error();
    return {outcome.hand_over(), leaf.hand_over(), cost.hand_over(), bound.hand_over(), points.hand_over()};
}

/// A view of numbers that an answer owns.
template <class T>
Made<T, 1> seen(nb::handle owner, std::vector<T>& numbers) {
    return {numbers.data(), {numbers.size()}, owner};
}

template <auto Member>
auto line_of() {
    return [](nb::handle self) { return seen(self, nb::cast<Answer&>(self).*Member); };
}

/// The states of the search, a column each, and the multipliers and slacks of all, one state's after another's.
nb::dict trace(nb::handle self) {
    Answer& answer = nb::cast<Answer&>(self);
    const std::size_t n = answer.states.size();
    nb::dict out;
    const auto whole = [&](const char* name, auto read) {
        Array<std::int64_t, 1> column({n});
        for (std::size_t s = 0; s < n; ++s) column[s] = static_cast<std::int64_t>(read(answer.states[s]));
        out[name] = column.hand_over();
    };
    const auto real = [&](const char* name, double State::* member) {
        Array<double, 1> column({n});
        for (std::size_t s = 0; s < n; ++s) column[s] = answer.states[s].*member;
        out[name] = column.hand_over();
    };
    whole("node", [](const State& s) { return s.node; });
    whole("parent", [](const State& s) { return s.parent; });
    whole("parting", [](const State& s) { return s.parting; });
    whole("what", [](const State& s) { return s.what; });
    whole("rows", [](const State& s) { return s.rows; });
    whole("kind", [](const State& s) { return s.kind; });
    real("cut", &State::cut);
    real("bound", &State::bound);
    real("cost", &State::cost);
    out["multipliers"] = seen(self, answer.multipliers);
    out["slacks"] = seen(self, answer.slacks);
    out["tangents"] = seen(self, answer.tangents);
    return out;
}

nb::object rows_of(nb::handle self, std::vector<double>& numbers, std::size_t lines) {
    const std::size_t width = lines > 0 ? numbers.size() / lines : 0;
    return nb::cast(Made<double, 2>(numbers.data(), {lines, width}, self));
}

void bind_parts(nb::module_& m) {
    nb::class_<Rows>(m, "Rows").def(
        "__init__",
        [](Rows* self, Whole indptr, Whole indices, Line<double> data, Line<double> bias, std::size_t width) {
            new (self) Rows(make_rows(indptr, indices, data, bias, width));
        },
        "indptr"_a, "indices"_a, "data"_a, "bias"_a, "width"_a);
    nb::class_<Layout>(m, "Layout")
        .def(
            "__init__",
            [](Layout* self, Whole group, Whole feature, Table<double> step, Whole first, Whole last) {
                new (self) Layout(make_layout(group, feature, step, first, last));
            },
            "group"_a, "feature"_a, "step"_a, "first"_a, "last"_a);
    nb::class_<Coupling>(m, "Coupling")
        .def(
            "__init__",
            [](Coupling* self, std::tuple<Whole, Whole, Line<double>> matrix, Whole order,
               std::tuple<Whole, Whole, Line<double>> scaled,
               double theta) { new (self) Coupling(make_coupling(matrix, order, scaled, theta)); },
            "matrix"_a, "order"_a, "scaled"_a, "theta"_a);
    nb::class_<Prices>(m, "Prices")
        .def(
            "__init__",
            [](Prices* self, Table<double> rows, Line<double> size, std::vector<Table<double>> moves, bool curved, bool flat,
               bool runs,
               const Coupling* coupling) { new (self) Prices(make_prices(rows, size, moves, curved, flat, runs, coupling)); },
            "rows"_a, "size"_a, "moves"_a, "curved"_a, "flat"_a, "runs"_a, "coupling"_a.none() = nb::none());
    nb::class_<Target>(m, "Target")
        .def(
            "__init__",
            [](Target* self, Line<double> below, Whole first, Whole leaves) {
                new (self) Target(make_target(below, first, leaves));
            },
            "below"_a, "first"_a, "leaves"_a);
    nb::class_<Clauses>(m, "Clauses")
        .def(
            "__init__",
            [](Clauses* self, Table<std::int64_t> starts, Whole where, Table<double> lower, Table<double> upper) {
                new (self) Clauses(make_clauses(starts, where, lower, upper));
            },
            "starts"_a, "where"_a, "lower"_a, "upper"_a);
    nb::class_<Limits>(m, "Limits")
        .def(
            "__init__",
            [](Limits* self, Table<double> lower, Table<double> upper, bool widens, Whole held, const Rows& rows,
               std::size_t equal, int most, const Clauses& clauses) {
                new (self) Limits(make_limits(lower, upper, widens, held, rows, equal, most, clauses));
            },
            "lower"_a, "upper"_a, "widens"_a, "held"_a, "rows"_a, "equal"_a, "most"_a, "clauses"_a);
    nb::class_<Patience>(m, "Patience")
        .def(
            "__init__",
            [](Patience* self, std::optional<std::size_t> count, std::optional<std::size_t> nodes,
               std::optional<double> seconds, bool keep) { new (self) Patience(make_patience(count, nodes, seconds, keep)); },
            "count"_a.none(), "nodes"_a.none() = nb::none(), "seconds"_a.none() = nb::none(), "keep"_a = false)
        .def_ro("seconds", &Patience::seconds)
        .def_prop_ro("count", [](const Patience& self) -> std::optional<std::size_t> {
            constexpr std::size_t ALL = std::numeric_limits<std::size_t>::max();
            return self.budget.answers == ALL ? std::nullopt : std::optional(self.budget.answers);
        });
}

void bind_answer(nb::module_& m) {
    nb::enum_<Verdict>(m, "Verdict")
        .value("OPTIMAL", Verdict::Optimal)
        .value("INFEASIBLE", Verdict::Infeasible)
        .value("LIMIT", Verdict::Limit)
        .value("UNBOUNDED", Verdict::Unbounded);
    nb::class_<Answer>(m, "Answer")
        .def_prop_ro("verdict", [](const Answer& a) { return a.report.verdict; })
        .def_prop_ro("lower_bound", [](const Answer& a) { return a.report.lower_bound; })
        .def_ro("runaway", &Answer::runaway)
        .def_ro("taken", &Answer::taken)
        .def_prop_ro("leaves", line_of<&Answer::leaves>())
        .def_prop_ro("costs", line_of<&Answer::costs>())
        .def_prop_ro("bounds", [](nb::handle self) { return seen(self, nb::cast<Answer&>(self).report.bounds); })
        .def_prop_ro("points",
                     [](nb::handle self) {
                         Answer& a = nb::cast<Answer&>(self);
                         return rows_of(self, a.points, a.leaves.size());
                     })
        .def_prop_ro("features",
                     [](nb::handle self) { return rows_of(self, nb::cast<Answer&>(self).features, Features::LINES); })
        .def_prop_ro("own", line_of<&Answer::own>())
        .def_prop_ro("soft", line_of<&Answer::soft>())
        .def_prop_ro("entry_lower",
                     [](const Answer& a) {
                         std::vector<double> out;
                         for (const Interval& entry : a.entries) out.push_back(entry.lower);
                         return out;
                     })
        .def_prop_ro("entry_upper",
                     [](const Answer& a) {
                         std::vector<double> out;
                         for (const Interval& entry : a.entries) out.push_back(entry.upper);
                         return out;
                     })
        .def_ro("unit", &Answer::unit)
        .def_ro("home", &Answer::home)
        .def_ro("plain", &Answer::plain)
        .def_prop_ro("method", [](const Answer& a) { return static_cast<int>(a.method); })
        .def("trace", &trace);
}

}  // namespace

void bind_engine(nb::module_& m) {
    bind_parts(m);
    bind_answer(m);
    nb::class_<Engine>(m, "Engine")
        .def(
            "__init__",
            [](Engine* self, std::tuple<Whole, Whole, Whole, Whole, Table<double>> nodes, const Rows& splits,
               const Layout& layout, bool right_closed, bool narrow, double margin, double guard) {
                const auto& [left, right, form, index, cuts] = nodes;
                new (self) Engine(make_model(make_nodes(left, right, form, index, cuts), splits, layout, right_closed, narrow,
                                             margin, guard));
            },
            "nodes"_a, "splits"_a, "layout"_a, "right_closed"_a, "narrow"_a, "margin"_a, "guard"_a)
        .def("pose", &pose, "source"_a, "leaf"_a, "prices"_a, "target"_a, "limits"_a)
        .def("find", &find, "source"_a, "leaf"_a, "prices"_a, "target"_a, "limits"_a, "patience"_a,
             "stop"_a.none() = nb::none(), "earlier"_a.none() = nb::none())
        .def("find_many", &find_many, "asked"_a, "prices"_a, "targets"_a, "limits"_a, "patience"_a, "threads"_a = 1,
             "stop"_a.none() = nb::none());
}

}  // namespace counterleaf

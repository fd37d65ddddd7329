#include "question/pose.hpp"

#include <cmath>

namespace counterleaf {
namespace {

constexpr double SOFT = 0.05;  // share of a group's most expensive change that methods with curvature charge by a square
constexpr double LAST = 1e38;  // a bound beyond this, such as the largest float32, counts as none
// a cost that still decreases this far out (in units of the source, at least 1) is unbounded
constexpr double FAR_OUT = 1e30, LESS_FAR_OUT = 1e9;  // the second where the cost couples features

using enum Features::Line;

}  // namespace

Question PosedQuestion::pose(const Model& model, const Prices& prices, const Target& target, const Limits& limits,
                             Constants source, int leaf, std::size_t at) {
    width_ = model.tree.width;
    lines_.resize(Features::LINES * width_);
    f_ = Features::of(lines_.data(), width_);
    const bool plain = model.layout.plain && limits.changes.empty() && prices.charges.empty() && limits.clauses.empty();
    std::ranges::copy(source, line(SOURCE).begin());
    set_limits(limits, source, at);
    std::ranges::copy(prices.curve_up, line(CURVE_UP).begin());
    std::ranges::copy(prices.slope_up, line(SLOPE_UP).begin());
    std::ranges::copy(prices.curve_down, line(CURVE_DOWN).begin());
    std::ranges::copy(prices.slope_down, line(SLOPE_DOWN).begin());
    std::ranges::copy(prices.size, line(SCALE).begin());
    std::ranges::fill(line(HORIZON), 0.0);
    source_choice_.clear();
    soft_.clear();
    entries_.clear();
    double unit = 0.0;
    if (!plain) {
        set_values(model, prices);
        set_entries(model.layout, limits, at);
        unit = unit_of(model.layout, prices);
    }
    set_sizes(model.layout, limits);
    const bool home = stays(prices, limits);
    if (prices.runs) set_horizon(prices);
    const bool rows = model.tree.depth > 0 || limits.rows.size() > 0 || !prices.coupling.empty();
    const Method method = rows ? choose_method(model.layout, prices, plain) : Method::Box;
    if (!plain) {
        for (std::size_t v = 0; v < width_; ++v) {
            line(SLOPE_UP)[v] += values_[v];
            line(SLOPE_DOWN)[v] += values_[v];
            const int g = model.layout.group[v];
            if (g >= 0) line(SCALE)[v] = method == Method::Flat ? soft_[g] / SOFT : std::sqrt(2.0 * soft_[g]);
        }
    }
    const bool scales = rows && std::ranges::any_of(f_.scale, [](double s) { return s == 0.0; });
    if (scales) scale_what_is_free(model, limits);
    return {.tree = model.tree,
            .layout = model.layout,
            .target = target,
            .limits = limits,
            .features = f_,
            .method = method,
            .guard = model.guard,
            .home = home ? leaf : -1,
            .coupling = prices.coupling.empty() ? nullptr : &prices.coupling.front(),
            .source_choice = source_choice_,
            .soft = soft_,
            .entries = entries_,
            .change_limits = limits.changes,
            .charges = prices.charges,
            .sizes = sizes_,
            .source_sizes = source_sizes_,
            .unit = unit,
            .plain = plain,
            .prices = prices.id,
            .scaling = plain && !scales ? prices.id : 0};
}

void PosedQuestion::set_limits(const Limits& limits, Constants source, std::size_t at) {
    const std::size_t from = (limits.lines > 1 ? at : 0) * width_;
    const Numbers lower = line(LOWER), upper = line(UPPER);
    for (std::size_t d = 0; d < width_; ++d) {
        lower[d] = limits.lower[from + d];
        upper[d] = limits.upper[from + d];
        if (limits.widens) lower[d] = std::min(lower[d], source[d]), upper[d] = std::max(upper[d], source[d]);
    }
    for (int v : limits.not_choosable) upper[v] = source[v];
}

/// Set the source's value of each group and the prices of the others, and move the bounds of numbers onto their grids.
void PosedQuestion::set_values(const Model& model, const Prices& prices) {
    const Layout& layout = model.layout;
    values_.assign(width_, 0.0);
    double usual = INF;
    for (std::size_t g = 0; g < layout.groups(); ++g) {
        const int first = layout.first[g], last = layout.last[g];
        int chosen = first;
        for (int v = first; v < last; ++v)
            if (f_.source[v] == 1.0) chosen = v;
        source_choice_.push_back(chosen);
        double dearest = 0.0;
        for (int v = first; v < last; ++v) {
            values_[v] = prices.moves[g][(chosen - first) * (last - first) + v - first];
            dearest = std::max(dearest, std::fabs(values_[v]));
        }
        soft_.push_back(dearest);
        if (dearest > 0.0) usual = std::min(usual, dearest);
    }
    for (double& soft : soft_) soft = SOFT * (soft > 0.0 ? soft : usual < INF ? usual : 1.0);
    const Numbers lower = line(LOWER), upper = line(UPPER);
    for (std::size_t d = 0; d < width_; ++d) {
        lower[d] = layout.step[d].above(f_.source[d], lower[d]);
        upper[d] = layout.step[d].below(f_.source[d], upper[d]);
    }
}

void PosedQuestion::set_entries(const Layout& layout, const Limits& limits, std::size_t at) {
    const std::size_t count = limits.where.size(), from = (limits.lines > 1 ? at : 0) * count;
    for (std::size_t k = 0; k < count; ++k) {
        const int v = limits.where[k];
        entries_.push_back({v, layout.step[v].above(f_.source[v], limits.entry_lower[from + k]),
                            layout.step[v].below(f_.source[v], limits.entry_upper[from + k])});
    }
}

/// Where the cost keeps decreasing towards an infinite bound, put a bound far out and mark its side.
void PosedQuestion::set_horizon(const Prices& prices) {
    if (!prices.coupling.empty() && prices.coupling.front().theta > 0.0) return;  // this curvature bounds every feature
    const Numbers lower = line(LOWER), upper = line(UPPER), side = line(HORIZON);
    for (std::size_t d = 0; d < width_; ++d) {
        const double source = f_.source[d], units = prices.coupling.empty() ? FAR_OUT : LESS_FAR_OUT;
        const double far = units * std::max(1.0, std::fabs(source));
        const double low = std::min(upper[d], source) - far, high = std::max(lower[d], source) + far;
        const bool up = upper[d] > LAST && f_.curve_up[d] == 0.0 && f_.slope_up[d] < 0.0;
        const bool down = lower[d] < -LAST && f_.curve_down[d] == 0.0 && f_.slope_down[d] > 0.0;
        if (up) upper[d] = high;
        if (down) lower[d] = low;
        side[d] = (up ? 1.0 : 0.0) - (down ? 1.0 : 0.0);
    }
}

/// Choose by the curvature of the numbers that can move, in the directions in which they can move.
Method PosedQuestion::choose_method(const Layout& layout, const Prices& prices, bool plain) const {
    if (!prices.coupling.empty()) return Method::Coupled;
    if (plain && (prices.curved || prices.flat)) return prices.curved ? Method::Curved : Method::Flat;
    bool curved = true, bent = false;
    for (std::size_t d = 0; d < width_; ++d) {
        if (!(f_.lower[d] < f_.upper[d]) || !layout.is_number(d)) continue;
        if (f_.upper[d] > f_.source[d] && !(f_.curve_up[d] > 0.0)) curved = false;
        if (f_.lower[d] < f_.source[d] && !(f_.curve_down[d] > 0.0)) curved = false;
        bent = bent || f_.curve_up[d] != 0.0 || f_.curve_down[d] != 0.0;
    }
    return curved ? Method::Curved : bent ? Method::Mixed : Method::Flat;
}

/// Choose scales for features that are free to change: in some row as large as the rest of that row.
void PosedQuestion::scale_what_is_free(const Model& model, const Limits& limits) {
    const Numbers scale = line(SCALE);
    std::vector<double> most(width_, 0.0);
    for (const Rows* rows : {&model.tree.splits, &limits.rows})
        for (std::size_t i = 0; i < rows->size(); ++i) {
            const Terms terms = (*rows)[i];
            double length = 0.0;
            for (std::size_t k = 0; k < terms.size(); ++k) {
                const double s = scale[terms.columns[k]];
                if (s > 0.0) length += (terms.weights[k] / s) * (terms.weights[k] / s);
            }
            length = length > 0.0 ? std::sqrt(length) : 1.0;
            for (std::size_t k = 0; k < terms.size(); ++k) {
                double& largest = most[terms.columns[k]];
                largest = std::max(largest, std::fabs(terms.weights[k]) / length);
            }
        }
    for (std::size_t d = 0; d < width_; ++d)
        if (!(scale[d] > 0.0)) scale[d] = most[d] > 0.0 ? most[d] : 1.0;
}

/// The number of which every cost is a multiple, if numbers cannot move away from the source or pay charges only; otherwise 0.
double PosedQuestion::unit_of(const Layout& layout, const Prices& prices) const {
    std::vector<double> paid;
    for (std::size_t d = 0; d < width_; ++d) {
        if (!layout.is_number(d)) {
            paid.push_back(values_[d]);
        } else if (f_.lower[d] != f_.source[d] || f_.upper[d] != f_.source[d]) {
            if (!prices.coupling.empty()) return 0.0;
            if (f_.curve_up[d] != 0.0 || f_.slope_up[d] != 0.0 || f_.curve_down[d] != 0.0 || f_.slope_down[d] != 0.0)
                return 0.0;
            if (!prices.charges.empty()) paid.push_back(prices.charges[layout.feature[d]]);
        }
    }
    double least = INF;
    for (double price : paid)
        if (price != 0.0) least = std::min(least, price);
    if (!(least > 0.0 && least < INF)) return 0.0;
    const auto is_multiple = [&](double price) { return price / least == std::nearbyint(price / least); };
    return std::ranges::all_of(paid, is_multiple) ? least : 0.0;
}

/// Estimate the terms of the user's rows before the search: from fixed values, the ends of grids, and the source.
void PosedQuestion::set_sizes(const Layout& layout, const Limits& limits) {
    sizes_.clear();
    source_sizes_.clear();
    for (std::size_t i = 0; i < limits.rows.size(); ++i) {
        const Terms terms = limits.rows[i];
        double size = std::fabs(terms.bias), near = size;
        for (std::size_t k = 0; k < terms.size(); ++k) {
            const int d = terms.columns[k];
            const double low = f_.lower[d], high = f_.upper[d], most = std::max(std::fabs(low), std::fabs(high));
            const bool whole = !layout.is_number(d) || !layout.step[d].is_free();
            const double weight = std::fabs(terms.weights[k]), here = low == high ? most : std::fabs(f_.source[d]);
            size += weight * (whole && most < INF ? most : here);
            near += weight * here;
        }
        sizes_.push_back(size);
        source_sizes_.push_back(near);
    }
}

/// Whether the source obeys the constraints and no change of a number or a value has a negative cost.
bool PosedQuestion::stays(const Prices& prices, const Limits& limits) const {
    if (prices.runs) return false;
    for (std::size_t d = 0; d < width_; ++d)
        if (!(f_.lower[d] <= f_.source[d] && f_.source[d] <= f_.upper[d])) return false;
    if (!source_choice_.empty() && std::ranges::any_of(values_, [](double cost) { return cost < 0.0; })) return false;
    const auto is_inside = [&](int from, int to) {
        return std::ranges::all_of(std::span(entries_).subspan(from, to - from), [&](const Interval& entry) {
            return entry.lower <= f_.source[entry.variable] && f_.source[entry.variable] <= entry.upper;
        });
    };
    for (const Clause& clause : limits.clauses)
        if (!is_inside(clause.begin, clause.middle) && !is_inside(clause.middle, clause.end)) return false;
    for (std::size_t i = 0; i < limits.rows.size(); ++i) {
        const Terms terms = limits.rows[i];
        const double miss = terms.exactly_at(f_.source), tolerance = rounding_tolerance(terms, sizes_[i]);
        if (miss < -tolerance || (i < limits.equal && miss > tolerance)) return false;
    }
    return true;
}

}  // namespace counterleaf

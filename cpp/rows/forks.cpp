#include "rows/forks.hpp"

#include <cmath>

namespace counterleaf {
namespace {

constexpr double WHOLE = 1e-7;  // a 0/1 variable or a step this close to a whole number counts as whole

/// How far a number is from the point x of its grid, as a share of the step there.
double distance(const Step& step, double source, double number, double x) {
    if (step.list == nullptr) return std::fabs(number - x) * step.denominator / step.numerator;
    const double low = step.below(source, number), high = step.above(source, number);
    return low < high ? std::fabs(number - x) / (high - low) : 0.0;
}

}  // namespace

std::optional<Choice> Forks::at_point(Constants change, Constants x) const {
    if (const auto broken = broken_clause(x)) return broken;
    if (const auto moved = one_too_many(change, x)) return moved;
    return widest_gap(change, x);
}

/// Find a clause that x violates.
std::optional<Choice> Forks::broken_clause(Constants x) const {
    const std::vector<Clause>& clauses = question.limits.clauses;
    for (std::size_t i = 0; i < clauses.size(); ++i)
        if (!question.holds(clauses[i], Side::Left, x) && !question.holds(clauses[i], Side::Right, x))
            return Choice{Parting::Clause, static_cast<int>(i)};
    return {};
}

/// If too many features of a limit change, find one that is not yet decided.
std::optional<Choice> Forks::one_too_many(Constants change, Constants x) const {
    for (const ChangeLimit& limit : question.change_limits)
        if (const auto choice = furthest(change, x, limit)) return choice;
    return {};
}

/// If more features change than a limit allows, find among those not yet decided the one that moves furthest in units of its
/// cost.
std::optional<Choice> Forks::furthest(Constants change, Constants x, const ChangeLimit& limit) const {
    const Features& f = question.features;
    int changed = 0, best = -1;
    double most = -1.0;
    for (std::size_t d = 0; d < x.size();) {
        const int feature = question.layout.feature[d];
        double moved = 0.0;
        bool changes = false;
        for (; d < x.size() && question.layout.feature[d] == feature; ++d) {
            const bool grouped = !question.layout.is_number(d);
            const double by = grouped ? std::fabs(change[d]) : std::fabs(x[d] - f.source[d]);
            if (!(by > (grouped ? WHOLE : 0.0))) continue;
            changes = true;
            if (!box.holds(d, f.source[d])) moved = INF;  // it must change, so counting it loses nothing
            moved = std::max(moved, grouped ? by : by * f.scale[d]);
        }
        if (!changes || !limit.members[feature]) continue;
        ++changed;
        if (moved > most && !counted[feature]) best = feature, most = moved;
    }
    if (changed <= limit.most || best < 0) return {};
    return Choice{Parting::Count, best};
}

/// Find the changed feature that has the largest charge which the bound of the region may not contain: nobody has decided yet
/// whether it changes, and it could stay.
std::optional<Choice> Forks::unpaid(Constants x) const {
    int best = -1;
    double most = 0.0;
    for (std::size_t d = 0; d < x.size() && !question.charges.empty(); ++d) {
        const int feature = question.layout.feature[d];
        const double source = question.features.source[d], charge = question.charges[feature];
        if (x[d] == source || counted[feature] || !box.holds(d, source)) continue;
        const double reach = x[d] > source ? box.upper(d) - source : source - box.lower(d);
        const double missing = charge * (1.0 - 0.5 * std::fabs(x[d] - source) / reach);  // a bound contains a share of it
        if (missing > most) best = feature, most = missing;
    }
    if (best < 0) return {};
    return Choice{Parting::Count, best};
}

/// Find the value of a group, or the number on a grid, that is furthest from a whole choice.
std::optional<Choice> Forks::widest_gap(Constants change, Constants x) const {
    const Features& f = question.features;
    const Layout& layout = question.layout;
    int best = -1;
    double most = WHOLE;
    for (std::size_t g = 0; g < layout.groups(); ++g) {
        int top = -1;
        double largest = -1.0;
        for (int v = layout.first[g]; v < layout.last[g]; ++v) {
            const double z = f.source[v] + change[v];
            if (z > largest && box.can_move(v)) largest = z, top = v;
        }
        if (top >= 0 && 1.0 - largest > most) best = top, most = 1.0 - largest;
    }
    if (best >= 0) return Choice{Parting::Cut, best, 0.0, 1.0};
    for (std::size_t d = 0; d < x.size(); ++d) {
        const Step& step = layout.step[d];
        if (step.is_free() || !box.can_move(d)) continue;
        const double off = distance(step, f.source[d], f.source[d] + change[d], x[d]);
        if (off > most) best = static_cast<int>(d), most = off;
    }
    if (best < 0) return {};
    const double source = f.source[best], low = layout.step[best].below(source, source + change[best]);
    return Choice{Parting::Cut, best, low, layout.step[best].after(source, low)};
}

/// Whether the box lies within one box of a clause.
bool Forks::is_within(const Clause& clause, Side side) const {
    return std::ranges::all_of(question.part(clause, side), [&](const Interval& entry) {
        return entry.lower <= box.lower(entry.variable) && box.upper(entry.variable) <= entry.upper;
    });
}

std::optional<Choice> Forks::any(Constants x) const {
    if (const auto choice = unpaid(x)) return choice;
    for (std::size_t d = 0; d < x.size(); ++d) {
        if (!named[d] || !box.can_move(d)) continue;
        const int variable = static_cast<int>(d);
        if (!question.layout.is_number(d) && x[d] == 1.0) return Choice{Parting::Cut, variable, 0.0, 1.0};
        const Step& step = question.layout.step[d];
        if (step.is_free()) continue;
        const double source = question.features.source[d];
        if (x[d] > box.lower(d)) return Choice{Parting::Cut, variable, step.before(source, x[d]), x[d]};
        return Choice{Parting::Cut, variable, x[d], step.after(source, x[d])};
    }
    const std::vector<Clause>& clauses = question.limits.clauses;
    for (std::size_t i = 0; i < clauses.size(); ++i)
        if (!is_within(clauses[i], Side::Left) && !is_within(clauses[i], Side::Right))
            return Choice{Parting::Clause, static_cast<int>(i)};
    for (std::size_t d = 0; d < x.size() && question.counts_changes(); ++d)
        if (box.can_move(d) && !counted[question.layout.feature[d]]) return Choice{Parting::Count, question.layout.feature[d]};
    return {};
}

void Forks::fix(Constants x, Box& to) const {
    const Layout& layout = question.layout;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const bool stays = question.counts_changes() && x[d] == question.features.source[d] && !counted[layout.feature[d]];
        if (!layout.is_number(d) || !layout.step[d].is_free() || stays) to.narrow(d, x[d], x[d]);
    }
    for (const Clause& clause : question.limits.clauses)
        for (const Interval& entry : question.part(clause, question.holds(clause, Side::Left, x) ? Side::Left : Side::Right))
            to.narrow(entry.variable, entry.lower, entry.upper);
}

}  // namespace counterleaf

#include "bound/ascent.hpp"

#include <cmath>

#include "bound/change_sum.hpp"

namespace counterleaf {
namespace {

constexpr int SWEEPS = 4;             // over all lines
constexpr int PROBES = 40;            // along one line
constexpr int DOUBLINGS = 60;         // of a first step that is too short
constexpr double NOTICEABLE = 1e-12;  // share of a bound: more rounding than this is worth an attempt
constexpr double SLOW = 1e-9;         // share of the bound that a sweep must gain for another sweep
constexpr double ENOUGH = 1e-13;      // share of the bound that may remain to be gained along a line
constexpr double ROUNDING = 1e-12;    // below this share of its terms a sum counts as zero

class Ascent {
public:
    Ascent(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam, Scratch& scratch)
        : question_(question), path_(path), box_(box), lam_(lam), r_(scratch.numbers(path.size())),
          miss_(scratch.numbers(path.size())), trial_(scratch.numbers(path.size())), line_(scratch.numbers(path.size())),
          last_(scratch.numbers(path.size())), price_(scratch.numbers(question.features.width())),
          change_(scratch.numbers(question.features.width())) {
        for (std::size_t t = 0; t < path.size(); ++t) r_[t] = question.offset(path.row[t]) - path.sign[t] * at_source[t];
    }

    AscentResult go();
    bool climb();
    bool is_barred();
    double respond_to(Constants lam, ChangeSum& worth_sum);

private:
    void set_prices(Constants lam);
    double weigh(Constants lam);
    void respond(ChangeSum& worth_sum);
    bool is_proof(Constants ray);
    double ascend(double known);
    double slope() const;
    double probe(double step);
    bool is_free(std::size_t t) const { return t < question_.limits.equal; }

    const Question& question_;
    const Path& path_;
    const Box& box_;
    Numbers lam_, r_, miss_, trial_, line_, last_, price_, change_;
};

void Ascent::set_prices(Constants lam) {
    std::ranges::fill(price_, 0.0);
    each_price_term(question_, path_, lam, [&](int d, double a, double b) { price_[d] += a * b; });
}

/// Add up the best change of each feature at the prices of ``lam``; returns the sum plus lam @ r.
double Ascent::respond_to(Constants lam, ChangeSum& worth_sum) {
    double total = 0.0;
    for (std::size_t t = 0; t < path_.size(); ++t)
        if (lam[t] != 0.0) total += lam[t] * r_[t];
    set_prices(lam);
    respond(worth_sum);
    return total + worth_sum.total();
}

/// Evaluate g, and write its slopes to ``miss_``.
double Ascent::weigh(Constants lam) {
    ChangeSum worth_sum(question_, box_, true);
    const double total = respond_to(lam, worth_sum);
    if (!(total > -INF)) return -INF;
    for (std::size_t t = 0; t < path_.size(); ++t) {
        const Terms terms = question_.row(path_.row[t]);
        double reached = 0.0;
        for (std::size_t k = 0; k < terms.size(); ++k) {
            const int d = terms.columns[k];
            if (!worth_sum.stays(question_.layout.feature[d])) reached += terms.weights[k] * change_[d];
        }
        miss_[t] = r_[t] - path_.sign[t] * reached;
    }
    return total;
}

/// Find the best change of each feature at its price.
void Ascent::respond(ChangeSum& worth_sum) {
    const Features& f = question_.features;
    for (std::size_t d = 0; d < f.width(); ++d) {
        change_[d] = -f.source[d];
        if (!question_.layout.is_number(d)) continue;
        const BestChange best = best_change(question_, d, price_[d], box_.lower(d), box_.upper(d));
        change_[d] = best.change;
        worth_sum.add(d, best.worth);
    }
    for (std::size_t g = 0; g < question_.layout.groups(); ++g) {
        const int stay = question_.source_choice[g];
        int best = -1;
        const auto worth = [&](int v) { return f.slope_up[v] - price_[v]; };
        for (int v = question_.layout.first[g]; v < question_.layout.last[g]; ++v)
            if (box_.upper(v) > 0.0 && (best < 0 || worth(v) < worth(best))) best = v;
        change_[best] += 1.0;
        worth_sum.add(stay, worth(best) - worth(stay));
    }
}

/// Whether ``ray`` contradicts the constraints for every row of the box with no more changes than allowed, with wide tolerances
/// on the user's rows.
bool Ascent::is_proof(Constants ray) {
    const Features& f = question_.features;
    double gap = 0.0, size = 0.0;
    set_prices(ray);
    for (std::size_t t = 0; t < path_.size(); ++t) {
        if (ray[t] == 0.0) continue;
        gap += ray[t] * r_[t];
        size += std::fabs(ray[t] * r_[t]);
        if (t < question_.user_rows()) gap -= std::fabs(ray[t]) * question_.wide_tolerance(path_.row[t]);
    }
    ChangeSum worth_sum(question_, box_, false);
    for (std::size_t d = 0; d < f.width(); ++d) {
        if (!question_.layout.is_number(d)) continue;
        double reach = 0.0;
        if (price_[d] != 0.0) reach = price_[d] * ((price_[d] > 0.0 ? box_.upper(d) : box_.lower(d)) - f.source[d]);
        if (std::isinf(reach)) return false;
        worth_sum.add(d, -reach);
        size += std::fabs(reach);
    }
    for (std::size_t g = 0; g < question_.layout.groups(); ++g) {
        const int stay = question_.source_choice[g];
        double best = -INF;
        for (int v = question_.layout.first[g]; v < question_.layout.last[g]; ++v)
            if (box_.upper(v) > 0.0) best = std::max(best, price_[v]);
        worth_sum.add(stay, price_[stay] - best);
        size += std::fabs(best) + std::fabs(price_[stay]);
    }
    return gap + worth_sum.total() > ROUNDING * size;
}

double Ascent::slope() const {
    double total = 0.0;
    for (std::size_t t = 0; t < path_.size(); ++t) total += line_[t] * miss_[t];
    return total;
}

/// g after a step along the line from ``lam_``.
double Ascent::probe(double step) {
    for (std::size_t t = 0; t < path_.size(); ++t) trial_[t] = lam_[t] + step * line_[t];
    return weigh(trial_);
}

/// Go to the maximum of g on the line from ``lam_``, where g is ``known``; returns g there.
///
/// The maximum lies between a step where g still increases and one where it decreases. The next probe is the point where the
/// tangents at these two steps meet, or their midpoint.
double Ascent::ascend(double known) {
    double end = INF;  // the step at which a multiplier would change its sign
    for (std::size_t t = question_.limits.equal; t < path_.size(); ++t)
        if (line_[t] < 0.0) end = std::min(end, -lam_[t] / line_[t]);
    if (end == 0.0 || weigh(lam_) == -INF) return known;
    double low = 0.0, low_value = known, low_slope = slope(), high = end, high_value = -INF, high_slope = -INF;
    if (!(low_slope > 0.0)) return known;
    double best = known, at = 0.0, step = std::min(1.0, end);
    for (int k = 0; k < DOUBLINGS && low < end; ++k) {
        const double value = probe(step), rise = value > -INF ? slope() : -INF;
        if (value > best) best = value, at = step;
        if (!(rise > 0.0)) {
            high = step, high_value = value, high_slope = rise;
            break;
        }
        low = step, low_value = value, low_slope = rise;
        step = std::min(2.0 * step, end);
    }
    for (int k = 0; k < PROBES && high < INF && low < high; ++k) {
        double middle = 0.5 * (low + high), most = INF;
        if (high_value > -INF) {
            const double meet = (high_value - low_value + low_slope * low - high_slope * high) / (low_slope - high_slope);
            most = low_value + low_slope * (meet - low);
            if (k % 3 < 2 && low < meet && meet < high) middle = meet;
        }
        if (most - best <= ENOUGH * std::fabs(best)) break;
        const double value = probe(middle), rise = value > -INF ? slope() : -INF;
        if (value > best) best = value, at = middle;
        if (rise > 0.0)
            low = middle, low_value = value, low_slope = rise;
        else
            high = middle, high_value = value, high_slope = rise;
    }
    for (std::size_t t = 0; t < path_.size(); ++t) {
        lam_[t] += at * line_[t];
        if (!is_free(t)) lam_[t] = std::max(lam_[t], 0.0);
    }
    return best;
}

/// Search along each line in turn until nothing is gained; returns whether g increased.
bool Ascent::climb() {
    const double first = weigh(lam_);
    double known = first;
    if (known == -INF) std::ranges::fill(lam_, 0.0), known = weigh(lam_);
    if (known == -INF) return false;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        const double before = known;
        std::ranges::copy(lam_, last_.begin());
        for (std::size_t t = 0; t < path_.size(); ++t)
            for (double sign : {1.0, -1.0}) {
                std::ranges::fill(line_, 0.0);
                line_[t] = sign * (lam_[t] != 0.0 ? std::fabs(lam_[t]) : 1.0);
                known = ascend(known);
            }
        std::ranges::copy(lam_, line_.begin());
        known = ascend(known);
        for (std::size_t t = 0; t < path_.size(); ++t) line_[t] = lam_[t] - last_[t];
        known = ascend(known);
        if (known - before <= SLOW * std::fabs(known)) break;
    }
    return known > first;
}

/// Whether one constraint alone rules out every row; ``lam_`` is then its Farkas vector.
bool Ascent::is_barred() {
    for (std::size_t t = 0; t < path_.size(); ++t)
        for (double sign : {1.0, -1.0}) {
            if (sign < 0.0 && !is_free(t)) continue;
            std::ranges::fill(trial_, 0.0);
            trial_[t] = sign;
            if (!is_proof(trial_)) continue;
            std::ranges::copy(trial_, lam_.begin());
            return true;
        }
    return false;
}

AscentResult Ascent::go() {
    if (is_barred()) return {true, true};
    const bool better = climb();
    return {is_proof(lam_), better};
}

}  // namespace

std::vector<char> most_promising(const Question& question, const Path& path, const Box& box, Constants lam, Constants change) {
    const Features& f = question.features;
    const std::vector<int>& feature = question.layout.feature;
    Scratch scratch;
    const Numbers nowhere = scratch.numbers(path.size()), same = scratch.numbers(path.size());
    std::ranges::fill(nowhere, 0.0);
    std::ranges::copy(lam, same.begin());
    ChangeSum worth_sum(question, box, true);
    Ascent(question, path, box, nowhere, same, scratch).respond_to(lam, worth_sum);
    std::vector<char> chosen(question.layout.features(), false);
    std::vector<double> moved(question.layout.features(), 0.0);
    std::vector<int> left = box.quota.left;
    const auto has_room = [&](std::size_t at) {
        for (std::size_t i = 0; i < left.size(); ++i)
            if (question.change_limits[i].members[at] && left[i] <= 0) return false;
        return true;
    };
    const auto choose = [&](std::size_t at) {
        chosen[at] = true;
        for (std::size_t i = 0; i < left.size(); ++i)
            if (question.change_limits[i].members[at] && !box.quota.counted[at]) --left[i];
    };
    for (std::size_t v = 0; v < f.width(); ++v) {
        const int at = feature[v];
        moved[at] = std::max(moved[at], std::fabs(change[v]) * f.scale[v]);
        if (!chosen[at] && (worth_sum.moves(at) || box.quota.counted[at])) choose(at);
    }
    for (;;) {
        std::size_t best = moved.size();
        for (std::size_t at = 0; at < moved.size(); ++at)
            if (!chosen[at] && moved[at] > (best < moved.size() ? moved[best] : 0.0) && has_room(at)) best = at;
        if (best == moved.size()) return chosen;
        choose(best);
    }
}

void shrink_multipliers(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                        Constants other, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Numbers trial = scratch.numbers(lam.size()), best = scratch.numbers(lam.size()), copy = scratch.numbers(lam.size());
    const auto weigh = [&](Constants some) {
        std::ranges::copy(some, copy.begin());
        return prove_bound(question, path, box, at_source, copy, scratch);
    };
    const ProvedBound first = weigh(lam);
    if (first.error <= NOTICEABLE * std::fabs(first.value)) return;
    std::ranges::copy(lam, best.begin());
    double most = first.value;
    const auto consider = [&] {
        const double value = weigh(trial).value;
        if (!(value > most)) return;
        most = value;
        std::ranges::copy(trial, best.begin());
    };
    double share = 1.0;
    for (int k = 0; k < DOUBLINGS; ++k) {
        share *= 0.5;
        for (std::size_t t = 0; t < lam.size(); ++t) trial[t] = share * lam[t];
        consider();
    }
    std::ranges::copy(other, trial.begin());
    Ascent(question, path, box, at_source, trial, scratch).climb();
    consider();
    std::ranges::copy(best, lam.begin());
}

AscentResult improve_multipliers(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                                 Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    return Ascent(question, path, box, at_source, lam, scratch).go();
}

}  // namespace counterleaf

#include "learn/wide.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace counterleaf::learn {
namespace {

constexpr double INSIDE = 0.9;      // a coordinate at zero may rest if its slope is below this share of lam
constexpr double FIRST_GOAL = 0.3;  // passes end when the slopes have decreased to this share of the initial ones
constexpr double NEXT_GOAL = 0.25;  // and then to this share of the last goal, once one pass is enough

/// The distance of the slope of the loss by a weight from the slopes that are optimal there.
double excess(double w, double slope, double lam) {
    return w != 0.0 ? std::fabs(slope + std::copysign(lam, w)) : std::max(std::fabs(slope) - lam, 0.0);
}

/// A linear congruential generator: the same order of coordinates on every machine.
class Shuffle {
public:
    void operator()(Places places) {
        for (std::size_t a = 0; a < places.size(); ++a) {
            seed_ = (1103515245 * seed_ + 12345) & 0x7FFFFFFF;
            std::swap(places[a], places[a + seed_ % (places.size() - a)]);
        }
    }

private:
    std::uint64_t seed_ = 12345;
};

/// The entries of one column, and the places of their rows in the sample.
struct Column {
    std::span<const int> rows;
    Constants values;

    std::size_t size() const { return rows.size(); }
    double dot(Constants g) const {
        double total = 0.0;
        for (std::size_t k = 0; k < size(); ++k) total += values[k] * g[rows[k]];
        return total;
    }
};

class Wide {
public:
    Wide(const Problem& problem, Split& split, Scratch& scratch)
        : problem_(problem), split_(split), n_(problem.sample.size()), D_(split.w.size()), scratch_(scratch), frame_(scratch),
          descent_(problem, split, scratch), along_(scratch.numbers(n_)), g_(scratch.numbers(n_)), h_(scratch.numbers(n_)),
          d_(scratch.numbers(D_)), grad_(scratch.numbers(D_)), curve_(scratch.numbers(D_)), room_(scratch.places(D_)),
          stored_(D_, 0), end_(D_), step_(D_) {}

    void run(const Effort& effort) {
        begin();
        double total = 0.0, goal = -1.0;
        for (double one : problem_.sample.weight) total += one;
        for (int step = 0; step < effort.steps; ++step) {
            const auto [first, second] = descent_.differentiate(g_, h_);
            const double off = find_active(std::fabs(first));
            if (goal < 0.0) goal = FIRST_GOAL * off;
            if (off <= effort.tolerance * total) return;
            const Scratch::Frame frame(scratch_);
            write_columns();
            if (minimise_model(second, goal, effort.passes) <= 1) goal *= NEXT_GOAL;
            const double promised = move_along(first);
            if (promised > -1e-10 * descent_.value() || !descent_.advance(d_, db_, along_, promised)) return;
        }
    }

private:
    Entries row(std::size_t i) const { return problem_.rows[problem_.sample.rows[i]]; }

    Column column(int j) const {
        const std::size_t first = end_[j] - stored_[j];
        return {rows_.subspan(first, stored_[j]), values_.subspan(first, stored_[j])};
    }

    /// Count the entries of each column; a column without any gets the weight 0.
    void begin() {
        for (std::size_t i = 0; i < n_; ++i) {
            const Entries x = row(i);
            descent_.z()[i] = split_.at(x);
            for (const int j : x.columns) ++stored_[j];
        }
        for (std::size_t j = 0; j < D_; ++j)
            if (stored_[j] == 0) split_.w[j] = 0.0;
        descent_.begin();
    }

    /// Compute the slopes of the loss by each weight, and list the coordinates that are not optimal or not zero.
    ///
    /// Returns ``off`` plus the excess of all slopes.
    double find_active(double off) {
        std::ranges::fill(grad_, 0.0);
        for (std::size_t i = 0; i < n_; ++i) {
            const Entries x = row(i);
            for (std::size_t k = 0; k < x.size(); ++k) grad_[x.columns[k]] += x.values[k] * g_[i];
        }
        std::size_t count = 0;
        for (std::size_t j = 0; j < D_; ++j) {
            d_[j] = 0.0;
            const double beyond = excess(split_.w[j], grad_[j], problem_.lam);
            if (split_.w[j] == 0.0 && !(beyond > 0.0)) continue;
            off += beyond;
            room_[count++] = static_cast<int>(j);
        }
        active_ = room_.first(count);
        return off;
    }

    /// Write the active columns one after another, and the curvature of the loss by each weight.
    ///
    /// The entries of all other columns are written to one position behind them, which is faster than testing each entry.
    void write_columns() {
        std::size_t total = 0;
        for (const int j : active_) total += stored_[j];
        rows_ = scratch_.places(total + 1);
        values_ = scratch_.numbers(total + 1);
        std::ranges::fill(end_, total);
        std::ranges::fill(step_, 0);
        std::ranges::fill(curve_, 0.0);
        std::size_t at = 0;
        for (const int j : active_) {
            end_[j] = at;
            step_[j] = 1;
            at += stored_[j];
        }
        for (std::size_t i = 0; i < n_; ++i) {
            const Entries x = row(i);
            for (std::size_t k = 0; k < x.size(); ++k) {
                const int j = x.columns[k];
                rows_[end_[j]] = static_cast<int>(i);
                values_[end_[j]] = x.values[k];
                end_[j] += step_[j];
                curve_[j] += x.values[k] * x.values[k] * h_[i];
            }
        }
    }

    /// Coordinate descent on the model, from d = 0, until the excess of the slopes is at most ``goal``. Returns the number of
    /// passes.
    ///
    /// Invariant: g holds the slopes of the model by z: the first derivatives plus h times the change of z so far.
    int minimise_model(double second, double goal, int passes) {
        std::size_t used = active_.size();
        db_ = 0.0;
        for (int pass = 0; pass < passes; ++pass) {
            double slope = 0.0;
            for (double one : g_) slope += one;
            const double change = -slope / second;
            db_ += change;
            for (std::size_t i = 0; i < n_; ++i) g_[i] += h_[i] * change;
            shuffle_(active_.first(used));
            const double off = visit(used, pass > 0, std::fabs(slope));
            if (!(off <= goal)) continue;
            if (used == active_.size()) return pass + 1;
            used = active_.size();
        }
        return passes;
    }

    /// One pass over the first ``used`` active coordinates. If they ``may_rest``, those that rest are moved behind the others.
    ///
    /// Returns ``off`` plus the excess of the slopes on the way.
    double visit(std::size_t& used, bool may_rest, double off) {
        const double lam = problem_.lam;
        for (std::size_t a = 0; a < used;) {
            const int j = active_[a];
            const Column x = column(j);
            const double slope = x.dot(g_), old = split_.w[j] + d_[j];
            if (may_rest && old == 0.0 && std::fabs(slope) < INSIDE * lam) {
                std::swap(active_[a], active_[--used]);
                continue;
            }
            off += excess(old, slope, lam);
            const double change = soft_threshold(old - slope / curve_[j], lam / curve_[j]) - old;
            if (change != 0.0) {
                d_[j] += change;
                for (std::size_t k = 0; k < x.size(); ++k) g_[x.rows[k]] += change * x.values[k] * h_[x.rows[k]];
            }
            ++a;
        }
        return off;
    }

    /// The change of z in a full step. Returns the change of the objective that the model predicts.
    double move_along(double first) {
        std::ranges::fill(along_, db_);
        double promised = first * db_;
        for (const int j : active_) {
            if (d_[j] == 0.0) continue;
            const Column x = column(j);
            for (std::size_t k = 0; k < x.size(); ++k) along_[x.rows[k]] += d_[j] * x.values[k];
            promised += grad_[j] * d_[j] + penalty_change(problem_.lam, split_.w[j], d_[j]);
        }
        return promised;
    }

    const Problem& problem_;
    Split& split_;
    std::size_t n_, D_;
    Scratch& scratch_;
    Scratch::Frame frame_;
    Descent descent_;
    Numbers along_, g_, h_, d_, grad_, curve_;
    double db_ = 0.0;
    Places room_, active_;                          // active_ is the front of room_
    std::vector<std::size_t> stored_, end_, step_;  // by column: its entries, their end if active, 1 if active
    Places rows_;
    Numbers values_;
    Shuffle shuffle_;
};

}  // namespace

void fit_wide(const Problem& problem, Split& split, const Effort& effort, Scratch& scratch) {
    Wide(problem, split, scratch).run(effort);
}

}  // namespace counterleaf::learn

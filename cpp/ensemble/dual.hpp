// The bound Z of problem.hpp: its value, and multipliers that raise it.
#pragma once

#include <vector>

#include "base/stopping.hpp"
#include "ensemble/problem.hpp"

namespace counterleaf::ensemble {

struct AscentOptions {
    int steps;
    double factor, decay;  // of the step length; it decays after ``patience`` steps without gain
    int patience;
};

/// Computes Z and improves multipliers; holds the memory of these computations.
class Dual {
public:
    Dual(const Question& question, StopCheck& stop) : rows_(question.target.rows), q_(question), stop_(stop) {}

    /// Compute what follows from the multipliers: the residuals of states, and the energies of leaves if ``lambda`` changed.
    void refresh(Problem& p, bool with_leaves);
    /// The energies theta of the leaves of a factor, for ``marginals``; returns the least of them.
    double energies(const Problem& p, int factor);
    /// After ``energies``: for every piece of every link of the factor, the least energy of a leaf with the message of that
    /// piece. The result is indexed by message, counted from the first one of the factor.
    const std::vector<double>& marginals(const Problem& p, int factor);
    double value(const Problem& p, double cutoff);
    /// Deflected subgradient steps until Z exceeds ``goal``; the best multipliers stay. Returns Z.
    double ascend(Problem& p, double cutoff, double goal, const AscentOptions& options);
    /// Block coordinate ascent over messages, forwards and backwards; returns Z.
    double sweep(Problem& p, double cutoff);
    /// Round the messages to whole multiples of a unit, which is returned.
    double round(Problem& p, double largest_gain, int bits);

private:
    struct Direction {
        std::vector<double> message, lambda, nu;
        double mu = 0.0;
    };
    double slopes(const Problem& p, double cutoff, double width);
    void factor_slopes(const Problem& p, int factor);
    int wanted(const Problem& p, int link);
    void move(Problem& p, double step, double width);
    void block(Problem& p, int factor, double most);

    const int rows_;
    const Question& q_;
    StopCheck& stop_;
    std::vector<double> theta_, least_, away_, marginal_, change_, piece_least_;
    std::vector<int> stamp_, best_state_;
    std::vector<int> wanted_, wanted_state_;  // of each link: the piece of the best state, and the state for which it was found
    std::vector<double> interval_least_, interval_best_;
    int best_leaf_ = 0;
    Direction slope_, way_;
};

}  // namespace counterleaf::ensemble

// What the multipliers say about single states: which of them no cheaper row can have, and where to divide the box.
//
// The min-marginals of the sums in Z tell by how much Z rises if a state is chosen (``rise``), or if a variable is restricted
// to the states on one side of a cut. States and sides for which Z becomes positive are out.
#pragma once

#include <vector>

#include "ensemble/dual.hpp"
#include "ensemble/problem.hpp"

namespace counterleaf::ensemble {

/// A variable divided in two; for a group, one state against all others.
struct Cut {
    int variable = -1;
    std::vector<std::uint8_t> first;  // over all states: whether a state belongs to the first side
    double rise[2] = {0.0, 0.0};      // by how much Z rises on either side
};

/// The findings about a problem whose bound is Z.
struct Reduction {
    std::vector<std::uint8_t> removed;  // the states that are out
    bool some = false;
    Cut cut;
    std::vector<int> guess;  // the most promising cell of every coordinate
};

class Branching {
public:
    Branching(const Question& question, Dual& dual) : q_(question), rows_(question.target.rows), dual_(dual) {}

    /// States for which Z would exceed ``enough`` are removed.
    Reduction reduce(const Problem& p, double z, double enough);

private:
    /// By how much a sum rises for a state, and for the states up to it and after it (for a group: for it, and for all others).
    struct Rises {
        std::vector<double> state, first, second;
        std::vector<double> state_change, first_change, second_change;  // of numbers, between neighbouring states

        void clear(int states);
        void add(const Problem& p, int variable, bool grouped, const std::vector<double>& numbers);
        void add_pieces(const Problem& p, int link, bool grouped, const double* numbers);
        void finish(const Problem& p);

    private:
        std::vector<double> spread_;
    };

    void with_messages(const Problem& p);
    void without_messages(const Problem& p);
    void plain_marginals(const Problem& p, int factor);
    void choose(const Problem& p, double gap, Cut& cut) const;

    const Question& q_;
    const int rows_;
    Dual& dual_;
    Rises priced_, plain_;
    std::vector<double> numbers_;
    std::vector<int> stamp_;
    std::vector<double> away_, best_;
};

}  // namespace counterleaf::ensemble

// Sparse logistic regression from a warm start:
//
//     min over w, b of  sum_i s_i log(1 + exp(-t_i z_i)) + lam |w|_1,   z_i = x_i @ w + b,   t_i = 1 or -1,
//
// by proximal Newton steps: coordinate descent with soft thresholds minimises a quadratic model of the loss, and the split
// moves towards that minimum as far as the objective decreases enough.
//
// narrow.hpp forms the Hessian, for few columns; wide.hpp works on the columns of the rows. This file contains the code that
// both share.
#pragma once

#include <cmath>

#include "learn/rows.hpp"

namespace counterleaf::learn {

/// The l1 strength of a node that decides about rows of this total weight.
///
/// It grows with the square root of the weight: a node with many rows may use fewer columns, and small nodes still find theirs.
/// (Letter: 13.0 % of held-out rows are wrong with a constant strength, 10.1 % with the root.)
double strength(double alpha, double total);

struct Problem {
    const Rows& rows;
    Sample sample;
    double lam;
};

/// When to stop.
struct Effort {
    int steps;   // Newton steps at most
    int passes;  // over the coordinates in each step, at most
    double tolerance;
};

/// u moved towards 0 by ``by``.
inline double soft_threshold(double u, double by) { return u > by ? u - by : u < -by ? u + by : 0.0; }

/// A split and its progress towards the optimum.
///
/// Invariant after ``begin``: ``value()`` is the objective at w and b, where row i has z_i = x_i @ w + b.
class Descent {
public:
    struct Slopes {
        double first, second;  // sums over the rows
    };

    Descent(const Problem& problem, Split& split, Scratch& scratch);

    /// Begin with the z of every row, which the caller has written to ``z()``.
    void begin();
    Numbers z() const { return z_; }
    double value() const { return value_; }

    /// Write the first and second derivatives of the loss by each z_i to ``g`` and ``h``.
    Slopes differentiate(Numbers g, Numbers h) const;

    /// Take the longest of the steps 1, 1/2, 1/4, ... along (dw, db) that decreases the objective enough.
    ///
    /// ``along`` is the change of z in a full step, ``promised`` the change of the objective that the model predicts. Returns
    /// false and changes nothing if no step is good enough.
    bool advance(Constants dw, double db, Constants along, double promised);

private:
    double loss(Constants z, Numbers fade) const;

    const Problem& problem_;
    Split& split_;
    Numbers z_, fade_;  // fade_[i] = exp(-|z_i|), which the loss and its derivatives share
    Numbers next_z_, next_fade_, next_w_;
    double value_ = 0.0;
};

/// The change of lam |w_j| as w_j moves by ``change``.
inline double penalty_change(double lam, double w, double change) { return lam * (std::abs(w + change) - std::abs(w)); }

}  // namespace counterleaf::learn

// Sums over features, the inner loops of the solvers.
//
// Every line is padded to a multiple of LANES with features that cannot move.
#pragma once

#include <cstddef>

#include "loops/lanes.hpp"

namespace counterleaf {

constexpr std::size_t padded(std::size_t n) { return (n + LANES - 1) / LANES * LANES; }

/// phi and the box of n features.
struct Curves {
    double *curve_up, *slope_up, *curve_down, *slope_down, *lower, *upper;
    double *compliance_up, *compliance_down;  // how far a feature moves per unit of price: one over its second derivative
};

/// A dense matrix by rows.
struct Grid {
    double* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;

    COUNTERLEAF_INLINE double* operator[](std::size_t i) const { return data + i * columns; }
};

struct Sum {
    double total, size;  // the sum of the terms, and of their absolute values
};

struct Slope {
    double total, bend, size;
};

struct Loops {
    /// out = A' weights.
    void (*blend)(const Grid& A, const double* weights, double* out);
    /// The same over the chosen rows; ``sizes`` receives the sums of the absolute values of the terms.
    void (*blend_some)(const Grid& A, const int* chosen, std::size_t count, const double* weights, double* out, double* sizes);
    /// Write every feature's response to its price to ``delta`` and its compliance there to ``weight``. Returns the sum of phi.
    double (*respond)(const double* price, const Curves& curves, std::size_t n, double* delta, double* weight);
    /// a @ b.
    Sum (*dot)(const double* a, const double* b, std::size_t n);
    /// The lower half of A_F D A_F' on the chosen rows F, with D = diag(weight); ``scaled`` is scratch memory for one row.
    void (*gram)(const Grid& A, const int* chosen, std::size_t count, const double* weight, double* scaled, const Grid& out);
    /// price_step @ d, its derivative and the size of its terms, at the prices ``price`` + t ``price_step``.
    Slope (*slope_at)(double t, const double* price, const double* price_step, const Curves& curves, std::size_t n);
    /// The minimum of phi(d) - price d over all prices within ``spread`` times ``sizes`` of ``price``, summed over features.
    Sum (*least)(const double* price, const double* sizes, double spread, const Curves& curves, std::size_t n);
    /// a @ a.
    double (*square)(const double* a, std::size_t n);
    /// row /= by.
    void (*divide)(double* row, double by, std::size_t n);
};

/// The loops for this machine, chosen when the module is loaded. Every choice gives the same bits.
extern const Loops loops;

}  // namespace counterleaf

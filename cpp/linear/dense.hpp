// Small dense systems: Cholesky factors, and least squares where equations may depend on each other.
#pragma once

#include <functional>

#include "base/scratch.hpp"

namespace counterleaf {

/// Overwrite the lower half of a symmetric matrix (its first n rows and columns) by its factor L; a pivot that rounding has
/// left without a positive value is raised to a share of the diagonal.
void cholesky(Grid matrix, std::size_t n);

/// x := (L L')^-1 x.
void solve_cholesky(Grid L, Numbers x);

/// min |x| over the minimisers of |M x - b|: M' = Q R by Householder reflections with column pivoting, cut off at its rank.
///
/// The lines of M are the equations, padded with zeros to a multiple of LANES.
class LeastSquares {
public:
    /// Overwrites M. Of its singular values those below about ``rounding`` times the largest count as 0.
    LeastSquares(Grid M, double rounding, Scratch& scratch, const std::function<bool()>& stop);

    /// False if ``stop`` held before the end: there is nothing to solve with.
    bool is_ready() const { return ready_; }
    /// ``x`` has the padded length of a line.
    void solve(Constants b, Numbers x) const;

private:
    void reflect(std::size_t k, double norm);
    void blend(std::size_t i);

    const Grid M_;  // line k < rank_: what R has above its diagonal in that column, then the k-th reflection
    Scratch& scratch_;
    std::size_t rank_ = 0;
    bool ready_ = false;
    const Places order_;            // the equation at each place
    const Numbers pivot_, factor_;  // the diagonal of R; twice one over the square of each reflection
    const Numbers left_, whole_;    // the squares of what is left of the lines, and of what was when that was last summed
    const Numbers line_;
    Grid T_, L_;  // dependent equations as blends of the first ones, and the factor of 1 + T T'
};

}  // namespace counterleaf

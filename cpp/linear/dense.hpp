// Small dense systems: Cholesky factors, and least squares with dependent equations.
#pragma once

#include <functional>

#include "base/scratch.hpp"

namespace counterleaf {

/// Overwrite the lower half of the first n rows and columns of a symmetric matrix by its factor L. A pivot that rounding leaves
/// without a positive value is raised to a share of the diagonal.
void cholesky(Grid matrix, std::size_t n);

/// x := (L L')^-1 x.
void solve_cholesky(Grid L, Numbers x);

/// The shortest x among the minimisers of |M x - b|: M' = Q R by Householder reflections with column pivoting, truncated at the
/// numerical rank.
///
/// The lines of M are the equations, padded with zeros to a multiple of LANES.
class LeastSquares {
public:
    /// Overwrites M. Singular values below about ``rounding`` times the largest count as 0.
    LeastSquares(Grid M, double rounding, Scratch& scratch, const std::function<bool()>& stop);

    /// False if ``stop`` returned true before the factorisation was complete; then ``solve`` must not be called.
    bool is_ready() const { return ready_; }
    /// ``x`` has the padded length of a line.
    void solve(Constants b, Numbers x) const;

private:
    void reflect(std::size_t k, double norm);
    void blend(std::size_t i);

    const Grid M_;  // line k < rank_: the part of R above its diagonal in that column, then the k-th reflection
    Scratch& scratch_;
    std::size_t rank_ = 0;
    bool ready_ = false;
    const Places order_;            // the equation in each position
    const Numbers pivot_, factor_;  // the diagonal of R; twice the reciprocal of the square of each reflection
    const Numbers left_, whole_;    // the squared norms of the remaining lines, and their values when they were last summed
    const Numbers line_;
    Grid T_, L_;  // the dependent equations as combinations of the others, and the factor of 1 + T T'
};

}  // namespace counterleaf

#include "linear/dense.hpp"

#include <cmath>

#include "loops/sweeps.hpp"

namespace counterleaf {
namespace {

constexpr double LEAST = 1e-15;  // relative to the diagonal: a smaller pivot is raised to this share

/// a @ b in LANES partial sums, added in one fixed order.
double dot(const double* a, const double* b, std::size_t n) {
    const std::size_t whole = n / LANES * LANES;
    double total = sweeps.dot(a, b, whole);
    for (std::size_t j = whole; j < n; ++j) total += a[j] * b[j];
    return total;
}

}  // namespace

void cholesky(Grid matrix, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        double* row = matrix[i];
        const double whole = row[i];
        for (std::size_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row, matrix[j], j)) / matrix[j][j];
        row[i] = std::sqrt(std::max({whole - dot(row, row, i), LEAST * whole, std::numeric_limits<double>::min()}));
    }
}

void solve_cholesky(Grid L, Numbers x) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - dot(L[i], x.data(), i)) / L[i][i];
    for (std::size_t i = x.size(); i-- > 0;) {
        x[i] /= L[i][i];
        for (std::size_t j = 0; j < i; ++j) x[j] -= L[i][j] * x[i];
    }
}

LeastSquares::LeastSquares(Grid M, double rounding, Scratch& scratch, const std::function<bool()>& stop)
    : M_(M), scratch_(scratch), order_(scratch.places(M.rows)), pivot_(scratch.numbers(M.rows)),
      factor_(scratch.numbers(M.rows)), left_(scratch.numbers(M.rows)), whole_(scratch.numbers(M.rows)),
      line_(scratch.numbers(M.columns)) {
    for (std::size_t i = 0; i < M.rows; ++i) {
        order_[i] = static_cast<int>(i);
        left_[i] = whole_[i] = sweeps.dot(M[i], M[i], M.columns);
    }
    double largest = 0.0;
    for (std::size_t k = 0; k < std::min(M.rows, M.columns); ++k) {
        if (stop()) return;
        const auto best = static_cast<std::size_t>(std::ranges::max_element(left_.subspan(k)) - left_.begin());
        std::swap(order_[k], order_[best]);
        std::swap(left_[k], left_[best]);
        std::swap(whole_[k], whole_[best]);
        if (best != k) std::swap_ranges(M[k], M[k] + M.columns, M[best]);
        const double norm = std::sqrt(dot(M[k] + k, M[k] + k, M.columns - k));
        largest = std::max(largest, norm);
        if (!(norm > rounding * largest)) break;
        reflect(k, norm);
        rank_ = k + 1;
    }
    const std::size_t rest = M.rows - rank_;
    T_ = scratch.grid(rest, padded(rank_));
    L_ = scratch.grid(rest, rest);
    for (std::size_t i = 0; i < rest; ++i) {
        if (stop()) return;
        blend(i);
    }
    cholesky(L_, rest);
    ready_ = true;
}

/// Reflect line k onto the k-th axis, and apply the reflection to the lines behind it.
void LeastSquares::reflect(std::size_t k, double norm) {
    double* line = M_[k];
    pivot_[k] = line[k] > 0.0 ? -norm : norm;
    line[k] -= pivot_[k];
    factor_[k] = 2.0 / dot(line + k, line + k, M_.columns - k);
    const std::size_t from = k / LANES * LANES;
    std::ranges::copy(std::span(line, M_.columns), line_.begin());
    std::fill_n(line_.begin(), k, 0.0);
    for (std::size_t i = k + 1; i < M_.rows; ++i) {
        double* other = M_[i];
        sweeps.add(-factor_[k] * sweeps.dot(line_.data() + from, other + from, M_.columns - from), line_.data() + from,
                   other + from, M_.columns - from);
        left_[i] -= other[k] * other[k];
        if (!(left_[i] > 1e-6 * whole_[i]))  // cancellation: sum it again
            left_[i] = whole_[i] = dot(other + k + 1, other + k + 1, M_.columns - k - 1);
    }
}

/// Line i of T = R12' R11'^-1, which writes a dependent equation as a combination of the independent ones, and of 1 + T T'.
void LeastSquares::blend(std::size_t i) {
    double* t = T_[i];
    std::copy_n(M_[rank_ + i], rank_, t);
    for (std::size_t k = rank_; k-- > 0;) {
        t[k] /= pivot_[k];
        for (std::size_t l = 0; l < k; ++l) t[l] -= t[k] * M_[k][l];
    }
    for (std::size_t j = 0; j <= i; ++j) L_[i][j] = dot(t, T_[j], rank_) + (i == j ? 1.0 : 0.0);
}

void LeastSquares::solve(Constants b, Numbers x) const {
    const Scratch::Frame frame(scratch_);
    const std::size_t rest = M_.rows - rank_;
    const Numbers known = scratch_.numbers(rank_), excess = scratch_.numbers(rest);
    for (std::size_t k = 0; k < rank_; ++k) known[k] = b[static_cast<std::size_t>(order_[k])];
    for (std::size_t i = 0; i < rest; ++i)
        excess[i] = b[static_cast<std::size_t>(order_[rank_ + i])] - dot(T_[i], known.data(), rank_);
    solve_cholesky(L_, excess);
    for (std::size_t i = 0; i < rest; ++i)
        for (std::size_t k = 0; k < rank_; ++k) known[k] += excess[i] * T_[i][k];
    std::ranges::fill(x, 0.0);
    for (std::size_t k = 0; k < rank_; ++k) x[k] = (known[k] - dot(M_[k], x.data(), k)) / pivot_[k];
    for (std::size_t k = rank_; k-- > 0;) {
        const double* v = M_[k];
        const double along = factor_[k] * dot(v + k, x.data() + k, M_.columns - k);
        for (std::size_t j = k; j < M_.columns; ++j) x[j] -= along * v[j];
    }
}

}  // namespace counterleaf

// Cholesky factors of parts of a symmetric matrix P whose order keeps them narrow.
//
// A part is a list of features. Its matrix is 2 P restricted to these features plus a diagonal, K = L L'. Column k of L reaches
// down to the lowest row in which any column up to k has an entry; everything below stays zero.
#pragma once

#include "linear/compressed.hpp"
#include "loops/sweeps.hpp"

namespace counterleaf {

/// Some features in ascending order.
class Part {
public:
    Part(std::size_t n, Scratch& scratch) : free_(scratch.places(n)), place_(scratch.places(n)), end_(scratch.places(n)) {
        clear();
    }

    void clear() {
        std::ranges::fill(place_, -1);
        count_ = 0;
    }
    /// Features are added in ascending order.
    void add(std::size_t j) {
        free_[count_] = static_cast<int>(j);
        place_[j] = static_cast<int>(count_++);
    }
    /// to += by row', on the features of the part.
    void add(const CompressedRows::Row& row, double by, double* to) const {
        for (std::size_t k = 0; k < row.column.size(); ++k) {
            const int at = place(static_cast<std::size_t>(row.column[k]));
            if (at >= 0) to[at] += by * row.value[k];
        }
    }
    /// Compute how far down the columns of the factor reach; afterwards the part is ready for ``Factor``.
    void reach(const CompressedRows& P);

    std::size_t size() const { return count_; }
    std::size_t operator[](std::size_t k) const { return static_cast<std::size_t>(free_[k]); }
    /// The position of feature j in the part, or -1.
    int place(std::size_t j) const { return place_[j]; }
    /// Where column k of the factor ends: behind its last row. Nondecreasing in k.
    std::span<const int> end() const { return end_.first(count_); }
    /// The largest number of rows that a column reaches, including the diagonal.
    std::size_t width() const { return width_; }

private:
    Places free_, place_, end_;
    std::size_t count_ = 0, width_ = 1;
};

/// The factor L of 2 P + diag on a part. Vectors have one number per feature of the part, followed by ``padding`` zeros.
class Factor {
public:
    /// The number of zeros behind a vector.
    static constexpr std::size_t padding = 2 * LANES;

    /// Takes memory for any part; the caller's frame gives it back.
    Factor(const CompressedRows& P, Scratch& scratch);

    /// Returns false if a pivot is not positive.
    bool make(const Part& part, Constants diagonal);
    /// x := L^-1 x for some lines.
    void forward(Grid lines, std::size_t count) const {
        sweeps.forward(L_, inverse_.data(), end_.data(), end_.size(), lines.data, count, lines.columns);
    }
    /// x := L'^-1 x.
    void backward(double* x) const {
        if (!end_.empty()) sweeps.backward(L_, inverse_.data(), end_.data(), end_.size(), x);
    }

private:
    void fill(const Part& part, Constants diagonal);

    const CompressedRows P_;
    const Numbers least_, inverse_;
    Numbers room_;
    Columns L_;
    std::span<const int> end_;
};

}  // namespace counterleaf

// The inner loops of banded Cholesky factors, where a coupled region spends its time.
//
// A factor L is stored by columns: L[r, c] is at data[c * stride + r] for r >= c. The stride is about the bandwidth. Columns
// overlap in the rows where they have no entries, so the storage is that of the band. The loops process BLOCK columns at a
// time. The columns of a block hold zeros from their last entry to LANES rows below the last entry of the block.
#pragma once

#include <cstddef>

#include "loops/lanes.hpp"

namespace counterleaf {

inline constexpr std::size_t BLOCK = 8;

struct Columns {
    double* data = nullptr;
    std::size_t stride = 0;

    COUNTERLEAF_INLINE double* operator[](std::size_t c) const { return data + c * stride; }
};

/// The columns first <= c < last of a factor; all entries lie above row ``end``.
struct Panel {
    Columns L;
    std::size_t first, last, end;
};

struct Sweeps {
    /// Turn the columns of a panel, already updated by all earlier columns, into columns of L; ``inverse`` receives the
    /// reciprocals of the pivots. Returns the first column whose pivot does not exceed its ``least``, or ``last``.
    std::size_t (*finish)(const Panel& panel, const double* least, double* inverse);
    /// Subtract the contributions of a panel from the columns behind it.
    void (*update)(const Panel& panel);
    /// x := L^-1 x for ``count`` lines x at a distance of ``apart`` numbers; column c ends at row end[c].
    void (*forward)(const Columns& L, const double* inverse, const int* end, std::size_t n, double* x, std::size_t count,
                    std::size_t apart);
    /// x := L'^-1 x; x must be followed by LANES zeros.
    void (*backward)(const Columns& L, const double* inverse, const int* end, std::size_t n, double* x);
    /// a @ b; from here on n is a multiple of LANES.
    double (*dot)(const double* a, const double* b, std::size_t n);
    /// to += by a.
    void (*add)(double by, const double* a, double* to, std::size_t n);
};

/// The loops for this machine. Every choice gives the same bits.
extern const Sweeps sweeps;

}  // namespace counterleaf

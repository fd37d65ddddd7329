// The inner loops of narrow Cholesky factors: where the time of a coupled region goes.
//
// A factor L is stored by columns, L[r, c] at data[c * stride + r] for r >= c. The stride is about the width of the band:
// columns overlap in the rows where they have no entries, and a band takes only the room of a band. Loops work on BLOCK
// columns at a time; the columns of a block hold zeros from their last entry to LANES rows below the last one of the block.
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

/// The columns first <= c < last of a factor; no entry is at row ``end`` or below.
struct Panel {
    Columns L;
    std::size_t first, last, end;
};

struct Sweeps {
    /// Turn the columns of a panel, updated by all before them, into columns of L; ``inverse`` gets one over the pivots.
    /// Returns the first column whose pivot is not above its ``least``, or ``last``.
    std::size_t (*finish)(const Panel& panel, const double* least, double* inverse);
    /// Subtract from the columns behind a panel what it contributes to them.
    void (*update)(const Panel& panel);
    /// x := L^-1 x for ``count`` lines x, ``apart`` numbers from one to the next; a column c ends at row end[c].
    void (*forward)(const Columns& L, const double* inverse, const int* end, std::size_t n, double* x, std::size_t count,
                    std::size_t apart);
    /// x := L'^-1 x; LANES zeros follow x.
    void (*backward)(const Columns& L, const double* inverse, const int* end, std::size_t n, double* x);
    /// a @ b; n is a multiple of LANES here and below.
    double (*dot)(const double* a, const double* b, std::size_t n);
    /// to += by a.
    void (*add)(double by, const double* a, double* to, std::size_t n);
};

/// The loops for this machine; all of them give the same bits.
extern const Sweeps sweeps;

}  // namespace counterleaf

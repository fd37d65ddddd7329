// The part of ``Regions`` that starts the simplex from the basis of a state.
#include "region/region.hpp"

namespace counterleaf {

/// The dual simplex, from the basis of the state, then from none.
Status Regions::pivot(const Dual& dual, const Program& program, Numbers lam, Numbers point, Numbers ray,
                      Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    const std::size_t group_rows = groups_.size();
    const Basis basis{scratch.values<Basic>(program.m()), scratch.values<Seat>(program.n)};
    Status status = Status::Stuck;
    if (recall(dual, group_rows, basis)) status = simplex(program, basis, lam, point, ray, scratch);
    if (status == Status::Stuck) {
        basis.reset(program);
        status = simplex(program, basis, lam, point, ray, scratch);
    }
    if (status == Status::Converged) remember(dual, group_rows, basis);  // otherwise basis and seats no longer belong together
    return status;
}

/// The basis of a state in the columns and rows of its problem; false if it names one that is not there.
bool Regions::recall(const Dual& dual, std::size_t group_rows, Basis basis) const {
    for (std::size_t t = 0; t < basis.basic.size(); ++t) {
        const Basic known = dual.basis[t < group_rows ? max_rows_ + groups_[t] : t - group_rows];
        int index = known.index;
        if (known.is_feature())
            index = slot_[index];
        else if (index >= static_cast<int>(max_rows_))
            index = group_slot_[index - max_rows_];
        else
            index += static_cast<int>(group_rows);
        if (index < 0) return false;
        basis.basic[t] = {index, known.segment};
    }
    for (std::size_t j = 0; j < basis.seat.size(); ++j)
        basis.seat[j] = columns_[j] == OUTSIDE ? Seat::Kink : dual.seats[columns_[j]];
    return true;
}

void Regions::remember(const Dual& dual, std::size_t group_rows, Basis basis) const {
    for (std::size_t t = 0; t < basis.basic.size(); ++t) {
        const Basic found = basis.basic[t];
        const std::size_t row = found.index;
        int index = found.is_feature() ? columns_[row]
                                       : static_cast<int>(row < group_rows ? max_rows_ + groups_[row] : row - group_rows);
        dual.basis[t < group_rows ? max_rows_ + groups_[t] : t - group_rows] = {index, found.segment};
    }
    for (std::size_t j = 0; j < basis.seat.size(); ++j)
        if (columns_[j] != OUTSIDE) dual.seats[columns_[j]] = basis.seat[j];
}

}  // namespace counterleaf

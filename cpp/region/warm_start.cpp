// The part of ``Regions`` that starts the simplex from the basis of a state.
#include "region/region.hpp"

namespace counterleaf {

/// Run the dual simplex from the basis of the state, and from none if that fails.
Status Regions::pivot(const Dual& dual, const Program& program, Numbers lam, Numbers point, Numbers ray,
                      Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    const std::size_t group_rows = groups_.size();
    const Basis basis{scratch.values<Basic>(program.m()), scratch.values<Seat>(program.n)};
    Status status = Status::Stuck;
    const bool same_slopes = question_->charges.empty();  // the share of a charge in a slope depends on the box
    if (same_slopes && recall(dual, group_rows, basis)) status = simplex(program, basis, lam, point, ray, scratch);
    if (status == Status::Stuck) {
        basis.reset(program);
        status = simplex(program, basis, lam, point, ray, scratch);
    }
    if (status == Status::Converged) remember(dual, group_rows, basis);  // otherwise basis and seats do not belong together
    return status;
}

/// The place of a row of the problem in the basis of a state: rows of the path first, then one place per group.
std::size_t Regions::place_of(std::size_t row, std::size_t group_rows) const {
    return row < group_rows ? max_rows_ + groups_[row] : row - group_rows;
}

/// The row of the problem at such a place; OUTSIDE if it belongs to a group that is not in the problem.
int Regions::row_at(std::size_t place, std::size_t group_rows) const {
    return place >= max_rows_ ? group_slot_[place - max_rows_] : static_cast<int>(place + group_rows);
}

/// The basis of a state in the columns and rows of its problem; false if it contains one that is not in the problem.
bool Regions::recall(const Dual& dual, std::size_t group_rows, Basis basis) const {
    for (std::size_t t = 0; t < basis.basic.size(); ++t) {
        const Basic known = dual.basis[place_of(t, group_rows)];
        const int index = known.is_feature() ? slot_[known.index] : row_at(known.index, group_rows);
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
        const int index = found.is_feature() ? columns_[found.index] : static_cast<int>(place_of(found.index, group_rows));
        dual.basis[place_of(t, group_rows)] = {index, found.segment};
    }
    for (std::size_t j = 0; j < basis.seat.size(); ++j)
        if (columns_[j] != OUTSIDE) dual.seats[columns_[j]] = basis.seat[j];
}

}  // namespace counterleaf

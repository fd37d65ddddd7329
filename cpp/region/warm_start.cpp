// The part of ``Regions`` that starts the simplex from the basis of a state.
#include "region/region.hpp"

namespace counterleaf {

/// The dual simplex, from the basis of the state, then from none.
Status Regions::pivot(const Dual& dual, const Program& program, Numbers lam, Numbers point, Numbers ray,
                      Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    const std::size_t heads = hot_.size();
    const Basis basis{scratch.values<Basic>(program.m()), scratch.values<Seat>(program.n)};
    Status status = Status::Stuck;
    if (recall(dual, heads, basis)) status = simplex(program, basis, lam, point, ray, scratch);
    if (status == Status::Stuck) {
        basis.reset(program);
        status = simplex(program, basis, lam, point, ray, scratch);
    }
    if (status == Status::Converged) remember(dual, heads, basis);  // otherwise basis and seats no longer belong together
    return status;
}

/// The basis of a state in the columns and rows of its problem; false if it names one that is not there.
bool Regions::recall(const Dual& dual, std::size_t heads, Basis basis) const {
    for (std::size_t t = 0; t < basis.basic.size(); ++t) {
        const Basic known = dual.basis[t < heads ? rooms_ + hot_[t] : t - heads];
        int index = known.index;
        if (known.is_feature())
            index = slot_[index];
        else if (index >= static_cast<int>(rooms_))
            index = local_[index - rooms_];
        else
            index += static_cast<int>(heads);
        if (index < 0) return false;
        basis.basic[t] = {index, known.segment};
    }
    for (std::size_t j = 0; j < basis.seat.size(); ++j)
        basis.seat[j] = columns_[j] == OUTSIDE ? Seat::Kink : dual.seats[columns_[j]];
    return true;
}

void Regions::remember(const Dual& dual, std::size_t heads, Basis basis) const {
    for (std::size_t t = 0; t < basis.basic.size(); ++t) {
        const Basic found = basis.basic[t];
        const std::size_t row = found.index;
        int index = found.is_feature() ? columns_[row] : static_cast<int>(row < heads ? rooms_ + hot_[row] : row - heads);
        dual.basis[t < heads ? rooms_ + hot_[t] : t - heads] = {index, found.segment};
    }
    for (std::size_t j = 0; j < basis.seat.size(); ++j)
        if (columns_[j] != OUTSIDE) dual.seats[columns_[j]] = basis.seat[j];
}

}  // namespace counterleaf

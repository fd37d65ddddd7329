// The binding of the router.
#include "question/route.hpp"
#include "python/binding.hpp"

using namespace nanobind::literals;

namespace counterleaf {
namespace {

/// The splits are the rows of a CSR matrix, one per node.
Router make_router(const Line<std::int64_t>& left, const Line<std::int64_t>& right, const Line<std::int64_t>& indptr,
                   const Line<std::int64_t>& indices, const Line<double>& data, const Line<double>& bias, bool right_closed,
                   bool narrow) {
    const std::size_t n = left.size();
    expect(is_tree(left, right), "the nodes are not a tree");
    expect(bias.size() == n && indptr.size() == n + 1 && indices.size() == data.size(), "the weights do not fit together");
    expect(indptr(0) == 0 && std::ranges::is_sorted(span_of(indptr)) && static_cast<std::size_t>(indptr(n)) == data.size(),
           "the weights do not fit together");
    expect(are_within(indices, 0, std::numeric_limits<int>::max()), "a column is out of range");
    std::vector<Fork> forks;
    std::vector<Term> terms;
    for (std::size_t i = 0; i < n; ++i)
        forks.push_back({.left = static_cast<int>(left(i)),
                         .right = static_cast<int>(right(i)),
                         .first = static_cast<std::size_t>(indptr(i)),
                         .last = static_cast<std::size_t>(indptr(i + 1)),
                         .bias = bias(i)});
    for (std::size_t k = 0; k < data.size(); ++k) terms.push_back({static_cast<std::size_t>(indices(k)), data(k)});
    return {std::move(forks), std::move(terms), right_closed, narrow};
}

std::int64_t leaf(const Router& router, const Line<double>& row) {
    expect(row.size() >= router.width(), "the row does not fit the tree");
    return router.leaf(span_of(row));
}

Made<std::int64_t, 1> leaves(const Router& router, const Table<double>& rows) {
    expect(rows.shape(1) >= router.width(), "the rows do not fit the tree");
    Array<std::int64_t, 1> found({rows.shape(0)});
    {
        const nb::gil_scoped_release unlocked;
        for (std::size_t k = 0; k < rows.shape(0); ++k) found[k] = router.leaf(row_of(rows, k));
    }
    return found.hand_over();
}

}  // namespace

void bind_route(nb::module_& m) {
    nb::class_<Router>(m, "Router", "Sends rows down a tree in the model's arithmetic.")
        .def(nb::new_(&make_router), "left"_a, "right"_a, "indptr"_a, "indices"_a, "data"_a, "bias"_a, "right_closed"_a,
             "narrow"_a)
        .def("leaf", &leaf, "row"_a, "The leaf of one row.")
        .def("leaves", &leaves, "rows"_a, "The leaf of each row.");
}

}  // namespace counterleaf

// The cheapest target leaf of a row, by depth-first search with undo.
//
// If a value is on one side of a split, the search continues there and nothing changes. The other side moves one feature, so
// its bound costs O(1); it is deferred. At a leaf, the search continues with the cheapest of the sides deferred last, and drops
// those whose bounds exceed the cost of the best leaf.
#pragma once

#include <memory>
#include <vector>

#include "axis_aligned/boxes.hpp"
#include "axis_aligned/query.hpp"

namespace counterleaf::axis_aligned {

/// The memory of a search, reused from row to row.
class Search {
public:
    explicit Search(const Boxes& boxes);

    /// The cheapest target leaf, and among equals the first; ``point`` receives its row, or the source if there is none.
    ///
    /// PLAIN is faster. It requires plain boxes and a ``least`` that is closed for the box of the query; a row outside of the
    /// box is Unanswered.
    template <bool PLAIN>
    Found find(Query query, Numbers point);

private:
    template <bool PLAIN>
    class Walk;

    struct Deferred {  // a side of a split, for later
        double bound, at, price;
        int node, feature;
        std::size_t moved;
    };
    struct Moved {  // a feature, and its state before it moved
        double value, paid, total;
        int feature;
    };
    struct Change {
        double value;
        int feature;
    };

    const Boxes& boxes_;
    std::vector<double> value_, paid_;      // paid is 0 between searches
    std::unique_ptr<Deferred[]> deferred_;  // no node is deferred twice
    std::vector<Moved> moves_;              // into the box, and across the splits of a path
    std::vector<Change> changes_;
    std::vector<int> order_;
};

}  // namespace counterleaf::axis_aligned

// The cheapest target leaf of a row: depth first with undo.
//
// Where a value is on one side of a split, the search goes on there and nothing changes; the other side moves one feature, so
// its bound costs O(1), and waits. At a leaf the search turns to the cheapest of the sides that it passed last, and drops those
// whose bounds exceed the cost of the best leaf.
#pragma once

#include <memory>
#include <vector>

#include "axis_aligned/boxes.hpp"
#include "axis_aligned/query.hpp"

namespace counterleaf::axis_aligned {

/// Room for one search after another.
class Search {
public:
    explicit Search(const Boxes& boxes);

    /// The cheapest target leaf, of equals the first; ``point`` gets the row there, or the row itself if there is none.
    ///
    /// PLAIN is faster. It needs plain boxes and a ``least`` that is closed for the query's box; a row outside is Unanswered.
    template <bool PLAIN>
    Found find(Query query, Numbers point);

private:
    template <bool PLAIN>
    class Walk;

    struct Deferred {  // to the side of a split, for later
        double bound, at, price;
        int node, feature;
        std::size_t moved;
    };
    struct Moved {  // a feature, and what was true before it moved
        double value, paid, total;
        int feature;
    };
    struct Change {
        double value;
        int feature;
    };

    const Boxes& boxes_;
    std::vector<double> value_, paid_;      // paid is 0 between searches
    std::unique_ptr<Deferred[]> deferred_;  // no node waits twice
    std::vector<Moved> moves_;              // into the box, and across the splits of a path
    std::vector<Change> changes_;
    std::vector<int> order_;
};

}  // namespace counterleaf::axis_aligned

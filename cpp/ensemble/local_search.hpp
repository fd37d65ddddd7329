// Good rows, found on the trees themselves by moving one coordinate or two at a time.
#pragma once

#include <vector>

#include "base/stopping.hpp"
#include "ensemble/forest.hpp"

namespace counterleaf::ensemble {

class LocalSearch {
public:
    LocalSearch(const Question& question, Incumbent& incumbent, StopCheck& stop)
        : q_(question), forest_(question.forest), incumbent_(incumbent), stop_(stop) {
        for (int j = 0; j < forest_.coordinates(); ++j) cheapest_.push_back(question.cheapest(j));
    }

    /// From the cheapest row, take the move that gains most per cost, again and again, until the row reaches the target.
    void climb() { climb(cheapest_, -1); }
    /// The same from another row; the coordinate ``still`` does not move.
    void climb(std::vector<int> s, int still);
    /// Take back each change of the best row in turn, and find another way to the target.
    void repair();
    /// Make a row that reaches the target cheaper while that is possible, and offer it.
    void descend(std::vector<int> s);

private:
    void profile(Cells s, int coordinate);
    bool reaches(std::vector<int>& s, int coordinate, int cell);
    bool improve_one(std::vector<int>& s);
    bool improve_two(std::vector<int>& s);
    bool pay_elsewhere(std::vector<int>& s, int except, double most);

    struct Range {
        int node, low, high;
    };

    const Question& q_;
    const Forest& forest_;
    Incumbent& incumbent_;
    StopCheck& stop_;
    std::vector<int> cheapest_;
    std::vector<Range> stack_;
    std::vector<double> sums_;
    std::vector<double> worst_;  // the least row of the target for each cell of the profile's coordinate; -INF if it is closed
};

}  // namespace counterleaf::ensemble

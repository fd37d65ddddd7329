// The first problem of a search: the cells and leaves that a row cheaper than the cutoff can lie in.
#pragma once

#include <optional>

#include "forest/problem.hpp"
#include "forest/question.hpp"

namespace counterleaf::ensemble {

/// The question as a problem; nothing if every row costs at least ``cutoff``.
std::optional<Problem> build(const Question& question, double cutoff);

}  // namespace counterleaf::ensemble

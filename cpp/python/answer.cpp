// The binding of answers: views of their numbers, which live as long as the answer.
#include "python/binding.hpp"
#include "search/engine.hpp"

namespace counterleaf {
namespace {

/// A view of numbers that an answer owns.
template <class T>
Made<T, 1> seen(nb::handle owner, std::vector<T>& numbers) {
    return {numbers.data(), {numbers.size()}, owner};
}

template <auto Member>
auto line_of() {
    return [](nb::handle self) { return seen(self, nb::cast<Answer&>(self).*Member); };
}

/// The states of the search, one array per property, and the multipliers of all states, one state after another.
nb::dict trace(nb::handle self) {
    Answer& answer = nb::cast<Answer&>(self);
    const std::size_t n = answer.states.size();
    nb::dict out;
    const auto whole = [&](const char* name, auto read) {
        Array<std::int64_t, 1> column({n});
        for (std::size_t s = 0; s < n; ++s) column[s] = static_cast<std::int64_t>(read(answer.states[s]));
        out[name] = column.hand_over();
    };
    const auto real = [&](const char* name, double State::* member) {
        Array<double, 1> column({n});
        for (std::size_t s = 0; s < n; ++s) column[s] = answer.states[s].*member;
        out[name] = column.hand_over();
    };
    whole("node", [](const State& s) { return s.node; });
    whole("parent", [](const State& s) { return s.parent; });
    whole("parting", [](const State& s) { return s.parting; });
    whole("what", [](const State& s) { return s.what; });
    whole("rows", [](const State& s) { return s.rows; });
    whole("kind", [](const State& s) { return s.kind; });
    real("cut", &State::cut);
    real("lattice", &State::lattice);
    real("bound", &State::bound);
    real("cost", &State::cost);
    out["multipliers"] = seen(self, answer.multipliers);
    out["tangents"] = seen(self, answer.tangents);
    return out;
}

}  // namespace

void bind_answer(nb::module_& m) {
    nb::enum_<Verdict>(m, "Verdict")
        .value("OPTIMAL", Verdict::Optimal)
        .value("INFEASIBLE", Verdict::Infeasible)
        .value("LIMIT", Verdict::Limit)
        .value("UNBOUNDED", Verdict::Unbounded);
    nb::class_<Answer>(m, "Answer")
        .def_prop_ro("verdict", [](const Answer& a) { return a.report.verdict; })
        .def_prop_ro("lower_bound", [](const Answer& a) { return a.report.lower_bound; })
        .def_ro("doubt", &Answer::in_doubt)
        .def_ro("stopped", &Answer::stopped)
        .def_ro("thin", &Answer::thin)
        .def_ro("runaway", &Answer::runaway)
        .def_ro("taken", &Answer::taken)
        .def_prop_ro("leaves", line_of<&Answer::leaves>())
        .def_prop_ro("costs", line_of<&Answer::costs>())
        .def_prop_ro("bounds", [](nb::handle self) { return seen(self, nb::cast<Answer&>(self).report.bounds); })
        .def_prop_ro("points",
                     [](nb::handle self) {
                         Answer& a = nb::cast<Answer&>(self);
                         return Made<double, 2>(a.points.data(), {a.leaves.size(), a.width}, self);
                     })
        .def("trace", &trace);
}

}  // namespace counterleaf

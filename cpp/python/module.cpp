// counterleaf._core: the names that Python sees.
#include <nanobind/nanobind.h>

namespace counterleaf {

void bind_route(nanobind::module_& m);
void bind_boxes(nanobind::module_& m);
void bind_parts(nanobind::module_& m);
void bind_answer(nanobind::module_& m);
void bind_engine(nanobind::module_& m);
void bind_ensemble(nanobind::module_& m);
void bind_learning(nanobind::module_& m);
void bind_trials(nanobind::module_& m);

}  // namespace counterleaf

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false);  // a thread that outlives the interpreter is not a fault of the binding
    counterleaf::bind_boxes(m);
    counterleaf::bind_route(m);
    counterleaf::bind_parts(m);
    counterleaf::bind_answer(m);
    counterleaf::bind_engine(m);
    counterleaf::bind_ensemble(m);
    counterleaf::bind_learning(m);
    counterleaf::bind_trials(m);
}

// Classes of items that some subsets do not tell apart.
#pragma once

#include <cstdint>
#include <vector>

namespace counterleaf::ensemble {

/// Call ``start``, then ``cut`` with each subset, then ``finish``. In an order, subsets are intervals of items and classes are
/// neighbours; otherwise both are arbitrary.
class Partition {
public:
    void start(int items, bool ordered) {
        items_ = items;
        ordered_ = ordered;
        class_.assign(items, 0);
        edge_.assign(items + 1, 0);
        classes_ = 1;
    }
    void cut_interval(int first, int last) {
        if (ordered_) {
            edge_[first] = edge_[last + 1] = 1;
            return;
        }
        inside_.assign(items_, 0);
        for (int k = first; k <= last; ++k) inside_[k] = 1;
        refine();
    }
    /// ``visit`` calls its argument with every item of the subset.
    template <class Visit>
    void cut(Visit visit) {
        inside_.assign(items_, 0);
        visit([&](int k) { inside_[k] = 1; });
        refine();
    }
    /// Number the classes of the items that are ``present``; the others have the class -1. Returns the number of classes.
    template <class Present>
    int finish(std::vector<int>& class_of, Present present) {
        class_of.assign(items_, -1);
        int count = 0;
        if (ordered_) {
            bool open = true;
            for (int k = 0; k < items_; ++k) {
                open |= edge_[k] != 0;
                if (!present(k)) continue;
                count += open ? 1 : 0;
                open = false;
                class_of[k] = count - 1;
            }
            return count;
        }
        number_.assign(classes_, -1);
        for (int k = 0; k < items_; ++k) {
            if (!present(k)) continue;
            int& number = number_[class_[k]];
            if (number < 0) number = count++;
            class_of[k] = number;
        }
        return count;
    }

private:
    /// Split every class that lies partly inside.
    void refine() {
        seen_inside_.assign(classes_, 0);
        seen_outside_.assign(classes_, 0);
        for (int k = 0; k < items_; ++k) (inside_[k] ? seen_inside_ : seen_outside_)[class_[k]] = 1;
        number_.assign(classes_, -1);
        int made = classes_;
        for (int c = 0; c < classes_; ++c)
            if (seen_inside_[c] && seen_outside_[c]) number_[c] = made++;
        for (int k = 0; k < items_; ++k)
            if (inside_[k] && number_[class_[k]] >= 0) class_[k] = number_[class_[k]];
        classes_ = made;
    }

    int items_ = 0, classes_ = 1;
    bool ordered_ = true;
    std::vector<int> class_, number_;
    std::vector<std::uint8_t> edge_, inside_, seen_inside_, seen_outside_;
};

}  // namespace counterleaf::ensemble

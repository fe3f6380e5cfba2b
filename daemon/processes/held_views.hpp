// Open root folders, one for each view of the file system that processes have.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/unique_fd.hpp"
#include "trace/logs/held_roots.hpp"

namespace lagtrap::daemon {

class HeldViews {
  public:
    // A mount namespace, and the mount of the root folder.
    using View = std::pair<std::uint64_t, std::uint64_t>;

    explicit HeldViews(std::size_t limit) : limit_(limit) {}

    // The process has this view. Keeps `root` if it is the first one with it and there is room.
    void add(std::uint32_t pid, const View& view, UniqueFd root) {
        if (!roots_.contains(view)) {
            if (roots_.size() >= limit_) {
                if (left_out_.size() < left_out_limit) left_out_.insert(view);
                return;
            }
            roots_[view] = std::move(root);
        }
        views_[pid] = view;
    }
    // For processes with a view that is held: the descriptors, in this process.
    [[nodiscard]] trace::HeldRoots held() const {
        trace::HeldRoots held;
        held.holder = ::getpid();
        for (const auto& [pid, view] : views_) held.descriptors[pid] = roots_.at(view).get();
        return held;
    }
    // Number of views beyond the limit, up to 10,000.
    [[nodiscard]] std::size_t left_out() const { return left_out_.size(); }

  private:
    static constexpr std::size_t left_out_limit = 10'000;

    std::size_t limit_;
    std::map<View, UniqueFd> roots_;
    std::map<std::uint32_t, View> views_;  // by pid
    std::set<View> left_out_;
};

}  // namespace lagtrap::daemon

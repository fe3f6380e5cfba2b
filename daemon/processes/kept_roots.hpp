// Holds the root folders of containers, and of other processes with a view of the file system of their own, open: files below
// them can be read when the last process has ended, and its mounts with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "core/unique_fd.hpp"
#include "trace/logs/held_roots.hpp"

namespace lagtrap::daemon {

// One thread's.
class KeptRoots {
  public:
    // A view that lasts for less may be missed.
    static constexpr std::chrono::milliseconds look_interval{250};
    static constexpr std::size_t roots_limit = 256;

    explicit KeptRoots(std::filesystem::path proc_root = "/proc");

    // Opens those of processes that there are now. Asks no file system.
    void look();
    [[nodiscard]] trace::HeldRoots held() const;
    // Views that found no room.
    [[nodiscard]] std::size_t left_out() const { return left_out_.size(); }

  private:
    using View = std::pair<std::uint64_t, std::uint64_t>;  // the namespace of its mounts, and the root's mount
    std::filesystem::path proc_root_;
    std::set<std::uint64_t> machines_;  // namespaces whose files lie at their paths for this process too
    std::map<View, UniqueFd> roots_;
    std::map<std::uint32_t, View> views_;  // by pid
    std::set<View> left_out_;
};

}  // namespace lagtrap::daemon

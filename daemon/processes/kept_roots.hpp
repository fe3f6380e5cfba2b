// Holds the root folders of containers, and of other processes with a view of the file system of their own, open: files below
// them can be read when the last process has ended, and its mounts with it. Helpers open them, on a thread that nobody waits
// for: a root folder may lie on a file system that does not answer.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "core/unique_fd.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "trace/logs/held_roots.hpp"

namespace lagtrap::daemon {

// When the root folder of a process is asked for: it may have become another, as while a container is made its first process
// still has the root of before. One process's.
class RootAge {
  public:
    // To be called at each look, with the namespace of its mounts and the path of its program. True at the first look, when
    // either is another one, and at looks that lie ever farther apart.
    [[nodiscard]] bool is_due(std::uint64_t mounts, const std::string& program);

  private:
    std::uint64_t mounts_ = 0;
    std::string program_;
    std::uint64_t looks_ = 0;
};

// All functions are for the thread that made it.
class KeptRoots {
  public:
    // A view that lasts for less may be missed.
    static constexpr std::chrono::milliseconds look_interval{250};
    static constexpr std::chrono::milliseconds first_look_patience{100};
    static constexpr std::chrono::milliseconds finish_patience{1'000};
    static constexpr std::size_t roots_limit = 256;

    // Opens those of processes that there are from now on, until finish(). That of process `first` (0: none) comes before all
    // others, since it may be gone soon. `inspector` outlives it.
    explicit KeptRoots(ProcessInspector& inspector, std::uint32_t first = 0, std::filesystem::path proc_root = "/proc");
    ~KeptRoots();
    KeptRoots(const KeptRoots&) = delete;
    KeptRoots& operator=(const KeptRoots&) = delete;

    // Waits for the first look, for first_look_patience at most: what is there when a recording begins may be gone right after.
    void await_first_look();
    // The last look begins.
    void begin_to_finish();
    // Waits for it, for finish_patience at most; what was not opened by then is not held.
    void finish();
    // After finish().
    [[nodiscard]] trace::HeldRoots held() const;
    // Views that found no room. After finish().
    [[nodiscard]] std::size_t left_out() const { return left_out_.size(); }

  private:
    using View = std::pair<std::uint64_t, std::uint64_t>;  // the namespace of its mounts, and the root's mount
    void work();
    void look();
    void look_at(std::uint32_t pid);
    void hold(std::uint32_t pid, std::uint64_t mounts, UniqueFd root);

    ProcessInspector& inspector_;
    std::uint32_t first_;
    std::filesystem::path proc_root_;
    std::set<std::uint64_t> machines_;  // namespaces whose files lie at their paths for this process too
    std::map<std::uint32_t, RootAge> ages_;
    std::map<View, UniqueFd> roots_;
    std::map<std::uint32_t, View> views_;  // by pid
    std::set<View> left_out_;

    std::atomic<bool> given_up_{false};
    std::mutex mutex_;  // over what follows
    std::condition_variable changed_;
    bool looked_ = false;
    bool ending_ = false;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::daemon

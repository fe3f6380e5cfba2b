// Holds the root folders of containers, and of other processes with their own view of the file
// system, open. So their files can be read after the last process and its mounts are gone. Helpers
// open them, on a thread that others wait for only briefly, because a root folder may be on a file
// system that does not answer.
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

#include "daemon/processes/held_views.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "trace/logs/held_roots.hpp"

namespace lagtrap::daemon {

// Decides when to open the root folder of a process again, because it may have changed. For
// example, while a container is created, its first process still has the previous root. Use one per
// process.
class RootAge {
  public:
    // Call it at each check, with the process's mount namespace and program path. True at the first
    // check, if either has changed, and at increasing intervals.
    [[nodiscard]] bool is_due(std::uint64_t mounts, const std::string& program);

  private:
    std::uint64_t mounts_ = 0;
    std::string program_;
    std::uint64_t looks_ = 0;
};

// All functions are for the thread that created it.
class KeptRoots {
  public:
    // Views that exist for less than this may be missed.
    static constexpr std::chrono::milliseconds look_interval{250};
    static constexpr std::chrono::milliseconds first_look_timeout{100};
    static constexpr std::chrono::milliseconds finish_timeout{1'000};
    static constexpr std::size_t roots_limit = 256;

    // Opens the root folders of all processes from now until finish(). That of process `first`
    // (0: none) comes first, because it may exit soon. `inspector` must outlive it.
    explicit KeptRoots(ProcessInspector& inspector, std::uint32_t first = 0,
                       std::filesystem::path proc_root = "/proc");
    ~KeptRoots();
    KeptRoots(const KeptRoots&) = delete;
    KeptRoots& operator=(const KeptRoots&) = delete;

    // Waits for the first scan, up to first_look_timeout, because processes may exit right after a
    // recording begins.
    void await_first_look();
    // Starts the last scan.
    void begin_to_finish();
    // Waits for the last scan, up to finish_timeout. Root folders not opened by then are not held.
    void finish();
    // Call it after finish().
    [[nodiscard]] trace::HeldRoots held() const { return views_.held(); }
    // Number of views beyond the limit. Call it after finish().
    [[nodiscard]] std::size_t left_out() const { return views_.left_out(); }

  private:
    enum class Progress { Begun, Looked, Ended };
    void work();
    void look();
    void look_at(std::uint32_t pid);

    ProcessInspector& inspector_;
    std::uint32_t first_;
    std::filesystem::path proc_root_;
    // namespaces in which paths mean the same files as for this process
    std::set<std::uint64_t> machines_;
    std::map<std::uint32_t, RootAge> ages_;
    HeldViews views_{roots_limit};

    std::atomic<bool> given_up_{false};
    std::mutex mutex_;  // protects the following members
    std::condition_variable changed_;
    bool ending_ = false;
    Progress progress_ = Progress::Begun;
    std::thread thread_;
};

}  // namespace lagtrap::daemon

// Looks on its own thread which processes publish what their threads work for, and tells the
// recorder's programs where. Helpers (inspector_pool.hpp) read the processes' files and memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/capture/context_finder.hpp"
#include "daemon/capture/context_looks.hpp"
#include "daemon/capture/context_map.hpp"
#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// All functions are thread-safe and do not block, except the destructor.
class PublishedContexts {
  public:
    // `attributes` are those that recordings contain. `places` and `inspector` must outlive it.
    PublishedContexts(ContextPlaces& places, ProcessInspector& inspector,
                      std::vector<std::string> attributes);
    // Aborts a running look.
    ~PublishedContexts();
    PublishedContexts(const PublishedContexts&) = delete;
    PublishedContexts& operator=(const PublishedContexts&) = delete;

    // Looks at processes soon, at `first_pid` (0: none) before others.
    void look(std::uint32_t first_pid);
    // Names of attributes of the processes found since the last call.
    [[nodiscard]] RecordBuffer take_keys();
    // The record with only those attributes that recordings contain.
    [[nodiscard]] RecordBuffer wanted_part(const lagtrap_context& record);

  private:
    void work();
    void look_at_processes(std::uint32_t first_pid);
    // True if it publishes contexts.
    bool look_at(std::uint32_t pid);

    ContextPlaces& places_;
    const std::vector<std::string> attributes_;
    ContextFinder finder_;  // this and the next: only for the thread
    ContextLooks looks_;
    std::mutex mutex_;  // protects the following members
    std::condition_variable more_;
    std::optional<std::uint32_t> wanted_;  // the first process of the next look
    RecordBuffer keys_;
    std::map<std::uint32_t, std::vector<std::string>> known_keys_;  // by publishing process
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace lagtrap::daemon

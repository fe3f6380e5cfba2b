// The threads that existed when the recording began, and where those that did not run were
// sleeping.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"

namespace lagtrap::trace {

// Not thread-safe.
class ListedThreads {
  public:
    // Call in the order of listing. A thread may be listed more than once.
    void add(const lagtrap_thread& thread);
    // Call after the last add(). first() then has each thread once, as first listed, by thread id.
    void finish();
    [[nodiscard]] const std::vector<lagtrap_thread>& first() const { return first_; }

    // Notes a switch of the thread; call in any order.
    void note_switch(std::uint32_t tid, std::uint64_t at_ns);
    // Passes each thread that slept from the start of the recording until it was listed, as it was
    // listed, and frees what this needed. For a thread that slept on, passes its last listing: by
    // then, unwind tables for its stack may have been available.
    void take_sleepers(const std::function<void(const lagtrap_thread&)>& each);

  private:
    std::vector<lagtrap_thread> first_;
    std::unordered_map<std::uint32_t, lagtrap_thread> last_;            // by tid
    std::unordered_map<std::uint32_t, std::uint64_t> first_switch_ns_;  // by tid
};

}  // namespace lagtrap::trace

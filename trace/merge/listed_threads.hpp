// The threads that were there when the recording began, and where those slept that did not run.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"

namespace lagtrap::trace {

// Not for several threads at once.
class ListedThreads {
  public:
    // In the order in which they were listed; a thread may be listed again later.
    void add(const lagtrap_thread& thread);
    // All were added. Each once, as it was listed first, by number.
    void finish();
    [[nodiscard]] const std::vector<lagtrap_thread>& first() const { return first_; }

    // A switch of the thread, in any order.
    void note_switch(std::uint32_t tid, std::uint64_t at_ns);
    // Gives the threads that slept from the recording's start until they were listed, as they were listed, and forgets what is
    // needed for that. Of one that slept on it is what the last look found: by then there may be tables for its stack.
    void take_sleepers(const std::function<void(const lagtrap_thread&)>& each);

  private:
    std::vector<lagtrap_thread> first_;
    std::unordered_map<std::uint32_t, lagtrap_thread> last_;            // by tid
    std::unordered_map<std::uint32_t, std::uint64_t> first_switch_ns_;  // by tid
};

}  // namespace lagtrap::trace

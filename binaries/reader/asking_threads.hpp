// The threads of this process that have files read: at which priority, and how much CPU time that
// took so far.
#pragma once

#include <chrono>
#include <map>

namespace lagtrap::binaries {

// Threads are given by their ids. Use from one thread at a time.
class AskingThreads {
  public:
    // The nice value of threads for which set_nice() was not called.
    explicit AskingThreads(int nice) : usual_nice_(nice) {}

    void set_nice(int thread, int nice) {
        nice_[thread] = nice;
        if (nice == usual_nice_) nice_.erase(thread);
    }
    [[nodiscard]] int nice_of(int thread) const {
        const auto own = nice_.find(thread);
        return own == nice_.end() ? usual_nice_ : own->second;
    }

    // Adds time for a thread that cpu_time_of() was called for; ignores others.
    void add_cpu_time(int thread, std::chrono::nanoseconds time) {
        if (const auto asked = cpu_time_.find(thread); asked != cpu_time_.end())
            asked->second += time;
    }
    // Since the first call for this thread.
    [[nodiscard]] std::chrono::nanoseconds cpu_time_of(int thread) { return cpu_time_[thread]; }

  private:
    int usual_nice_;
    std::map<int, int> nice_;  // if not the usual one
    std::map<int, std::chrono::nanoseconds> cpu_time_;
};

}  // namespace lagtrap::binaries

#include "analysis/thread_words.hpp"

#include "analysis/cpu_words.hpp"

namespace lagtrap::analysis {

std::string thread_words(const ThreadName& name, const ThreadName& delayed) {
    const bool alone = name.pid == delayed.pid || name.pid == 0 || name.process.empty() ||
                       (name.pid == name.tid && name.process == name.thread);
    const std::string unit = other_unit(name.unit, delayed.unit);
    const std::string identity = " (" + std::to_string(name.tid) + (alone ? unit : "") + ")";
    std::string text =
        name.thread.empty() ? "thread " + std::to_string(name.tid) : name.thread + identity;
    if (alone) return text;
    return text + " of " + name.process + " (" + std::to_string(name.pid) + unit + ")";
}

}  // namespace lagtrap::analysis

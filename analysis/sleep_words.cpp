#include "analysis/sleep_words.hpp"

#include "core/duration.hpp"

namespace lagtrap::analysis {

std::string slept_words(const ThreadDoing& doing, const std::string& time) {
    if (doing.count <= 1) return "slept " + time;
    const std::string each =
        doing.polls ? " of about " + format_duration_ns(doing.time_ns / doing.count) : "";
    return "slept " + time + " in " + std::to_string(doing.count) + " sleeps" + each;
}

std::string expired_words(const ThreadDoing& doing) {
    if (doing.count <= 1) return ", until its timer expired";
    const std::string text = ", each time until its timer expired";
    // What it had been refused says what it waited for.
    const bool was_refused = doing.refusals > 0 || !doing.files.path.empty();
    return doing.polls && !doing.likely && !was_refused
               ? text +
                     "; it hardly computed in between, so it probably polled; what it waited "
                     "for is unknown"
               : text;
}

bool retries(const ThreadDoing& doing) {
    const FileWaits& files = doing.files;
    return doing.outlasts && doing.timed_out && !doing.likely &&
           (doing.wait == WaitKind::Sleep || doing.wait == WaitKind::DatabaseLock) &&
           files.kind == WaitFileKind::Refused && files.time_ns * 2 >= files.asked_ns;
}

std::string retry_words(const ThreadDoing& doing) {
    if (doing.wait == WaitKind::Sleep) return expired_words(doing);
    return doing.count > 1 ? ", trying again each time" : ", until it timed out";
}

}  // namespace lagtrap::analysis

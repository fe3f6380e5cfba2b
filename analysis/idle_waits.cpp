#include "analysis/idle_waits.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>

#include "analysis/block_reason.hpp"
#include "analysis/frame_role.hpp"
#include "analysis/program_path.hpp"
#include "analysis/sightings.hpp"

namespace lagtrap::analysis {
namespace {

constexpr std::size_t deep = 4;  // functions of the program; idle workers have up to three

// Run tasks or wait for them, however deep.
constexpr auto dispatchers = std::to_array<std::string_view>(
    {"tokio::",    "rayon_core::",  "crossbeam", "futures_", "async_std::",
     "<tokio::",   "boost::asio::", "folly::",   "tbb::",    "tpool::",
     "g_thread_",  "g_main_",       "uv_",       "uv__",     "QThread",
     "QEventLoop", "java.",         "java/",     "Ljava/",   "jdk.",
     "jdk/",       "Ljdk/",         "sun.",      "sun/",     "Interpreter"});

bool is_of_program(const Recording& recording, const Frame& frame) {
    if (!frame.named || frame.kernel || is_language_runtime(recording.name(frame.module)))
        return false;
    const std::string_view function = recording.name(frame.label);
    return std::none_of(dispatchers.begin(), dispatchers.end(),
                        [&](std::string_view prefix) { return function.starts_with(prefix); });
}

// epoll and io_uring; poll and select usually wait for one file.
bool waits_for_many(const Recording& recording, StackId stack) {
    const BlockReason reason = block_reason_of(recording, stack);
    if (reason == BlockReason::IoUring) return true;
    if (reason != BlockReason::Events) return false;
    const auto frames = recording.stacks[stack];
    return std::none_of(frames.begin(), frames.end(), [&](std::uint32_t place) {
        const Frame& frame = recording.frames[place];
        const std::string_view function = recording.name(frame.label);
        return frame.kernel && (function == "do_sys_poll" || function == "do_poll" ||
                                function == "core_sys_select" || function == "do_select" ||
                                function.starts_with("poll_schedule_timeout"));
    });
}

// Waits for a result, for others to arrive, or for room in a full channel.
bool waits_for_others(const Recording& recording, StackId stack) {
    const auto frames = recording.stacks[stack];
    return std::any_of(frames.begin(), frames.end(), [&](std::uint32_t place) {
        const Frame& frame = recording.frames[place];
        if (frame.kernel || !frame.named) return false;
        const std::string_view name = recording.name(frame.label);
        const auto contains = [&](std::string_view text) {
            return name.find(text) != std::string_view::npos;
        };
        const bool of_result = (contains("future") && (contains("::get") || contains("::wait"))) ||
                               contains("CompletableFuture.get") || contains("FutureTask.get");
        const bool of_group =
            contains("pthread_barrier_wait") || contains("std::barrier") || contains("std::latch");
        const bool of_channel =
            (contains("mpsc") || contains("mpmc") || contains("crossbeam_channel")) &&
            (contains("::send"));
        return of_result || of_group || of_channel;
    });
}

// "getConnection" and "get_connection" are the words "get" and "connection".
std::vector<std::string> words_in(std::string_view function) {
    std::vector<std::string> words;
    bool lower_before = false;
    int depth = 0;  // in template arguments
    for (const char c : function.substr(0, function.find('('))) {
        const auto letter = static_cast<unsigned char>(c);
        depth += c == '<' ? 1 : c == '>' ? -1 : 0;
        if (depth > 0) continue;
        const bool begins = std::isupper(letter) != 0 && lower_before;
        lower_before = std::islower(letter) != 0;
        if (std::isalpha(letter) == 0) {
            if (words.empty() || !words.back().empty()) words.emplace_back();
            continue;
        }
        if (words.empty() || begins) words.emplace_back();
        words.back().push_back(static_cast<char>(std::tolower(letter)));
    }
    return words;
}

template <std::size_t Count>
bool has_one_of(const std::vector<std::string>& words,
                const std::array<std::string_view, Count>& wanted) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
    });
}

constexpr auto of_workers =
    std::to_array<std::string_view>({"job", "jobs", "task", "tasks", "work", "message", "messages",
                                     "event", "events", "next", "new"});

// Such as "take_job" or "Queue::pop".
bool fetches_work(std::string_view function) {
    static constexpr auto to_fetch = std::to_array<std::string_view>(
        {"queue", "take", "pop", "dequeue", "poll", "fetch", "wait", "idle", "park", "sleep"});
    const std::vector<std::string> words = words_in(function);
    return has_one_of(words, of_workers) || has_one_of(words, to_fetch);
}

// Such as "ConnectionPool::get". What workers take is not acquired.
bool acquires(std::string_view function) {
    static constexpr auto to_acquire =
        std::to_array<std::string_view>({"acquire", "borrow", "checkout", "lease", "reserve"});
    static constexpr auto to_get =
        std::to_array<std::string_view>({"get", "take", "fetch", "obtain"});
    static constexpr auto resources =
        std::to_array<std::string_view>({"connection", "conn", "connections", "permit", "slot"});
    const std::vector<std::string> words = words_in(function);
    if (has_one_of(words, of_workers)) return false;
    for (std::size_t i = 1; i < words.size(); ++i)
        if (words[i - 1] == "check" && words[i] == "out") return true;
    return has_one_of(words, to_acquire) ||
           (has_one_of(words, to_get) && has_one_of(words, resources));
}

bool is_acquiring(const Recording& recording, const WaitPlace& place) {
    constexpr std::size_t innermost = 2;
    if (place.path.size() < 2) return false;
    const auto from =
        place.path.end() - static_cast<std::ptrdiff_t>(std::min(innermost, place.path.size() - 1));
    return std::any_of(from, place.path.end(),
                       [&](const FunctionKey& key) { return acquires(recording.name(key.first)); });
}

// Another thread waits closer to the function, such as the workers' loop, that both are in.
bool is_behind_loop(const Recording& recording, const WaitPlace& place, const WaitPlace& other) {
    const auto [end, other_end] =
        std::mismatch(place.path.begin(), place.path.end(), other.path.begin(), other.path.end());
    const auto inner = place.path.end() - end, inner_of_other = other.path.end() - other_end;
    if (end == place.path.begin() || inner < 2 || inner_of_other < 1 || inner_of_other >= inner)
        return false;
    return !fetches_work(recording.name(end->first));
}

}  // namespace

WaitPlace wait_place_of(const Recording& recording, std::span<const Interval> intervals) {
    std::map<StackId, std::uint64_t> times;
    for (const Interval& interval : intervals)
        if (interval.state == ThreadState::Blocked && interval.stack != 0)
            times[interval.stack] += interval.length_ns();
    if (times.empty()) return {};
    const StackId stack =
        std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        })->first;
    WaitPlace place;
    for (const std::uint32_t step : program_path(recording, stack).steps)
        if (is_of_program(recording, recording.frames[step]))
            place.path.push_back(key_of(recording.frames[step]));
    place.of_many = waits_for_many(recording, stack);
    place.for_others = waits_for_others(recording, stack);
    return place;
}

InWork is_in_work(const Recording& recording, const WaitPlace& place,
                  std::span<const WaitPlace> others) {
    const bool behind_loop = std::any_of(others.begin(), others.end(), [&](const WaitPlace& other) {
        return is_behind_loop(recording, place, other);
    });
    if (behind_loop || place.for_others) return InWork::Likely;
    if (place.of_many) return InWork::No;
    if (is_acquiring(recording, place)) return InWork::Likely;
    return place.path.size() >= deep ? InWork::Perhaps : InWork::No;
}

}  // namespace lagtrap::analysis

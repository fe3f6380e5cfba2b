// Causes made by hand, for tests of their sentences: thread 11 of process 10 had a delay of 200 ms.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/delay_cause.hpp"

namespace lagtrap::test::made_causes {

using namespace lagtrap::analysis;

inline constexpr std::uint64_t ms = 1'000'000;
inline constexpr std::uint64_t mib = 1 << 20;
inline constexpr std::uint32_t own_pid = 10;

inline ThreadName name_of(std::uint32_t pid, std::uint32_t tid, const std::string& process,
                          const std::string& thread, const std::string& unit = "") {
    return {pid, tid, process, thread, unit};
}

inline const ThreadName worker = name_of(own_pid, 11, "app", "worker", "app.service");
inline const ThreadName holder = name_of(own_pid, 12, "app", "holder", "app.service");
inline const ThreadName other = name_of(30, 30, "other", "other");

inline CallFocus in_function(const std::string& function,
                             const std::string& module = "/usr/bin/app") {
    CallFocus focus;
    focus.place.function = function;
    focus.place.module = module;
    return focus;
}

// 100 ms of 200 ms.
inline ThreadDoing doing_of(TimeKind kind, const std::string& function = "serve") {
    ThreadDoing doing;
    doing.kind = kind;
    doing.time_ns = 100 * ms;
    doing.count = 1;
    if (!function.empty()) doing.focus = in_function(function);
    return doing;
}

inline ThreadDoing wait_for(WaitKind wait, const std::string& function = "serve") {
    ThreadDoing doing = doing_of(TimeKind::Blocked, function);
    doing.wait = wait;
    return doing;
}

inline ThreadDoing ended_by(ThreadDoing doing, const ThreadName& waker) {
    doing.end = WaitEnd::Thread;
    doing.wakers = {{waker, doing.time_ns}};
    doing.waker_count = 1;
    return doing;
}

inline ThreadDoing with_end(ThreadDoing doing, WaitEnd end) {
    doing.end = end;
    return doing;
}

inline CauseLink link_of(const ThreadName& who, ThreadDoing doing) {
    CauseLink link;
    link.who = who;
    link.whole_ns = 100 * ms;
    link.doings = {std::move(doing)};
    return link;
}

inline ThreadDoing work_in(const std::string& function) {
    return doing_of(TimeKind::OnCpu, function);
}

inline DelayCauses causes_of(std::vector<DelayCause> causes) {
    DelayCauses made;
    made.who = worker;
    made.wall_ns = 200 * ms;
    made.causes = std::move(causes);
    return made;
}

inline std::string sentence_of(const DelayCauses& causes) { return cause_sentences(causes).at(0); }

inline std::string sentence_of(const ThreadDoing& doing, const std::vector<CauseLink>& chain = {}) {
    DelayCause cause;
    cause.doing = doing;
    cause.chain = chain;
    return sentence_of(causes_of({cause}));
}

inline std::string sentence_of(const ThreadDoing& doing, const MemoryOfGroup& group) {
    DelayCause cause;
    cause.doing = doing;
    DelayCauses causes = causes_of({cause});
    causes.group = group;
    return sentence_of(causes);
}

inline ThreadDoing disk_wait(const FileWaits& files, WaitKind wait = WaitKind::Disk) {
    ThreadDoing doing = with_end(wait_for(wait, "load"), WaitEnd::Interrupt);
    doing.files = files;
    return doing;
}

inline FileWaits data_file() {
    FileWaits files;
    files.path = "/srv/data";
    files.kind = WaitFileKind::OfCall;
    files.disk = "vda";
    files.time_ns = 50 * ms;
    files.asked_ns = 100 * ms;
    files.files = 1;
    return files;
}

}  // namespace lagtrap::test::made_causes

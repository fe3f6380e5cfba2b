// Whether the run that started a recording is still open.
#include "daemon/capture/awaited_run.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::awaited_run_test {
namespace {

using State = AwaitedRun::State;

constexpr std::uint64_t breach_ns = 1000;

AwaitedRun awaited(settings::KeyKind key = settings::KeyKind::Thread,
                   settings::KeyScope scope = settings::KeyScope::Process) {
    trace::SessionTrigger trigger;
    trigger.event = 2;
    trigger.pid = 10;
    trigger.tid = 11;
    trigger.begin_ns = 500;
    trigger.breach_ns = breach_ns;
    settings::Event event;
    event.key = key;
    event.key_scope = scope;
    return {trigger, event};
}

lagtrap_run ended(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) {
    lagtrap_run run{};
    run.header.type = LAGTRAP_RECORD_RUN;
    run.event = event;
    run.begin_pid = 10;
    run.begin_tid = tid;
    run.begin_ns = begin_ns;
    return run;
}

lagtrap_task_change exited(std::uint32_t pid, std::uint32_t tid,
                           std::uint64_t at_ns = breach_ns + 1) {
    lagtrap_task_change change{};
    change.header = {sizeof(change), LAGTRAP_RECORD_EXIT, 0, at_ns};
    change.pid = pid;
    change.tid = tid;
    return change;
}

lagtrap_name renamed(std::uint32_t pid, bool by_exec) {
    lagtrap_name name{};
    name.header = {sizeof(name), LAGTRAP_RECORD_NAME, 0, breach_ns + 1};
    name.pid = name.tid = pid;
    name.by_exec = by_exec ? 1 : 0;
    return name;
}

template <typename Record>
State after(AwaitedRun run, const Record& record) {
    run.take(reinterpret_cast<const lagtrap_record*>(&record));
    return run.state();
}

TEST(AwaitedRun, EndsWithItsOwnRecordAlone) {
    EXPECT_EQ(after(awaited(), ended(2, 11, 500)), State::Ended);
    EXPECT_EQ(after(awaited(), ended(2, 11, 501)), State::GoesOn);
    EXPECT_EQ(after(awaited(), ended(2, 12, 500)), State::GoesOn);
    EXPECT_EQ(after(awaited(), ended(1, 11, 500)), State::GoesOn);
}

TEST(AwaitedRun, IsGoneWithWhatCouldEndIt) {
    EXPECT_EQ(after(awaited(), exited(10, 11)), State::Gone);
    EXPECT_EQ(after(awaited(), exited(10, 10)), State::GoesOn);
    EXPECT_EQ(after(awaited(), exited(10, 11, breach_ns - 1)), State::GoesOn);
    EXPECT_EQ(after(awaited(), renamed(10, true)), State::Gone);
    EXPECT_EQ(after(awaited(), renamed(10, false)), State::GoesOn);
    const auto of_process = awaited(settings::KeyKind::Argument);
    EXPECT_EQ(after(of_process, exited(10, 11)), State::GoesOn);
    EXPECT_EQ(after(of_process, exited(10, 10)), State::Gone);
    const auto of_machine = awaited(settings::KeyKind::Argument, settings::KeyScope::Machine);
    EXPECT_EQ(after(of_machine, exited(10, 10)), State::GoesOn);
    EXPECT_EQ(after(of_machine, renamed(10, true)), State::GoesOn);
}

TEST(AwaitedRun, HasEndedThoughItsThreadIsGoneToo) {
    AwaitedRun run = awaited();
    run.miss();
    EXPECT_EQ(run.state(), State::Gone);
    EXPECT_EQ(after(run, ended(2, 11, 500)), State::Ended);
}

}  // namespace
}  // namespace lagtrap::daemon::awaited_run_test

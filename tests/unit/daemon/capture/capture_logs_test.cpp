#include "daemon/capture/capture_logs.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/logs/log.hpp"

namespace lagtrap::daemon::capture_logs_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using trace::LogKind;

lagtrap_sample sample_at(std::uint64_t at_ns) {
    lagtrap_sample sample{};
    sample.header = {sizeof(sample), LAGTRAP_RECORD_SAMPLE, 0, at_ns};
    return sample;
}

lagtrap_run run_at(std::uint64_t at_ns) {
    lagtrap_run run{};
    run.header = {sizeof(run), LAGTRAP_RECORD_RUN, 0, at_ns};
    return run;
}

lagtrap_thread thread_at(std::uint64_t at_ns) {
    lagtrap_thread thread{};
    thread.header = {sizeof(thread), LAGTRAP_RECORD_THREAD, 0, at_ns};
    return thread;
}

lagtrap_stack stack_at(std::uint64_t at_ns, lagtrap_stack_kind kind) {
    lagtrap_stack stack{};
    stack.header = {offsetof(lagtrap_stack, frames), LAGTRAP_RECORD_STACK, 0, at_ns};
    stack.kind = kind;
    return stack;
}

std::vector<std::uint64_t> times_in(const std::filesystem::path& folder, LogKind kind) {
    std::vector<std::uint64_t> times;
    auto reader = trace::LogReader::open(folder / trace::log_file_name(kind));
    for (const lagtrap_record* record = nullptr;
         reader && (record = reader->next().value()) != nullptr;)
        times.push_back(record->at_ns);
    return times;
}

trace::Session session() {
    trace::Session session;
    session.id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    return session;
}

TEST(CaptureLogs, each_record_goes_into_the_log_of_its_kind) {
    const trace::TemporaryDirectory folder;
    CaptureLogs logs(1 << 20);
    ASSERT_TRUE(logs.open(folder.path(), session()).ok());
    const auto run = run_at(1);
    const auto sample = sample_at(2);
    const auto thread = thread_at(3);
    const auto user = stack_at(4, LAGTRAP_STACK_USER), kernel = stack_at(5, LAGTRAP_STACK_KERNEL);
    for (const lagtrap_record* record :
         {&run.header, &sample.header, &thread.header, &user.header, &kernel.header})
        logs.write(record);
    ASSERT_TRUE(logs.flush().ok());
    EXPECT_THAT(times_in(folder.path(), LogKind::User), ElementsAre(1, 4));
    EXPECT_THAT(times_in(folder.path(), LogKind::Kernel), ElementsAre(2, 5));
    EXPECT_THAT(times_in(folder.path(), LogKind::Rundown), ElementsAre(3));
    EXPECT_TRUE(logs.failure().ok());
}

TEST(CaptureLogs, what_came_before_there_was_a_folder_is_held_and_given_once) {
    const trace::TemporaryDirectory folder;
    CaptureLogs logs(1 << 20);
    const auto sample = sample_at(7);
    logs.write(&sample.header);
    EXPECT_EQ(logs.size_bytes(), 0);
    ASSERT_TRUE(logs.open(folder.path(), session()).ok());
    logs.write(logs.take_held());
    logs.write(logs.take_held());
    ASSERT_TRUE(logs.flush().ok());
    EXPECT_THAT(times_in(folder.path(), LogKind::Kernel), ElementsAre(7));
}

// Each page of the buffer is touched once, however much arrives.
TEST(CaptureLogs, what_is_held_is_not_moved_as_it_grows) {
    RecordBuffer held;
    held.reserve(1 << 20);
    const auto sample = sample_at(7);
    held.append(&sample, sizeof(sample), {});
    const void* const first = held.bytes().data();
    while (held.size_bytes() + sizeof(sample) <= 1 << 20) held.append(&sample, sizeof(sample), {});
    EXPECT_EQ(held.bytes().data(), first);
}

TEST(CaptureLogs, no_more_is_held_than_may_be_with_what_is_held_beside) {
    CaptureLogs logs(3 * sizeof(lagtrap_sample));
    logs.note_held_beside(sizeof(lagtrap_sample));
    const auto sample = sample_at(7);
    logs.write(&sample.header);
    logs.write(&sample.header);
    EXPECT_FALSE(logs.is_full());
    logs.write(&sample.header);
    EXPECT_TRUE(logs.is_full());
    EXPECT_EQ(logs.take_held().size_bytes(), 2 * sizeof(lagtrap_sample));
}

TEST(CaptureLogs, a_folder_that_has_a_recording_is_refused_and_records_are_held_on) {
    const trace::TemporaryDirectory folder;
    CaptureLogs first(1 << 20), second(1 << 20);
    ASSERT_TRUE(first.open(folder.path(), session()).ok());
    EXPECT_FALSE(second.open(folder.path(), session()).ok());
    EXPECT_FALSE(second.are_open());
    const auto sample = sample_at(7);
    second.write(&sample.header);
    EXPECT_FALSE(second.take_held().empty());
    EXPECT_THAT(times_in(folder.path(), LogKind::Kernel), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::daemon::capture_logs_test

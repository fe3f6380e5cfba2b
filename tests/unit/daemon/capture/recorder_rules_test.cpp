#include "daemon/capture/recorder_rules.hpp"

#include <string>

#include <gtest/gtest.h>

#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon::recorder_rules_test {
namespace {

TEST(RecorderRules, RingsGrowWithTheMachine) {
    constexpr std::uint32_t mib = 1 << 20;
    EXPECT_EQ(ring_bytes_for(1), 8 * mib);
    EXPECT_EQ(ring_bytes_for(2), 8 * mib);
    EXPECT_EQ(ring_bytes_for(3), 16 * mib);
    EXPECT_EQ(ring_bytes_for(8), 32 * mib);
    EXPECT_EQ(ring_bytes_for(9), 64 * mib);
    EXPECT_EQ(ring_bytes_for(500), 64 * mib);
}

TEST(RecorderRules, TheHistoryCostsItsRecordsAndSwitches) {
    lagtrap_capture_counters counted{};
    EXPECT_EQ(history_cost_of(counted, 0), 0U);
    counted.history_samples = 2;
    EXPECT_EQ(history_cost_of(counted, 0), 12'000U);
    counted.history_waits = 3;
    EXPECT_EQ(history_cost_of(counted, 0), 48'000U);
    EXPECT_EQ(history_cost_of(counted, 5), 48'300U);
}

RecordTarget target(std::uint16_t type, bool records, bool keeps_history) {
    lagtrap_record record{};
    record.type = type;
    return target_of(&record, records, keeps_history);
}

TEST(RecorderRules, RecordsGoToTheRecordingOrTheHistory) {
    for (const bool records : {false, true})
        for (const std::uint16_t type :
             {LAGTRAP_RECORD_HISTORY_SAMPLE, LAGTRAP_RECORD_HISTORY_WAIT}) {
            EXPECT_EQ(target(type, records, true), RecordTarget::History);
            EXPECT_EQ(target(type, records, false), RecordTarget::Nowhere);
        }
    EXPECT_EQ(target(LAGTRAP_RECORD_STACK, true, true), RecordTarget::Recording);
    EXPECT_EQ(target(LAGTRAP_RECORD_STACK, false, true), RecordTarget::History);
    EXPECT_EQ(target(LAGTRAP_RECORD_STACK, false, false), RecordTarget::Nowhere);
    EXPECT_EQ(target(LAGTRAP_RECORD_RUN, true, true), RecordTarget::Recording);
    EXPECT_EQ(target(LAGTRAP_RECORD_RUN, true, false), RecordTarget::Recording);
    EXPECT_EQ(target(LAGTRAP_RECORD_RUN, false, true), RecordTarget::Nowhere);
}

TEST(RecorderRules, ARunThatEndedBeforeBelongsToAnEarlierRecording) {
    lagtrap_run run{};
    run.header.type = LAGTRAP_RECORD_RUN;
    run.begin_ns = 500;
    run.end_ns = 999;
    EXPECT_TRUE(is_of_earlier_capture(&run.header, 1'000, 400));
    EXPECT_FALSE(is_of_earlier_capture(&run.header, 999, 400));
    EXPECT_FALSE(is_of_earlier_capture(&run.header, 1'000, 500)) << "it began the recording";
    run.header.type = LAGTRAP_RECORD_STACK;
    EXPECT_FALSE(is_of_earlier_capture(&run.header, 1'000, 400));
}

std::string container(const std::string& texts) {
    lagtrap_process process{};
    process.text_bytes = static_cast<decltype(process.text_bytes)>(texts.size());
    RecordBuffer buffer;
    buffer.append(&process, sizeof(process), texts);
    std::string id;
    buffer.for_each([&](const lagtrap_record* record) {
        id = container_of(*reinterpret_cast<const lagtrap_process*>(record));
    });
    return id;
}

TEST(RecorderRules, TheContainerIsThatOfTheThirdText) {
    const std::string id(64, 'a');
    const std::string group = "/system.slice/docker-" + id + ".scope";
    const auto texts = [](const std::string& one, const std::string& two,
                          const std::string& three) {
        return one + '\0' + two + '\0' + three + '\0';
    };
    EXPECT_EQ(container(texts("app", "app --all", group)), id);
    EXPECT_EQ(container(texts("app", "app --all", "/system.slice/app.service")), "");
    EXPECT_EQ(container(texts("app", group, "/system.slice/app.service")), "");
    EXPECT_EQ(container(texts("", "", group)), id);
    EXPECT_EQ(container(std::string("app\0app\0", 8) + group), id) << "without the last NUL";
    EXPECT_EQ(container(std::string("app\0", 4) + group), "");
    EXPECT_EQ(container(group), "");
    EXPECT_EQ(container(""), "");
}

TEST(RecorderRules, GapsAreSentences) {
    EXPECT_EQ(gap_of_cpu(3, true),
              "samples and process changes of CPU 3, which went offline and "
              "came back, until they were recorded again");
    EXPECT_EQ(gap_of_cpu(3, false),
              "samples and process changes of CPU 3, which went offline and "
              "came back, until the end");
    EXPECT_EQ(gap_of_open_runs(5, 8192), "5 of the runs that were open, beyond the first 8192");
}

}  // namespace
}  // namespace lagtrap::daemon::recorder_rules_test

#include "trace/logs/record_check.hpp"

#include <cstddef>
#include <cstring>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "bpf/python.h"
#include "trace/logs/whole_record.hpp"

namespace lagtrap::trace {

void PrintTo(RecordCheck check, std::ostream* out) {
    *out << (check == RecordCheck::Whole     ? "whole"
             : check == RecordCheck::Damaged ? "damaged"
                                             : "of an unknown type");
}

namespace record_check_test {
namespace {

// A record with these bytes of content behind `Record`, all 0.
template <typename Record>
struct Bytes {
    explicit Bytes(std::uint32_t type, std::size_t more = 0)
        : words((sizeof(Record) + more + 7) / 8) {
        record().header.size_bytes = static_cast<__u32>(sizeof(Record) + more);
        record().header.type = static_cast<decltype(record().header.type)>(type);
    }
    Record& record() { return *reinterpret_cast<Record*>(words.data()); }
    RecordCheck check() { return check_record(&record().header, record().header.size_bytes); }
    std::vector<std::uint64_t> words;
};

RecordCheck check_sized(std::uint32_t type, std::size_t size) {
    std::vector<std::uint64_t> words(200);
    auto* record = reinterpret_cast<lagtrap_record*>(words.data());
    record->size_bytes = static_cast<__u32>(size);
    record->type = static_cast<decltype(record->type)>(type);
    return check_record(record, words.size() * 8);
}

TEST(RecordCheck, EachTypeHasItsLeastSize) {
    const std::pair<std::uint32_t, std::size_t> least[] = {
        {LAGTRAP_RECORD_RUN, offsetof(lagtrap_run, stages)},
        {LAGTRAP_RECORD_BREACH, offsetof(lagtrap_run, stages)},
        {LAGTRAP_RECORD_STACK, sizeof(lagtrap_stack)},
        {LAGTRAP_RECORD_SAMPLE, sizeof(lagtrap_sample)},
        {LAGTRAP_RECORD_SWITCH, LAGTRAP_SWITCH_LEAST_BYTES},
        {LAGTRAP_RECORD_WAKING, LAGTRAP_WAKING_LEAST_BYTES},
        {LAGTRAP_RECORD_THREAD, LAGTRAP_THREAD_LEAST_BYTES},
        {LAGTRAP_RECORD_PROCESS, sizeof(lagtrap_process)},
        {LAGTRAP_RECORD_MAPPING, sizeof(lagtrap_mapping)},
        {LAGTRAP_RECORD_FORK, sizeof(lagtrap_task_change)},
        {LAGTRAP_RECORD_EXIT, sizeof(lagtrap_task_change)},
        {LAGTRAP_RECORD_NAME, sizeof(lagtrap_name)},
        {LAGTRAP_RECORD_WAIT_FILE, sizeof(lagtrap_wait_file)},
        {LAGTRAP_RECORD_WRITTEN, sizeof(lagtrap_written)},
        {LAGTRAP_RECORD_GROUP_MEMORY, sizeof(lagtrap_group_memory)},
        {LAGTRAP_RECORD_DISK_LIMIT, sizeof(lagtrap_disk_limit)},
        {LAGTRAP_RECORD_PYTHON_CODE, sizeof(lagtrap_python_code)},
        {LAGTRAP_RECORD_CONTEXT, sizeof(lagtrap_context)},
        {LAGTRAP_RECORD_CONTEXT_KEYS, sizeof(lagtrap_context_keys)},
        {LAGTRAP_RECORD_RUN_SO_FAR, sizeof(lagtrap_run_so_far)},
        {LAGTRAP_RECORD_TRACE_TEXT, sizeof(lagtrap_trace_text)},
        {LAGTRAP_RECORD_STACK_COPY, sizeof(lagtrap_stack_copy)},
        {LAGTRAP_RECORD_HISTORY_SAMPLE, sizeof(lagtrap_history_sample)},
        {LAGTRAP_RECORD_HISTORY_WAIT, sizeof(lagtrap_history_wait)}};
    for (const auto& [type, size] : least) {
        EXPECT_EQ(check_sized(type, size), RecordCheck::Whole) << type;
        EXPECT_EQ(check_sized(type, size - 1), RecordCheck::Damaged) << type;
    }
    EXPECT_EQ(check_sized(999, sizeof(lagtrap_record)), RecordCheck::UnknownType);
    EXPECT_EQ(check_sized(999, sizeof(lagtrap_record) - 1), RecordCheck::Damaged);
}

TEST(RecordCheck, ARecordLiesWithinWhatIsThere) {
    Bytes<lagtrap_sample> sample(LAGTRAP_RECORD_SAMPLE);
    EXPECT_EQ(check_record(&sample.record().header, sizeof(lagtrap_sample)), RecordCheck::Whole);
    EXPECT_EQ(check_record(&sample.record().header, sizeof(lagtrap_sample) - 1),
              RecordCheck::Damaged);
}

TEST(RecordCheck, StagesOfARunLieWithinIt) {
    const auto check = [](std::size_t stages, std::size_t bytes) {
        Bytes<lagtrap_run> run(LAGTRAP_RECORD_RUN, 64);
        run.record().header.size_bytes = static_cast<__u32>(offsetof(lagtrap_run, stages) + bytes);
        run.record().stage_count = static_cast<decltype(run.record().stage_count)>(stages);
        return run.check();
    };
    constexpr std::size_t one = sizeof(lagtrap_stage_hit);
    EXPECT_EQ(check(2, 2 * one), RecordCheck::Whole);
    EXPECT_EQ(check(2, 2 * one - 1), RecordCheck::Damaged);
    EXPECT_EQ(check(LAGTRAP_MAX_STAGES, LAGTRAP_MAX_STAGES * one), RecordCheck::Whole);
    EXPECT_EQ(check(LAGTRAP_MAX_STAGES + 1, LAGTRAP_MAX_STAGES * one + one), RecordCheck::Damaged);
}

TEST(RecordCheck, FramesOfAStackLieWithinIt) {
    const auto check = [](std::size_t frames, std::size_t bytes) {
        Bytes<lagtrap_stack> stack(LAGTRAP_RECORD_STACK, bytes);
        stack.record().frame_count = static_cast<decltype(stack.record().frame_count)>(frames);
        return stack.check();
    };
    EXPECT_EQ(check(3, 24), RecordCheck::Whole);
    EXPECT_EQ(check(3, 23), RecordCheck::Damaged);
    EXPECT_EQ(check(LAGTRAP_MAX_FRAMES, 8 * LAGTRAP_MAX_FRAMES), RecordCheck::Whole);
    EXPECT_EQ(check(LAGTRAP_MAX_FRAMES + 1, 8 * LAGTRAP_MAX_FRAMES + 8), RecordCheck::Damaged);
}

TEST(RecordCheck, MemoryOfACopiedStackLiesWithinIt) {
    const auto check = [](std::size_t copied, std::size_t bytes, std::size_t returns = 0) {
        Bytes<lagtrap_stack_copy> copy(LAGTRAP_RECORD_STACK_COPY, bytes);
        auto& record = copy.record();
        record.copied_bytes = static_cast<decltype(record.copied_bytes)>(copied);
        record.return_count = static_cast<decltype(record.return_count)>(returns);
        return copy.check();
    };
    EXPECT_EQ(check(16, 16), RecordCheck::Whole);
    EXPECT_EQ(check(17, 16), RecordCheck::Damaged);
    EXPECT_EQ(check(LAGTRAP_COPIED_STACK_BYTES, LAGTRAP_COPIED_STACK_BYTES), RecordCheck::Whole);
    EXPECT_EQ(check(0, 0, LAGTRAP_COPIED_RETURNS), RecordCheck::Whole);
    EXPECT_EQ(check(0, 0, LAGTRAP_COPIED_RETURNS + 1), RecordCheck::Damaged);
}

template <typename Record, typename Length>
void expect_text_within(std::uint32_t type, Length Record::*length) {
    Bytes<Record> record(type, 10);
    record.record().*length = 10;
    EXPECT_EQ(record.check(), RecordCheck::Whole) << type;
    record.record().*length = 11;
    EXPECT_EQ(record.check(), RecordCheck::Damaged) << type;
}

TEST(RecordCheck, TextsLieWithinTheirRecord) {
    expect_text_within(LAGTRAP_RECORD_PROCESS, &lagtrap_process::text_bytes);
    expect_text_within(LAGTRAP_RECORD_MAPPING, &lagtrap_mapping::path_bytes);
    expect_text_within(LAGTRAP_RECORD_WAIT_FILE, &lagtrap_wait_file::path_bytes);
    expect_text_within(LAGTRAP_RECORD_WRITTEN, &lagtrap_written::path_bytes);
    expect_text_within(LAGTRAP_RECORD_GROUP_MEMORY, &lagtrap_group_memory::path_bytes);
    expect_text_within(LAGTRAP_RECORD_CONTEXT, &lagtrap_context::attribute_bytes);
    expect_text_within(LAGTRAP_RECORD_CONTEXT_KEYS, &lagtrap_context_keys::text_bytes);
    Bytes<lagtrap_mapping> mapping(LAGTRAP_RECORD_MAPPING);
    mapping.record().build_id_bytes = sizeof(mapping.record().build_id);
    EXPECT_EQ(mapping.check(), RecordCheck::Whole);
    ++mapping.record().build_id_bytes;
    EXPECT_EQ(mapping.check(), RecordCheck::Damaged);
}

TEST(WholeRecord, HasZerosForWhatOlderVersionsDidNotWrite) {
    Bytes<lagtrap_switch> full(LAGTRAP_RECORD_SWITCH);
    std::memset(full.words.data() + 2, 0x11, sizeof(lagtrap_switch) - 16);
    const auto whole = whole_record<lagtrap_switch>(&full.record().header);
    EXPECT_EQ(std::memcmp(&whole, full.words.data(), sizeof(whole)), 0);
    full.record().header.size_bytes = LAGTRAP_SWITCH_LEAST_BYTES;
    const auto cut = whole_record<lagtrap_switch>(&full.record().header);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&cut);
    EXPECT_EQ(bytes[LAGTRAP_SWITCH_LEAST_BYTES - 1], 0x11);
    for (std::size_t at = LAGTRAP_SWITCH_LEAST_BYTES; at < sizeof(cut); ++at)
        EXPECT_EQ(bytes[at], 0) << at;
}

}  // namespace
}  // namespace record_check_test
}  // namespace lagtrap::trace

#include "analysis/task_decoder.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_messages.hpp"

namespace lagtrap::analysis::task_decoder_test {
namespace {

using protozero::pbf_writer;
using test::message_of;

constexpr std::uint64_t at_ns = 5'000'000'000;

RawTrace created(std::uint32_t creator, std::uint32_t tid) {
    const std::string event = message_of([&](pbf_writer& task) { task.add_uint32(1, tid); });
    RawTrace raw;
    take_new_task(event, at_ns, creator, raw);
    return raw;
}

TEST(TaskDecoder, AThreadHasItsCreator) {
    const RawTrace raw = created(11, 22);
    EXPECT_EQ(raw.threads.at(22).creation.creator_tid, 11U);
    EXPECT_EQ(raw.threads.at(22).creation.at_ns, at_ns);
    EXPECT_EQ(raw.unreadable, 0U);
}

TEST(TaskDecoder, ThreadNumbersOfCreationsAreBounded) {
    EXPECT_EQ(created(tid_limit - 1, tid_limit - 1).unreadable, 0U);
    for (const RawTrace& raw : {created(11, tid_limit), created(tid_limit, 22), created(11, 0)}) {
        EXPECT_EQ(raw.unreadable, 1U);
        EXPECT_TRUE(raw.threads.empty());
    }
}

}  // namespace
}  // namespace lagtrap::analysis::task_decoder_test

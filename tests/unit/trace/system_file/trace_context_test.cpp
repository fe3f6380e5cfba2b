// Which texts are trace ids by the W3C recommendation Trace Context.
#include "trace/system_file/trace_context.hpp"

#include <gtest/gtest.h>

namespace lagtrap::trace::trace_context_test {
namespace {

constexpr const char* trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* span_id = "00f067aa0ba902b7";

std::string traceparent(const std::string& version, const std::string& more = {}) {
    return version + "-" + trace_id + "-" + span_id + "-01" + more;
}

TEST(TraceContext, AnIdAloneHasNoParent) {
    EXPECT_EQ(trace_context_of(trace_id), (TraceContext{trace_id, {}}));
    EXPECT_EQ(trace_context_of("4BF92F3577B34DA6A3CE929D0E0E4736"), (TraceContext{trace_id, {}}));
}

TEST(TraceContext, ATraceparentHas) {
    EXPECT_EQ(trace_context_of(traceparent("00")), (TraceContext{trace_id, span_id}));
    EXPECT_EQ(trace_context_of(traceparent("01")), (TraceContext{trace_id, span_id}));
    EXPECT_EQ(trace_context_of(traceparent("cc", "-later")), (TraceContext{trace_id, span_id}));
}

TEST(TraceContext, WhatIsNoneIsNothing) {
    for (const std::string& text :
         {std::string(), std::string("x"), std::string(31, 'a'), std::string(33, 'a'),
          std::string(32, '0'), std::string(32, 'g'), traceparent("ff"), traceparent("0x"),
          traceparent("00", "-more"), traceparent("00", "0"), traceparent("01", "0"),
          std::string("00-") + std::string(32, '0') + "-" + span_id + "-01",
          std::string("00-") + trace_id + "-" + std::string(16, '0') + "-01",
          std::string("00-") + trace_id + "-" + span_id + "-0",
          std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-") + span_id + "-01",
          std::string("00_") + trace_id + "-" + span_id + "-01"})
        EXPECT_FALSE(trace_context_of(text)) << text;
}

}  // namespace
}  // namespace lagtrap::trace::trace_context_test

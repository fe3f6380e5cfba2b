#include "analysis/context_decoder.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_messages.hpp"

namespace lagtrap::analysis::context_decoder_test {
namespace {

using protozero::pbf_writer;
using test::message_of;

const std::string trace_id(32, 'a'), span_id(16, 'b');

RawTrace decoded(std::uint32_t tid, const std::string& trace, const std::string& span,
                 int attributes = 0) {
    RawTrace raw;
    take_context(message_of([&](pbf_writer& context) {
                     context.add_uint32(1, tid);
                     if (!trace.empty()) context.add_string(2, trace);
                     if (!span.empty()) context.add_string(3, span);
                     context.add_string(99, "of a later version");
                     for (int i = 0; i < attributes; ++i) {
                         pbf_writer attribute(context, 4);
                         attribute.add_string(1, "tenant");
                         attribute.add_string(2, "B\n" + std::to_string(i));
                     }
                 }),
                 50, raw);
    EXPECT_EQ(raw.records, 1U);
    return raw;
}

TEST(ContextDecoder, KeepsIdsAndAttributes) {
    const RawTrace raw = decoded(7, trace_id, span_id, 2);
    ASSERT_EQ(raw.spans.at(7).size(), 1U);
    const PublishedSpan& span = raw.spans.at(7).front();
    EXPECT_EQ(span.at_ns, 50U);
    EXPECT_EQ(raw.names.at(span.trace_id), trace_id);
    EXPECT_EQ(raw.names.at(span.span_id), span_id);
    ASSERT_EQ(span.attributes.size(), 2U);
    EXPECT_EQ(raw.names.at(span.attributes[1].name), "tenant");
    EXPECT_EQ(raw.names.at(span.attributes[1].value), "B\\x0a1");
    EXPECT_EQ(decoded(7, trace_id, span_id, 20).spans.at(7).front().attributes.size(), 16U);
}

TEST(ContextDecoder, KeepsThatAThreadWorksForNothing) {
    const RawTrace raw = decoded(7, "", "");
    EXPECT_EQ(raw.spans.at(7).front().trace_id, 0U);
    EXPECT_EQ(raw.unreadable, 0U);
}

TEST(ContextDecoder, CountsWhatCannotBe) {
    const auto is_refused = [](const RawTrace& raw) {
        return raw.spans.empty() && raw.unreadable == 1;
    };
    EXPECT_TRUE(is_refused(decoded(0, trace_id, span_id)));
    EXPECT_TRUE(is_refused(decoded(tid_limit, trace_id, span_id)));
    EXPECT_TRUE(is_refused(decoded(7, trace_id, "")));
    EXPECT_TRUE(is_refused(decoded(7, std::string(31, 'a'), span_id)));
    EXPECT_TRUE(is_refused(decoded(7, std::string(32, 'A'), span_id)));
    EXPECT_TRUE(is_refused(decoded(7, trace_id, std::string(17, 'b'))));
}

}  // namespace
}  // namespace lagtrap::analysis::context_decoder_test

#include "analysis/request_words.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::request_words_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

RequestPart report() {
    RequestPart part;
    part.request.event = "report";
    part.request.begin_ns = 100 * ms;
    part.request.end_ns = 400 * ms;
    return part;
}

TEST(RequestWords, ARunIsNamedByItsEvent) {
    EXPECT_EQ(request_words(std::nullopt), "");
    RequestPart part = report();
    EXPECT_EQ(request_words(part), ", in a run of \"report\" that took 300 ms");
    part.request.open = true;
    EXPECT_EQ(request_words(part), ", in a run of \"report\" that had taken 300 ms and not ended");
}

TEST(RequestWords, WhatIdentifiesARequestIsNamed) {
    RequestPart part = report();
    part.request.key = 17;
    EXPECT_EQ(request_words(part), ", in a run of \"report\" (key 17) that took 300 ms");
    part.request.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    EXPECT_EQ(request_words(part),
              ", in a run of \"report\" (key 17, trace 4bf92f35…) that took 300 ms");
    part.request.route = "POST /report";
    part.request.attributes = {{"tenant", "B"}};
    EXPECT_EQ(request_words(part),
              ", in a run of \"report\" (POST /report, key 17, trace 4bf92f35…, tenant=B) that "
              "took 300 ms");
}

TEST(RequestWords, ASpanIsNamedByItsRoute) {
    RequestPart part;
    part.request.kind = RequestKind::Span;
    part.request.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    EXPECT_EQ(request_words(part), ", in a request (trace 4bf92f35…)");
    part.request.route = "/report";
    EXPECT_EQ(request_words(part), ", in /report (trace 4bf92f35…)");
}

TEST(RequestWords, WhatWasPublishedIsTitle) {
    RequestContext request;
    request.event = "report";
    request.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    EXPECT_EQ(published_words(request), "");
    request.attributes = {{"tenant", "B"}, {"user", "joe"}};
    EXPECT_EQ(published_words(request), "tenant=B, user=joe");
    request.route = "/report";
    EXPECT_EQ(published_words(request), "/report (tenant=B, user=joe)");
    request.attributes.clear();
    EXPECT_EQ(published_words(request), "/report");
}

TEST(RequestWords, NamesFromProgramsAreShortAndPrintable) {
    RequestPart part;
    part.request.kind = RequestKind::Span;
    part.request.route = "/a\x1b[31m" + std::string(100, 'b');
    part.request.attributes.assign(5, {"n", "v"});
    const std::string words = request_words(part);
    EXPECT_EQ(words.find('\x1b'), std::string::npos);
    EXPECT_EQ(words.find(std::string(80, 'b')), std::string::npos);
    EXPECT_NE(words.find("… (n=v, n=v, n=v, n=v)"), std::string::npos);
}

}  // namespace
}  // namespace lagtrap::analysis::request_words_test

#include "server/api/refused_body.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::refused_body_test {
namespace {

void expect(const RefusedRequest& request, bool must_close, std::uint64_t drain_bytes) {
    const BodyOfRefused body = body_of_refused(request);
    EXPECT_EQ(body.must_close, must_close);
    EXPECT_EQ(body.drain_bytes, drain_bytes);
}

TEST(RefusedBody, TheRestIsReadSoThatAnotherRequestCanFollow) {
    expect({}, false, 0);
    expect({.length_bytes = 1000}, false, 1000);
    expect({.length_bytes = 1000, .left_bytes = 300}, false, 300);
    expect({.length_bytes = 1000, .left_bytes = 0}, false, 0);
    expect({.body_read = true, .length_bytes = 1000}, false, 0);
}

TEST(RefusedBody, OfALargeOneOnlyAPartIsRead) {
    expect({.length_bytes = drain_limit_bytes}, false, drain_limit_bytes);
    expect({.length_bytes = drain_limit_bytes + 1}, true, drain_limit_bytes);
}

TEST(RefusedBody, WithoutAKnownEndTheConnectionCloses) {
    expect({.header_came = false}, true, 0);
    expect({.chunked = true}, true, 0);
}

TEST(RefusedBody, WhoAsksFirstMayNotSendIt) {
    expect({.asks_first = true, .length_bytes = 1000}, true, 0);
    expect({.asks_first = true}, false, 0);
    // After "100 Continue" it comes.
    expect({.asks_first = true, .length_bytes = 1000, .left_bytes = 300}, false, 300);
    expect({.asks_first = true, .body_read = true, .length_bytes = 1000}, false, 0);
}

}  // namespace
}  // namespace lagtrap::server::refused_body_test

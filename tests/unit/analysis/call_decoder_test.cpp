#include "analysis/call_decoder.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::call_decoder_test {
namespace {

CallDecoder::Begin call(std::uint64_t at_ns, const std::string& function,
                        calls::Times times = {10, 4, 3, 3, 5}) {
    CallDecoder::Begin begin;
    begin.at_ns = at_ns;
    begin.function = function;
    begin.times = times;
    return begin;
}

struct Decoded {
    CallDecoder decoder;
    std::vector<RunCalls> trees;
    std::vector<calls::Function> functions;
    std::uint64_t unreadable = 0;

    void finish() { decoder.finish(trees, functions, unreadable); }
};

TEST(CallDecoder, NestsCallsInTheTreeOfTheOutermost) {
    Decoded decoded;
    CallDecoder::Begin outer = call(100, "f");
    outer.pid = 7;
    outer.tid = 8;
    outer.not_kept = 1ULL << 40;
    const auto first = decoded.decoder.begin(outer, {});
    const auto second = decoded.decoder.begin(call(103, "g"), first);
    const auto third = decoded.decoder.begin(call(104, "f"), second);
    decoded.decoder.end(third, 106);
    decoded.decoder.end(second, 101);
    decoded.decoder.end(first, 110);
    decoded.decoder.end({}, 500);
    decoded.finish();
    EXPECT_EQ(decoded.unreadable, 0U);
    ASSERT_EQ(decoded.trees.size(), 1U);
    const RunCalls& tree = decoded.trees[0];
    EXPECT_EQ(tree.pid, 7U);
    EXPECT_EQ(tree.begin_ns, 100U);
    EXPECT_EQ(tree.tree.tid, 8U);
    ASSERT_EQ(tree.tree.calls.size(), 3U);
    ASSERT_EQ(tree.times.size(), 3U);
    EXPECT_EQ(tree.times[0].own_ns, 5U);
    const calls::Call& root = tree.tree.calls[0];
    EXPECT_EQ(root.parent, calls::no_parent);
    EXPECT_EQ(root.begin_ns, 0U);
    EXPECT_EQ(root.end_ns, 10U);
    EXPECT_EQ(root.left_out, UINT32_MAX);
    EXPECT_EQ(root.end, calls::CallEnd::Returned);
    EXPECT_EQ(tree.tree.calls[1].parent, 0U);
    EXPECT_EQ(tree.tree.calls[1].begin_ns, 3U);
    EXPECT_EQ(tree.tree.calls[1].end_ns, 3U);
    EXPECT_EQ(tree.tree.calls[2].parent, 1U);
    EXPECT_EQ(tree.tree.calls[2].end_ns, 6U);
    EXPECT_EQ(tree.tree.calls[2].function, root.function);
    ASSERT_EQ(decoded.functions.size(), 2U);
    EXPECT_EQ(decoded.functions[0].name, "f");
    EXPECT_EQ(decoded.functions[1].name, "g");
}

TEST(CallDecoder, ACallHasTheEndThatWasRecorded) {
    Decoded decoded;
    using calls::CallEnd;
    std::vector<CallEnd> ends{CallEnd::Returned, CallEnd::TailCall, CallEnd::Left,
                              CallEnd::ThreadEnd};
    std::vector<std::string> texts;
    for (const CallEnd end : ends) texts.emplace_back(calls::name_of(end));
    texts.emplace_back("unknown to this version");
    ends.push_back(CallEnd::Returned);
    for (const std::string& text : texts) {
        CallDecoder::Begin begin = call(1, "f");
        begin.ended = text;
        (void)decoded.decoder.begin(begin, {});
    }
    decoded.finish();
    std::vector<CallEnd> found;
    for (const RunCalls& tree : decoded.trees) found.push_back(tree.tree.calls.at(0).end);
    EXPECT_EQ(found, ends);
}

TEST(CallDecoder, AFunctionIsKnownByNameFilePlaceAndWhetherItWasSeen) {
    Decoded decoded;
    const auto add = [&](const char* module, const char* source, bool seen) {
        CallDecoder::Begin begin = call(1, "f");
        begin.module = module;
        begin.source = source;
        begin.seen = seen;
        (void)decoded.decoder.begin(begin, {});
    };
    add("m", "/src/a:b.c:12", false);
    add("m", "/src/a:b.c:12", false);
    add("n", "/src/a.c", false);
    add("n", "/src/a.c", true);
    add("n", "/src/a.c:x", true);
    decoded.finish();
    ASSERT_EQ(decoded.functions.size(), 4U);
    EXPECT_EQ(decoded.functions[0].source, "/src/a:b.c");
    EXPECT_EQ(decoded.functions[0].line, 12U);
    EXPECT_EQ(decoded.functions[0].module, "m");
    EXPECT_FALSE(decoded.functions[0].seen);
    EXPECT_EQ(decoded.functions[1].source, "/src/a.c");
    EXPECT_EQ(decoded.functions[1].line, 0U);
    EXPECT_TRUE(decoded.functions[2].seen);
    EXPECT_EQ(decoded.functions[3].line, 0U);
}

TEST(CallDecoder, LeavesOutTreesWhoseTimesDoNotAddUp) {
    const auto good = [](calls::Times times) {
        Decoded decoded;
        const auto root = decoded.decoder.begin(call(1, "f"), {});
        (void)decoded.decoder.begin(call(2, "g", times), root);
        decoded.finish();
        EXPECT_EQ(decoded.trees.size() + decoded.unreadable, 1U);
        return decoded.unreadable == 0;
    };
    EXPECT_TRUE(good({10, 4, 3, 3, 10}));
    EXPECT_TRUE(good({10, 10, 0, 0, 0}));
    EXPECT_TRUE(good({10, 0, 10, 0, 0}));
    EXPECT_FALSE(good({10, 4, 3, 3, 11}));
    EXPECT_FALSE(good({10, 11, 0, 0, 0}));
    EXPECT_FALSE(good({10, 4, 7, 0, 0}));
    EXPECT_FALSE(good({10, 4, 3, 2, 0}));
    EXPECT_FALSE(good({10, 4, 3, 4, 0}));
}

TEST(CallDecoder, SortsTreesByTheirBegin) {
    Decoded decoded;
    for (const std::uint64_t at_ns : {30, 10, 20})
        (void)decoded.decoder.begin(call(at_ns, "f"), {});
    decoded.finish();
    ASSERT_EQ(decoded.trees.size(), 3U);
    EXPECT_EQ(decoded.trees[0].begin_ns, 10U);
    EXPECT_EQ(decoded.trees[1].begin_ns, 20U);
    EXPECT_EQ(decoded.trees[2].begin_ns, 30U);
}

}  // namespace
}  // namespace lagtrap::analysis::call_decoder_test

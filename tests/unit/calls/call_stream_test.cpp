#include "calls/call_stream.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::calls::call_stream_test {
namespace {

Tree a_tree() {
    Tree tree;
    tree.tid = 7;
    tree.thread = "worker";
    tree.calls = {{.function = 0, .end_ns = 100, .on_cpu_ns = 90}};
    return tree;
}

TEST(CallStreamTest, ATreeThatIsToldIsRead) {
    Tree tree = a_tree();
    tree.probe_scale = 1.25;
    const auto read = parse_message(boost::json::serialize(to_json(tree)));
    ASSERT_TRUE(read.ok() && read->tree);
    EXPECT_EQ(read->tree->thread, "worker");
    EXPECT_EQ(read->tree->probe_scale, 1.25);
    EXPECT_EQ(read->tree->calls.at(0).on_cpu_ns, 90U);
}

TEST(CallStreamTest, ProbesTakeWhatWasToldWhereATreeSaysNothing) {
    const auto line = to_json(a_tree());
    EXPECT_FALSE(line.at("tree").as_object().contains("probe_scale"));
    const auto read = parse_message(boost::json::serialize(line));
    ASSERT_TRUE(read.ok() && read->tree);
    EXPECT_EQ(read->tree->probe_scale, 1);
}

TEST(CallStreamTest, ProbesThatTakeNoTimeAreRefused) {
    for (const double scale : {0.0, -1.0}) {
        auto line = to_json(a_tree());
        line.at("tree").as_object()["probe_scale"] = scale;
        EXPECT_FALSE(parse_message(boost::json::serialize(line)).ok()) << scale;
    }
}

}  // namespace
}  // namespace lagtrap::calls::call_stream_test

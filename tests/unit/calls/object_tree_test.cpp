#include "calls/object_tree.hpp"

#include <gtest/gtest.h>

namespace lagtrap::calls::object_tree_test {
namespace {

ObjectCall call_of(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t depth,
                   std::uint32_t tid = 1) {
    ObjectCall call;
    call.tid = tid;
    call.begin_ns = begin_ns;
    call.end_ns = end_ns;
    call.depth = depth;
    return call;
}

ObjectCall thrown(std::uint64_t begin_ns, std::uint64_t end_ns, const char* error) {
    ObjectCall call = call_of(begin_ns, end_ns, 0);
    call.failed = call.left = true;
    call.error = error;
    return call;
}

TEST(ObjectForestTest, CallsLieInThoseThatEndLater) {
    ObjectForest forest;
    EXPECT_TRUE(forest.add(call_of(20, 30, 2)).empty());
    EXPECT_TRUE(forest.add(call_of(5, 6, 1, 2)).empty());
    EXPECT_TRUE(forest.add(call_of(10, 40, 1)).empty());
    EXPECT_TRUE(forest.add(call_of(50, 60, 1)).empty());
    const auto trees = forest.add(call_of(0, 70, 0));
    ASSERT_EQ(trees.size(), 1U);
    ASSERT_EQ(trees[0].below.size(), 2U);
    EXPECT_EQ(trees[0].below[0].call.begin_ns, 10U);
    EXPECT_EQ(trees[0].below[0].below.size(), 1U);
    EXPECT_EQ(forest.take_waiting().size(), 1U);  // of the other thread
    EXPECT_TRUE(forest.take_waiting().empty());
}

TEST(ObjectForestTest, WhoseCallerWasLostComesWithTheNext) {
    ObjectForest forest;
    EXPECT_TRUE(forest.add(call_of(10, 20, 1)).empty());
    const auto trees = forest.add(call_of(50, 60, 0));
    ASSERT_EQ(trees.size(), 2U);
    EXPECT_TRUE(trees[1].below.empty());
}

TEST(ObjectFailuresTest, AnExceptionCountsOnce) {
    ObjectFailures failures;
    for (int i = 0; i < 3; ++i) {
        const auto at = static_cast<std::uint64_t>(1000 * i);
        const std::string text = "std::runtime_error: no page " + std::to_string(i);
        failures.add(thrown(at + 20, at + 30, text.c_str()), ObjectRole::Create);
        failures.add(thrown(at + 10, at + 30, text.c_str()), ObjectRole::Use);
        failures.add(call_of(at, at + 50, 0), ObjectRole::Use);
    }
    const auto all = failures.all();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].count, 3U);
    EXPECT_EQ(all[0].error, "std::runtime_error: no page 0");
}

TEST(ObjectFailuresTest, ResultsTellErrorsApart) {
    ObjectFailures failures;
    std::vector<ObjectFunction> functions(2);
    functions[1].function.module = "other";
    functions[1].class_number = 1;
    ObjectCall call = call_of(0, 1, 0);
    call.failed = true;
    for (const std::uint64_t result : {14U, 5U, 14U}) {
        call.result = result;
        failures.add(call, ObjectRole::Use);
        if (result == 5U) failures.add(ObjectMessage{0, 1, 2, "it is locked"}, functions);
        failures.add(ObjectMessage{1, 1, 2, "of another file"}, functions);
    }
    const auto all = failures.all();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].error, "result 14");
    EXPECT_EQ(all[0].count, 2U);
    EXPECT_EQ(all[1].error, "result 5, it is locked");
}

TEST(ObjectFailuresTest, ALibraryMayHaveItsTextsInAnother) {
    ObjectFailures failures;
    std::vector<ObjectFunction> functions(2);
    functions[1].function.module = "other";
    ObjectCall call = call_of(0, 1, 0);
    call.failed = true;
    call.result = 1;
    failures.add(call, ObjectRole::Use);
    failures.add(ObjectMessage{1, 1, 2, "certificate has expired"}, functions);
    ASSERT_EQ(failures.all().size(), 1U);
    EXPECT_EQ(failures.all()[0].error, "result 1, certificate has expired");
}

TEST(ObjectErrorTest, SaysWhatIsKnown) {
    ObjectCall call = call_of(0, 1, 0);
    EXPECT_EQ(error_of(call), "no result");
    call.result = UINT64_MAX;
    call.error_number = 2;
    EXPECT_EQ(error_of(call), "ENOENT (No such file or directory)");
    call.result = 0xffffffff;
    call.error_number = 0;
    EXPECT_EQ(error_of(call), "result -1");
    call.error = "it is full";
    EXPECT_EQ(error_of(call), "result -1, it is full");
    call.left = true;
    EXPECT_EQ(error_of(call), "it is full");
    call.error.clear();
    EXPECT_EQ(error_of(call), "left by an exception");
}

}  // namespace
}  // namespace lagtrap::calls::object_tree_test

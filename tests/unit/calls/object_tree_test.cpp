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

TEST(ObjectForestTest, ACallBelongsToTheInnermostThatCoversIt) {
    ObjectForest forest;
    EXPECT_TRUE(forest.add(call_of(5, 8, 1)).empty());
    EXPECT_TRUE(forest.add(call_of(10, 20, 2)).empty());
    EXPECT_TRUE(forest.add(call_of(10, 30, 1)).empty()) << "begins with what it calls";
    const auto trees = forest.add(call_of(0, 40, 0));
    ASSERT_EQ(trees.size(), 1U);
    ASSERT_EQ(trees[0].below.size(), 2U);
    EXPECT_EQ(trees[0].below[0].call.end_ns, 8U);
    EXPECT_EQ(trees[0].below[1].call.end_ns, 30U);
    ASSERT_EQ(trees[0].below[1].below.size(), 1U);
    EXPECT_EQ(trees[0].below[1].below[0].call.end_ns, 20U);
}

TEST(ObjectForestTest, ATreeIsBoundedAndTheNextBeginsAfresh) {
    ObjectForest forest;
    for (int round = 0; round < 2; ++round) {
        for (std::uint64_t at = 1; at <= ObjectForest::max_calls + 5; ++at)
            EXPECT_TRUE(forest.add(call_of(at, at, 1)).empty());
        const auto trees = forest.add(call_of(0, 1'000'000, 0));
        ASSERT_EQ(trees.size(), 1U);
        EXPECT_EQ(trees[0].below.size(), ObjectForest::max_calls);
    }
}

TEST(ObjectFailuresTest, AnExceptionHasTheObjectThatCouldNotBeMade) {
    const auto titled = [](std::uint64_t begin_ns, std::uint64_t end_ns, const char* title) {
        ObjectCall call = thrown(begin_ns, end_ns, "std::bad_alloc");
        call.title = title;
        call.function = static_cast<std::uint32_t>(begin_ns);
        call.object = begin_ns;
        return call;
    };
    ObjectFailures failures;
    failures.add(titled(30, 40, ""), ObjectRole::Use);
    failures.add(titled(20, 50, "not of a creation"), ObjectRole::Use);
    failures.add(titled(10, 60, "page 1"), ObjectRole::Create);
    failures.add(titled(5, 70, "page 2"), ObjectRole::Create);
    ASSERT_EQ(failures.all().size(), 1U);
    const ObjectFailure failure = failures.all()[0];
    EXPECT_EQ(failure.function, 30U);
    EXPECT_EQ(failure.count, 1U);
    EXPECT_EQ(failure.error, "std::bad_alloc");
    EXPECT_EQ(failure.title, "page 1");
    EXPECT_EQ(failure.object, 30U);
    EXPECT_EQ(failure.first_ns, 30U);
    // Not around it, of another error, or of another thread: further failures.
    failures.add(titled(6, 80, ""), ObjectRole::Use);
    EXPECT_EQ(failures.all().size(), 2U);
    failures.add(titled(3, 75, ""), ObjectRole::Use);
    EXPECT_EQ(failures.all().size(), 3U);
    ObjectCall other = thrown(2, 90, "std::logic_error");
    failures.add(other, ObjectRole::Use);
    EXPECT_EQ(failures.all().size(), 4U);
    other.tid = 2;
    failures.add(other, ObjectRole::Use);
    other.begin_ns = 1;
    other.left = false;
    failures.add(other, ObjectRole::Use);
    EXPECT_EQ(failures.all().size(), 5U) << "one more, and one of a known kind";
}

TEST(ObjectFailuresTest, TheMostFrequentComeFirstAndKindsAreBounded) {
    ObjectFailures failures;
    ObjectCall call = call_of(0, 1, 0);
    call.failed = true;
    for (std::uint32_t at = 0; at < ObjectFailures::max_kinds + 5; ++at) {
        call.function = at;
        failures.add(call, ObjectRole::Use);
    }
    call.function = 7;
    failures.add(call, ObjectRole::Use);
    const auto all = failures.all();
    EXPECT_EQ(all.size(), ObjectFailures::max_kinds);
    EXPECT_EQ(all.front().function, 7U);
    EXPECT_EQ(all.front().count, 2U);
    EXPECT_EQ(all.at(1).function, 0U);
}

TEST(ObjectFailuresTest, AnErrorTextBelongsToTheLastFailureOfItsThread) {
    ObjectFailures failures;
    const std::vector<ObjectFunction> functions(1);
    failures.add(ObjectMessage{0, 1, 2, "of nothing"}, functions);
    ObjectCall call = call_of(0, 1, 0);
    call.failed = true;
    call.result = 1;
    failures.add(call, ObjectRole::Use);
    failures.add(ObjectMessage{0, 2, 2, "of another thread"}, functions);
    failures.add(ObjectMessage{0, 1, 2, ""}, functions);
    failures.add(ObjectMessage{0, 1, 2, "line 12"}, functions);
    failures.add(ObjectMessage{0, 1, 2, "once more"}, functions);
    failures.add(call, ObjectRole::Use);
    failures.add(ObjectMessage{0, 1, 2, "line 345"}, functions);
    ASSERT_EQ(failures.all().size(), 1U) << "they differ in a number";
    EXPECT_EQ(failures.all()[0].error, "result 1, line 12");
    EXPECT_EQ(failures.all()[0].count, 2U);
}

TEST(ObjectErrorTest, NamesTheNumberBesideAResult) {
    ObjectCall call = call_of(0, 1, 0);
    call.error_number = 2;
    EXPECT_EQ(error_of(call), "ENOENT (No such file or directory)") << "without a result";
    call.result = 7;
    EXPECT_EQ(error_of(call), "result 7");
    call.error_number = 100'000;
    call.result = 0;
    EXPECT_EQ(error_of(call), "no result");
    call.result = 0x1'0000'0001;
    EXPECT_EQ(error_of(call), "result 4294967297");
    call.result = 0x8000'0000;
    EXPECT_EQ(error_of(call), "result -2147483648");
}

}  // namespace
}  // namespace lagtrap::calls::object_tree_test

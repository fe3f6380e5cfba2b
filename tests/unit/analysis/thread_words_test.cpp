#include "analysis/thread_words.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::thread_words_test {
namespace {

const ThreadName delayed{10, 11, "app", "worker", "app.service"};

TEST(ThreadWords, NameTheProcessAndTheUnitOnlyIfTheyAreOthers) {
    EXPECT_EQ(thread_words({10, 12, "app", "holder", "app.service"}, delayed), "holder (12)");
    EXPECT_EQ(thread_words({30, 31, "db", "writer", "app.service"}, delayed),
              "writer (31) of db (30)");
    EXPECT_EQ(thread_words({30, 31, "db", "writer", "db.service"}, delayed),
              "writer (31) of db (30, db.service)");
    EXPECT_EQ(thread_words({30, 30, "db", "db", "db.service"}, delayed), "db (30, db.service)");
}

TEST(ThreadWords, GiveTheNumberOfAThreadWithoutAName) {
    EXPECT_EQ(thread_words({10, 12, "app", "", ""}, delayed), "thread 12");
    EXPECT_EQ(thread_words({30, 31, "db", "", ""}, delayed), "thread 31 of db (30)");
    EXPECT_EQ(thread_words({0, 31, "", "", ""}, delayed), "thread 31");
}

}  // namespace
}  // namespace lagtrap::analysis::thread_words_test

#include "server/accounts/sign_in_limits.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::sign_in_limits_test {
namespace {

using namespace std::chrono_literals;

class SignInLimitsTest : public testing::Test {
  protected:
    bool may(const std::string& account, const std::string& sender, bool signed_in_before = false) {
        return limits_
                   .take(
                       account, sender, [=] { return signed_in_before; }, now_)
                   .wait.count() == 0;
    }
    void empty_the_bucket_of(const std::string& account) {
        for (int sender = 0; sender < 60; ++sender)
            EXPECT_TRUE(may(account, "10.0.0." + std::to_string(sender))) << sender;
        EXPECT_FALSE(may(account, "10.0.1.1"));
    }

    SignInLimits limits_;
    SignInLimits::Clock::time_point now_ = SignInLimits::Clock::now();
};

TEST_F(SignInLimitsTest, OneSenderCannotLockAnAccountOut) {
    for (int second = 0; second < 600; ++second, now_ += 1s)
        for (int i = 0; i < 5; ++i) static_cast<void>(may("ann", "10.0.0.1"));
    static_cast<void>(may("ann", "10.0.0.1"));
    EXPECT_FALSE(may("ann", "10.0.0.1"));
    EXPECT_TRUE(may("ann", "10.0.0.2"));
}

// Many names evict the sender's buckets of pairs, but not its own bucket.
TEST_F(SignInLimitsTest, OneSenderCannotLockAnAccountOutByManyNames) {
    for (int i = 0; i < 30'000; ++i) static_cast<void>(may("name" + std::to_string(i), "10.0.0.1"));
    for (int second = 0; second < 600; ++second, now_ += 1s)
        static_cast<void>(may("ann", "10.0.0.1"));
    EXPECT_TRUE(may("ann", "10.0.0.2"));
}

TEST_F(SignInLimitsTest, WhatAPairIsRefusedCostsItsSenderNothing) {
    for (int i = 0; i < 1000; ++i) static_cast<void>(may("ann", "10.0.0.1"));
    EXPECT_TRUE(may("bob", "10.0.0.1"));
}

TEST_F(SignInLimitsTest, ASenderTriesSixtyNamesAndThenOneInTwoSeconds) {
    for (int i = 0; i < 60; ++i) EXPECT_TRUE(may("name" + std::to_string(i), "10.0.0.1")) << i;
    EXPECT_FALSE(may("ann", "10.0.0.1"));
    now_ += 2s;
    EXPECT_TRUE(may("ann", "10.0.0.1"));
    EXPECT_FALSE(may("ann", "10.0.0.1"));
}

TEST_F(SignInLimitsTest, WhoeverSignedInBeforeIsNotShutOutByOthers) {
    const auto attempt = limits_.take(
        "ann", "10.9.9.9", [] { return false; }, now_);
    ASSERT_EQ(attempt.wait.count(), 0);
    limits_.succeeded("ann", "10.9.9.9", attempt);
    empty_the_bucket_of("ann");
    EXPECT_TRUE(may("ann", "10.9.9.9"));
    EXPECT_TRUE(may("ann", "10.8.8.8", true));  // according to the store
    EXPECT_FALSE(may("ann", "10.8.8.8"));
    // The limit of the pair applies to them too.
    for (int i = 0; i < 10; ++i) static_cast<void>(may("ann", "10.9.9.9"));
    EXPECT_FALSE(may("ann", "10.9.9.9"));
}

// Whoever attacks an account does not lock its owner's network out of other accounts.
TEST_F(SignInLimitsTest, WhatAnAccountIsRefusedCostsTheSenderNothing) {
    empty_the_bucket_of("ann");
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(may("ann", "10.5.0.1")) << i;
    for (int i = 0; i < 60; ++i) EXPECT_TRUE(may("name" + std::to_string(i), "10.5.0.1")) << i;
    EXPECT_FALSE(may("bob", "10.5.0.1"));
}

TEST_F(SignInLimitsTest, RightPasswordsCostNothing) {
    for (int i = 0; i < 1000; ++i) {
        const auto attempt = limits_.take(
            "ann", "10.9.9.9", [] { return false; }, now_);
        ASSERT_EQ(attempt.wait.count(), 0) << i;
        limits_.succeeded("ann", "10.9.9.9", attempt);
    }
    empty_the_bucket_of("ann");
}

TEST(KnownSendersTest, ForgetsTheOneSeenLongestAgo) {
    KnownSenders known(2);
    for (const char* pair : {"a", "b", "a", "c"}) known.add(pair);
    EXPECT_TRUE(known.contains("a") && known.contains("c"));
    EXPECT_FALSE(known.contains("b"));
}

}  // namespace
}  // namespace lagtrap::server::sign_in_limits_test

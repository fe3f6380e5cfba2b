#include "daemon/unwinding/kept_tables.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::daemon::kept_tables_test {
namespace {

class KeptTablesTest : public testing::Test {
  protected:
    std::shared_ptr<CodeModule> want(std::uint32_t user, std::uint64_t bytes) {
        auto module = std::make_shared<CodeModule>();
        module->charged_user = user;
        module->table_bytes = bytes;
        kept_.want(module);
        all_.push_back(module);
        return module;
    }
    bool is_kept(const std::shared_ptr<CodeModule>& module) {
        return kept_.within(room_bytes).contains(module.get());
    }

    static constexpr std::uint64_t room_bytes = 1600;
    KeptTables kept_;
    std::vector<std::shared_ptr<CodeModule>> all_;
};

TEST_F(KeptTablesTest, TogetherTheyHaveHalfOfTheRoom) {
    const auto first = want(0, 500), second = want(0, 301), third = want(0, 300);
    EXPECT_TRUE(is_kept(first));
    EXPECT_FALSE(is_kept(second));
    EXPECT_TRUE(is_kept(third)) << "it fits exactly";
    EXPECT_FALSE(is_kept(want(0, 1)));
}

TEST_F(KeptTablesTest, AUserHasAnEighthOfTheRoom) {
    EXPECT_FALSE(is_kept(want(1000, 201)));
    EXPECT_TRUE(is_kept(want(1000, 150)));
    EXPECT_FALSE(is_kept(want(1000, 51)));
    EXPECT_TRUE(is_kept(want(1000, 50)));
    EXPECT_TRUE(is_kept(want(1001, 200))) << "another user has a part, too";
}

TEST_F(KeptTablesTest, AUserHasAtMost256Files) {
    for (int i = 0; i < 257; ++i) want(1000, 0);
    EXPECT_TRUE(is_kept(all_[255]));
    EXPECT_FALSE(is_kept(all_[256]));
    EXPECT_TRUE(is_kept(want(1001, 0)));
}

TEST_F(KeptTablesTest, TogetherTheyAreAtMost2048Files) {
    for (int i = 0; i < 2049; ++i) want(0, 0);
    EXPECT_TRUE(is_kept(all_[2047]));
    EXPECT_FALSE(is_kept(all_[2048]));
}

TEST_F(KeptTablesTest, WhatIsNotWantedAgainIsNotKept) {
    const auto first = want(1000, 1), second = want(1000, 1);
    kept_.begin_renewal();
    kept_.want(second);
    EXPECT_TRUE(is_kept(first)) << "until the renewal ends";
    kept_.end_renewal();
    EXPECT_FALSE(is_kept(first));
    EXPECT_TRUE(is_kept(second));
    kept_.want(first);
    EXPECT_TRUE(is_kept(first));
}

TEST_F(KeptTablesTest, ARenewalCountsTheFilesOfAUserAnew) {
    for (int i = 0; i < 256; ++i) want(1000, 0);
    kept_.begin_renewal();
    for (int i = 0; i < 255; ++i) kept_.want(all_[static_cast<std::size_t>(i)]);
    kept_.end_renewal();
    EXPECT_TRUE(is_kept(want(1000, 0)));
    EXPECT_FALSE(is_kept(want(1000, 0)));
}

TEST_F(KeptTablesTest, ModulesAreNotHeldAlive) {
    const std::weak_ptr<CodeModule> module = want(0, 1);
    all_.clear();
    EXPECT_TRUE(module.expired());
    EXPECT_TRUE(kept_.within(room_bytes).empty());
}

}  // namespace
}  // namespace lagtrap::daemon::kept_tables_test

#include "daemon/merges/spool_keeper.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::daemon::spool_keeper_test {
namespace {

using namespace std::chrono_literals;

// Lets the keeper check repeatedly until `wanted` accepts its problem.
template <typename Wanted>
bool look_until(SpoolKeeper& keeper, std::atomic<int>& clock_s, Wanted wanted) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < deadline) {
        if (wanted(keeper.kept().problem)) return true;
        clock_s += 60;
        keeper.look();
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

TEST(SpoolKeeper, SaysWhenAnotherKeepsTheLockForAMinute) {
    const std::filesystem::path path =
        std::filesystem::path(::testing::TempDir()) / ("keeper-" + std::to_string(::getpid()));
    const auto spool = spool::Spool::create(path);
    ASSERT_TRUE(spool) << spool.error().message;
    UniqueFd held = open_file(path / "ready" / ".retention", O_RDONLY | O_CREAT, 0640).value();
    ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
    std::atomic<int> clock_s{0};
    std::atomic<int> warnings{0};
    {
        SpoolKeeper keeper(
            *spool, {}, Log([&](Log::Level, const std::string&) { ++warnings; }),
            [&] { return std::chrono::steady_clock::time_point(std::chrono::seconds(clock_s)); });
        const std::string said = "process " + std::to_string(::getpid()) + " of user";
        EXPECT_TRUE(look_until(keeper, clock_s, [&](const std::string& problem) {
            return problem.starts_with(said);
        })) << keeper.kept().problem;
        EXPECT_TRUE(keeper.kept().problem.ends_with(", for more than a minute"))
            << keeper.kept().problem;
        held.reset();
        EXPECT_TRUE(look_until(keeper, clock_s,
                               [](const std::string& problem) { return problem.empty(); }));
    }
    EXPECT_EQ(warnings, 1);
    std::filesystem::remove_all(path);
}

TEST(SpoolKeeper, CountsWhatItRemoves) {
    const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) /
                                       ("keeper-counts-" + std::to_string(::getpid()));
    const auto spool = spool::Spool::create(path);
    ASSERT_TRUE(spool) << spool.error().message;
    std::uint32_t made = 0;
    const auto add = [&] {
        const std::string id = "0f8fad5b-d9cb-469f-a165-70867728950" + std::to_string(made++);
        const auto name = spool::make_bundle_name(id, std::string(64, 'a'));
        ASSERT_TRUE(
            write_file_durably(spool->path_of(spool::EntryState::Sent, name), "a bundle", 0640));
    };
    std::atomic<int> clock_s{0};
    {
        SpoolKeeper keeper(*spool, {.size_bytes = 1, .age = 24h}, Log());
        for (std::uint32_t removed = 1; removed <= 2; ++removed) {
            add();
            EXPECT_TRUE(look_until(keeper, clock_s, [&](const std::string&) {
                return keeper.kept().removed.sent >= removed;
            }));
            EXPECT_EQ(keeper.kept().removed.sent, removed);
        }
    }
    std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace lagtrap::daemon::spool_keeper_test

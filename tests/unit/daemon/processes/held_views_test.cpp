#include "daemon/processes/held_views.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace lagtrap::daemon::held_views_test {
namespace {

UniqueFd a_folder() { return UniqueFd(::open("/", O_PATH | O_CLOEXEC)); }

TEST(HeldViews, HoldOneRootForAllProcessesWithAView) {
    HeldViews views(9);
    views.add(10, {1, 5}, a_folder());
    views.add(11, {1, 5}, a_folder());
    views.add(12, {1, 6}, a_folder());
    views.add(13, {2, 5}, a_folder());
    const trace::HeldRoots held = views.held();
    EXPECT_EQ(held.holder, ::getpid());
    ASSERT_EQ(held.descriptors.size(), 4U);
    EXPECT_EQ(held.descriptors.at(10), held.descriptors.at(11));
    EXPECT_NE(held.descriptors.at(10), held.descriptors.at(12));
    EXPECT_NE(held.descriptors.at(10), held.descriptors.at(13));
    views.add(10, {1, 6}, a_folder());
    EXPECT_EQ(views.held().descriptors.at(10), held.descriptors.at(12)) << "its root has changed";
}

TEST(HeldViews, CountEachViewBeyondTheLimitOnce) {
    HeldViews views(1);
    views.add(10, {1, 5}, a_folder());
    views.add(11, {2, 5}, a_folder());
    views.add(12, {2, 5}, a_folder());
    views.add(13, {3, 5}, a_folder());
    views.add(14, {1, 5}, a_folder());
    EXPECT_EQ(views.left_out(), 2U);
    EXPECT_EQ(views.held().descriptors.size(), 2U);
    for (std::uint64_t mounts = 4; mounts < 20'000; ++mounts) views.add(15, {mounts, 5}, {});
    EXPECT_EQ(views.left_out(), 10'000U);
}

}  // namespace
}  // namespace lagtrap::daemon::held_views_test

#include "core/unique_fd.hpp"

#include <fcntl.h>

#include <gtest/gtest.h>

namespace lagtrap::unique_fd_test {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

UniqueFd opened() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(UniqueFd, IsClosedOnce) {
    int number = -1;
    {
        const UniqueFd fd = opened();
        number = fd.get();
        EXPECT_TRUE(fd.valid());
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
    EXPECT_FALSE(UniqueFd().valid());
    EXPECT_EQ(UniqueFd().get(), -1);
    UniqueFd zero(0);
    EXPECT_TRUE(zero.valid());
    EXPECT_EQ(zero.release(), 0);
}

TEST(UniqueFd, MovesWithoutClosing) {
    UniqueFd first = opened();
    const int number = first.get();
    UniqueFd second(std::move(first));
    EXPECT_EQ(second.get(), number);
    EXPECT_FALSE(first.valid());
    EXPECT_TRUE(is_open(number));
    UniqueFd third = opened();
    const int replaced = third.get();
    third = std::move(second);
    EXPECT_EQ(third.get(), number);
    EXPECT_FALSE(second.valid());
    EXPECT_FALSE(is_open(replaced));
    EXPECT_TRUE(is_open(number));
    UniqueFd& same = third;
    third = std::move(same);
    EXPECT_EQ(third.get(), number);
    EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, IsReleasedOrReset) {
    UniqueFd fd = opened();
    const int number = fd.release();
    EXPECT_FALSE(fd.valid());
    EXPECT_TRUE(is_open(number));
    fd.reset(number);
    EXPECT_EQ(fd.get(), number);
    fd.reset();
    EXPECT_FALSE(fd.valid());
    EXPECT_FALSE(is_open(number));
}

}  // namespace
}  // namespace lagtrap::unique_fd_test

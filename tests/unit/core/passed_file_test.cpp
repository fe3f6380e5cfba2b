#include "core/passed_file.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include <gtest/gtest.h>

namespace lagtrap::passed_file_test {
namespace {

struct Pair {
    Pair() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        one.reset(ends[0]);
        other.reset(ends[1]);
    }
    UniqueFd one, other;
};

TEST(PassedFile, comes_with_the_bytes_and_is_the_same_file) {
    Pair pair;
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(::pipe(pipe_ends.data()), 0);
    const UniqueFd reader(pipe_ends[0]), writer(pipe_ends[1]);
    EXPECT_EQ(send_with_file(pair.one.get(), "hello", 5, writer.get()), 5);
    std::array<char, 16> into{};
    UniqueFd file;
    ASSERT_EQ(receive_with_file(pair.other.get(), into.data(), into.size(), file), 5);
    EXPECT_EQ(std::string_view(into.data(), 5), "hello");
    ASSERT_TRUE(file.valid());
    struct stat sent {
    }, came{};
    ASSERT_EQ(::fstat(writer.get(), &sent), 0);
    ASSERT_EQ(::fstat(file.get(), &came), 0);
    EXPECT_EQ(sent.st_ino, came.st_ino);
    EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
}

TEST(PassedFile, without_one_what_was_there_stays) {
    Pair pair;
    EXPECT_EQ(send_with_file(pair.one.get(), "x", 1, -1), 1);
    char into = 0;
    UniqueFd file(::dup(0));
    const int before = file.get();
    EXPECT_EQ(receive_with_file(pair.other.get(), &into, 1, file), 1);
    EXPECT_EQ(file.get(), before);
    pair.one.reset();
    EXPECT_EQ(receive_with_file(pair.other.get(), &into, 1, file), 0);
}

TEST(PassedFile, who_is_gone_is_told_without_a_signal) {
    Pair pair;
    pair.other.reset();
    EXPECT_EQ(send_with_file(pair.one.get(), "x", 1, -1), -1);
    EXPECT_EQ(errno, EPIPE);
}

}  // namespace
}  // namespace lagtrap::passed_file_test

#include "daemon/kernel/libbpf_support.hpp"

#include <bpf/libbpf.h>

#include <cerrno>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::libbpf_support_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// libbpf warns about each object that it cannot open.
void make_libbpf_warn(const std::string& path) {
    keep_libbpf_messages();
    EXPECT_EQ(bpf_object__open_file(path.c_str(), nullptr), nullptr);
}

TEST(LibbpfSupport, KeepsWarningsUntilTheyAreTaken) {
    (void)take_libbpf_messages();
    make_libbpf_warn("/nonexistent/one");
    make_libbpf_warn("/nonexistent/two");
    const std::string messages = take_libbpf_messages();
    EXPECT_THAT(messages, HasSubstr("/nonexistent/one"));
    EXPECT_THAT(messages, HasSubstr("/nonexistent/two"));
    EXPECT_EQ(messages.find('\n'), std::string::npos);
    EXPECT_NE(messages.back(), ' ');
    EXPECT_EQ(take_libbpf_messages(), "");
}

TEST(LibbpfSupport, KeepsThemByThread) {
    (void)take_libbpf_messages();
    std::thread([] { make_libbpf_warn("/nonexistent/one"); }).join();
    EXPECT_EQ(take_libbpf_messages(), "");
}

TEST(LibbpfSupport, KeepsTheEndOfLongMessages) {
    (void)take_libbpf_messages();
    for (int i = 0; i < 200; ++i) make_libbpf_warn("/nonexistent/" + std::string(100, 'x'));
    make_libbpf_warn("/nonexistent/last");
    const std::string messages = take_libbpf_messages();
    EXPECT_LE(messages.size(), 4096U + 3);
    EXPECT_GT(messages.size(), 4000U);
    EXPECT_THAT(messages, StartsWith("..."));
    EXPECT_THAT(messages, HasSubstr("/nonexistent/last"));
}

TEST(LibbpfSupport, AnErrorHasItsReasonAndTheMessages) {
    (void)take_libbpf_messages();
    const Error plain = libbpf_error("attach a probe", -ESRCH);
    EXPECT_EQ(plain.kind, ErrorKind::Vanished);
    EXPECT_EQ(plain.system_errno, ESRCH);
    EXPECT_EQ(plain.message, "attach a probe: No such process");
    make_libbpf_warn("/nonexistent/one");
    const Error told = libbpf_error("load", -EPERM);
    EXPECT_EQ(told.kind, ErrorKind::Denied);
    EXPECT_THAT(told.message, StartsWith("load: Operation not permitted ("));
    EXPECT_THAT(told.message, HasSubstr("/nonexistent/one"));
    EXPECT_EQ(told.message.back(), ')');
    EXPECT_EQ(libbpf_error("load", -EPERM).message, "load: Operation not permitted");
}

}  // namespace
}  // namespace lagtrap::daemon::libbpf_support_test

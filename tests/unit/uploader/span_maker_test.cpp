// The program that converts a bundle is a script here.
#include "uploader/span_maker.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::uploader::span_maker_test {
namespace {

class SpanMaker : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] Result<std::string> made(const std::string& commands) const {
        const std::filesystem::path program = folder_ / "lagtrap";
        std::ofstream(program) << "#!/bin/sh\n" << commands << "\n";
        EXPECT_EQ(::chmod(program.c_str(), 0700), 0);
        int turns = 0;
        return make_spans(program, "/a/bundle", [&] { return keep_going_ && ++turns < 600; });
    }
    bool keep_going_ = true;
    std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / ("spans-" + std::to_string(::getpid()));
};

TEST_F(SpanMaker, ReturnsWhatTheProgramWrites) {
    const auto spans = made("echo \"$@\"");
    ASSERT_TRUE(spans) << spans.error().message;
    EXPECT_EQ(*spans, "export --format otlp /a/bundle\n");
}

TEST_F(SpanMaker, SaysWhyTheProgramFailed) {
    EXPECT_EQ(made("echo spans; echo no such bundle >&2; exit 1").error().message,
              "no such bundle");
    EXPECT_EQ(made("exit 1").error().message, "lagtrap export failed");
    EXPECT_EQ(made("kill -9 $$").error().message, "lagtrap export was killed by signal 9");
}

TEST_F(SpanMaker, EndsAProgramThatWritesTooMuch) {
    const auto spans = made("head -c 17825792 /dev/zero; sleep 600");
    ASSERT_FALSE(spans);
    EXPECT_EQ(spans.error().message, "more than 16 MiB of spans");
}

TEST_F(SpanMaker, EndsAProgramThatIsNotWantedAnyMore) {
    keep_going_ = false;
    const auto spans = made("sleep 600");
    ASSERT_FALSE(spans);
    EXPECT_EQ(spans.error().kind, ErrorKind::Timeout);
}

TEST_F(SpanMaker, GivesTheProgramItsEnvironmentAndNoInput) {
    ::setenv("LAGTRAP_SPAN_TEST", "here", 1);
    const auto spans = made(
        "read -r pid name state parent group rest < /proc/$$/stat; echo $LAGTRAP_SPAN_TEST; "
        "readlink /proc/$$/fd/0; [ $group = $$ ] && echo leads; echo a warning >&2");
    ASSERT_TRUE(spans) << spans.error().message;
    EXPECT_EQ(*spans, "here\n/dev/null\nleads\n");
}

TEST_F(SpanMaker, SaysWhatTheProgramSaidWithoutBlankLines) {
    EXPECT_EQ(made("printf '\\nno\\033[2J\\n\\n' >&2; exit 3").error().message, "no\\x1b[2J");
    const auto absent = make_spans("/nonexistent/lagtrap", "/a/bundle", [] { return true; });
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().message, "start /nonexistent/lagtrap: No such file or directory");
}

TEST_F(SpanMaker, ReturnsAsMuchAsIsAllowed) {
    const auto most = made("head -c 16777216 /dev/zero");
    ASSERT_TRUE(most) << most.error().message;
    EXPECT_EQ(most->size(), 16'777'216U);
    EXPECT_FALSE(made("head -c 16777217 /dev/zero"));
}

}  // namespace
}  // namespace lagtrap::uploader::span_maker_test

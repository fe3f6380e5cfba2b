// Recordings are decoded in a sandboxed process.
#include "cli/bundles/confined_decoding.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::cli::confined_decoding_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ConfinedDecoding : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-decoding-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        std::ofstream(folder_ / "a.tar.zst") << "the bundle";
        std::ofstream(folder_ / "trace.pftrace") << "the trace";
        std::ofstream(folder_ / "system.xml") << "the system";
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path folder_;
};

Result<std::string> content_of(const fs::path& path) { return read_file(path, 1000); }

TEST_F(ConfinedDecoding, ReadsWhatTheRecordingIsMadeOf) {
    EXPECT_EQ(decode_confined(folder_ / "a.tar.zst", content_of).value(), "the bundle");
    const auto both = [](const fs::path& opened) -> Result<std::string> {
        TRY_ASSIGN(const std::string trace, content_of(opened));
        TRY_ASSIGN(const std::string system, content_of(opened.parent_path() / "system.xml"));
        return trace + ", " + system;
    };
    EXPECT_EQ(decode_confined(folder_, both).value(), "the trace, the system");
    EXPECT_EQ(decode_confined(folder_ / "trace.pftrace", both).value(), "the trace, the system");
    EXPECT_EQ(decode_confined(folder_ / "none", content_of).error().system_errno, ENOENT);
}

TEST_F(ConfinedDecoding, CanDoNothingElse) {
    const std::string target = folder_ / "target";
    const auto tried =
        decode_confined(folder_ / "a.tar.zst", [&](const fs::path&) -> Result<std::string> {
            std::string done;
            if (::open("/etc/passwd", O_RDONLY) >= 0) done += "open ";
            if (::open(target.c_str(), O_WRONLY | O_CREAT, 0600) >= 0) done += "create ";
            if (::unlink(target.c_str()) == 0 || errno != EPERM) done += "unlink ";
            if (::fork() >= 0) done += "fork ";
            if (::execl("/bin/true", "true", nullptr) == 0 || errno != EPERM) done += "exec ";
            if (::kill(::getppid(), 0) == 0) done += "signal ";
            return done;
        });
    EXPECT_EQ(tried.value(), "");
    EXPECT_FALSE(fs::exists(target));
}

TEST_F(ConfinedDecoding, WhatBreaksItBreaksNothingElse) {
    const auto broken = decode_confined(
        folder_ / "a.tar.zst", [](const fs::path&) -> Result<std::string> { std::abort(); });
    EXPECT_EQ(broken.error().kind, ErrorKind::System);
    EXPECT_THAT(broken.error().message, HasSubstr("Abort"));
    const auto ended = decode_confined(folder_ / "a.tar.zst",
                                       [](const fs::path&) -> Result<std::string> { ::_exit(0); });
    EXPECT_THAT(ended.error().message, HasSubstr("exited early"));
    const auto thrown = decode_confined(
        folder_ / "a.tar.zst",
        [](const fs::path&) -> Result<std::string> { throw std::runtime_error("no such thing"); });
    EXPECT_EQ(thrown.error().message, "no such thing");
}

TEST_F(ConfinedDecoding, WaitsForNoWriterOfAFifo) {
    ASSERT_EQ(::mkfifo((folder_ / "fifo.tar.zst").c_str(), 0600), 0);
    EXPECT_EQ(decode_confined(folder_ / "fifo.tar.zst", content_of).value(), "");
}

TEST_F(ConfinedDecoding, TooLittleMemoryIsSaid) {
    const auto large =
        decode_confined(folder_ / "a.tar.zst",
                        [](const fs::path&) -> Result<std::string> { throw std::bad_alloc(); });
    EXPECT_EQ(large.error().message, "this takes more memory than allowed");
}

TEST_F(ConfinedDecoding, ErrorsNameTheFileAsItWasGiven) {
    const auto failed =
        decode_confined(folder_ / "a.tar.zst", [](const fs::path& opened) -> Result<std::string> {
            return make_error(ErrorKind::Invalid, "reading " + opened.string() + ": damaged");
        });
    EXPECT_EQ(failed.error().message, "reading " + (folder_ / "a.tar.zst").string() + ": damaged");
}

}  // namespace
}  // namespace lagtrap::cli::confined_decoding_test

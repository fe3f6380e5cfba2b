#include "daemon/processes/foreign_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "daemon/processes/process_names.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::daemon::foreign_files_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const Result<UniqueFd>& file) {
    if (!file) return file.error().message;
    return read_all(file->get(), 100).value();
}

class PlainFiles : public testing::Test {
  protected:
    PlainFiles() {
        write("file", "content");
        fs::create_directory(folder_.path() / "folder");
        write("folder/file", "inner");
        fs::create_symlink("file", folder_.path() / "link");
        fs::create_directory_symlink("folder", folder_.path() / "way");
        write("one", "linked");
        fs::create_hard_link(folder_.path() / "one", folder_.path() / "other");
        EXPECT_EQ(::mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
        place_ = open_file(folder_.path(), O_PATH | O_DIRECTORY).value();
    }
    void write(const char* name, const char* content) const {
        std::ofstream(folder_.path() / name) << content;
    }
    [[nodiscard]] Result<UniqueFd> open(const std::string& name) const {
        return open_plain_file(place_.get(), name);
    }
    void expect_denied(const std::string& name, const char* why) const {
        const auto file = open(name);
        ASSERT_FALSE(file) << name;
        EXPECT_EQ(file.error().kind, ErrorKind::Denied) << name;
        EXPECT_NE(file.error().message.find(why), std::string::npos) << file.error().message;
    }

    trace::TemporaryDirectory folder_;
    UniqueFd place_;
};

TEST_F(PlainFiles, AreOpenedBelowTheFolder) {
    EXPECT_EQ(text_of(open("file")), "content");
    EXPECT_EQ(text_of(open("folder/file")), "inner");
    EXPECT_EQ(open("missing").error().kind, ErrorKind::NotFound);
}

TEST_F(PlainFiles, NothingElseIsOpened) {
    expect_denied("link", "is not a plain file");
    expect_denied("way/file", "is a link, or on another mount");
    expect_denied("folder/../../file", "is a link, or on another mount");
    expect_denied((folder_.path() / "file").string(), "is a link, or on another mount");
    expect_denied("one", "has other hard links");
    expect_denied("other", "has other hard links");
    expect_denied("folder", "is not a plain file");
    expect_denied("pipe", "is not a plain file");
}

TEST_F(PlainFiles, TheSameHoldsForAFileThatIsReopened) {
    const auto reopened = [this](const char* name) {
        const UniqueFd place = open_file(folder_.path() / name, O_PATH | O_NOFOLLOW).value();
        return reopen_plain_file(place.get());
    };
    EXPECT_EQ(text_of(reopened("file")), "content");
    for (const char* name : {"one", "folder", "pipe", "link"})
        EXPECT_EQ(reopened(name).error().kind, ErrorKind::Denied) << name;
    EXPECT_FALSE(reopen_plain_file(-1));
}

class FactsOfProcesses : public testing::Test {
  protected:
    void write(const char* name, const std::string& content) const {
        std::ofstream(process_.path() / name) << content;
    }
    void write_stat(const std::string& started) const {
        std::string fields;
        for (int field = 4; field < 22; ++field) fields += std::to_string(field) + " ";
        write("stat", "1 (a) b) (c) S " + fields + started + " 23 24\n");
    }
    [[nodiscard]] Result<ProcessFacts> facts() const { return read_process_facts(process_.path()); }

    trace::TemporaryDirectory process_;
};

TEST_F(FactsOfProcesses, AreTheInnermostNumberAndTheEffectiveUser) {
    write("status", "Name:\tUid:\nUid:\t1\t42\t3\t4\nNSpid:\t900\t70\t7\nThreads:\t1\n");
    write_stat("0");
    const auto first = facts();
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->inner_pid, 7U);
    EXPECT_EQ(first->effective_uid, 42U);
    EXPECT_EQ(first->party, party_of_user(1)) << "the real one";
    const std::int64_t second_ticks = ::sysconf(_SC_CLK_TCK);
    write_stat(std::to_string(second_ticks * 1'000'000));
    const std::int64_t later_ns = facts()->started_realtime_ns - first->started_realtime_ns;
    EXPECT_LT(std::llabs(later_ns / 1'000'000'000 - 1'000'000), 1'000);
}

TEST_F(FactsOfProcesses, AreNotGuessed) {
    const std::string users = "Name:\ta\nUid:\t1\t42\n";
    const auto wrong = [&](const std::string& status, const std::string& started = "5") {
        write("status", status);
        write_stat(started);
        const auto found = facts();
        return found ? std::string("none") : found.error().message;
    };
    EXPECT_EQ(wrong(users + "NSpid:\t1\n"), "none");
    EXPECT_EQ(wrong(users), "status has no NSpid or no Uid");
    EXPECT_EQ(wrong(users + "NSpid:\n"), "status has no NSpid or no Uid");
    EXPECT_EQ(wrong("Name:\ta\nUid:\t1\nNSpid:\t1\n"), "status has no NSpid or no Uid");
    EXPECT_EQ(wrong(users + "NSpid:\t1x\n"), "NSpid is \"1x\", not a number");
    EXPECT_EQ(wrong("Name:\ta\nUid:\t1\t-2\nNSpid:\t1\n"), "Uid is \"-2\", not a number");
    EXPECT_EQ(wrong(users + "NSpid:\t1\n", "x"), "the time of start is \"x\", not a number");
    write("stat", "1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n");
    EXPECT_EQ(facts().error().message, "stat is too short");
    write("stat", "");
    EXPECT_EQ(facts().error().message, "stat is too short");
    fs::remove(process_.path() / "status");
    EXPECT_EQ(facts().error().kind, ErrorKind::NotFound);
}

TEST_F(FactsOfProcesses, NamesAreThoseThatTheKernelHolds) {
    EXPECT_EQ(name_of(process_.path()), "");
    EXPECT_EQ(program_of(process_.path()), "");
    write("comm", "a\tb\nc\n");
    fs::create_symlink("/nonexistent/program (deleted)", process_.path() / "exe");
    EXPECT_EQ(name_of(process_.path()), "a\tb");
    EXPECT_EQ(program_of(process_.path()), "/nonexistent/program (deleted)");
}

}  // namespace
}  // namespace lagtrap::daemon::foreign_files_test

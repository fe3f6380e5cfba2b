// Tests the real reader process, and stand-ins for one that a hostile file has broken.
#include "binaries/reader/file_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "sandbox/foreign_file.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::binaries::file_reader_test {
namespace {

const std::string library = build_folder() + "/binaries/store/libstore.so";

FileReaderOptions options_for(const std::string& program) {
    FileReaderOptions options;
    options.program = program;
    return options;
}

// While it exists, this process reads all files through a reader.
class Reading {
  public:
    explicit Reading(FileReader& reader) { read_files_by(&reader); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() { read_files_by(nullptr); }
};

TEST(FileReader, SaysWhatReadingHereSays) {
    FileReader reader(options_for(build_folder() + "/binaries/lagtrap-reader"));
    const auto file = open_regular_file(library);
    ASSERT_TRUE(file);
    const auto here = ProgramFile::open(library);
    ASSERT_TRUE(here);
    const std::string build_id = read_build_id(file->get());
    auto image = ElfImage::from_file(UniqueFd(::fcntl(file->get(), F_DUPFD_CLOEXEC, 0)), library);
    ASSERT_TRUE(image);
    const auto table_here = make_unwind_table(*image);
    ASSERT_TRUE(table_here);
    const auto functions_here = here->functions();
    ASSERT_TRUE(functions_here);
    const auto exits_here = function_exits(*here, functions_here->front());

    const auto table = reader.unwind_table(file->get(), library, build_id);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->pages, table_here->pages);
    EXPECT_EQ(*reader.build_id(file->get()), build_id);
    const Reading through(reader);
    const auto there = ProgramFile::open(library);
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_EQ(there->build_id(), build_id);
    EXPECT_EQ(there->exceptions_may_pass(), here->exceptions_may_pass());
    const auto functions = there->functions();
    ASSERT_TRUE(functions);
    ASSERT_EQ(functions->size(), functions_here->size());
    EXPECT_EQ(functions->back().name, functions_here->back().name);
    const auto exits = function_exits(*there, functions_here->front());
    ASSERT_EQ(exits.ok(), exits_here.ok());
    if (exits) {
        EXPECT_EQ(exits->exits.size(), exits_here->exits.size());
        EXPECT_EQ(exits->exits.front().file_offset, exits_here->exits.front().file_offset);
    }
    const auto code = there->code_at(functions_here->front().file_offset);
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(*code, *here->code_at(functions_here->front().file_offset));
    EXPECT_EQ(code->size(), code_bytes);
    EXPECT_TRUE(there->code_at(UINT64_MAX)->empty());
    PlaceNamesRequest request;
    request.path = library;
    request.offsets = {functions_here->front().file_offset};
    const auto names = name_places(*file, request);
    ASSERT_TRUE(names) << names.error().message;
    EXPECT_FALSE(names->places.front().symbol.empty());
    EXPECT_EQ(reader.counts().started, 1U);
}

// The reader ends with the thread that started it.
TEST(FileReader, StaysWhenTheThreadThatAskedFirstIsGone) {
    FileReader reader(options_for(build_folder() + "/binaries/lagtrap-reader"));
    const auto file = open_regular_file(library);
    ASSERT_TRUE(file);
    const std::string build_id = read_build_id(file->get());
    for (int thread = 0; thread < 3; ++thread)
        std::thread([&] { EXPECT_EQ(*reader.build_id(file->get()), build_id); }).join();
    EXPECT_EQ(reader.counts().started, 1U);
}

TEST(FileReader, TellsWhereArgumentsAre) {
    const std::string program = "/usr/lib/postgresql/15/bin/postgres";
    const auto here = ProgramFile::open(program);
    ASSERT_TRUE(here);
    const auto probes_here = here->usdt_probes();
    ASSERT_TRUE(probes_here);
    FileReader reader(options_for(build_folder() + "/binaries/lagtrap-reader"));
    const Reading through(reader);
    const auto there = ProgramFile::open(program);
    ASSERT_TRUE(there);
    const auto probes = there->usdt_probes();
    ASSERT_TRUE(probes) << probes.error().message;
    ASSERT_EQ(probes->size(), probes_here->size());
    std::size_t arguments = 0;
    for (std::size_t i = 0; i < probes->size(); ++i) {
        ASSERT_EQ((*probes)[i].places.size(), (*probes_here)[i].places.size());
        for (std::size_t n = 0; n < (*probes)[i].places.size(); ++n, ++arguments) {
            const UsdtArgument& one = (*probes)[i].places[n];
            // Some of PostgreSQL's arguments are global variables, which are not read.
            EXPECT_TRUE(one.readable() || one.place == UsdtPlace::GlobalVariable)
                << (*probes)[i].arguments;
            EXPECT_EQ(std::memcmp(&one, &(*probes_here)[i].places[n], sizeof one), 0)
                << (*probes)[i].arguments;
        }
    }
    EXPECT_GT(arguments, 50U);
}

TEST(FileReader, TellsAnotherFileByItsBuildId) {
    FileReader reader(options_for(build_folder() + "/binaries/lagtrap-reader"));
    const auto file = open_regular_file(library);
    ASSERT_TRUE(file);
    const auto table = reader.unwind_table(file->get(), library, "00112233");
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().kind, ErrorKind::Vanished);
}

// A bad file costs only its own reader; the next file is read by another process.
class BrokenReader : public ::testing::Test {
  protected:
    void SetUp() override {
        script_ =
            std::filesystem::path(::testing::TempDir()) / ("reader-" + std::to_string(::getpid()));
    }
    void TearDown() override { std::filesystem::remove(script_); }
    void write_script(const std::string& what) const {
        std::ofstream(script_) << "#!/bin/sh\n" << what << "\n";
        ::chmod(script_.c_str(), 0755);
    }
    // Counts after two attempts to read if no reader can be started.
    FileReaderCounts counts_without(const std::string& what) {
        write_script(what);
        FileReaderOptions options = options_for(script_);
        options.start_pause = std::chrono::hours(1);
        options.longest_start_pause = std::chrono::hours(1);
        FileReader reader(options);
        const auto file = open_regular_file(library);
        for (int i = 0; i < 2; ++i) {
            const auto table = reader.unwind_table(file->get(), library, "");
            EXPECT_FALSE(table);
            if (!table) {
                EXPECT_EQ(table.error().kind, ErrorKind::Busy);
                EXPECT_NE(table.error().message.find(script_), std::string::npos)
                    << table.error().message;
            }
        }
        EXPECT_FALSE(reader.may_start());
        EXPECT_EQ(reader.counts().started, 0U);
        EXPECT_EQ(reader.counts().not_started, 1U);
        return reader.counts();
    }
    // The greeting of a sandboxed reader, here as user 7.
    const std::string greeting =
        "printf 'rlgt\\007\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000' >&3\n";
    // Counts after a reader that does `what` was asked for two files.
    FileReaderCounts counts_after(const std::string& what, FileReaderOptions options) {
        write_script(greeting + what);
        options.program = script_;
        FileReader reader(options);
        const auto file = open_regular_file(library);
        for (int i = 0; i < 2; ++i) {
            const auto table = reader.unwind_table(file->get(), library, "");
            EXPECT_FALSE(table);
            if (!table) {
                EXPECT_TRUE(table.error().kind == ErrorKind::System ||
                            table.error().kind == ErrorKind::Timeout);
            }
        }
        return reader.counts();
    }
    std::filesystem::path script_;
};

TEST_F(BrokenReader, ThatDies) {
    const auto counts = counts_after("kill -SEGV $$", {});
    EXPECT_EQ(counts.started, 2U);
    EXPECT_EQ(counts.ended, 2U);
    EXPECT_NE(counts.last_problem.find("Segmentation fault"), std::string::npos)
        << counts.last_problem;
}

TEST_F(BrokenReader, ThatTakesTooMuchCpuTime) {
    FileReaderOptions options;
    options.cpu_time = std::chrono::milliseconds(300);
    const auto counts = counts_after("while :; do :; done", options);
    EXPECT_EQ(counts.stopped, 2U);
    EXPECT_NE(counts.last_problem.find("CPU time"), std::string::npos) << counts.last_problem;
}

TEST_F(BrokenReader, ThatHangs) {
    FileReaderOptions options;
    options.wall_time = std::chrono::milliseconds(300);
    const auto counts = counts_after("read line <&4", options);
    EXPECT_EQ(counts.stopped, 2U);
    EXPECT_NE(counts.last_problem.find("took longer"), std::string::npos) << counts.last_problem;
}

TEST_F(BrokenReader, ThatKeepsOthersWaiting) {
    write_script(greeting + "read line <&4");
    FileReaderOptions options = options_for(script_);
    options.max_processes = 1;
    FileReader reader(options);
    const auto file = open_regular_file(library);
    std::atomic<bool> given_up{false};
    auto first = std::async(std::launch::async, [&] {
        return reader.program(file->get(), library, {std::nullopt, &given_up});
    });
    while (reader.counts().started == 0) std::this_thread::yield();
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    const auto second = reader.program(file->get(), library, {soon, nullptr});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::Busy);
    EXPECT_EQ(second.error().message, "all 1 file readers are busy");
    EXPECT_TRUE(reader.try_start()) << "there is one, though it is busy";
    given_up.store(true);
    const auto answer = first.get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::Timeout);
}

TEST_F(BrokenReader, ThatIsStuckIsNotFollowedByOthersWithoutEnd) {
    write_script(greeting + "read line <&4");
    FileReaderOptions options = options_for(script_);
    options.max_stuck = 0;
    FileReader reader(options);
    const auto file = open_regular_file(library);
    const auto answer = reader.program(file->get(), library);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::Busy);
    EXPECT_EQ(reader.counts().started, 0U);
}

TEST_F(BrokenReader, ThatIsSlowerThanItsCallerCanWait) {
    write_script(greeting + "read line <&4");
    FileReader reader(options_for(script_));
    const auto file = open_regular_file(library);
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    const auto answer = reader.program(file->get(), library, {soon, nullptr});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::Timeout);
    EXPECT_EQ(reader.counts().stopped, 1U);
}

TEST_F(BrokenReader, ThatIsStoppedAnswersNobody) {
    write_script(greeting + "read line <&4");
    FileReader reader(options_for(script_));
    const auto file = open_regular_file(library);
    auto waiting =
        std::async(std::launch::async, [&] { return reader.program(file->get(), library); });
    while (reader.counts().started == 0) std::this_thread::yield();
    reader.stop();
    const auto answer = waiting.get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::Timeout);
}

TEST_F(BrokenReader, ThatFailedAtAFileIsNotAskedAboutItAgain) {
    FileReader good(options_for(build_folder() + "/binaries/lagtrap-reader"));
    const Reading through(good);
    const auto program = ProgramFile::open(library);
    ASSERT_TRUE(program);
    good.stop();
    for (int times = 0; times < 2; ++times) {
        const auto functions = program->functions();
        ASSERT_FALSE(functions);
        EXPECT_EQ(functions.error().kind, ErrorKind::Timeout);
    }
    EXPECT_EQ(good.counts().stopped, 1U);
}

TEST_F(BrokenReader, ThatSaysNonsense) {
    // A successful answer with 24 bytes that are not a table; then one that announces more than is
    // ever accepted.
    const std::string zeros = "\\000\\000\\000\\000\\000\\000\\000\\000";
    const auto counts = counts_after(
        "printf '" + zeros + "\\030\\000\\000\\000\\000\\000\\000\\000" + zeros + zeros + zeros +
            zeros + "\\377\\377\\377\\377\\377\\377\\377\\377' >&3; read line <&4",
        {});
    EXPECT_EQ(counts.stopped, 2U);
}

TEST_F(BrokenReader, ThatIsNotThere) {
    FileReader reader(options_for("/nonexistent/lagtrap-reader"));
    const Status started = reader.try_start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().system_errno, ENOENT);
    EXPECT_NE(started.error().message.find("/nonexistent/lagtrap-reader"), std::string::npos);
    EXPECT_NE(started.error().message.find("No such file"), std::string::npos)
        << started.error().message;
    EXPECT_EQ(reader.counts().start_problem, started.error().message);
}

TEST_F(BrokenReader, ThatCanNotBeExecuted) {
    write_script("");
    ::chmod(script_.c_str(), 0644);
    const Status started = FileReader(options_for(script_)).try_start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().system_errno, EACCES);
}

TEST_F(BrokenReader, ThatEndsBeforeItReadsAnything) {
    EXPECT_NE(counts_without("exit 3").start_problem.find("status 3"), std::string::npos);
    EXPECT_NE(counts_without("exit 4").start_problem.find("confined"), std::string::npos);
    EXPECT_NE(counts_without("kill -SEGV $$").start_problem.find("Segmentation fault"),
              std::string::npos);
    EXPECT_NE(counts_without("printf 0123456789abcdef >&3; read line <&4")
                  .start_problem.find("a different program"),
              std::string::npos);
}

TEST_F(BrokenReader, ThatComesBackIsUsedAgain) {
    FileReaderOptions options = options_for(script_);
    options.start_pause = options.longest_start_pause = std::chrono::milliseconds(1);
    FileReader reader(options);
    EXPECT_FALSE(reader.try_start());
    write_script("exec " + build_folder() + "/binaries/lagtrap-reader" + " \"$@\"");
    while (!reader.may_start()) {
    }
    const auto file = open_regular_file(library);
    EXPECT_TRUE(reader.unwind_table(file->get(), library, ""));
    EXPECT_TRUE(reader.counts().start_problem.empty());
    EXPECT_EQ(reader.counts().not_started, 1U);
    EXPECT_EQ(reader.counts().started, 1U);
}

TEST_F(BrokenReader, ThatIsAnotherUserSaysSo) {
    EXPECT_EQ(counts_after("kill -SEGV $$", {}).user, 7U);
    FileReader reader(options_for(build_folder() + "/binaries/lagtrap-reader"));
    ASSERT_TRUE(reader.try_start());
    EXPECT_NE(reader.counts().user, 0U);
}

}  // namespace
}  // namespace lagtrap::binaries::file_reader_test

// One reader process: the real one, and stand-ins.
#include "binaries/reader/reader_process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "core/sanitized.hpp"
#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::reader_process_test {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Limits = ReaderProcess::Limits;

const std::string reader = build_folder() + "/binaries/lagtrap-reader";
const std::string library = store_folder / "libstore.so";

Limits limits(std::chrono::milliseconds wall_time = 60s, std::chrono::milliseconds cpu_time = 60s) {
    return {.cpu_time = cpu_time, .wall_time = wall_time};
}

class ReaderProcessTest : public ::testing::Test {
  protected:
    // A program that greets as a confined reader of user 7, and then does `what`.
    std::string stand_in(const std::string& what) {
        return script(
            "printf 'rlgt\\007\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000' "
            ">&3\n" +
            what);
    }
    std::string script(const std::string& what) {
        const auto path = folder_.path() / "reader";
        std::ofstream(path) << "#!/bin/sh\n" << what << "\n";
        ::chmod(path.c_str(), 0755);
        return path;
    }
    static std::unique_ptr<ReaderProcess> started(const std::string& program, int nice = 0) {
        auto process = ReaderProcess::start(program, nice);
        EXPECT_TRUE(process) << process.error().message;
        return process ? std::move(process).value() : nullptr;
    }
    Result<ReaderProcess::Answer> ask(ReaderProcess& process, ReaderTask task,
                                      const std::string& body = "", const Limits& with = limits()) {
        const UniqueFd file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
        return process.ask(task, file.get(), body, "", with);
    }
    // The error of a question to a stand-in.
    Error error_of(const std::string& what, const Limits& with = limits()) {
        const auto process = started(stand_in(what));
        if (process == nullptr) return {};
        const auto answer = ask(*process, ReaderTask::BuildId, "", with);
        EXPECT_FALSE(answer);
        return answer ? Error{} : answer.error();
    }

    TemporaryFolder folder_;
    std::string file_ = library;
};

TEST_F(ReaderProcessTest, AnswersAndStaysAlive) {
    const auto process = started(reader);
    ASSERT_NE(process, nullptr);
    EXPECT_TRUE(process->alive());
    for (int again = 0; again < 2; ++again) {
        const auto answer = ask(*process, ReaderTask::BuildId);
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->task_or_error, 0U);
        EXPECT_THAT(answer->body, HasSubstr(ProgramFile::open(library)->build_id()));
    }
    EXPECT_FALSE(process->ended_by_itself());
    EXPECT_EQ(process->end(), std::nullopt);
    EXPECT_EQ(process->end(), std::nullopt) << "it is gone already";
}

// Sanitizers have a heap of their own.
#if !LAGTRAP_SANITIZED

// Of the youngest child of this thread: the KiB that are no file's.
long memory_of_child() {
    std::ifstream children("/proc/thread-self/children");
    std::string pid;
    for (std::string next; children >> next;) pid = next;
    const auto status = read_file("/proc/" + pid + "/status", 65536);
    const std::size_t at = status ? status->find("RssAnon:") : std::string::npos;
    return at == std::string::npos ? -1 : std::stol(status->substr(at + 8));
}

TEST_F(ReaderProcessTest, ReturnsItsMemoryAfterALargeAnswer) {
    const auto process = started(reader);
    ASSERT_NE(process, nullptr);
    ASSERT_TRUE(ask(*process, ReaderTask::BuildId));
    const long before = memory_of_child();
    ASSERT_GT(before, 0);
    file_ = "/proc/self/exe";
    WireWriter body;
    body.text(file_);
    body.text("");
    const auto answer = ask(*process, ReaderTask::Functions, body.take());
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_GT(answer->body.size(), 1'000'000U) << "this program has fewer functions than expected";
    ASSERT_TRUE(ask(*process, ReaderTask::BuildId)) << "answered after the memory was returned";
    EXPECT_LT(memory_of_child() - before, 1000);
}

#endif

TEST_F(ReaderProcessTest, CountsItsTimeForAThread) {
    const auto process = started(reader);
    ASSERT_NE(process, nullptr);
    process->read_for(77);
    EXPECT_EQ(process->reads_for(), 77);
    Result<ReaderProcess::Answer> answer = ReaderProcess::Answer{};
    WireWriter body;
    body.text(library);
    body.text("");
    while (answer && process->cpu_time_for_it() == 0ns)
        answer = ask(*process, ReaderTask::Functions, WireWriter(body).take());
    EXPECT_TRUE(answer);
    process->read_for(78);
    EXPECT_EQ(process->reads_for(), 78);
    (void)process->end();
    EXPECT_EQ(process->cpu_time_for_it(), 0ns);
}

TEST_F(ReaderProcessTest, HasTheGivenPriority) {
    const auto process =
        started(script("printf 'rlgt\\007\\000\\000\\000\\000\\000\\000\\000\\000"
                       "\\000\\000\\000' >&3; test \"$0 $1\" = \"" +
                       (folder_.path() / "reader").string() + " 5\" && exit 9; exit 8"),
                5);
    ASSERT_NE(process, nullptr);
    const auto answer = ask(*process, ReaderTask::BuildId);
    ASSERT_FALSE(answer);
    EXPECT_TRUE(process->ended_by_itself());
    EXPECT_EQ(process->user(), 7U);
}

TEST_F(ReaderProcessTest, RefusesLargeQuestionsBeforeItSendsThem) {
    const auto process = started(reader);
    ASSERT_NE(process, nullptr);
    const auto refused =
        ask(*process, ReaderTask::BuildId, std::string(max_request_bytes + 1, 'x'));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(refused.error().message, "the request to the file reader is too large");
    EXPECT_TRUE(ask(*process, ReaderTask::BuildId, std::string(max_request_bytes, 'x')));
}

TEST_F(ReaderProcessTest, AnswersHaveALimit) {
    const auto process = started(reader);
    ASSERT_NE(process, nullptr);
    Limits few = limits();
    few.answer_bytes = 3;
    const auto refused = ask(*process, ReaderTask::BuildId, "", few);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::System);
    EXPECT_THAT(refused.error().message, StartsWith("the file reader announced "));
    EXPECT_THAT(refused.error().message, EndsWith(" bytes; at most 3 are taken"));
}

TEST_F(ReaderProcessTest, TimeIsLimited) {
    Error error = error_of("read line <&4", limits(1500ms));
    EXPECT_EQ(error.kind, ErrorKind::Timeout);
    EXPECT_EQ(error.message, "reading the file took longer than 1.5 s");
    error = error_of("read line <&4", limits(1s));
    EXPECT_EQ(error.message, "reading the file took longer than 1 s");
    error = error_of("while :; do :; done", limits(600s, 50ms));
    EXPECT_EQ(error.kind, ErrorKind::Timeout);
    EXPECT_EQ(error.message, "reading the file took more than 0.0 s of CPU time");
    Limits given_up = limits();
    given_up.given_up = [] { return true; };
    error = error_of("read line <&4", given_up);
    EXPECT_EQ(error.kind, ErrorKind::Timeout);
    EXPECT_EQ(error.message, "reading the file was cancelled");
}

TEST_F(ReaderProcessTest, SaysHowAReaderEnded) {
    EXPECT_EQ(error_of("exit 1").message, "the file reader exited early");
    EXPECT_EQ(error_of("kill -SEGV $$").message,
              "the file crashed its reader (Segmentation fault)");
    const auto start = [&](const std::string& what) {
        const auto process = ReaderProcess::start(script(what), 0);
        EXPECT_FALSE(process);
        return process ? "" : process.error().message;
    };
    const std::string place = "start " + (folder_.path() / "reader").string() + ": ";
    EXPECT_EQ(start("exit 4"), place + "it could not be confined");
    EXPECT_EQ(start("exit 3"), place + "it ended with status 3");
    EXPECT_EQ(start("kill -SEGV $$"), place + "it was killed (Segmentation fault)");
    EXPECT_EQ(start("printf 0123456789abcdef >&3; read line <&4"),
              place + "it is a different program");
    // The right greeting, but with a body.
    EXPECT_EQ(start("printf 'rlgt\\007\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000' "
                    ">&3; read line <&4"),
              place + "it is a different program");
}

TEST_F(ReaderProcessTest, IsNotAliveOnceItWasKilled) {
    const auto process = started(stand_in("exec 3>&-; read line <&4"));
    ASSERT_NE(process, nullptr);
    while (process->alive()) ::usleep(1000);
    EXPECT_FALSE(process->ended_by_itself());
}

TEST(DebugFilesOfAProgram, AreBesideItOrInTheFolderForThem) {
    const auto may_be = [](const char* path, const char* program = "/opt/shop/bin/shop") {
        return may_be_debug_file_of(path, program);
    };
    EXPECT_TRUE(may_be("/usr/lib/debug/.build-id/01/23.debug"));
    EXPECT_TRUE(may_be("/opt/shop/bin/shop.debug"));
    EXPECT_TRUE(may_be("/opt/shop/bin/.debug/shop.debug"));
    EXPECT_TRUE(may_be("/opt/shop/bin/shop.debug", "/opt/shop/lib/../bin/shop"));
    for (const char* other : {"/opt/shop/secret", "/opt/shop/binary/x", "/usr/lib/debugger/x",
                              "/opt/shop/bin/../secret", "/usr/lib/debug/../secret", "/etc/passwd"})
        EXPECT_FALSE(may_be(other)) << other;
    EXPECT_FALSE(may_be("shop/shop.debug", "shop/shop")) << "a folder that depends on this process";
    EXPECT_TRUE(may_be("/usr/lib/debug/x", "shop"));
}

// Errors and answers of the real reader's service.
class ReaderService : public ReaderProcessTest {
  protected:
    void SetUp() override { process_ = started(reader); }
    // The error's kind and text.
    std::pair<ErrorKind, std::string> refusal(ReaderTask task, const std::string& body = "") {
        const auto answer = ask(*process_, task, body);
        EXPECT_TRUE(answer) << answer.error().message;
        if (!answer) return {};
        EXPECT_NE(answer->task_or_error, 0U);
        return {static_cast<ErrorKind>(answer->task_or_error - 1), answer->body};
    }
    static std::string named(const std::string& name, const std::string& more = "") {
        WireWriter body;
        body.text(name);
        if (!more.empty()) body.text(more);
        return body.take();
    }
    std::unique_ptr<ReaderProcess> process_;
};

TEST_F(ReaderService, UnknownTasksAreRefused) {
    ASSERT_NE(process_, nullptr);
    EXPECT_EQ(refusal(static_cast<ReaderTask>(99)),
              (std::pair<ErrorKind, std::string>{ErrorKind::Invalid, "an unknown task"}));
    EXPECT_TRUE(process_->alive());
}

TEST_F(ReaderService, ErrorsHaveTheirKindAndText) {
    ASSERT_NE(process_, nullptr);
    file_ = "/bin/sh";
    std::filesystem::path text = folder_.path() / "text";
    write(text, "no program");
    file_ = text;
    for (const ReaderTask task :
         {ReaderTask::Table, ReaderTask::Program, ReaderTask::Functions, ReaderTask::Probes,
          ReaderTask::Exits, ReaderTask::Places, ReaderTask::Code, ReaderTask::Calls}) {
        const auto [kind, message] = refusal(task, named("the file", "x"));
        EXPECT_EQ(kind, ErrorKind::Invalid) << static_cast<int>(task);
        EXPECT_THAT(message, StartsWith("the file: ")) << static_cast<int>(task);
    }
    EXPECT_EQ(refusal(ReaderTask::Container).first, ErrorKind::Invalid);
    // Only so much of a message is sent.
    const auto [kind, message] = refusal(ReaderTask::Program, named(std::string(8192, 'n')));
    EXPECT_EQ(message.size(), 4096U);
}

TEST_F(ReaderService, ATableIsOfTheWantedBuild) {
    ASSERT_NE(process_, nullptr);
    EXPECT_EQ(
        refusal(ReaderTask::Table, named("lib", "0123")),
        (std::pair<ErrorKind, std::string>{ErrorKind::Vanished, "a different file is there now"}));
    for (const std::string& wanted : {std::string(), ProgramFile::open(library)->build_id()}) {
        WireWriter body;
        body.text("lib");
        body.text(wanted);
        const auto answer = ask(*process_, ReaderTask::Table, body.take());
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->task_or_error, 0U) << answer->body;
    }
}

TEST_F(ReaderService, EndsWithAQuestionThatIsTooLarge) {
    ASSERT_NE(process_, nullptr);
    const auto answer = process_->ask(ReaderTask::BuildId, -1, "", "", limits());
    ASSERT_FALSE(answer) << "a question is about a file";
    EXPECT_EQ(answer.error().message, "the file reader exited early");
    EXPECT_TRUE(process_->ended_by_itself());
}

// Exit status and messages of the program itself.
int exit_status(const std::string& command) {
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ReaderMain, IsForInternalUse) {
    for (const std::string arguments : {"", " 5 6", " x", " 5"}) {
        EXPECT_EQ(exit_status(reader + arguments + " 3</dev/null 2>/dev/null"), 2) << arguments;
        EXPECT_EQ(output_of(reader + arguments + " 2>&1 3</dev/null"),
                  "lagtrap-reader is for internal use by lagtrapd\n");
    }
    EXPECT_EQ(exit_status(reader + " 5 3<&- 2>/dev/null"), 2);
}

}  // namespace
}  // namespace lagtrap::binaries::test::reader_process_test

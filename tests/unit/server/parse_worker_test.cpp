#include "server/ingest/parse_worker.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "server/ingest/confinement.hpp"
#include "server/ingest/ingest.hpp"
#include "server/ingest/job_runner.hpp"
#include "server/ingest/parsed_bundle.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::parse_worker_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t second_ns = 1'000'000'000;

class ParseWorkerTest : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        std::ofstream(directory_ / "bundle") << "+the bundle";
    }
    // A program in place of the parser; the bundle is its descriptor 3.
    std::string program(const std::string& script) {
        const auto path = directory_ / "parser.sh";
        std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
        ::chmod(path.c_str(), 0700);
        return path;
    }
    Result<std::string> answer(const std::string& script, std::size_t limit_bytes = 1000) {
        TRY_ASSIGN(const UniqueFd file, open_file(directory_ / "bundle", O_RDONLY));
        TRY_ASSIGN(const auto worker, ParseWorker::start(file.get(), ParseTask{}, program(script)));
        return worker->read_all(limit_bytes);
    }
};

TEST_F(ParseWorkerTest, GivesWhatTheParserSays) {
    EXPECT_EQ(answer("cat <&3").value(), "the bundle");
    EXPECT_EQ(answer("printf '+%s' \"$1 $2\"").value(), "--parse-worker bundle");
    const auto wrong = answer("printf -- '-no bundle\\033[1m'");
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(wrong.error().message, "no bundle\\x1b[1m");
}

TEST_F(ParseWorkerTest, TellsABrokenParserFromABadBundle) {
    for (const auto& [script, said] :
         {std::pair{"kill -SEGV $$", "Segmentation fault"},
          std::pair{"kill -KILL $$", "more time than is allowed"},
          std::pair{"exit 4", "could not be confined"}, std::pair{"exit 1", "ended early"},
          std::pair{"exit 0", "no answer"},
          std::pair{"printf +half; kill -SEGV $$", "Segmentation fault"}}) {
        const auto broken = answer(script);
        ASSERT_FALSE(broken.ok()) << script;
        EXPECT_EQ(broken.error().kind, ErrorKind::System) << script;
        EXPECT_THAT(broken.error().message, HasSubstr(said)) << script;
    }
    EXPECT_EQ(answer("printf +; yes", 10'000).error().kind, ErrorKind::TooLarge);
}

TEST_F(ParseWorkerTest, HasNothingOfTheServersEnvironmentAndFiles) {
    const UniqueFd secret(::fcntl(STDIN_FILENO, F_DUPFD, 200));  // without close-on-exec
    ASSERT_TRUE(secret.valid());
    EXPECT_EQ(
        answer("printf +; env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD=; true").value(), "");
    const std::string number = std::to_string(secret.get());
    EXPECT_EQ(answer("printf +; [ -e /proc/$$/fd/3 ] && [ ! -e /proc/$$/fd/" + number +
                     " ] && echo closed")
                  .value(),
              "closed\n");
}

TEST(Confinement, LeavesNothingButReadingAndWriting) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        // No test macros here: the child reports failures by its exit code.
        if (!confine_process()) ::_exit(1);
        if (::open("/dev/null", O_RDONLY) >= 0 || errno != EPERM) ::_exit(2);
        if (::fork() >= 0) ::_exit(3);
        if (::kill(::getppid(), 0) == 0) ::_exit(4);
        char* const arguments[] = {nullptr};
        if (::execve("/bin/true", arguments, arguments) == 0) ::_exit(5);
        if (::access("/", F_OK) == 0) ::_exit(6);
        ::_exit(42);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

class JobRunnerTest : public ParseWorkerTest {
  protected:
    std::string put(const std::string& content, const std::string& host = {}) {
        Ingest ingest(*blobs_, *store_, {}, [] {});
        auto blob = ingest.begin();
        EXPECT_TRUE(blob.ok() && blob->write(content.data(), content.size()).ok());
        const std::string digest = sha256_of(content);
        EXPECT_TRUE(std::holds_alternative<Stored>(
            ingest.finish_bundle(std::move(blob).value(), digest, {"tester", host}, second_ns)));
        return digest;
    }
    // A parser with this result for every bundle.
    std::string parser_of(const ParsedBundle& parsed) {
        std::ofstream(directory_ / "answer", std::ios::binary)
            << "+" << write_parsed_bundle(parsed);
        return program("cat " + (directory_ / "answer").string());
    }
    JobRunner runner(const std::string& parser) {
        return {*store_, *blobs_, [](const std::string&) {}, parser};
    }
};

TEST_F(JobRunnerTest, StoresWhatTheParserFinds) {
    const std::string digest = put("good");
    ParsedBundle parsed;
    parsed.facts.host = "db1";
    parsed.facts.delays = 1;
    BundleDelay delay;
    delay.number = 1;
    delay.event = "query";
    delay.duration_ns = 80;
    parsed.delays = {delay};
    JobRunner jobs = runner(parser_of(parsed));
    EXPECT_TRUE(jobs.run_one(2 * second_ns).value());
    EXPECT_FALSE(jobs.run_one(2 * second_ns).value());
    const auto row = store_->everything().bundles().find(digest);
    EXPECT_TRUE((*row)->parsed);
    EXPECT_EQ((*row)->facts.host, "db1");
    EXPECT_EQ(store_->everything().delays().of_bundle(digest)->size(), 1U);
    EXPECT_EQ(jobs.figures().bundles_parsed, 1U);
}

TEST_F(JobRunnerTest, ABadBundleIsMarkedAndNotTriedAgain) {
    const std::string digest = put("bad");
    JobRunner jobs = runner(program("printf -- '-holds no system.xml'"));
    EXPECT_TRUE(jobs.run_one(2 * second_ns).value());
    EXPECT_EQ((*store_->everything().bundles().find(digest))->bad_reason, "holds no system.xml");
    EXPECT_FALSE(jobs.run_one(3600 * second_ns).value());
    EXPECT_TRUE(blobs_->size_bytes(digest)->has_value());  // kept nevertheless
}

TEST_F(JobRunnerTest, ABrokenParserIsTriedThreeTimes) {
    const std::string digest = put("breaks it");
    JobRunner jobs = runner(program("kill -SEGV $$"));
    for (std::uint64_t attempt = 1; attempt <= 3; ++attempt) {
        const auto done = jobs.run_one(attempt * 3600 * second_ns);
        EXPECT_EQ(done.ok(), attempt == 3) << attempt;
        EXPECT_THAT((*store_->everything().bundles().find(digest))->bad_reason,
                    HasSubstr("Segmentation fault"));
    }
    EXPECT_FALSE(jobs.run_one(7 * 3600 * second_ns).value());
    EXPECT_EQ(jobs.figures().parser_failures, 3U);
}

TEST_F(JobRunnerTest, AParserThatRecoversClearsTheMark) {
    const std::string digest = put("breaks it once");
    EXPECT_FALSE(runner(program("kill -SEGV $$")).run_one(2 * second_ns).ok());
    EXPECT_TRUE(runner(parser_of({})).run_one(3600 * second_ns).value());
    EXPECT_EQ((*store_->everything().bundles().find(digest))->bad_reason, "");
}

TEST_F(JobRunnerTest, ATokenOfOneHostBringsBundlesOfThatHostAlone) {
    const std::string digest = put("of db2", "db1");
    ParsedBundle parsed;
    parsed.facts.host = "db2";
    EXPECT_TRUE(runner(parser_of(parsed)).run_one(2 * second_ns).value());
    EXPECT_THAT((*store_->everything().bundles().find(digest))->bad_reason,
                HasSubstr("it is of host db2"));
}

TEST_F(JobRunnerTest, ABundleThatKilledTheServerThriceIsMarked) {
    const std::string digest = put("kills it");
    // The server dies each time while it has the job, and the lease expires.
    for (std::uint64_t attempt = 1; attempt <= 4; ++attempt)
        static_cast<void>(
            store_->jobs().take_job({}, attempt * 3600 * second_ns, std::chrono::minutes(1)));
    JobRunner jobs = runner(program("exit 1"));
    jobs.close_failed_jobs();
    EXPECT_THAT((*store_->everything().bundles().find(digest))->bad_reason,
                HasSubstr("ended the server"));
}

}  // namespace
}  // namespace lagtrap::server::parse_worker_test

// The memory limit, names of users, source files of functions, and who reads files.
#include <pwd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include <gmock/gmock.h>

#include "binaries/elf/program_file.hpp"
#include "cli/bundles/confined_reading.hpp"
#include "cli/console/memory_limit.hpp"
#include "cli/console/user_name.hpp"
#include "cli/programs/function_ways.hpp"
#include "cli/programs/source_lookup.hpp"
#include "core/sanitized.hpp"
#include "tests/unit/cli/cli_test.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::cli::console_limits_test {

constexpr unsigned line_of_function = __LINE__ + 1;
[[gnu::noinline]] int function_with_a_source(int value) {
    asm volatile("" : "+r"(value));
    return value + 1;
}

namespace {

constexpr std::uint64_t gib = 1ULL << 30;

TEST(MemoryLimit, IsHalfOfTheMachineButAtMostEightGib) {
    EXPECT_EQ(memory_limit_bytes(4 * gib), 2 * gib);
    EXPECT_EQ(memory_limit_bytes(16 * gib), 8 * gib);
    EXPECT_EQ(memory_limit_bytes(16 * gib - 2), 8 * gib - 1);
    EXPECT_EQ(memory_limit_bytes(64 * gib), 8 * gib);
}

// What `check` returns in a process of its own.
int in_child(const std::function<int()>& check) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(check());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

TEST(MemoryLimit, AppliesUnlessALowerOneIsSet) {
    if (is_sanitized) {
        EXPECT_EQ(in_child([] {
                      rlimit before{}, after{};
                      ::getrlimit(RLIMIT_DATA, &before);
                      limit_memory();
                      ::getrlimit(RLIMIT_DATA, &after);
                      return before.rlim_cur == after.rlim_cur ? 0 : 1;
                  }),
                  0);
        return;
    }
    const std::uint64_t machine_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_EQ(in_child([&] {
                  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
                  ::getrlimit(RLIMIT_DATA, &limit);
                  limit.rlim_cur = limit.rlim_max;
                  ::setrlimit(RLIMIT_DATA, &limit);
                  limit_memory();
                  ::getrlimit(RLIMIT_DATA, &limit);
                  return limit.rlim_cur ==
                                 std::min<rlim_t>(limit.rlim_max, memory_limit_bytes(machine_bytes))
                             ? 0
                             : 1;
              }),
              0);
    EXPECT_EQ(in_child([] {
                  rlimit limit{};
                  ::getrlimit(RLIMIT_DATA, &limit);
                  limit.rlim_cur = 512 << 20;
                  ::setrlimit(RLIMIT_DATA, &limit);
                  limit_memory();
                  ::getrlimit(RLIMIT_DATA, &limit);
                  return limit.rlim_cur == 512 << 20 ? 0 : 1;
              }),
              0);
}

TEST(UserText, HasTheNameAndTheNumber) {
    EXPECT_EQ(user_text(0), "root (0)");
    EXPECT_EQ(user_text(4'000'000'000), "4000000000");
    const passwd* const nobody = ::getpwnam("nobody");
    ASSERT_NE(nobody, nullptr);
    EXPECT_EQ(user_text(nobody->pw_uid), "nobody (" + std::to_string(nobody->pw_uid) + ")");
}

TEST(ConfinedReading, ReadsTheSameAsTheCommandItself) {
    const std::string path = "/usr/lib/postgresql/15/bin/postgres";
    const auto direct = binaries::ProgramFile::open(path);
    ASSERT_TRUE(direct) << direct.error().message;
    {
        const auto reading = ConfinedReading::start();
        ASSERT_TRUE(reading) << reading.error().message;
        const auto confined = binaries::ProgramFile::open(path);
        ASSERT_TRUE(confined) << confined.error().message;
        EXPECT_EQ(confined->build_id(), direct->build_id());
    }
    const auto again = binaries::ProgramFile::open(path);
    ASSERT_TRUE(again) << "the command reads itself once it is over";
    const auto second = ConfinedReading::start();
    EXPECT_TRUE(second) << "one after the other";
}

// The function's place in this test program, as a trace would report it.
calls::Function own_function() {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    const auto file = binaries::ProgramFile::open(program);
    EXPECT_TRUE(file) << file.error().message;
    calls::Function function;
    function.name = "function_with_a_source";
    function.module = program;
    const auto found =
        file->find_functions("lagtrap::cli::console_limits_test::function_with_a_source(int)");
    EXPECT_TRUE(found) << found.error().message;
    if (found && !found->empty()) function.entry = found->front().file_offset;
    return function;
}

TEST(SourceLookup, FindsWhereAFunctionBegins) {
    EXPECT_EQ(function_with_a_source(1), 2);
    const calls::Function own = own_function();
    calls::Function known = own, elsewhere = own, nowhere = own;
    known.source = "/known.cpp";
    known.line = 7;
    elsewhere.module = "/no/such/file";
    nowhere.entry = 1;
    std::vector<calls::Function> functions{own, known, elsewhere, nowhere, own};
    find_sources(functions, static_cast<std::uint32_t>(::getpid()));
    for (const std::size_t found : {0U, 4U}) {
        EXPECT_THAT(functions[found].source, testing::EndsWith("console_limits_test.cpp"));
        EXPECT_EQ(functions[found].line, line_of_function);
    }
    EXPECT_EQ(functions[1].source, "/known.cpp");
    EXPECT_EQ(functions[1].line, 7U);
    EXPECT_EQ(functions[2].line, 0U);
    EXPECT_EQ(functions[3].line, 0U);
}

TEST(SourceLookup, LooksUpTheFirstFunctionsOfAProcessThatIsThere) {
    const calls::Function own = own_function();
    std::vector<calls::Function> functions(4098, own);
    find_sources(functions, static_cast<std::uint32_t>(::getpid()));
    EXPECT_NE(functions[4095].line, 0U);
    EXPECT_EQ(functions[4096].line, 0U);
    std::vector<calls::Function> of_nobody{own};
    find_sources(of_nobody, 4'194'305);
    EXPECT_EQ(of_nobody[0].line, 0U);
}

}  // namespace
}  // namespace lagtrap::cli::console_limits_test

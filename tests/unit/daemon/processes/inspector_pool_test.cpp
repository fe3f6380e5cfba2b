#include "daemon/processes/inspector_pool.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "binaries/reader/file_reader.hpp"
#include "core/files.hpp"
#include "core/timed_call.hpp"
#include "daemon/processes/inspector_service.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon::inspector_pool_test {
namespace {

using namespace std::chrono_literals;

// A child that behaves like a helper, or not.
Result<InspectorHelper> start(void (*serve)(int)) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return system_error("socketpair");
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::close(ends[0]);
        serve(ends[1]);
        ::_exit(0);
    }
    ::close(ends[1]);
    return InspectorHelper{pid, UniqueFd(ends[0])};
}

Result<InspectorHelper> start_good() { return start(serve_inspections); }

Result<InspectorHelper> start_stuck() {
    return start([](int) {
        for (;;) ::pause();
    });
}

NamedMapping mapping_of(const std::string& path) {
    NamedMapping named;
    named.mapping.pid = static_cast<std::uint32_t>(::getpid());
    named.mapping.inode = 0;
    named.path = path;
    return named;
}

TEST(InspectorPool, ReadsAProcessAsThisOneWould) {
    InspectorPool pool({.start = start_good});
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const auto process = pool.read(pid, ProcessInspector::Code::Read, {});
    ASSERT_TRUE(process) << process.error().message;
    std::uint64_t mappings = 0, processes = 0;
    process->records.for_each([&](const lagtrap_record* record) {
        if (record->type == LAGTRAP_RECORD_MAPPING) ++mappings;
        if (record->type == LAGTRAP_RECORD_PROCESS) ++processes;
    });
    EXPECT_EQ(processes, 1U);
    EXPECT_GT(mappings, 3U);
    const auto limited = pool.read(pid, ProcessInspector::Code::Read, {2, 1 << 20});
    ASSERT_TRUE(limited);
    EXPECT_EQ(limited->mappings_left_out, mappings - 2);
    EXPECT_EQ(pool.counts().started, 1U);
}

TEST(InspectorPool, TellsFilesApartAndOpensThem) {
    const std::filesystem::path folder =
        testing::TempDir() + "lagtrap-inspected-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "one") << "one";
    std::ofstream(folder / "two") << "two";
    InspectorPool pool({.start = start_good});
    const auto known = pool.identify(
        {mapping_of(folder / "one"), mapping_of(folder / "two"), mapping_of(folder / "none")});
    ASSERT_EQ(known.size(), 3U);
    ASSERT_TRUE(known[0] && known[1]);
    EXPECT_FALSE(*known[0] == *known[1]);
    EXPECT_FALSE(known[2]);
    const auto opened = pool.open(mapping_of(folder / "two"));
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->identity, *known[1]);
    EXPECT_FALSE(opened->is_program);
    EXPECT_EQ(*read_all(opened->file.get(), 100), "two");
    const auto refused = pool.open(mapping_of(folder));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::Denied);
    EXPECT_EQ(pool.counts().started, 1U) << "a refusal costs no helper";
    std::filesystem::remove_all(folder);
}

TEST(InspectorPool, OpensTheProgramAndTheRootFolder) {
    InspectorPool pool({.start = start_good});
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const auto program = pool.open_program(pid);
    ASSERT_TRUE(program) << program.error().message;
    struct stat own {};
    ASSERT_EQ(::stat("/proc/self/exe", &own), 0);
    EXPECT_EQ(program->identity.inode, own.st_ino);
    EXPECT_TRUE(program->is_program);
    EXPECT_EQ(read_all(program->file.get(), 1 << 30).value().substr(1, 3), "ELF");
    const auto root = pool.open_root(pid);
    ASSERT_TRUE(root) << root.error().message;
    struct stat folder {
    }, of_root{};
    ASSERT_TRUE(::stat("/", &folder) == 0 && ::fstat(root->get(), &of_root) == 0);
    EXPECT_EQ(of_root.st_ino, folder.st_ino);
    EXPECT_FALSE(pool.open_program(1 << 30));
    EXPECT_FALSE(pool.open_root(1 << 30));
}

TEST(InspectorPool, GoesOnWithoutAHelperThatIsHeldUp) {
    static int starts;
    starts = 0;
    InspectorPool pool(
        {.start = [] { return ++starts == 1 ? start_stuck() : start_good(); }, .deadline = 50ms});
    const auto held_up = pool.read(1, ProcessInspector::Code::Left, {});
    ASSERT_FALSE(held_up);
    EXPECT_EQ(held_up.error().kind, ErrorKind::Timeout);
    const auto again = pool.read(1, ProcessInspector::Code::Left, {});
    ASSERT_FALSE(again) << "the process that held up a look is looked at again at once";
    EXPECT_EQ(again.error().kind, ErrorKind::Busy);
    EXPECT_EQ(pool.counts().held_up, 1U);
    EXPECT_EQ(pool.counts().refused, 1U);
    // For another process a new helper is asked, whether or not it is in time.
    (void)pool.read(static_cast<std::uint32_t>(::getpid()), ProcessInspector::Code::Left, {});
    EXPECT_EQ(pool.counts().started, 2U);
}

TEST(InspectorPool, AHelperThatEndsSaysNothingOfWhatItWasAsked) {
    InspectorPool pool({.start = [] { return start([](int) {}); }});
    const auto known = pool.identify({mapping_of("/bin/true")});
    ASSERT_EQ(known.size(), 1U);
    ASSERT_FALSE(known[0]);
    EXPECT_EQ(known[0].error().kind, ErrorKind::Busy)
        << "it is taken for the file's fault, and never tried again";
}

TEST(InspectorPool, SaysWhyThereIsNoHelper) {
    InspectorPool pool({.start = []() -> Result<InspectorHelper> {
        return make_error(ErrorKind::System, "no more processes");
    }});
    const auto process = pool.read(1, ProcessInspector::Code::Left, {});
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().kind, ErrorKind::Busy);
    EXPECT_EQ(pool.counts().start_problem, "no more processes");
}

TEST(InspectorPool, DoesNotRiskMoreThanSoManyHelpers) {
    InspectorPool pool({.start = start_stuck, .limits = {.stuck = 0, .reserved_stuck = 0}});
    const auto process = pool.read(1, ProcessInspector::Code::Left, {});
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().kind, ErrorKind::Busy);
    EXPECT_EQ(pool.counts().started, 0U);
}

TEST(InspectorPool, AHelperThatCanBeKilledIsNotStuck) {
    static int starts;
    starts = 0;
    InspectorPool pool({.start = [] { return ++starts == 1 ? start_stuck() : start_good(); },
                        .limits = {.stuck = 0, .reserved_stuck = 1},
                        .deadline = 50ms});
    EXPECT_EQ(pool.read(1, ProcessInspector::Code::Left, {}).error().kind, ErrorKind::Timeout);
    // Once the killed helper has ended it no longer takes room; there is no room for a second one
    // beside it. The second one may be late on a busy machine, and is killed as well.
    while (pool.counts().started < 2 || pool.counts().stuck > 0)
        (void)pool.read(static_cast<std::uint32_t>(::getpid()), ProcessInspector::Code::Left, {});
}

TEST(InspectorPool, CopiesWhatAProcessTellsOfItsCode) {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const std::string name = "perf-" + std::to_string(pid) + ".map";
    std::ofstream("/tmp/" + name) << "1000 10 one\n";
    InspectorPool pool({.start = start_good});
    const auto process = pool.follow(pid);
    ASSERT_TRUE(process) << process.error().message;
    ASSERT_TRUE(process->tmp.valid());
    const CodeFileCopier::Owner owner{pid, process->facts.effective_uid};
    const auto opened = pool.open_code_file(owner, process->tmp.get(), name);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->size_bytes, 12U);
    EXPECT_EQ(opened->uid, ::geteuid());
    const UniqueFd copy(::memfd_create("copy", MFD_CLOEXEC));
    EXPECT_EQ(pool.copy(owner, opened->file.get(), copy.get(), 8).value(), 8U);
    EXPECT_EQ(*read_file("/proc/self/fd/" + std::to_string(copy.get()), 100), "1000 10 ");
    EXPECT_EQ(pool.open_code_file(owner, process->tmp.get(), "perf-none.map").error().kind,
              ErrorKind::NotFound);
    EXPECT_EQ(pool.counts().started, 1U);
    std::filesystem::remove("/tmp/" + name);
}

TEST(InspectorPool, ReadsMemoryInOnePiece) {
    InspectorPool pool({.start = start_good});
    const auto pid = static_cast<std::uint32_t>(::getpid());
    static const std::string text = "what is to be read";
    EXPECT_EQ(
        pool.read_memory(pid, reinterpret_cast<std::uint64_t>(text.data()), text.size()).value(),
        text);
    EXPECT_FALSE(pool.read_memory(pid, 8, 16));
    EXPECT_FALSE(pool.read_memory(pid, reinterpret_cast<std::uint64_t>(text.data()),
                                  std::uint64_t{1} << 40));
}

// Helpers, readers and calls that a file system never releases, plus the permanent threads.
TEST(InspectorPool, WhatMayBeStuckFitsIntoTheTasksOfTheUnit) {
    const auto unit = read_file(source_folder() + "/packaging/systemd/lagtrapd.service", 64 * 1024);
    ASSERT_TRUE(unit);
    const std::size_t at = unit->find("\nTasksMax=");
    ASSERT_NE(at, std::string::npos);
    const auto tasks =
        static_cast<std::size_t>(std::atol(unit->c_str() + at + std::strlen("\nTasksMax=")));
    const HelperLimits helpers;
    const binaries::FileReaderOptions readers;
    const std::size_t threads = 40, merge = 4;
    EXPECT_LE(threads + merge + helpers.helpers + helpers.stuck + helpers.reserved_stuck +
                  readers.max_processes + readers.max_stuck + left_calls_limit,
              tasks);
}

// Without this the test would last an hour.
TEST(InspectorPool, AThreadThatGivesUpWaitsNoLonger) {
    InspectorPool pool({.start = start_stuck, .deadline = 1h});
    std::atomic<bool> given_up{false};
    Result<InspectedProcess> process = make_error(ErrorKind::System, "not asked");
    std::thread looking([&] {
        const InspectionsCancelled scope(given_up);
        process = pool.read(1, ProcessInspector::Code::Left, {});
    });
    while (pool.counts().started == 0) std::this_thread::yield();
    given_up = true;
    looking.join();
    EXPECT_EQ(process.error().kind, ErrorKind::Timeout);
    EXPECT_EQ(pool.counts().held_up, 0U) << "nobody was held up";
}

}  // namespace
}  // namespace lagtrap::daemon::inspector_pool_test

#include "trace/names/run_time_code.hpp"

#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/jitdump_writer.hpp"
#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/logs/code_files.hpp"
#include "trace/logs/record_stream.hpp"
#include "trace/merge/merge.hpp"
#include "trace/processes/address_spaces.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace::run_time_code_test {
namespace {

class RunTimeCode : public testing::Test {
  protected:
    void SetUp() override {
        SyntheticCapture capture(directory_.path(), synthetic_session());
        for (const std::uint32_t pid : {10U, 20U}) {
            capture.process(pid, 1, "/usr/bin/node", "node", 1);
            capture.mapping(pid, 1, 0x400000, 0x10000, 0, "/usr/bin/node", "\x01\x02");
            capture.mapping(pid, 1, 0x700000, 0x10000, 0, "", "");        // as in /proc/PID/maps
            capture.mapping(pid, 1, 0x800000, 0x10000, 0, "//anon", "");  // as in perf events
        }
        capture.flush();
        auto rundown = RecordStream::open(directory_.path() / "rundown.log", 100);
        ASSERT_TRUE(rundown.ok());
        ASSERT_TRUE(spaces_.load(*rundown));
    }
    void add_stack(std::uint64_t id, std::uint32_t pid, double ms,
                   const std::vector<std::uint64_t>& frames) {
        std::vector<std::uint64_t> words(sizeof(lagtrap_stack) / 8);
        words.insert(words.end(), frames.begin(), frames.end());
        auto* stack = reinterpret_cast<lagtrap_stack*>(words.data());
        stack->header.at_ns = at_ms(ms);
        stack->stack_id = id;
        stack->pid = pid;
        stack->kind = LAGTRAP_STACK_USER;
        stack->frame_count = static_cast<std::uint16_t>(frames.size());
        stacks_.add(*stack);
    }
    void write_file(std::uint32_t pid, double ms, CodeFileKind kind, const std::string& content) {
        std::filesystem::create_directory(directory_.path() / "code");
        std::ofstream(directory_.path() / "code" / to_text({pid, at_ms(ms), kind})) << content;
    }
    RunTimeNaming name() { return name_run_time_code(stacks_, directory_.path(), start_ns); }
    // "module:name" of each frame, innermost first; "module+offset" if it has no name.
    std::vector<std::string> frames(std::uint64_t id) {
        std::vector<std::string> texts;
        for (const FrameId frame_id : stacks_.frames_of(*stacks_.find(id))) {
            const CodeFrame& frame = stacks_.frames()[frame_id];
            std::ostringstream text;
            text << modules_.at(frame.module).path;
            if (frame.name == no_name) text << '+' << std::hex << frame.offset;
            if (frame.name != no_name) text << ':' << stacks_.name(frame.name);
            texts.push_back(text.str());
        }
        return texts;
    }
    using Texts = std::vector<std::string>;

    TemporaryDirectory directory_;
    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable stacks_{spaces_, 1 << 20};
};

TEST_F(RunTimeCode, IsNamedByEachProcessesOwnMap) {
    write_file(10, 200, CodeFileKind::PerfMap,
               "700000 100 JS:*hot /srv/app.js:2:22\n800000 100 JS:~cold\x1b[31m\n");
    write_file(20, 200, CodeFileKind::PerfMap, "700000 100 of another process\n");
    // The second frame is a return address at the very end of its piece; the call before it counts.
    add_stack(1, 10, 5, {0x700010, 0x800100, 0x400011, 0x700101, 0x900000});
    add_stack(2, 20, 5, {0x700010, 0x800010});
    const RunTimeNaming naming = name();
    EXPECT_EQ(frames(1), (Texts{"[jit]:JS:*hot /srv/app.js:2:22", "[jit]:JS:~cold\\x1b[31m",
                                "/usr/bin/node+10", "[jit]+700100", "[unknown]+8fffff"}));
    EXPECT_EQ(frames(2), (Texts{"[jit]:of another process", "[jit]+80000f"}));
    EXPECT_EQ(naming.frames, 6U);
    EXPECT_EQ(naming.named, 3U);
    EXPECT_EQ(naming.files_bad + naming.lines_bad, 0U);
}

TEST_F(RunTimeCode, IsNamedWhereItsMappingIsNotKnown) {
    write_file(10, 200, CodeFileKind::PerfMap, "900000 100 made late\n");
    add_stack(1, 10, 5, {0x900010});
    name();
    EXPECT_EQ(frames(1), Texts{"[jit]:made late"});
}

TEST_F(RunTimeCode, FilesKeepTheirOwnNames) {
    write_file(10, 200, CodeFileKind::PerfMap, "400000 1000 not of the map\n");
    add_stack(1, 10, 5, {0x400010});
    name();
    EXPECT_EQ(frames(1), Texts{"/usr/bin/node+10"});
}

TEST_F(RunTimeCode, ACopyTellsOfTheTimesBeforeIt) {
    write_file(10, 50, CodeFileKind::PerfMap, "700000 100 of the program before\n");
    write_file(10, 150, CodeFileKind::PerfMap, "700000 100 of the program after\n");
    add_stack(1, 10, 40, {0x700010});
    add_stack(2, 10, 60, {0x700020});
    add_stack(3, 10, 160, {0x700030});  // after the last copy
    name();
    EXPECT_EQ(frames(1), Texts{"[jit]:of the program before"});
    EXPECT_EQ(frames(2), Texts{"[jit]:of the program after"});
    EXPECT_EQ(frames(3), Texts{"[jit]:of the program after"});
}

TEST_F(RunTimeCode, TheJitdumpGoesFirstAndKnowsTheTime) {
    JitdumpWriter writer;
    writer.load(at_ms(-50), 0x700000, 1, "from before", std::string(0x100, 'c'));
    writer.load(at_ms(30), 0x700000, 2, "from the middle", std::string(0x80, 'c'));
    write_file(10, 200, CodeFileKind::Jitdump, writer.bytes);
    write_file(10, 200, CodeFileKind::PerfMap,
               "700000 100 of the map\n800000 100 of the map alone\n");
    add_stack(1, 10, 20, {0x700010, 0x7000f1, 0x800001});
    add_stack(2, 10, 40, {0x700020, 0x7000e1});
    name();
    EXPECT_EQ(frames(1),
              (Texts{"[jit]:from before", "[jit]:from before", "[jit]:of the map alone"}));
    EXPECT_EQ(frames(2), (Texts{"[jit]:from the middle", "[jit]:from before"}));
}

TEST_F(RunTimeCode, FilesThatAreBadAreCountedAndHarmNothing) {
    write_file(10, 200, CodeFileKind::Jitdump, "no jitdump at all");
    write_file(10, 200, CodeFileKind::PerfMap, "what\n700000 100 good\n");
    std::ofstream(directory_.path() / "code" / "10-x.map") << "700000 100 not a name of ours\n";
    add_stack(1, 10, 20, {0x700010});
    const RunTimeNaming naming = name();
    EXPECT_EQ(frames(1), Texts{"[jit]:good"});
    EXPECT_EQ(naming.files_bad, 1U);
    EXPECT_EQ(naming.lines_bad, 1U);
}

// From the capture's folder to the bundle's files.
TEST(RunTimeCodeMerge, NamesTheFramesAndCountsWhatIsMissing) {
    const TemporaryDirectory directory;
    Session session = synthetic_session();
    session.quality.code_files_lost = 2;  // as counted by the daemon
    SyntheticCapture capture(directory.path(), session);
    capture.process(10, 1, "/usr/bin/node", "node", 1);
    capture.mapping(10, 1, 0x700000, 0x10000, 0, "//anon", "");
    capture.user_stack(5, 1, 10, {0x700010});
    capture.sample(5, 0, 10, 10, 0, 1);
    capture.flush();
    std::filesystem::create_directory(directory.path() / "code");
    std::ofstream(directory.path() / "code" / to_text({10, at_ms(9), CodeFileKind::PerfMap}))
        << "700000 100 hot\n";
    std::ofstream(directory.path() / "code" / to_text({10, at_ms(9), CodeFileKind::Jitdump}))
        << "no jitdump";
    MergeOptions options;
    options.symbols.proc_root = options.symbols.kernel_notes = directory.path() / "no-such-folder";
    const auto merged = merge_capture(directory.path(), options);
    ASSERT_TRUE(merged.ok()) << merged.error().message;
    const auto trace = read_file(directory.path() / "trace.pftrace", 1 << 20);
    ASSERT_TRUE(trace.ok());
    EXPECT_NE(trace->find("hot"), std::string::npos);
    EXPECT_NE(trace->find("[jit]"), std::string::npos);
    const auto system =
        read_system_file(read_file(directory.path() / "system.xml", 1 << 20).value());
    ASSERT_TRUE(system.ok()) << system.error().message;
    EXPECT_EQ(system->quality.code_files_lost, 3U);
    for (const Module& module : system->modules) EXPECT_NE(module.path, "[jit]");
}

TEST(RunTimeMemory, IsWhatNoFileStandsBehind) {
    for (const char* path : {"", "//anon", "[anon:v8]", "[anon_shmem:jit]", "[heap]", "[stack]",
                             "/memfd:doublemapper (deleted)", "/dev/zero (deleted)",
                             "/SYSV00000000 (deleted)", "/anon_hugepage (deleted)"})
        EXPECT_TRUE(is_run_time_memory(path, "")) << path;
    for (const char* path : {"/usr/bin/node", "[vdso]", "[vsyscall]", "[uprobes]", "/opt/dev/zero"})
        EXPECT_FALSE(is_run_time_memory(path, "")) << path;
    EXPECT_FALSE(is_run_time_memory("/memfd:runc (deleted)", "\x01"));
}

TEST(CodeFiles, NamesAreReadAsTheyAreWritten) {
    for (const CodeFileKind kind : {CodeFileKind::PerfMap, CodeFileKind::Jitdump}) {
        const auto name = parse_code_file_name(to_text({4194304, 123456789012345, kind}));
        ASSERT_TRUE(name);
        EXPECT_EQ(name->pid, 4194304U);
        EXPECT_EQ(name->at_ns, 123456789012345U);
        EXPECT_EQ(name->kind, kind);
    }
    for (const char* other :
         {"", "1-2", "1-2.map.tmp", "1.map", "-1-2.map", "1-2.", "99999999999-2.map", "1-x.map"})
        EXPECT_FALSE(parse_code_file_name(other)) << other;
}

}  // namespace
}  // namespace lagtrap::trace::run_time_code_test

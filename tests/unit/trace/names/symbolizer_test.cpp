#include "trace/names/symbolizer.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/planted_program.hpp"
#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/merge/merge.hpp"
#include "trace/names/file_symbols.hpp"
#include "trace/processes/module_files.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace::symbolizer_test {
namespace {

namespace json = boost::json;
using testing::EndsWith;
using testing::StartsWith;

json::object decoded(const std::filesystem::path& trace) {
    const std::string command = test_python() + " " + test_data_folder() +
                                "/trace/decode_trace.py '" + trace.string() + "' 100000 2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    char buffer[65536];
    while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), pipe))
        text.append(buffer, got);
    const int status = ::pclose(pipe);
    EXPECT_EQ(status, 0) << text.substr(0, 4000);
    return status == 0 ? json::parse(text).as_object() : json::object();
}

class Symbolizer : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::copy_file(build_folder() + "/trace/trace_planted_program", program());
        build_id_ = raw_build_id(program());
        ASSERT_FALSE(build_id_.empty());
        // This machine's debug files would name the folder in which the C library was compiled.
        options_.symbols.debug_files.folders = {folder_.path() / "debug"};
    }
    [[nodiscard]] std::filesystem::path program() const { return folder_.path() / "planted"; }

    void capture(const PlantedProgram& planted, const std::string& path,
                 const std::string& build_id) {
        SyntheticCapture records(capture_.path(), synthetic_session());
        planted.record(records, path, build_id);
        records.flush();
    }
    json::object merge() {
        auto merged = merge_capture(capture_.path(), options_);
        EXPECT_TRUE(merged.ok()) << merged.error().message;
        return merged ? decoded(capture_.path() / "trace.pftrace") : json::object();
    }
    SystemFile system() {
        return read_system_file(read_file(capture_.path() / "system.xml", 16 << 20).value())
            .value();
    }
    static std::string only_stack(const json::object& trace) {
        const json::object& stacks = trace.at("stacks").as_object();
        return stacks.size() == 1 ? std::string(stacks.begin()->key()) : json::serialize(stacks);
    }
    // The part of a stack after its thread.
    static std::string functions_of(const std::string& stack) {
        return stack.substr(stack.find(':') + 1);
    }

    TemporaryDirectory folder_;
    TemporaryDirectory capture_;
    MergeOptions options_;
    std::string build_id_;
};

TEST_F(Symbolizer, FunctionsInlinedAtAPlaceAreFramesOfTheirOwn) {
    const PlantedProgram planted(program());
    capture(planted, program(), build_id_);
    const json::object trace = merge();
    const std::string stack = functions_of(only_stack(trace));
    EXPECT_THAT(stack,
                testing::MatchesRegex("outermost_function;middle_function.*;innermost_function.*"));
    const json::object& lines = trace.at("lines").as_object();
    ASSERT_EQ(lines.size(), 3U) << json::serialize(lines);
    for (const auto& [function, places] : lines) {
        const std::string which = std::string(function).substr(0, function.find('_'));
        ASSERT_EQ(places.as_array().size(), 1U);
        EXPECT_THAT(std::string(places.as_array()[0].as_string()),
                    EndsWith("/inlined.cpp:" + std::to_string(line_of(which))));
    }
    const StackQuality quality = system().stacks;
    EXPECT_EQ(quality.frames, 3U);
    EXPECT_EQ(quality.frames_named, 3U);
    EXPECT_EQ(quality.frames_located, 3U);
    EXPECT_EQ(quality.on_cpu.complete, 1U);
    EXPECT_EQ(quality.naming.modules, 1U);
    EXPECT_EQ(quality.naming.modules_gone + quality.naming.modules_left_out +
                  quality.naming.lines_left_out,
              0U);
}

TEST_F(Symbolizer, LinesOfAStrippedProgramComeFromItsDebugFile) {
    const std::string command =
        "cd '" + folder_.path().string() +
        "' && mkdir debug && objcopy --only-keep-debug planted debug/planted.debug && objcopy "
        "--strip-all --add-gnu-debuglink=debug/planted.debug planted";
    ASSERT_EQ(::system(command.c_str()), 0);
    const PlantedProgram planted(program());
    capture(planted, program(), build_id_);
    EXPECT_THAT(functions_of(only_stack(merge())),
                StartsWith("outermost_function;middle_function"));
    EXPECT_EQ(system().stacks.frames_located, 3U);
}

TEST_F(Symbolizer, DeletedFilesAreFoundThroughTheirProcess) {
    PlantedProgram planted(program());
    std::filesystem::remove(program());
    capture(planted, program().string() + " (deleted)", build_id_);
    EXPECT_THAT(functions_of(only_stack(merge())),
                StartsWith("outermost_function;middle_function"));
    EXPECT_EQ(system().stacks.naming.modules_gone, 0U);

    planted.end();
    const json::object gone = merge();
    char place[64];
    std::snprintf(place, sizeof(place), "+0x%lx", planted.offset());
    EXPECT_EQ(functions_of(only_stack(gone)), program().string() + " (deleted)" + place);
    EXPECT_EQ(system().stacks.naming.modules_gone, 1U);
    EXPECT_EQ(system().stacks.frames_named, 0U);
}

TEST_F(Symbolizer, AnotherFileOfTheSamePathIsNotUsed) {
    const PlantedProgram planted(program());
    std::string other = build_id_;
    other[0] = static_cast<char>(other[0] ^ 1);
    capture(planted, program(), other);
    EXPECT_THAT(functions_of(only_stack(merge())), StartsWith(program().string() + "+0x"));
    EXPECT_EQ(system().stacks.naming.modules_gone, 1U);
}

TEST_F(Symbolizer, WhatIsNoProgramIsCountedAsDamaged) {
    const PlantedProgram planted(program());
    // The notes with the build id are near the file's beginning, the section headers at its end.
    const std::filesystem::path torn = folder_.path() / "torn";
    std::filesystem::copy_file(program(), torn);
    std::filesystem::resize_file(torn, std::filesystem::file_size(torn) / 2);
    capture(planted, torn, build_id_);
    EXPECT_THAT(functions_of(only_stack(merge())), StartsWith(torn.string() + "+0x"));
    EXPECT_EQ(system().stacks.naming.modules_damaged, 1U);
}

TEST_F(Symbolizer, CountsWhatTheBudgetLeavesOut) {
    const PlantedProgram planted(program());
    capture(planted, program(), build_id_);
    options_.symbols.limits.cpu_time = std::chrono::milliseconds(0);
    EXPECT_THAT(functions_of(only_stack(merge())), StartsWith(program().string() + "+0x"));
    EXPECT_EQ(system().stacks.naming.modules_left_out, 1U);
    EXPECT_EQ(system().stacks.naming.places_left_out, 1U);
    EXPECT_EQ(system().stacks.naming.lines_left_out, 1U);

    options_.symbols.limits = {};
    options_.symbols.limits.symbol_table_bytes = 1;
    options_.symbols.limits.read_bytes = 1;
    EXPECT_THAT(functions_of(only_stack(merge())), StartsWith(program().string() + "+0x"));
    EXPECT_EQ(system().stacks.naming.places_left_out, 1U);
    EXPECT_EQ(system().stacks.naming.lines_left_out, 1U);

    options_.symbols.limits = {};
    options_.symbols.debug_info.file_bytes = 1;
    EXPECT_EQ(functions_of(only_stack(merge())), "outermost_function");
    EXPECT_EQ(system().stacks.naming.places_left_out, 0U);
    EXPECT_EQ(system().stacks.naming.lines_left_out, 1U);
}

TEST_F(Symbolizer, FramesOfInlinedFunctionsAreLimited) {
    const PlantedProgram planted(program());
    capture(planted, program(), build_id_);
    options_.symbols.limits.inlined_functions = 1;
    EXPECT_THAT(functions_of(only_stack(merge())),
                testing::MatchesRegex("middle_function[^;]*;innermost_function[^;]*"));
    options_.symbols.limits.inlined_functions = 0;
    EXPECT_THAT(functions_of(only_stack(merge())),
                testing::MatchesRegex("innermost_function[^;]*"));
}

TEST_F(Symbolizer, TheKernelsOwnImageIsNamed) {
    void* vdso = ::dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    ASSERT_NE(vdso, nullptr);
    const auto address = reinterpret_cast<std::uint64_t>(::dlsym(vdso, "__vdso_clock_gettime"));
    ASSERT_NE(address, 0U);
    Dl_info facts{};
    ASSERT_NE(::dladdr(reinterpret_cast<void*>(address), &facts), 0);
    const auto start = reinterpret_cast<std::uint64_t>(facts.dli_fbase);
    {
        SyntheticCapture records(capture_.path(), synthetic_session());
        records.thread(100, 100, "server");
        records.mapping(100, 1, start, 0x2000, 0, vdso_path, "");
        records.user_stack(2, 11, 100, {address});
        records.sample(3, 0, 100, 100, 0, 11);
        records.flush();
    }
    EXPECT_THAT(functions_of(only_stack(merge())), testing::HasSubstr("clock_gettime"));
    // In another boot it may be a different image.
    options_.symbols.this_boot = false;
    EXPECT_THAT(functions_of(only_stack(merge())), StartsWith("[vdso]+0x"));
    EXPECT_EQ(system().stacks.naming.modules_gone, 1U);
}

TEST_F(Symbolizer, AreasOfTheKernelAreNoFilesThatAreGone) {
    {
        SyntheticCapture records(capture_.path(), synthetic_session());
        records.thread(100, 100, "server");
        records.mapping(100, 1, 0x700000, 0x1000, 0, "[uprobes]", "");
        records.user_stack(2, 11, 100, {0x700010});
        records.sample(3, 0, 100, 100, 0, 11);
        records.flush();
    }
    EXPECT_EQ(functions_of(only_stack(merge())), "[uprobes]+0x10");
    EXPECT_EQ(system().stacks.naming.modules, 0U);
    EXPECT_EQ(system().stacks.naming.modules_gone, 0U);
}

TEST(TakeSymbol, PrefersWhatOthersCallAFunctionBy) {
    const auto outermost = [](std::vector<binaries::SourceFrame> functions, const char* symbol) {
        take_symbol(functions, symbol);
        return functions.back().function;
    };
    EXPECT_EQ(
        outermost({{"inner", "a.c", 1}, {"___pthread_mutex_lock", "b.c", 2}}, "pthread_mutex_lock"),
        "pthread_mutex_lock");
    EXPECT_EQ(outermost({{"parse", "a.c", 1}}, "parse.cold"), "parse");
    EXPECT_EQ(outermost({{"", "a.c", 1}}, "parse.cold"), "parse.cold");
    EXPECT_EQ(outermost({{"parse", "a.c", 1}}, ""), "parse");
    std::vector<binaries::SourceFrame> many(1000, {"inlined", "a.c", 1});
    many.front().function = "first";
    many.back().function = "last";
    take_symbol(many, "last");
    EXPECT_EQ(many.size(), 64U);
    EXPECT_EQ(many.front().function, "first");
    EXPECT_EQ(many.back().function, "last");
}

// The bytes of a note of `owner`, padded like the kernel's.
std::string note(std::uint32_t type, std::string owner, std::string content) {
    const Elf64_Nhdr header{static_cast<std::uint32_t>(owner.size()),
                            static_cast<std::uint32_t>(content.size()), type};
    owner.resize((owner.size() + 3) / 4 * 4);
    content.resize((content.size() + 3) / 4 * 4);
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + owner + content;
}

TEST(KernelBuildId, IsInTheNoteOfGnu) {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "notes";
    const auto id_in = [&](const std::string& notes) {
        std::ofstream(file, std::ios::binary) << notes;
        return read_kernel_build_id(file);
    };
    const std::string gnu("GNU\0", 4), id("0123456789abcdef0123");
    const std::string right = note(NT_GNU_BUILD_ID, gnu, id);
    EXPECT_EQ(id_in(right), id);
    EXPECT_EQ(id_in(note(1, gnu, "abc") + note(NT_GNU_BUILD_ID, "Linux", "x") + right), id);
    EXPECT_EQ(id_in(note(NT_GNU_BUILD_ID, gnu, std::string(64, 'i'))), std::string(64, 'i'));
    EXPECT_EQ(id_in(note(NT_GNU_BUILD_ID, gnu, std::string(65, 'i'))), "");
    EXPECT_EQ(id_in(""), "");
    EXPECT_EQ(id_in(right.substr(0, right.size() - 1)), "") << "it is cut short";
    EXPECT_EQ(id_in(right.substr(0, 15)), "");
    EXPECT_EQ(read_kernel_build_id(folder.path() / "none"), "");
}

}  // namespace
}  // namespace lagtrap::trace::symbolizer_test

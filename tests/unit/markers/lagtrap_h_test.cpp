// markers/lagtrap.h with each compiler: reads the markers from the compiled programs.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::markers::test::lagtrap_h_test {
namespace {

using binaries::ProgramFile;
using binaries::UsdtProbe;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const std::string source = source_folder();
const std::string data_folder = source + "/tests/data/markers/";
const std::string quiet = " -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror ";

struct Outcome {
    int exit_status = -1;
    std::string output;
};

Outcome run(const std::string& command) {
    Outcome outcome;
    FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return outcome;
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        outcome.output.append(buffer, got);
    const int status = ::pclose(pipe);
    outcome.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

// A test with its own folder and a compiler.
class Markers : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "lagtrap-test-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string place(const std::string& name) const { return folder_ + "/" + name; }

    // Compiles and links; fails with the compiler's output if there is any.
    void build(const std::string& compiler_and_flags, const std::string& sources,
               const std::string& output) {
        const std::string command =
            compiler_and_flags + quiet + "-I" + source + " " + sources + " -o " + place(output);
        const Outcome outcome = run(command);
        EXPECT_EQ(outcome.exit_status, 0) << command << "\n" << outcome.output;
        EXPECT_EQ(outcome.output, "") << command;
    }

    // The compiler's output for one line inside a function.
    Outcome compile_line(const std::string& compiler_and_flags, const std::string& language,
                         const std::string& line) {
        std::ofstream(place("line." + language))
            << "#include \"markers/lagtrap.h\"\nvoid f(void);\nvoid f(void) { " << line << " }\n";
        return run(compiler_and_flags + " -I" + source + " -c " + place("line." + language) +
                   " -o " + place("line.o"));
    }

    std::vector<UsdtProbe> probes_of(const std::string& output) {
        auto file = ProgramFile::open(place(output));
        EXPECT_TRUE(file) << file.error().message;
        auto probes = file->usdt_probes();
        EXPECT_TRUE(probes) << probes.error().message;
        return std::move(probes).value();
    }

    // The first bytes of a function's code.
    std::string code_of(const std::string& output, const std::string& function, std::size_t size) {
        auto file = ProgramFile::open(place(output));
        if (!file) return {};
        const auto found = file->find_functions(function);
        if (!found || found->size() != 1) return {};
        return bytes_at(output, found->front().file_offset, size);
    }

    std::string bytes_at(const std::string& output, std::uint64_t offset, std::size_t size) {
        const auto content = read_file(place(output), 64 << 20);
        return content ? content->substr(offset, size) : std::string();
    }

    std::string byte_at_address(const std::string& output, std::uint64_t address,
                                std::size_t size) {
        auto file = ProgramFile::open(place(output));
        if (!file) return {};
        const auto offset = file->file_offset_of(address);
        return offset ? bytes_at(output, *offset, size) : std::string();
    }

    // Expectations for the markers of all_markers.c that hold with every compiler.
    void expect_all_markers(const std::string& output, const std::string& how) {
        SCOPED_TRACE(how);
        const std::map<std::string, std::set<std::uint32_t>> expected = {
            {"frame__begin", {0}},
            {"frame__stage__decode-2", {0}},
            {"frame__end", {0}},
            {"page-load__begin", {1, 2}},
            {"page-load__stage__parse", {1}},
            {"page-load__end", {1}}};
        std::map<std::string, std::set<std::uint32_t>> seen;
        std::set<std::uint64_t> semaphores;
        for (const auto& probe : probes_of(output)) {
            EXPECT_EQ(probe.provider, "lagtrap");
            seen[probe.name].insert(probe.argument_count);
            EXPECT_EQ(byte_at_address(output, probe.address, 1), "\x90") << probe.name;
            EXPECT_EQ(probe.semaphore != 0, probe.argument_count > 0) << probe.name;
            if (probe.semaphore == 0) continue;
            semaphores.insert(probe.semaphore);
            EXPECT_THAT(probe.arguments,
                        MatchesRegex("8@(%r[a-z0-9]+|\\$-?[0-9]+)( 8@(%r[a-z0-9]+|\\$-?[0-9]+))?"));
            // In the file and not in .bss, because the kernel counts in a page of the file.
            EXPECT_EQ(byte_at_address(output, probe.semaphore, 2), std::string(2, '\0'))
                << probe.name;
        }
        EXPECT_EQ(seen, expected);
        EXPECT_EQ(semaphores.size(), 1U) << "one event, one semaphore";
    }

    std::string folder_;
};

TEST_F(Markers, AreTheSameForEveryCompilerOfC) {
    for (const std::string compiler : {LAGTRAP_GCC, LAGTRAP_CLANG})
        for (const std::string standard : {"c99", "c11"})
            for (const std::string level : {"-O0", "-O2", "-O3"}) {
                const std::string how = compiler + " -std=" + standard + " " + level;
                build(how + " -fPIC -shared", data_folder + "all_markers.c", "all.so");
                expect_all_markers("all.so", how);
            }
}

TEST_F(Markers, AreTheSameForEveryCompilerOfCpp) {
    for (const std::string compiler : {LAGTRAP_GXX, LAGTRAP_CLANGXX})
        for (const std::string standard : {"c++17", "c++20"})
            for (const std::string level : {"-O0", "-O2", "-O3"}) {
                const std::string how = compiler + " -std=" + standard + " " + level;
                build(how + " -Wold-style-cast -fPIC -shared -x c++", data_folder + "all_markers.c",
                      "all.so");
                expect_all_markers("all.so", how);
            }
}

TEST_F(Markers, WithoutArgumentsAreOneNop) {
    for (const std::string compiler : {LAGTRAP_GCC, LAGTRAP_CLANG}) {
        build(compiler + " -std=c99 -O2 -fPIC -shared -fcf-protection=none",
              data_folder + "all_markers.c", "all.so");
        for (const std::string function : {"mark_begin", "mark_stage", "mark_end"})
            EXPECT_EQ(code_of("all.so", function, 2), "\x90\xc3")
                << compiler << ": nop, ret in " << function;
    }
}

TEST_F(Markers, WithArgumentsAreOneComparisonWhileIdle) {
    for (const std::string compiler : {LAGTRAP_GCC, LAGTRAP_CLANG}) {
        build(compiler + " -std=c99 -O2 -fPIC -shared -fcf-protection=none",
              data_folder + "all_markers.c", "all.so");
        const std::string code = code_of("all.so", "mark_begin_key", 11);
        EXPECT_EQ(code.substr(0, 3), "\x66\x83\x3d") << compiler << ": cmpw $0, offset(%rip)";
        EXPECT_EQ(code.substr(7, 1), std::string(1, '\0')) << compiler;
        // Either a jump away from the path to ret, or one over the marker to it.
        EXPECT_TRUE(code[8] == '\x75' || code[8] == '\x74') << compiler << ": jne or je";
    }
}

TEST_F(Markers, AreReadByReadelf) {
    build(std::string(LAGTRAP_GCC) + " -std=c11 -O2 -fPIC -shared", data_folder + "all_markers.c",
          "all.so");
    const Outcome notes = run("readelf -nW " + place("all.so"));
    EXPECT_EQ(notes.exit_status, 0);
    EXPECT_THAT(notes.output, HasSubstr("Provider: lagtrap"));
    EXPECT_THAT(notes.output, HasSubstr("Name: page-load__stage__parse"));
    EXPECT_THAT(notes.output, ::testing::Not(HasSubstr("readelf:")));
}

// Two files that share inline functions and templates, and a shared library that has them too.
TEST_F(Markers, LinkFromSeveralFilesAndALibrary) {
    const std::string kinds[] = {"-O0", "-O3 -funroll-loops",
                                 "-O2 -ffunction-sections -Wl,--gc-sections",
                                 "-O2 -fno-pie -no-pie"};
    for (const std::string compiler : {LAGTRAP_GXX, LAGTRAP_CLANGXX}) {
        build(compiler + " -std=c++17 -O2 -fPIC -shared", data_folder + "library.cpp",
              "library.so");
        for (const std::string& kind : kinds) {
            const std::string how = compiler + " -std=c++17 " + kind;
            SCOPED_TRACE(how);
            build(how,
                  data_folder + "main.cpp " + data_folder + "first.cpp " + data_folder +
                      "second.cpp " + place("library.so"),
                  "program");
            EXPECT_EQ(run(place("program")).exit_status, 0);
            std::map<std::string, std::set<std::uint64_t>> semaphores;
            std::set<std::string> names;
            for (const auto& probe : probes_of("program")) {
                names.insert(probe.name);
                EXPECT_EQ(byte_at_address("program", probe.address, 1), "\x90") << probe.name;
                if (probe.semaphore != 0)
                    semaphores[probe.name.substr(0, probe.name.find("__"))].insert(probe.semaphore);
            }
            EXPECT_THAT(names,
                        ::testing::IsSupersetOf(
                            {"first__begin", "first__end", "second__begin", "second__end",
                             "second__stage__caught", "inline-work__begin", "inline-work__end",
                             "inline-work__stage__round", "template_work__begin",
                             "template_work__end", "second-scope__begin", "second-scope__end"}));
            EXPECT_EQ(semaphores["template_work"].size(), 1U)
                << "one semaphore, used from both files";
            EXPECT_EQ(semaphores["second"].size(), 1U);
            EXPECT_NE(semaphores["second"], semaphores["template_work"]);
            EXPECT_THAT(run("readelf -sW " + place("library.so")).output,
                        HasSubstr(".lagtrap.semaphore.template_work"))
                << "the library has its own";
        }
    }
}

// The kernel increments a semaphore in the first writable mapping of its page of the file.
TEST_F(Markers, SemaphoresLieInOneWritableSegmentWhateverLinksThem) {
    for (const std::string compiler : {LAGTRAP_GCC, LAGTRAP_CLANG})
        for (const std::string linker : {"bfd", "gold", "lld"})
            for (const std::string kind : {"", "-ffunction-sections -Wl,--gc-sections"}) {
                SCOPED_TRACE(compiler + " " + linker + " " + kind);
                build(compiler + " -std=c99 -O2 -fPIC -shared -fuse-ld=" + linker + " " + kind,
                      data_folder + "all_markers.c", "all.so");
                auto file = ProgramFile::open(place("all.so"));
                ASSERT_TRUE(file) << file.error().message;
                for (const auto& probe : probes_of("all.so")) {
                    if (probe.semaphore == 0) continue;
                    const auto offset = file->file_offset_of(probe.semaphore);
                    ASSERT_TRUE(offset);
                    EXPECT_FALSE(file->is_writable_twice(*offset));
                }
            }
}

TEST_F(Markers, LinkWithLinkTimeOptimisation) {
    build(std::string(LAGTRAP_GXX) + " -std=c++17 -O2 -flto=2",
          data_folder + "main.cpp " + data_folder + "first.cpp " + data_folder + "second.cpp " +
              data_folder + "library.cpp",
          "program");
    EXPECT_EQ(run(place("program")).exit_status, 0);
    std::set<std::uint64_t> semaphores;
    for (const auto& probe : probes_of("program"))
        if (probe.name.starts_with("template_work__")) semaphores.insert(probe.semaphore);
    EXPECT_EQ(semaphores.size(), 1U);
}

TEST_F(Markers, RefuseWrongNames) {
    for (const std::string line :
         {"LAGTRAP_BEGIN(\"two words\");", "LAGTRAP_END(\"9lives\");", "LAGTRAP_BEGIN(\"\");",
          "LAGTRAP_STAGE(\"frame\", \"a.b\");", "LAGTRAP_BEGIN_KEY(\"a\\\"b\", 1);"}) {
        EXPECT_THAT(compile_line(LAGTRAP_GXX, "cpp", line).output, HasSubstr("a name of lagtrap"))
            << line;
        EXPECT_THAT(compile_line(LAGTRAP_CLANGXX, "cpp", line).output,
                    HasSubstr("a name of lagtrap"))
            << line;
        EXPECT_THAT(compile_line(std::string(LAGTRAP_GCC) + " -std=c99", "c", line).output,
                    HasSubstr("a name of lagtrap"))
            << line;
    }
    for (const std::string compiler : {LAGTRAP_GCC, LAGTRAP_CLANG}) {
        EXPECT_NE(compile_line(compiler, "c", "const char* name = \"frame\"; LAGTRAP_BEGIN(name);")
                      .exit_status,
                  0);
        EXPECT_EQ(compile_line(compiler, "c", "LAGTRAP_BEGIN(\"frame\");").exit_status, 0);
    }
}

TEST_F(Markers, VanishWhenDisabled) {
    for (const std::string compiler : {LAGTRAP_GCC, LAGTRAP_CLANG}) {
        build(compiler + " -DLAGTRAP_DISABLED -std=c99 -O2 -fPIC -shared",
              data_folder + "all_markers.c", "all.so");
        EXPECT_TRUE(probes_of("all.so").empty());
    }
    build(std::string(LAGTRAP_GXX) + " -DLAGTRAP_DISABLED -std=c++17 -O2 -c",
          data_folder + "second.cpp", "second.o");
}

TEST_F(Markers, CompileForArm64) {
    for (const std::string language : {"c -std=c99", "c++ -std=c++17"}) {
        build(std::string(LAGTRAP_CLANG) + " -target aarch64-linux-gnu -O2 -c -x " + language,
              data_folder + "all_markers.c", "all.o");
        const std::string notes = run("readelf -nW " + place("all.o")).output;
        EXPECT_THAT(notes, HasSubstr("Name: page-load__begin"));
        EXPECT_THAT(notes, ::testing::ContainsRegex("Arguments: 8@x[0-9]+ 8@x[0-9]+"));
    }
}

}  // namespace
}  // namespace lagtrap::markers::test::lagtrap_h_test

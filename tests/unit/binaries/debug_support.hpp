// Shared by tests of debug information: programs with inlined functions, and tools that make
// variants of them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "binaries/dwarf/source_lines.hpp"
#include "binaries/elf/program_file.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::binaries::test {

inline const std::filesystem::path inlines_folder = build_folder() + "/binaries/inlines";

inline std::filesystem::path inlines(const std::string& name) {
    return inlines_folder / ("inlines_" + name);
}

// Runs a tool; the test fails if the tool does.
inline void run(const std::string& command) {
    ASSERT_EQ(std::system((command + " 2>/dev/null").c_str()), 0) << command;
}

inline std::string build_id_of(const std::filesystem::path& path) {
    const auto file = ProgramFile::open(path);
    return file ? file->build_id() : std::string{};
}

// folder/.build-id/xx/yyyy.debug
inline std::filesystem::path build_id_place(const std::filesystem::path& folder,
                                            const std::string& build_id) {
    const auto place = folder / ".build-id" / build_id.substr(0, 2);
    std::filesystem::create_directories(place);
    return place / (build_id.substr(2) + ".debug");
}

// A stripped program with its debug file beside it; `linked` adds a debug link between them.
struct SplitProgram {
    SplitProgram(const std::filesystem::path& whole, const std::filesystem::path& folder,
                 bool linked)
        : program(folder / "program"), debug_file(folder / "program.debug") {
        run("objcopy --only-keep-debug " + whole.string() + " " + debug_file.string());
        run("objcopy --strip-all " + whole.string() + " " + program.string());
        if (linked)
            run("objcopy --add-gnu-debuglink=" + debug_file.string() + " " + program.string());
    }
    std::filesystem::path program;
    std::filesystem::path debug_file;
};

// The link-time addresses of every byte of the program's own functions.
inline std::vector<std::uint64_t> planted_addresses(const std::filesystem::path& program) {
    std::vector<std::uint64_t> addresses;
    const auto file = ProgramFile::open(program);
    if (!file) return addresses;
    const auto functions = file->functions();
    if (!functions) return addresses;
    for (const auto& function : *functions) {
        if (function.name != "main" && function.name.find("planted") == std::string::npos) continue;
        for (std::uint64_t address = function.address; address < function.address + function.size;
             ++address)
            addresses.push_back(address);
    }
    return addresses;
}

}  // namespace lagtrap::binaries::test

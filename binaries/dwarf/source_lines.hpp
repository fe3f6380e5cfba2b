// Functions, inlined ones too, with source file and line for places in a program, from its DWARF (elfutils libdw).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::binaries {

struct SourceFrame {
    // Demangled, with its parameters; where the debug information has no linkage name (C, static functions of GCC):
    // with its namespaces and classes alone. Empty: not known; the symbol table may know the outermost frame's.
    std::string function;
    std::string file;        // as the compiler was given it, with its directory; empty: not known
    std::uint32_t line = 0;  // 0: not known, or code that the compiler made by itself
};

// What a look at debug information may cost. What is beyond it stays unnamed, and that is counted by the caller.
struct DebugInfoLimits {
    std::uint64_t file_bytes = 1ULL << 30;   // of the file with the DWARF
    std::uint64_t memory_bytes = 192 << 20;  // of sections unpacked and tables built
};

// The DWARF of one file, versions 2 to 5, with dwz's common file where there is one. Sections are mapped; a file that is
// cut short meanwhile gives no frames from then on (mapped_sections.hpp). Not for several threads at once.
class SourceLines {
  public:
    // `debug_file` has the DWARF: the program itself, or its separate debug file (debug_files.hpp); `program` is
    // the program, or `debug_file` again where the program is not on this machine: then only frames_at_address may
    // be used, as a debug file does not know the program's file offsets.
    // ErrorKind::NotFound: there is no DWARF; Invalid; TooLarge: beyond the limits; Unsupported: sections are
    // compressed in a way that is not known.
    [[nodiscard]] static Result<SourceLines> open(const std::filesystem::path& program,
                                                  const std::filesystem::path& debug_file,
                                                  const DebugInfoLimits& limits);
    SourceLines(SourceLines&&) noexcept;
    SourceLines& operator=(SourceLines&&) noexcept;
    ~SourceLines();

    // The functions at a file offset of the program, innermost first: those inlined there, then the function itself.
    // The innermost has its own line, each other one the line of the call in it. Empty: not covered. One frame
    // without a function: there is only a line. Cheapest with ascending offsets: what was read of a compilation unit is
    // kept while there is room for it.
    [[nodiscard]] std::vector<SourceFrame> frames_at(std::uint64_t file_offset);
    // The same by address as linked.
    [[nodiscard]] std::vector<SourceFrame> frames_at_address(std::uint64_t address);

  private:
    struct State;
    explicit SourceLines(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace lagtrap::binaries

// Finds functions, inlined ones too, with source file and line at places in a program, from its
// DWARF (elfutils libdw).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::binaries {

struct SourceFrame {
    // Demangled, with parameters. Without a linkage name in the debug information (C, static
    // functions of GCC), it has only namespaces and classes. Empty if unknown; the symbol table may
    // know the outermost frame's.
    std::string function;
    std::string file;        // path as the compiler recorded it; empty if unknown
    std::uint32_t line = 0;  // 0 if unknown, or if the compiler generated the code
};

// Limits for reading debug information. What exceeds them stays unnamed, and the caller counts it.
struct DebugInfoLimits {
    std::uint64_t file_bytes = 1ULL << 30;   // size of the file with the DWARF
    std::uint64_t memory_bytes = 192 << 20;  // for unpacked sections and tables
};

// The DWARF of one file (versions 2 to 5) and dwz's common file, if there is one. Sections are
// mapped. If the file is truncated meanwhile, it returns no more frames (mapped_sections.hpp). Not
// thread-safe.
class SourceLines {
  public:
    // `debug_file` has the DWARF: the program itself, or its separate debug file (debug_files.hpp).
    // `program` is the program. If it is not on this machine, pass `debug_file` again and use only
    // frames_at_address(), because debug files do not have the program's file offsets.
    // ErrorKind::NotFound if there is no DWARF; Invalid; TooLarge beyond the limits; Unsupported if
    // sections have an unknown compression.
    [[nodiscard]] static Result<SourceLines> open(const std::filesystem::path& program,
                                                  const std::filesystem::path& debug_file,
                                                  const DebugInfoLimits& limits);
    SourceLines(SourceLines&&) noexcept;
    SourceLines& operator=(SourceLines&&) noexcept;
    ~SourceLines();

    // The functions at a file offset of the program, innermost first: those inlined there, then the
    // function itself. The innermost has its own line, the others the line of the inlined call.
    // Empty if unknown. A single frame without a function means that only the line is known.
    // Fastest with ascending offsets, because recently read compilation units are cached.
    [[nodiscard]] std::vector<SourceFrame> frames_at(std::uint64_t file_offset);
    // The same for an address as linked.
    [[nodiscard]] std::vector<SourceFrame> frames_at_address(std::uint64_t address);

  private:
    struct State;
    explicit SourceLines(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace lagtrap::binaries

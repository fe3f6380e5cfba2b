// Which code unwind information describes as one, and whether the stack pointer there is what it was at a function's
// first instruction. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "binaries/unwind/call_frame_entries.hpp"

namespace lagtrap::binaries {

enum class StackLevel : std::uint8_t {
    Entry,   // only the return address lies on the stack
    Deeper,  // something more does
    Unknown,
};

// How the stack pointer changes in one piece of code.
class StackLevels {
  public:
    StackLevels() = default;
    StackLevels(std::uint64_t begin, std::vector<CallFrameRow> rows) : begin_(begin), rows_(std::move(rows)) {}
    [[nodiscard]] StackLevel at(std::uint64_t address) const;
    // Entries of the procedure linkage table: no function's code.
    [[nodiscard]] bool are_of_linkage() const;

  private:
    std::uint64_t begin_ = 0;
    std::vector<CallFrameRow> rows_;
};

// A function, or a part of one that lies elsewhere.
struct FrameExtent {
    std::uint64_t begin = 0;  // as linked
    std::uint64_t end = 0;
    std::uint32_t entry = 0;           // number of its frame description entry
    bool begins_as_functions = false;  // at StackLevel::Entry, or unknown
    bool has_landing_pads = false;     // of exceptions: reached by no jump

    [[nodiscard]] bool holds(std::uint64_t address) const { return address >= begin && address < end; }
};

class FunctionFrames {
  public:
    // Empty where there is no unwind information, or none that can be read.
    [[nodiscard]] static FunctionFrames read(const ElfImage& image);

    // By address; none twice.
    [[nodiscard]] const std::vector<FrameExtent>& extents() const { return extents_; }
    // The one that holds the address; nullptr where none does.
    [[nodiscard]] const FrameExtent* extent_at(std::uint64_t address) const;
    [[nodiscard]] StackLevels levels_of(const FrameExtent& extent) const;

  private:
    std::vector<CallFrameSection> sections_;
    CallFrameEntries entries_;
    std::vector<FrameExtent> extents_;
};

}  // namespace lagtrap::binaries

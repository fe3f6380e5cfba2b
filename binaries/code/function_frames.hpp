// Finds the extents of functions and parts from unwind information, and whether the stack pointer
// at an instruction is what it was at the function's first one. Internal to binaries/.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "binaries/unwind/call_frame_entries.hpp"

namespace lagtrap::binaries {

enum class StackLevel : std::uint8_t {
    Entry,   // only the return address is on the stack
    Deeper,  // more than that
    Unknown,
};

// How the stack pointer changes within one extent.
class StackLevels {
  public:
    StackLevels() = default;
    StackLevels(std::uint64_t begin, std::vector<CallFrameRow> rows)
        : begin_(begin), rows_(std::move(rows)) {}
    [[nodiscard]] StackLevel at(std::uint64_t address) const;
    // Whether these are entries of the procedure linkage table rather than a function.
    [[nodiscard]] bool are_of_linkage() const;

  private:
    std::uint64_t begin_ = 0;
    std::vector<CallFrameRow> rows_;
};

// A function, or a part of one placed elsewhere.
struct FrameExtent {
    std::uint64_t begin = 0;  // as linked
    std::uint64_t end = 0;
    std::uint32_t entry = 0;           // index of its frame description entry
    bool begins_as_functions = false;  // at StackLevel::Entry, or unknown
    bool has_landing_pads = false;     // of exceptions; jumps do not reach them

    [[nodiscard]] bool holds(std::uint64_t address) const {
        return address >= begin && address < end;
    }
};

class FunctionFrames {
  public:
    // Empty if the file has no usable unwind information.
    [[nodiscard]] static FunctionFrames read(const ElfImage& image);

    // By address, without duplicates.
    [[nodiscard]] const std::vector<FrameExtent>& extents() const { return extents_; }
    // The extent that contains the address; nullptr if there is none.
    [[nodiscard]] const FrameExtent* extent_at(std::uint64_t address) const;
    [[nodiscard]] StackLevels levels_of(const FrameExtent& extent) const;

  private:
    std::vector<CallFrameSection> sections_;
    CallFrameEntries entries_;
    std::vector<FrameExtent> extents_;
};

}  // namespace lagtrap::binaries

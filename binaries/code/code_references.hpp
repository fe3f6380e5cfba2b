// Finds references between functions of a file. Searches machine code without decoding it, so a few
// are false. Internal to binaries/.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/code/function_frames.hpp"
#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {

class CodeReferences {
  public:
    // Finds calls, jumps and addresses (lea) with a relative 4-byte displacement in all executable
    // segments, and addresses that the loader stores in data.
    [[nodiscard]] static CodeReferences read(const ElfImage& image, const FunctionFrames& frames);

    // Whether anything outside `parts` and `extent` refers to the first byte of `extent`.
    [[nodiscard]] bool referred_to(const FrameExtent& extent,
                                   const std::vector<const FrameExtent*>& parts) const;
    // The extents that jump into the middle of `function` and do not start like a function.
    [[nodiscard]] std::vector<const FrameExtent*> parts_returning_to(
        const FrameExtent& function) const;

  private:
    struct Reference {
        std::uint64_t to = 0;    // the first byte of an extent
        std::uint64_t from = 0;  // 0: data
    };
    struct Return {
        const FrameExtent* to = nullptr;
        const FrameExtent* from = nullptr;
    };
    void read_code(const FunctionFrames& frames, std::string_view code, std::uint64_t address);
    void read_data(const ElfImage& image, const FunctionFrames& frames);

    std::vector<Reference> references_;  // by `to`
    std::vector<Return> returns_;        // by `to`
};

}  // namespace lagtrap::binaries

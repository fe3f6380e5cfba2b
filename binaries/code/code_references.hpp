// Who refers to which function of a file: found in its machine code without decoding it, so now and then there is one
// that is none. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/code/function_frames.hpp"
#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {

class CodeReferences {
  public:
    // Calls, jumps and addresses (lea), relative to the instruction and of 4 bytes, in all executable segments; addresses
    // that the loader puts into data.
    [[nodiscard]] static CodeReferences read(const ElfImage& image, const FunctionFrames& frames);

    // Whether something outside `parts` refers to the first byte of `extent`.
    [[nodiscard]] bool referred_to(const FrameExtent& extent, const std::vector<const FrameExtent*>& parts) const;
    // Of what does not begin as functions do, that which jumps into the middle of `function`.
    [[nodiscard]] std::vector<const FrameExtent*> parts_returning_to(const FrameExtent& function) const;

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

// The functions of a Go program as its run time knows them (.gopclntab): stripped programs have that table too. Used by
// the other files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

struct GoFunction {
    std::uint64_t address = 0;  // as linked
    std::uint64_t size = 0;     // up to the next function, with what fills the space between
    std::string name;           // "main.(*Server).handle"
    bool in_assembly = false;   // its arguments are on the stack
    // Code that recovers from a panic returns from the middle of the function to where no jump leads.
    bool is_left_by_recovery = false;
};

// By address, none twice. Source of the layout: Go's src/runtime/symtab.go, of Go 1.16 and later. ErrorKind::Invalid: the
// table is damaged; Unsupported: there is none, its layout is a later one, or it does not tell where the code begins;
// TooLarge.
[[nodiscard]] Result<std::vector<GoFunction>> read_go_functions(const ElfImage& image);

}  // namespace lagtrap::binaries

// Reads the functions of a Go program from its runtime's table (.gopclntab), which stripped
// programs have too. Internal to binaries/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

struct GoFunction {
    std::uint64_t address = 0;  // as linked
    std::uint64_t size = 0;     // up to the next function, including padding
    std::string name;           // "main.(*Server).handle"
    bool in_assembly = false;   // its arguments are on the stack
    // After recovering from a panic, it returns through code that no jump reaches.
    bool is_left_by_recovery = false;
};

// By address, without duplicates. The layout is described in Go's src/runtime/symtab.go, from Go
// 1.16 on. ErrorKind::Invalid if the table is damaged; Unsupported if there is none, its layout is
// newer, or it does not say where the code starts; TooLarge.
[[nodiscard]] Result<std::vector<GoFunction>> read_go_functions(const ElfImage& image);

}  // namespace lagtrap::binaries

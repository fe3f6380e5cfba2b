// Finds a thread-local variable of an ELF file, and how its address in a thread follows from the
// thread pointer: https://www.akkadia.org/drepper/tls.pdf and, for descriptors,
// https://www.fsfla.org/~lxoliva/writeups/TLS/RFC-TLSDESC-x86.txt
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "binaries/elf/elf_image.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// What the dynamic linker leaves in a running process's memory at ThreadVariable::words.
enum class ThreadAccess : std::uint32_t {
    Fixed,       // nothing: the program's own variable, at a fixed offset
    Offset,      // the offset from the thread pointer
    Descriptor,  // a TLS descriptor: a function and its argument
    Block,       // the number of the file's block of variables
};

struct ThreadVariable {
    ThreadAccess access = ThreadAccess::Fixed;
    std::int64_t offset = 0;  // Fixed: from the thread pointer; else within the file's block
    // Where the words are, relative to where the file's code would be at file offset 0.
    std::uint64_t words = 0;
};

// Searches .dynsym, then .symtab. ErrorKind::NotFound if the file does not define the variable,
// Unsupported for its machine or if nothing in the file says how it is accessed, Invalid if a table
// is damaged, TooLarge.
[[nodiscard]] Result<ThreadVariable> find_thread_variable(const ElfImage& image,
                                                          std::string_view name);

// Where a variable is in each thread of one process.
struct ThreadPlace {
    std::int64_t offset = 0;
    std::uint32_t block = 0;  // its number; 0: the offset is from the thread pointer
    friend bool operator==(const ThreadPlace&, const ThreadPlace&) = default;
};

// Follows from the two words at ThreadVariable::words. nullopt if they make no sense, or if
// dynamic_block_at() has an address.
[[nodiscard]] std::optional<ThreadPlace> thread_place(const ThreadVariable& variable,
                                                      const std::array<std::uint64_t, 2>& words);
// The address of two further words, if a descriptor refers to them: a block and an offset in it.
[[nodiscard]] std::optional<std::uint64_t> dynamic_block_at(
    const ThreadVariable& variable, const std::array<std::uint64_t, 2>& words);
[[nodiscard]] std::optional<ThreadPlace> dynamic_thread_place(
    const std::array<std::uint64_t, 2>& words);

}  // namespace lagtrap::binaries

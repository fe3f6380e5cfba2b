// Where a USDT site's arguments are: "-4@%eax 8@-16(%rbp)", as gcc and clang write them for SystemTap's sys/sdt.h on
// x86-64 (AT&T syntax).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::binaries {

inline constexpr std::size_t max_usdt_arguments = 12;  // sys/sdt.h has no more
inline constexpr std::uint8_t no_register = 0xff;
inline constexpr std::uint8_t usdt_registers = 16;

enum class UsdtPlace : std::uint8_t {
    Constant,
    Register,
    Memory,
    // What is not read:
    FloatingPoint,
    ThreadVariable,
    GlobalVariable,
    OddSize,  // not 1, 2, 4 or 8 bytes
    Unknown,
};

// Registers are numbered as machine code does: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
struct UsdtArgument {
    std::int64_t number = 0;  // the constant, cut to its size; or what is added to the address
    UsdtPlace place = UsdtPlace::Unknown;
    std::uint8_t bytes = 0;
    std::uint8_t is_signed = 0;
    std::uint8_t first_bit = 0;  // of the register; 8 for %ah
    std::uint8_t base = no_register;
    std::uint8_t index = no_register;
    std::uint8_t scale_shift = 0;  // the index counts 1, 2, 4 or 8 times
    std::uint8_t reserved = 0;

    [[nodiscard]] bool readable() const { return place <= UsdtPlace::Memory; }
};
static_assert(sizeof(UsdtArgument) == 16, "goes between processes as it is");

// The words of a note's arguments, one for each.
[[nodiscard]] std::vector<std::string_view> split_usdt_arguments(std::string_view arguments);

// The word of argument `number`, from 0; empty where there is none.
[[nodiscard]] std::string_view usdt_argument_text(std::string_view arguments, std::size_t number);

// Of one of them. What is not understood is told by its place; there is no error.
[[nodiscard]] UsdtArgument parse_usdt_argument(std::string_view text);

// Of the first max_usdt_arguments of them.
[[nodiscard]] std::vector<UsdtArgument> parse_usdt_arguments(std::string_view arguments);

// Whether every field is one that parse_usdt_argument() gives.
[[nodiscard]] bool is_sound(const UsdtArgument& argument);

// Why it cannot be read: `text` in quotes (100 characters of it at most), and what it is.
[[nodiscard]] std::string why_unreadable(const UsdtArgument& argument, std::string_view text);

}  // namespace lagtrap::binaries

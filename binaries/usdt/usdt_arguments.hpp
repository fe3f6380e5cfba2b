// Parses the locations of a USDT site's arguments: "-4@%eax 8@-16(%rbp)", as gcc and clang write
// them for SystemTap's sys/sdt.h on x86-64 (AT&T syntax).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::binaries {

inline constexpr std::size_t max_usdt_arguments = 12;  // the maximum in sys/sdt.h
inline constexpr std::uint8_t no_register = 0xff;
inline constexpr std::uint8_t usdt_registers = 16;

enum class UsdtPlace : std::uint8_t {
    Constant,
    Register,
    Memory,
    // Not readable:
    FloatingPoint,
    ThreadVariable,
    GlobalVariable,
    OddSize,  // not 1, 2, 4 or 8 bytes
    Unknown,
};

// Register numbers are those of machine code: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
struct UsdtArgument {
    // the constant, truncated to its size; or the displacement of the address
    std::int64_t number = 0;
    UsdtPlace place = UsdtPlace::Unknown;
    std::uint8_t bytes = 0;
    std::uint8_t is_signed = 0;
    std::uint8_t first_bit = 0;  // in the register; 8 for %ah
    std::uint8_t base = no_register;
    std::uint8_t index = no_register;
    std::uint8_t scale_shift = 0;  // the index is multiplied by 1, 2, 4 or 8
    std::uint8_t reserved = 0;

    [[nodiscard]] bool readable() const { return place <= UsdtPlace::Memory; }
};
static_assert(sizeof(UsdtArgument) == 16, "goes between processes as it is");

// Splits a note's arguments, one text per argument.
[[nodiscard]] std::vector<std::string_view> split_usdt_arguments(std::string_view arguments);

// The text of argument `number`, counted from 0; empty if there is none.
[[nodiscard]] std::string_view usdt_argument_text(std::string_view arguments, std::size_t number);

// Parses one argument. If it is not understood, its place says so; there are no errors.
[[nodiscard]] UsdtArgument parse_usdt_argument(std::string_view text);

// Parses the first max_usdt_arguments arguments.
[[nodiscard]] std::vector<UsdtArgument> parse_usdt_arguments(std::string_view arguments);

// Whether every field has a value that parse_usdt_argument() may produce.
[[nodiscard]] bool is_sound(const UsdtArgument& argument);

// Why it cannot be read: `text` in quotes, at most 100 characters, and what it is.
[[nodiscard]] std::string why_unreadable(const UsdtArgument& argument, std::string_view text);

}  // namespace lagtrap::binaries

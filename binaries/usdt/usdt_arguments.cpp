#include "binaries/usdt/usdt_arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/text.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t shown_characters = 100;
constexpr std::uint8_t stack_register = 4;

struct Register {
    std::uint8_t number = no_register;
    std::uint8_t bytes = 0;
    std::uint8_t first_bit = 0;
};

// rax to rdi and the names of their parts.
constexpr std::array<std::array<std::string_view, 5>, 8> named_registers{{
    {"rax", "eax", "ax", "al", "ah"},
    {"rcx", "ecx", "cx", "cl", "ch"},
    {"rdx", "edx", "dx", "dl", "dh"},
    {"rbx", "ebx", "bx", "bl", "bh"},
    {"rsp", "esp", "sp", "spl", ""},
    {"rbp", "ebp", "bp", "bpl", ""},
    {"rsi", "esi", "si", "sil", ""},
    {"rdi", "edi", "di", "dil", ""},
}};
constexpr std::array<std::uint8_t, 5> bytes_of_part{8, 4, 2, 1, 1};
constexpr std::size_t high_part = 4;

std::optional<Register> named_register(std::string_view name) {
    for (std::size_t number = 0; number < named_registers.size(); ++number)
        for (std::size_t part = 0; part < bytes_of_part.size(); ++part)
            if (!name.empty() && named_registers[number][part] == name)
                return Register{static_cast<std::uint8_t>(number), bytes_of_part[part],
                                static_cast<std::uint8_t>(part == high_part ? 8 : 0)};
    return std::nullopt;
}

// r8 to r15 and their parts: r8d, r8w, r8b.
std::optional<Register> numbered_register(std::string_view name) {
    if (!name.starts_with('r')) return std::nullopt;
    name.remove_prefix(1);
    unsigned number = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed != std::errc{} || name.starts_with('0') || number < 8 || number >= usdt_registers)
        return std::nullopt;
    const std::string_view part(end, static_cast<std::size_t>(name.data() + name.size() - end));
    const std::uint8_t bytes = part.empty()                 ? 8
                               : part == "d"                ? 4
                               : part == "w"                ? 2
                               : part == "b" || part == "l" ? 1
                                                            : 0;
    if (bytes == 0) return std::nullopt;
    return Register{static_cast<std::uint8_t>(number), bytes, 0};
}

// A register such as "%rax".
std::optional<Register> parse_register(std::string_view text) {
    if (!text.starts_with('%')) return std::nullopt;
    text.remove_prefix(1);
    const auto named = named_register(text);
    return named ? named : numbered_register(text);
}

// Removes a decimal or hexadecimal number from the front of `rest`. Large numbers wrap around to
// negative ones, as in the assembler.
std::optional<std::uint64_t> take_number(std::string_view& rest) {
    const bool hexadecimal = rest.starts_with("0x");
    if (hexadecimal) rest.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, failed] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, hexadecimal ? 16 : 10);
    if (failed != std::errc{}) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
}

// Parses all of `text` as a sum of numbers: "-24", "8+16", "-4+8".
std::optional<std::int64_t> parse_sum(std::string_view text) {
    std::uint64_t sum = 0;
    bool first = true;
    while (first || !text.empty()) {
        const bool minus = text.starts_with('-');
        const bool plus = text.starts_with('+');
        if (!first && !minus && !plus) return std::nullopt;
        if (minus || plus) text.remove_prefix(1);
        const auto value = take_number(text);
        if (!value) return std::nullopt;
        sum = minus ? sum - *value : sum + *value;
        first = false;
    }
    return static_cast<std::int64_t>(sum);
}

UsdtArgument unreadable(UsdtPlace place) {
    UsdtArgument argument;
    argument.place = place;
    return argument;
}

// Classifies an operand that is not understood.
UsdtPlace looks_like(std::string_view operand) {
    for (const std::string_view vector : {"%xmm", "%ymm", "%zmm", "%st", "%mm"})
        if (operand.find(vector) != std::string_view::npos) return UsdtPlace::FloatingPoint;
    if (operand.find("%fs:") != std::string_view::npos ||
        operand.find("%gs:") != std::string_view::npos)
        return UsdtPlace::ThreadVariable;
    if (operand.find("(%rip)") != std::string_view::npos) return UsdtPlace::GlobalVariable;
    return UsdtPlace::Unknown;
}

// Converts a scale of 1, 2, 4 or 8 to a shift.
std::optional<std::uint8_t> parse_scale(std::string_view text) {
    constexpr std::array<std::string_view, 4> scales{"1", "2", "4", "8"};
    const auto found = std::find(scales.begin(), scales.end(), text);
    if (found == scales.end()) return std::nullopt;
    return static_cast<std::uint8_t>(found - scales.begin());
}

// Parses "-24(%rbp)", "(%rax)", "8(%rax,%rbx,4)", "0(,%rbx,8)" into `argument`. False if it is
// something else.
bool parse_memory(std::string_view operand, UsdtArgument& argument) {
    const std::size_t open = operand.find('(');
    if (open == std::string_view::npos || !operand.ends_with(')')) return false;
    const auto number =
        open == 0 ? std::optional<std::int64_t>(0) : parse_sum(operand.substr(0, open));
    if (!number) return false;
    std::string_view inside = operand.substr(open + 1, operand.size() - open - 2);
    std::array<std::string_view, 3> parts{};
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
        if (count == parts.size()) return false;
        const std::size_t comma = inside.find(',');
        more = comma != std::string_view::npos;
        parts[count] = inside.substr(0, comma);
        if (more) inside.remove_prefix(comma + 1);
    }
    const auto base = parse_register(parts[0]);
    const auto index = parse_register(parts[1]);
    // x86-64 programs do not have addresses in parts of registers.
    const bool whole_base = base ? base->bytes == 8 : parts[0].empty() && count > 1;
    const bool whole_index =
        count == 1 || (index && index->bytes == 8 && index->number != stack_register);
    const auto scale = count == 3 ? parse_scale(parts[2]) : std::optional<std::uint8_t>(0);
    if (!whole_base || !whole_index || !scale) return false;
    argument.place = UsdtPlace::Memory;
    argument.number = *number;
    if (base) argument.base = base->number;
    if (index) argument.index = index->number;
    argument.scale_shift = *scale;
    return true;
}

// Truncates the value to what a variable of this size holds.
std::int64_t cut(std::int64_t value, unsigned bytes, bool is_signed) {
    const unsigned unused_bits = 64 - 8 * bytes;
    const std::uint64_t moved = static_cast<std::uint64_t>(value) << unused_bits;
    return is_signed ? static_cast<std::int64_t>(moved) >> unused_bits
                     : static_cast<std::int64_t>(moved >> unused_bits);
}

UsdtArgument parse_operand(std::string_view operand, std::uint8_t bytes, bool is_signed) {
    UsdtArgument argument;
    argument.bytes = bytes;
    argument.is_signed = is_signed ? 1 : 0;
    if (operand.starts_with('$')) {
        const auto value = parse_sum(operand.substr(1));
        if (!value) return unreadable(looks_like(operand));
        argument.place = UsdtPlace::Constant;
        argument.number = cut(*value, bytes, is_signed);
        return argument;
    }
    if (const auto found = parse_register(operand)) {
        argument.place = UsdtPlace::Register;
        argument.base = found->number;
        argument.first_bit = found->first_bit;
        argument.bytes = std::min(bytes, found->bytes);
        return argument;
    }
    return parse_memory(operand, argument) ? argument : unreadable(looks_like(operand));
}

bool is_size(unsigned bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

}  // namespace

std::vector<std::string_view> split_usdt_arguments(std::string_view arguments) {
    // In other syntaxes, operands contain spaces ("8@[x0, 16]"); there, each argument starts with
    // its size.
    const bool sized = arguments.find('@') != std::string_view::npos;
    std::vector<std::string_view> split;
    for (std::size_t at = 0;
         (at = arguments.find_first_not_of(' ', at)) != std::string_view::npos;) {
        const std::size_t end = std::min(arguments.find(' ', at), arguments.size());
        const std::string_view word = arguments.substr(at, end - at);
        if (split.empty() || !sized || word.find('@') != std::string_view::npos)
            split.push_back(word);
        else
            split.back() = std::string_view(
                split.back().data(),
                static_cast<std::size_t>(word.data() + word.size() - split.back().data()));
        at = end;
    }
    return split;
}

std::string_view usdt_argument_text(std::string_view arguments, std::size_t number) {
    const auto words = split_usdt_arguments(arguments);
    return number < words.size() ? words[number] : std::string_view();
}

UsdtArgument parse_usdt_argument(std::string_view text) {
    const std::size_t at = text.find('@');
    // Without a size, it is a whole register.
    if (at == std::string_view::npos) return parse_operand(text, 8, false);
    std::string_view size = text.substr(0, at);
    const std::string_view operand = text.substr(at + 1);
    const bool is_signed = size.starts_with('-');
    if (is_signed) size.remove_prefix(1);
    unsigned bytes = 0;
    const auto [end, failed] = std::from_chars(size.data(), size.data() + size.size(), bytes);
    const std::string_view letter(end, static_cast<std::size_t>(size.data() + size.size() - end));
    if (failed != std::errc{} || (!letter.empty() && letter != "f"))
        return unreadable(looks_like(operand));
    if (letter == "f") return unreadable(UsdtPlace::FloatingPoint);
    if (!is_size(bytes)) return unreadable(UsdtPlace::OddSize);
    return parse_operand(operand, static_cast<std::uint8_t>(bytes), is_signed);
}

std::vector<UsdtArgument> parse_usdt_arguments(std::string_view arguments) {
    auto words = split_usdt_arguments(arguments);
    words.resize(std::min(words.size(), max_usdt_arguments));
    std::vector<UsdtArgument> parsed;
    parsed.reserve(words.size());
    for (const std::string_view word : words) parsed.push_back(parse_usdt_argument(word));
    return parsed;
}

bool is_sound(const UsdtArgument& argument) {
    const auto is_register = [](std::uint8_t number) { return number < usdt_registers; };
    if (argument.place > UsdtPlace::Unknown) return false;
    if (!argument.readable()) return true;
    const bool right_base = is_register(argument.base) ||
                            (argument.base == no_register && argument.place != UsdtPlace::Register);
    const bool right_index = is_register(argument.index) || argument.index == no_register;
    return is_size(argument.bytes) && argument.is_signed <= 1 &&
           (argument.first_bit == 0 || argument.first_bit == 8) && right_base && right_index &&
           argument.scale_shift <= 3;
}

std::string why_unreadable(const UsdtArgument& argument, std::string_view text) {
    const auto what = [&] {
        switch (argument.place) {
            case UsdtPlace::FloatingPoint: return "a floating-point number";
            case UsdtPlace::ThreadVariable: return "a thread-local variable";
            case UsdtPlace::GlobalVariable: return "a global variable";
            case UsdtPlace::OddSize: return "not of 1, 2, 4 or 8 bytes";
            default: return "of an unknown form";
        }
    };
    std::string shown = printable(text.substr(0, shown_characters));
    if (text.size() > shown_characters) shown += "...";
    return "\"" + shown + "\" is " + what() + ": it cannot be read";
}

}  // namespace lagtrap::binaries

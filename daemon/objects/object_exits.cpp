#include "daemon/objects/object_exits.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "binaries/code/function_calls.hpp"

namespace lagtrap::daemon {
namespace {

// Target of a direct jump, conditional or not, in the same file; nullopt if it is not a direct
// jump.
std::optional<std::uint64_t> jump_target(std::string_view code, std::uint64_t offset) {
    const auto byte = [&](std::size_t at) {
        return at < code.size() ? static_cast<std::uint8_t>(code[at]) : std::uint8_t{0};
    };
    std::size_t at = byte(0) == 0xf2 || byte(0) == 0x3e ? 1 : 0;  // bnd, notrack
    bool is_near = byte(at) == 0xe9;
    if (byte(at) == 0x0f && (byte(at + 1) & 0xf0) == 0x80) {
        is_near = true;
        ++at;
    }
    if (is_near) {
        std::int32_t distance = 0;
        if (code.size() < at + 1 + sizeof distance) return std::nullopt;
        std::memcpy(&distance, code.data() + at + 1, sizeof distance);
        return offset + at + 1 + sizeof distance +
               static_cast<std::uint64_t>(std::int64_t{distance});
    }
    if (byte(at) != 0xeb && (byte(at) & 0xf0) != 0x70) return std::nullopt;
    return offset + at + 2 +
           static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(byte(at + 1))});
}

bool is_return(std::string_view code) {
    // rep, bnd
    const std::size_t at = code.starts_with('\xf3') || code.starts_with('\xf2') ? 1 : 0;
    return code.size() > at && (code[at] == '\xc3' || code[at] == '\xc2');
}

// The address of the pointer in `jmp *slot(%rip)`; nullopt if it is another instruction.
std::optional<std::uint64_t> slot_in(std::string_view code, std::uint64_t address) {
    static constexpr std::string_view landing("\xf3\x0f\x1e\xfa", 4), jump("\xff\x25", 2);
    std::size_t at = code.starts_with(landing) ? landing.size() : 0;
    if (code.substr(at).starts_with('\xf2')) ++at;  // bnd
    std::int32_t distance = 0;
    if (!code.substr(std::min(at, code.size())).starts_with(jump) ||
        code.size() < at + jump.size() + sizeof distance)
        return std::nullopt;
    std::memcpy(&distance, code.data() + at + jump.size(), sizeof distance);
    return address + at + jump.size() + sizeof distance +
           static_cast<std::uint64_t>(std::int64_t{distance});
}

// Follows jumps to the exits that return to the caller.
class ExitSearch {
  public:
    ExitSearch(ProcessFiles& code, std::uint32_t file, const binaries::ProgramFile& program,
               bool all)
        : code_(code), file_(file), program_(program), all_(all) {}

    bool follow(const binaries::FunctionCalls& from, bool is_other) {
        for (binaries::FunctionExit exit : from.exits) {
            const auto bytes = program_.code_at(exit.file_offset);
            if (!bytes || (exit.by_target && all_)) return false;
            if (exit.by_target) continue;
            auto target = jump_target(*bytes, exit.file_offset);
            if (!target && !is_return(*bytes)) return false;
            if (!target) {
                exit.of_others_too = exit.of_others_too || is_other;
                exits_.emplace(exit.file_offset, exit);
                continue;
            }
            if (const auto slot = jump_slot(program_, exit.file_offset))
                target = behind(from, *slot);
            if (!target || !follow_to(*target)) return false;
        }
        return !exits_.empty();
    }

    [[nodiscard]] const std::map<std::uint64_t, binaries::FunctionExit>& exits() const {
        return exits_;
    }

  private:
    bool follow_to(std::uint64_t target) {
        constexpr std::size_t max_followed = 64;
        if (!followed_.insert(target).second) return true;
        if (followed_.size() > max_followed) return false;
        const auto found = code_.calls_of(file_, {target});
        return found && !found->empty() && found->front().problem.empty() &&
               !found->front().exits.empty() && follow(found->front(), true);
    }

    // A library also calls its own functions through slots, which other files may override. Follow
    // them only if the function is in this file and no other has it.
    [[nodiscard]] std::optional<std::uint64_t> behind(const binaries::FunctionCalls& from,
                                                      std::uint64_t slot) {
        const auto known = std::find_if(from.slots.begin(), from.slots.end(),
                                        [&](const auto& one) { return one.address == slot; });
        if (known == from.slots.end() || known->symbol.empty()) return std::nullopt;
        const std::string symbol = known->symbol.substr(0, known->symbol.find('@'));
        std::optional<std::uint64_t> own;
        for (std::uint32_t file = 0; file < code_.files().size(); ++file) {
            const auto program = code_.program(file);
            if (!program) continue;
            const auto found = (*program)->find_functions(symbol);
            if (!found || found->empty()) continue;
            if (file != file_) return std::nullopt;
            own = found->front().file_offset;
        }
        return own;
    }

    ProcessFiles& code_;
    const std::uint32_t file_;
    const binaries::ProgramFile& program_;
    const bool all_;
    std::map<std::uint64_t, binaries::FunctionExit> exits_;
    std::set<std::uint64_t> followed_;
};

}  // namespace

bool follow_exits(ProcessFiles& code, std::uint32_t file, const binaries::FunctionCalls& from,
                  bool all, std::vector<binaries::FunctionExit>& exits) {
    const auto program = code.program(file);
    if (!program) return false;
    ExitSearch search(code, file, **program, all);
    if (!search.follow(from, false)) return false;
    exits.clear();
    for (const auto& [offset, exit] : search.exits()) exits.push_back(exit);
    return true;
}

std::optional<std::uint64_t> jump_slot(const binaries::ProgramFile& program, std::uint64_t offset) {
    for (int jumps = 0; jumps < 2; ++jumps) {
        const auto bytes = program.code_at(offset);
        const auto address = program.address_of(offset);
        if (!bytes || !address) return std::nullopt;
        if (const auto slot = slot_in(*bytes, *address)) return slot;
        const auto target = jump_target(*bytes, offset);
        if (!target) return std::nullopt;
        offset = *target;
    }
    return std::nullopt;
}

}  // namespace lagtrap::daemon

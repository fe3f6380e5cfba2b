#include "binaries/return_sites.hpp"

#include <elf.h>

#include <algorithm>
#include <set>
#include <string>

#include <fmt/core.h>

#include "binaries/code_branches.hpp"
#include "binaries/elf_image.hpp"

namespace lagtrap::binaries {
namespace {

// A piece of the function's code, by addresses as linked.
struct Part {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    std::vector<Branch> branches;

    [[nodiscard]] bool holds(std::uint64_t address) const { return address >= begin && address < end; }
};

Error unsupported(std::string why) { return make_error(ErrorKind::Unsupported, std::move(why)); }

Result<Part> decode_part(const ProgramFile& file, std::uint64_t address, std::uint64_t size) {
    if (size == 0) return unsupported("the symbol table does not say how large it is");
    if (size > kMaxFunctionBytes)
        return make_error(ErrorKind::TooLarge,
                          fmt::format("has {} bytes of code; at most {} are searched", size, kMaxFunctionBytes));
    const auto first = file.file_offset_of(address);
    const auto last = file.file_offset_of(address + size - 1);
    if (!first || !last || *last - *first != size - 1) return unsupported("lies outside the file's code");
    TRY_ASSIGN(const std::string code, file.image().read(*first, size, kMaxFunctionBytes));
    TRY_ASSIGN(std::vector<Branch> branches, decode_branches(code, address));
    return Part{address, address + size, *first, std::move(branches)};
}

bool jumps_into(const Part& from, const Part& to) {
    return std::any_of(from.branches.begin(), from.branches.end(), [&](const Branch& branch) {
        const bool jumps = branch.kind == BranchKind::Jump || branch.kind == BranchKind::ConditionalJump;
        return jumps && to.holds(branch.target);
    });
}

bool calls(const Part& from, std::uint64_t address) {
    return std::any_of(from.branches.begin(), from.branches.end(), [&](const Branch& branch) {
        return branch.kind == BranchKind::Call && branch.target == address;
    });
}

std::string_view without_version(std::string_view name) { return name.substr(0, name.find('@')); }

// "f" of "f.cold" and "f.cold.1"; empty for other names.
std::string_view owner_of_cold_part(std::string_view name) {
    static constexpr std::string_view kSuffix = ".cold";
    const auto at = name.rfind(kSuffix);
    if (at == std::string_view::npos) return {};
    const std::string_view number = name.substr(at + kSuffix.size());
    const bool numbered =
        number.starts_with('.') && number.find_first_not_of("0123456789", 1) == std::string_view::npos;
    return number.empty() || numbered ? name.substr(0, at) : std::string_view{};
}

// The function's own piece and its cold ones. Several functions of a file may have one name, and so may their cold
// parts: a piece belongs to the function if jumps lead from one to the other; one without such jumps (it may hold
// landing pads of exceptions alone) if the name is nobody else's. A piece that is called (LLVM makes such) is a
// function of its own.
Result<std::vector<Part>> parts_of(const ProgramFile& file, const Function& function) {
    TRY_ASSIGN(Part own, decode_part(file, function.address, function.size));
    TRY_ASSIGN(const std::vector<Function> all, file.functions());
    std::set<std::string_view> names{without_version(function.name)};
    for (const auto& other : all)
        if (other.address == function.address) names.insert(without_version(other.name));
    const bool name_is_unique = std::none_of(all.begin(), all.end(), [&](const Function& other) {
        return other.address != function.address && names.contains(without_version(other.name));
    });
    std::vector<Part> parts;
    parts.push_back(std::move(own));
    std::set<std::uint64_t> seen;
    for (const auto& other : all) {
        const std::string_view owner = owner_of_cold_part(without_version(other.name));
        if (owner.empty() || !names.contains(owner) || other.size == 0) continue;
        if (calls(parts[0], other.address) || !seen.insert(other.address).second) continue;
        auto cold = decode_part(file, other.address, other.size);
        if (!cold) return cold.error().within(other.name);
        if (name_is_unique || jumps_into(parts[0], *cold) || jumps_into(*cold, parts[0]))
            parts.push_back(std::move(cold).value());
    }
    return parts;
}

bool is_in_offset_table(const ProgramFile& file, std::uint64_t address) {
    const auto& sections = file.image().sections();
    return std::any_of(sections.begin(), sections.end(), [&](const ElfSection& section) {
        const bool is_table = section.name == ".got" || section.name == ".got.plt";
        return is_table && address >= section.address && address - section.address < section.size;
    });
}

// What a branch means for the function that it is in.
enum class Meaning { Stays, Returns, Leaves, Unclear };

Result<Meaning> meaning_of(const Branch& branch, const std::vector<Part>& parts, const ProgramFile& file) {
    const bool within = std::any_of(parts.begin(), parts.end(), [&](const Part& p) { return p.holds(branch.target); });
    const bool to_entry = branch.target == parts[0].begin;
    switch (branch.kind) {
        case BranchKind::Call: return Meaning::Stays;
        case BranchKind::Return: return Meaning::Returns;
        case BranchKind::Jump: return within && !to_entry ? Meaning::Stays : Meaning::Leaves;
        case BranchKind::JumpThroughSlot:
            return is_in_offset_table(file, branch.target) ? Meaning::Leaves : Meaning::Unclear;
        case BranchKind::UnclearJump: return Meaning::Unclear;
        case BranchKind::FarReturn:
            return unsupported(fmt::format("has a far return at {:#x}, which is not watched", branch.address));
        case BranchKind::ConditionalJump: break;
    }
    if (to_entry)
        return unsupported(
            fmt::format("has a conditional jump at {:#x} to its own first instruction, where it would "
                        "seem to begin again",
                        branch.address));
    if (!within)
        return unsupported(fmt::format(
            "has a conditional jump at {:#x} that may leave it for {:#x} (a tail call, or a part of it that "
            "only the symbol table of an unstripped file would name); a probe there can not tell "
            "whether it does",
            branch.address, branch.target));
    return Meaning::Stays;
}

Result<FunctionExits> exits_of(const ProgramFile& file, const Function& function) {
    if (file.image().machine() != EM_X86_64) return unsupported("is not x86-64 code, the only kind searched");
    TRY_ASSIGN(const std::vector<Part> parts, parts_of(file, function));
    FunctionExits exits;
    std::size_t returns = 0;
    for (const auto& part : parts) {
        for (const auto& branch : part.branches) {
            TRY_ASSIGN(const Meaning meaning, meaning_of(branch, parts, file));
            if (meaning == Meaning::Returns) ++returns;
            if (meaning == Meaning::Unclear) ++exits.unclear_jumps;
            if (meaning == Meaning::Stays || meaning == Meaning::Unclear) continue;
            if (branch.address == function.address)
                return unsupported("is left by its first instruction: no time passes in it");
            if (exits.file_offsets.size() == kMaxReturnSites)
                return make_error(ErrorKind::TooLarge,
                                  fmt::format("is left by more than {} instructions", kMaxReturnSites));
            exits.file_offsets.push_back(part.file_offset + (branch.address - part.begin));
        }
    }
    if (returns == 0 && exits.unclear_jumps > 0)
        return unsupported(
            fmt::format("has no return, and {} indirect jumps that may leave it or not", exits.unclear_jumps));
    if (exits.file_offsets.empty()) return unsupported("has no instruction that leaves it: it never returns");
    // Symbols may overlap, and with them the parts.
    auto& offsets = exits.file_offsets;
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    return exits;
}

}  // namespace

Result<FunctionExits> function_exits(const ProgramFile& file, const Function& function) {
    if (auto elsewhere = file.exits_read_elsewhere(function)) return std::move(*elsewhere);
    auto exits = exits_of(file, function);
    if (!exits) return exits.error().within(file.image().name() + ": function " + demangle(function.name));
    return exits;
}

Result<std::vector<std::uint64_t>> return_sites(const ProgramFile& file, const Function& function) {
    TRY_ASSIGN(FunctionExits exits, function_exits(file, function));
    return std::move(exits.file_offsets);
}

}  // namespace lagtrap::binaries

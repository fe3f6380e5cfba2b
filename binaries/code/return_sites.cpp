#include "binaries/code/return_sites.hpp"

#include <elf.h>

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "binaries/code/code_reach.hpp"
#include "binaries/code/go_entry.hpp"
#include "binaries/code/go_functions.hpp"
#include "binaries/code/go_program.hpp"
#include "binaries/code/program_code.hpp"
#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {
namespace {

Error nothing_to_watch(std::string why) { return make_error(ErrorKind::NotFound, std::move(why)); }
Error no_return_sites(std::string why) {
    return make_error(ErrorKind::Unsupported, std::move(why));
}

// What a branch means for its function.
enum class Meaning { Stays, Leaves, Decides };

class ExitSearch {
  public:
    // `go` is nullptr unless it is a function of Go.
    ExitSearch(const ProgramCode& code, const std::vector<CodePart>& parts, const GoFunction* go)
        : code_(code), parts_(parts), go_(go) {}

    Result<FunctionExits> run() {
        const bool all = go_ != nullptr && go_->is_left_by_recovery;
        const auto reached = reached_branches(code_, parts_);
        for (std::size_t number = 0; number < parts_.size(); ++number)
            for (std::size_t at = 0; at < parts_[number].branches.size(); ++at)
                if (all || reached[number][at])
                    TRY(take(parts_[number], parts_[number].branches[at]));
        if (exits_.exits.empty())
            return nothing_to_watch(
                "has no exit, so it never returns; watch what it calls, or use <begin> and <end>");
        // Symbols may overlap, and then so do the parts.
        auto& exits = exits_.exits;
        std::sort(exits.begin(), exits.end(),
                  [](const auto& a, const auto& b) { return a.file_offset < b.file_offset; });
        exits.erase(std::unique(exits.begin(), exits.end(),
                                [](const auto& a, const auto& b) {
                                    return a.file_offset == b.file_offset;
                                }),
                    exits.end());
        return std::move(exits_);
    }

  private:
    [[nodiscard]] const CodePart* part_with(std::uint64_t address) const {
        const auto found = std::find_if(parts_.begin(), parts_.end(),
                                        [&](const CodePart& part) { return part.holds(address); });
        return found == parts_.end() ? nullptr : &*found;
    }
    [[nodiscard]] Result<Meaning> meaning_of(const Branch& branch) const;
    [[nodiscard]] Result<Meaning> meaning_of_direct(const Branch& branch) const;
    [[nodiscard]] Result<Meaning> meaning_of_indirect(const Branch& branch) const;
    [[nodiscard]] Status take(const CodePart& part, const Branch& branch);
    [[nodiscard]] Status add_ranges(const Branch& branch, FunctionExit& exit) const;

    const ProgramCode& code_;
    const std::vector<CodePart>& parts_;
    const GoFunction* go_;
    FunctionExits exits_;
};

Result<Meaning> ExitSearch::meaning_of_direct(const Branch& branch) const {
    const bool to_entry = branch.target == parts_[0].begin;
    if (part_with(branch.target) != nullptr && (!to_entry || go_ != nullptr)) return Meaning::Stays;
    const StackLevel level = code_.level_at(branch.address);
    if (level == StackLevel::Deeper) {
        const bool behind_end =
            std::any_of(parts_.begin(), parts_.end(),
                        [&](const CodePart& part) { return part.end == branch.target; });
        if (to_entry || behind_end) return Meaning::Stays;
        return no_return_sites(
            fmt::format("jumps at {:#x} to {} with its frame still on the stack, so its end is "
                        "unknown; watch its caller",
                        branch.address,
                        code_.function_at(branch.target).empty()
                            ? fmt::format("{:#x}", branch.target)
                            : demangle(std::string(code_.function_at(branch.target)))));
    }
    if (branch.kind == BranchKind::ConditionalJump && branch.condition == JumpCondition::Always)
        return no_return_sites(fmt::format(
            "exits at {:#x} with a loop instruction, which cannot be probed; watch its caller",
            branch.address));
    return Meaning::Leaves;
}

Result<Meaning> ExitSearch::meaning_of_indirect(const Branch& branch) const {
    const StackLevel level = code_.level_at(branch.address);
    if (level == StackLevel::Deeper || branch.table == TableKind::Marked) return Meaning::Stays;
    if (branch.table != TableKind::None && !code_.cases_within(branch, parts_).empty())
        return Meaning::Stays;
    if (branch.table == TableKind::Sum && level == StackLevel::Unknown) return Meaning::Stays;
    if (!branch.computed.in_memory && branch.computed.base == no_jump_register)
        return no_return_sites(
            fmt::format("jumps at {:#x} to an unknown address; watch its caller", branch.address));
    return Meaning::Decides;
}

Result<Meaning> ExitSearch::meaning_of(const Branch& branch) const {
    switch (branch.kind) {
        case BranchKind::Call:
        case BranchKind::CallThroughSlot:
        case BranchKind::IndirectCall:
        case BranchKind::Stop: return Meaning::Stays;
        case BranchKind::Return: return Meaning::Leaves;
        case BranchKind::FarReturn:
            return no_return_sites(
                fmt::format("has a far return at {:#x}, which cannot be probed; watch its caller",
                            branch.address));
        case BranchKind::Jump:
        case BranchKind::ConditionalJump: return meaning_of_direct(branch);
        case BranchKind::JumpThroughSlot:
            return code_.level_at(branch.address) == StackLevel::Deeper ? Meaning::Stays
                                                                        : Meaning::Leaves;
        case BranchKind::IndirectJump: return meaning_of_indirect(branch);
    }
    return Meaning::Stays;
}

Status ExitSearch::add_ranges(const Branch& branch, FunctionExit& exit) const {
    if (parts_.size() > max_jump_ranges)
        return no_return_sites(
            fmt::format("has a jump at {:#x} that may enter any of {} parts; watch its caller",
                        branch.address, parts_.size()));
    const auto distance = [&](std::uint64_t to) {
        return static_cast<std::int64_t>(to - branch.address);
    };
    for (std::size_t number = 0; number < parts_.size(); ++number) {
        const std::int64_t begin = distance(parts_[number].begin),
                           end = distance(parts_[number].end);
        if (std::min(begin, end) < std::numeric_limits<std::int32_t>::min() ||
            std::max(begin, end) > std::numeric_limits<std::int32_t>::max())
            return no_return_sites("has parts that are too far apart");
        // A jump to the first instruction counts as leaving.
        exit.within[number] = {static_cast<std::int32_t>(number == 0 ? begin + 1 : begin),
                               static_cast<std::int32_t>(end)};
    }
    exit.by_target = true;
    exit.target = branch.computed;
    return success();
}

Status ExitSearch::take(const CodePart& part, const Branch& branch) {
    TRY_ASSIGN(const Meaning meaning, meaning_of(branch));
    if (meaning == Meaning::Stays) return success();
    if (branch.address == parts_[0].begin) {
        return nothing_to_watch(
            branch.kind == BranchKind::Return
                ? "only returns, so no time passes in it; watch its caller"
                : "only jumps to another function; watch that function, or its caller");
    }
    if (!branch.can_be_probed)
        return no_return_sites(fmt::format(
            "exits at {:#x} with an instruction that the kernel cannot probe; watch its caller",
            branch.address));
    if (exits_.exits.size() == max_return_sites)
        return make_error(ErrorKind::TooLarge,
                          fmt::format("has more than {} exits", max_return_sites));
    FunctionExit exit{.file_offset = part.file_offset + (branch.address - part.begin),
                      .condition = branch.condition,
                      .of_others_too = part.of_others_too};
    if (meaning == Meaning::Decides) TRY(add_ranges(branch, exit));
    exits_.exits.push_back(exit);
    return success();
}

Result<std::uint64_t> entry_of_go(const ProgramFile& file, const ProgramCode& code,
                                  const CodePart& part) {
    if (!file.go().refusal.empty()) return no_return_sites(file.go().refusal);
    TRY_ASSIGN(const std::uint64_t entry, go_entry(code, part));
    return part.file_offset + (entry - part.begin);
}

Result<std::uint64_t> entry_of(const ProgramFile& file, const Function& function) {
    TRY_ASSIGN(const GoFunction* const go, file.go_function(function.address));
    if (go == nullptr) return function.file_offset;
    TRY_ASSIGN(const ProgramCode* const code, file.code());
    TRY_ASSIGN(const std::vector<CodePart> parts, code->parts_of(function));
    return entry_of_go(file, *code, parts.front());
}

Result<FunctionExits> exits_of(const ProgramFile& file, const Function& function) {
    if (file.image().machine() != EM_X86_64) return no_return_sites("is not x86-64 code");
    TRY_ASSIGN(const ProgramCode* const code, file.code());
    TRY_ASSIGN(const std::vector<CodePart> parts, code->parts_of(function));
    TRY_ASSIGN(const GoFunction* const go, file.go_function(function.address));
    if (go != nullptr) TRY(entry_of_go(file, *code, parts.front()));
    return ExitSearch(*code, parts, go).run();
}

}  // namespace

bool FunctionExits::always() const {
    return std::all_of(exits.begin(), exits.end(), [](const FunctionExit& exit) {
        return exit.condition == JumpCondition::Always && !exit.by_target;
    });
}

Result<FunctionExits> function_exits(const ProgramFile& file, const Function& function) {
    if (auto elsewhere = file.exits_read_elsewhere(function)) return std::move(*elsewhere);
    auto exits = exits_of(file, function);
    if (!exits)
        return exits.error().within(file.image().name() + ": function " + demangle(function.name));
    return exits;
}

std::string exit_problem(const Error& error, const Function& function) {
    const std::string prefix = "function " + demangle(function.name) + ": ";
    const auto at = error.message.find(prefix);
    return at == std::string::npos ? error.message : error.message.substr(at + prefix.size());
}

Result<std::uint64_t> function_entry(const ProgramFile& file, const Function& function) {
    auto entry = entry_of(file, function);
    if (!entry)
        return entry.error().within(file.image().name() + ": function " + demangle(function.name));
    return entry;
}

}  // namespace lagtrap::binaries

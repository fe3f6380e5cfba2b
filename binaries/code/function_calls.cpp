#include "binaries/code/function_calls.hpp"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "binaries/code/code_branches.hpp"
#include "binaries/code/code_reach.hpp"
#include "binaries/code/go_functions.hpp"
#include "binaries/code/go_program.hpp"
#include "binaries/code/linkage_jumps.hpp"
#include "binaries/code/program_code.hpp"
#include "binaries/elf/elf_image.hpp"
#include "binaries/reader/file_reader.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::uint64_t max_slot_relocation_bytes = 64ULL << 20;
constexpr std::uint64_t max_dynamic_symbol_bytes = 256ULL << 20;

// The symbols that the loader resolves for slots, by the slot's address.
std::map<std::uint64_t, std::string> slot_symbols(const ElfImage& image) {
    std::map<std::uint64_t, std::string> symbols;
    const auto& sections = image.sections();
    for (const ElfSection& section : sections) {
        if (section.type != SHT_RELA || section.link >= sections.size()) continue;
        const ElfSection& table = sections[section.link];
        if (table.type != SHT_DYNSYM || table.link >= sections.size()) continue;
        const auto relocations = image.read(section, max_slot_relocation_bytes);
        const auto entries = image.read(table, max_dynamic_symbol_bytes);
        const auto names = image.read(sections[table.link], max_dynamic_symbol_bytes);
        if (!relocations || !entries || !names) continue;
        for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= relocations->size();
             at += sizeof(Elf64_Rela)) {
            const auto relocation = number_at<Elf64_Rela>(*relocations, at);
            const auto type = ELF64_R_TYPE(relocation.r_info);
            if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
            const std::uint64_t place = ELF64_R_SYM(relocation.r_info) * sizeof(Elf64_Sym);
            if (place + sizeof(Elf64_Sym) > entries->size()) continue;
            symbols[relocation.r_offset] =
                text_at(*names, number_at<Elf64_Sym>(*entries, place).st_name);
        }
    }
    return symbols;
}

// Assembly functions of Go's runtime that do not return normally: the goroutine continues after
// their call.
bool leaves_goroutine(std::string_view name) {
    constexpr std::string_view names[] = {"runtime.mcall", "runtime.gogo", "runtime.morestack"};
    return std::any_of(std::begin(names), std::end(names),
                       [&](std::string_view one) { return name.starts_with(one); });
}

class CallSearch {
  public:
    CallSearch(const ProgramFile& file, const ProgramCode& code, std::vector<Function> functions)
        : file_(file),
          code_(code),
          functions_(std::move(functions)),
          symbols_(slot_symbols(file.image())) {
        return_probe_ = !file.exceptions_may_pass();
        for (const LinkageJump& jump : read_linkage_jumps(file.image()))
            jumps_[jump.begin] = jump.end;
    }

    [[nodiscard]] FunctionCalls look_at(std::uint64_t file_offset) const {
        FunctionCalls found;
        const Function function = function_at(file_offset);
        found.symbol = function.name;
        found.name = demangle_without_parameters(function.name);
        if (auto bytes = file_.code_at(file_offset)) found.first_code = std::move(*bytes);
        const auto parts = code_.parts_of(function);
        if (!parts) {
            found.problem = parts.error().message;
            return found;
        }
        add_calls(*parts, found);
        auto exits = function_exits(file_, function);
        if (!exits) found.problem = exit_problem(exits.error(), function);
        found.return_probe = return_probe_;
        if (exits && !return_probe_) found.exits = std::move(exits->exits);
        if (file_.go().is_go) add_go(function, found);
        return found;
    }

  private:
    void add_go(const Function& function, FunctionCalls& found) const {
        const auto go = file_.go_function(function.address);
        const auto entry =
            go && *go != nullptr ? function_entry(file_, function) : Result<std::uint64_t>(0);
        if (go && *go == nullptr && found.problem.empty())
            found.problem = "is not a Go function, in a Go program: it has no goroutine";
        if (leaves_goroutine(function.name) && found.problem.empty())
            found.problem =
                "switches to another stack and does not return; its time counts as its caller's";
        for (const Error* error : {go ? nullptr : &go.error(), entry ? nullptr : &entry.error()})
            if (error != nullptr && found.problem.empty())
                found.problem = exit_problem(*error, function);
        if (!found.problem.empty()) return;
        found.goid_offset = file_.go().goid_offset;
        found.frame_offset = file_.go().frame_offset;
        found.entry = *entry;
        if (auto bytes = file_.code_at(*entry)) found.first_code = std::move(*bytes);
    }

    // If several symbols start here, chooses the one that people are most likely to know.
    [[nodiscard]] Function function_at(std::uint64_t file_offset) const {
        const std::uint64_t address = file_.address_of(file_offset).value_or(0);
        auto at = std::lower_bound(
            functions_.begin(), functions_.end(), address,
            [](const Function& other, std::uint64_t wanted) { return other.address < wanted; });
        Function chosen;
        chosen.address = address;
        chosen.file_offset = file_offset;
        const auto rank = [](std::string_view name) {
            const bool part = !owner_of_part(name).empty();
            return std::pair(part, name.empty() ? 99 : name.find_first_not_of('_'));
        };
        for (; at != functions_.end() && at->address == address; ++at)
            if (chosen.name.empty() || rank(at->name) < rank(chosen.name)) chosen = *at;
        return chosen;
    }

    void add_calls(const std::vector<CodePart>& parts, FunctionCalls& found) const {
        const auto holds = [&](std::uint64_t address) {
            return std::any_of(parts.begin(), parts.end(),
                               [&](const auto& part) { return part.holds(address); });
        };
        const auto reached = reached_branches(code_, parts);
        for (std::size_t number = 0; number < parts.size(); ++number) {
            for (std::size_t at = 0; at < parts[number].branches.size(); ++at) {
                const Branch& branch = parts[number].branches[at];
                const bool jump =
                    branch.kind == BranchKind::Jump || branch.kind == BranchKind::ConditionalJump;
                if (!reached[number][at]) continue;
                if (branch.kind == BranchKind::Call || (jump && !holds(branch.target)))
                    add_target(branch.target, found);
                if (branch.kind == BranchKind::CallThroughSlot ||
                    branch.kind == BranchKind::JumpThroughSlot)
                    add_slot(branch.target, found);
                if (branch.kind == BranchKind::IndirectCall && branch.can_be_probed &&
                    (branch.computed.in_memory || branch.computed.base != no_jump_register) &&
                    found.indirect.size() < max_callees_of_function)
                    found.indirect.push_back(
                        {parts[number].file_offset + (branch.address - parts[number].begin),
                         branch.computed});
            }
        }
        auto& callees = found.callees;
        std::sort(callees.begin(), callees.end());
        callees.erase(std::unique(callees.begin(), callees.end()), callees.end());
        if (callees.size() > max_callees_of_function) callees.resize(max_callees_of_function);
    }

    void add_target(std::uint64_t address, FunctionCalls& found) const {
        if (const auto slot = slot_behind(address)) return add_slot(*slot, found);
        if (const auto offset = file_.file_offset_of(address)) found.callees.push_back(*offset);
    }

    void add_slot(std::uint64_t address, FunctionCalls& found) const {
        const auto at = std::lower_bound(
            found.slots.begin(), found.slots.end(), address,
            [](const CodeSlot& slot, std::uint64_t wanted) { return slot.address < wanted; });
        if (at != found.slots.end() && at->address == address) return;
        if (found.slots.size() >= max_callees_of_function) return;
        const auto symbol = symbols_.find(address);
        found.slots.insert(at,
                           {address, symbol == symbols_.end() ? std::string() : symbol->second});
    }

    // The address of the pointer used by the linkage jump at this address.
    [[nodiscard]] std::optional<std::uint64_t> slot_behind(std::uint64_t address) const {
        const auto jump = jumps_.find(address);
        if (jump == jumps_.end()) return std::nullopt;
        const auto offset = file_.file_offset_of(address);
        const auto code = offset ? file_.code_at(*offset) : Result<std::string>(std::string());
        const std::uint64_t size = jump->second - address;
        if (!code || size < sizeof(std::int32_t) || code->size() < size) return std::nullopt;
        const auto displacement = number_at<std::int32_t>(*code, size - sizeof(std::int32_t));
        return jump->second + static_cast<std::uint64_t>(std::int64_t{displacement});
    }

    const ProgramFile& file_;
    const ProgramCode& code_;
    std::vector<Function> functions_;
    std::map<std::uint64_t, std::string> symbols_;
    std::map<std::uint64_t, std::uint64_t> jumps_;  // begin and end
    bool return_probe_ = false;
};

}  // namespace

Result<std::vector<FunctionCalls>> function_calls(const ProgramFile& file,
                                                  const std::vector<std::uint64_t>& functions) {
    if (functions.size() > max_call_queries)
        return make_error(ErrorKind::TooLarge,
                          "calls of more than " + std::to_string(max_call_queries) + " functions");
    if (auto elsewhere = file.calls_read_elsewhere(functions)) return std::move(*elsewhere);
    if (file.image().machine() != EM_X86_64)
        return make_error(ErrorKind::Unsupported, "is not x86-64 code");
    TRY_ASSIGN(std::vector<Function> all, file.functions());
    TRY_ASSIGN(const ProgramCode* const code, file.code());
    const CallSearch search(file, *code, std::move(all));
    std::vector<FunctionCalls> found;
    found.reserve(functions.size());
    for (const std::uint64_t offset : functions) found.push_back(search.look_at(offset));
    return found;
}

}  // namespace lagtrap::binaries

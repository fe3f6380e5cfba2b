#include "binaries/code/program_code.hpp"

#include <elf.h>

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "binaries/code/return_sites.hpp"
#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t max_parts = 16;
constexpr std::size_t max_table_entries = 4096;

Error unsupported(std::string why) { return make_error(ErrorKind::Unsupported, std::move(why)); }

std::string_view without_version(std::string_view name) { return name.substr(0, name.find('@')); }

bool jumps(const Branch& branch) {
    return branch.kind == BranchKind::Jump || branch.kind == BranchKind::ConditionalJump;
}

bool jumps_into(const CodePart& from, const CodePart& to) {
    return std::any_of(from.branches.begin(), from.branches.end(), [&](const Branch& branch) {
        return jumps(branch) && to.holds(branch.target);
    });
}

bool calls(const CodePart& from, std::uint64_t address) {
    return std::any_of(from.branches.begin(), from.branches.end(), [&](const Branch& branch) {
        return branch.kind == BranchKind::Call && branch.target == address;
    });
}

}  // namespace

std::string_view owner_of_part(std::string_view name) {
    for (const std::string_view suffix : {".cold", ".__part"}) {
        const auto at = name.rfind(suffix);
        if (at == std::string_view::npos || at == 0) continue;
        const std::string_view number = name.substr(at + suffix.size());
        const bool numbered = number.starts_with('.') &&
                              number.find_first_not_of("0123456789", 1) == std::string_view::npos;
        if (number.empty() || numbered) return name.substr(0, at);
    }
    return {};
}

// State while the parts of one function are collected.
struct ProgramCode::Search {
    std::vector<CodePart> parts;
    std::vector<const FrameExtent*> extents;  // of the parts
    std::size_t bytes = 0;

    [[nodiscard]] bool holds(std::uint64_t address) const {
        return std::any_of(parts.begin(), parts.end(),
                           [&](const CodePart& part) { return part.holds(address); });
    }
};

ProgramCode::ProgramCode(const ElfImage& image, std::vector<Function> functions)
    : image_(image), functions_(std::move(functions)), frames_(FunctionFrames::read(image)) {
    for (const FrameExtent& extent : frames_.extents()) {
        if (extent.begins_as_functions) continue;
        parts_begin_ = std::min(parts_begin_, extent.begin);
        parts_end_ = std::max(parts_end_, extent.end);
    }
    std::uint64_t last = 0;
    std::set<std::string_view> names_here;
    for (const Function& function : functions_) {
        if (function.address != last) names_here.clear();
        last = function.address;
        const std::string_view name = without_version(function.name);
        if (names_here.insert(name).second) ++addresses_of_name_[name];
        if (const auto owner = owner_of_part(name); !owner.empty())
            parts_of_name_.emplace(owner, &function);
    }
}

std::optional<std::uint64_t> ProgramCode::file_offset_of(std::uint64_t address) const {
    for (const ElfSegment& segment : image_.segments())
        if (segment.type == PT_LOAD && address >= segment.address &&
            address - segment.address < segment.file_bytes)
            return segment.offset + (address - segment.address);
    return std::nullopt;
}

const CodeReferences& ProgramCode::references() const {
    if (!references_) references_ = CodeReferences::read(image_, frames_);
    return *references_;
}

StackLevel ProgramCode::level_at(std::uint64_t address) const {
    if (last_extent_ == nullptr || !last_extent_->holds(address)) {
        last_extent_ = frames_.extent_at(address);
        if (last_extent_ != nullptr) last_levels_ = frames_.levels_of(*last_extent_);
    }
    return last_extent_ == nullptr ? StackLevel::Unknown : last_levels_.at(address);
}

std::string_view ProgramCode::function_at(std::uint64_t address) const {
    auto at = std::lower_bound(
        functions_.begin(), functions_.end(), address,
        [](const Function& function, std::uint64_t wanted) { return function.address < wanted; });
    for (; at != functions_.end() && at->address == address; ++at)
        if (owner_of_part(without_version(at->name)).empty()) return at->name;
    return {};
}

Result<CodePart> ProgramCode::decode(std::uint64_t address, std::uint64_t size) const {
    if (size > max_function_bytes)
        return make_error(ErrorKind::TooLarge, fmt::format("has {} bytes of code; the limit is {}",
                                                           size, max_function_bytes));
    const auto first = file_offset_of(address);
    const auto last = file_offset_of(address + size - 1);
    if (!first || !last || *last - *first != size - 1)
        return unsupported("is outside the file's code");
    TRY_ASSIGN(const std::string code, image_.read(*first, size, max_function_bytes));
    TRY_ASSIGN(std::vector<Branch> branches, decode_branches(code, address));
    return CodePart{address, address + size, *first, std::move(branches)};
}

Result<std::uint64_t> ProgramCode::size_of(const Function& function) const {
    const FrameExtent* const extent = frames_.extent_at(function.address);
    const bool begins_here = extent != nullptr && extent->begin == function.address;
    if (begins_here && !extent->begins_as_functions)
        return make_error(ErrorKind::Invalid,
                          "is a part of another function, which jumps here; watch that function");
    if (function.size != 0) return function.size;
    if (begins_here) return extent->end - extent->begin;
    return unsupported("has no known size, neither from its symbol nor from unwind information");
}

// The targets listed in the jump's table.
std::vector<std::uint64_t> ProgramCode::table_of(const Branch& jump) const {
    std::vector<std::uint64_t> targets;
    if (jump.kind != BranchKind::IndirectJump || jump.table_address == 0) return targets;
    const bool pointers = jump.table == TableKind::Pointers;
    const auto offset = file_offset_of(jump.table_address);
    if (!offset || *offset >= image_.size_bytes()) return targets;
    const std::size_t entry_bytes = pointers ? sizeof(std::uint64_t) : sizeof(std::int32_t);
    const std::uint64_t bytes =
        std::min<std::uint64_t>(image_.size_bytes() - *offset, max_table_entries * entry_bytes);
    const auto table = image_.read(*offset, bytes, bytes);
    if (!table) return targets;
    for (std::size_t at = 0; at + entry_bytes <= table->size(); at += entry_bytes)
        targets.push_back(pointers
                              ? number_at<std::uint64_t>(*table, at)
                              : jump.table_address + static_cast<std::uint64_t>(std::int64_t{
                                                         number_at<std::int32_t>(*table, at)}));
    return targets;
}

std::vector<std::uint64_t> ProgramCode::cases_within(const Branch& jump,
                                                     const std::vector<CodePart>& parts) const {
    auto targets = table_of(jump);
    const auto outside = std::find_if(targets.begin(), targets.end(), [&](std::uint64_t target) {
        return std::none_of(parts.begin(), parts.end(),
                            [&](const CodePart& part) { return part.holds(target); });
    });
    targets.erase(outside, targets.end());
    return targets;
}

// The table's size is unknown: it ends at an entry that leads neither to this function nor to a
// part of one.
std::vector<const FrameExtent*> ProgramCode::parts_behind_table(const Branch& jump,
                                                                const Search& search) const {
    std::vector<const FrameExtent*> found;
    bool leads_here = false;
    for (const std::uint64_t target : table_of(jump)) {
        leads_here = leads_here || search.holds(target);
        if (search.holds(target)) continue;
        const FrameExtent* const extent = frames_.extent_at(target);
        if (extent == nullptr || extent->begins_as_functions) break;
        if (std::find(found.begin(), found.end(), extent) == found.end()) found.push_back(extent);
    }
    if (!leads_here) found.clear();
    return found;
}

// The extent that a jump leads to outside the known parts, if it belongs to the function. If the
// stack is as at the function's first instruction, the jump may be a tail call. `certain` accepts
// only extents that cannot be one.
const FrameExtent* ProgramCode::part_behind(const Branch& branch, const Search& search,
                                            bool certain) const {
    if (!jumps(branch) || search.holds(branch.target)) return nullptr;
    const FrameExtent* const extent = frames_.extent_at(branch.target);
    if (extent == nullptr ||
        std::find(search.extents.begin(), search.extents.end(), extent) != search.extents.end())
        return nullptr;
    if (!extent->begins_as_functions) return extent;
    const bool at_begin = branch.target == extent->begin;
    const bool is_named = !function_at(extent->begin).empty();
    if (level_at(branch.address) == StackLevel::Deeper) {
        // A function may end with a call that does not return, which the compiler knows but unwind
        // information does not show. The code after its last byte is never reached.
        const bool behind_end =
            std::any_of(search.parts.begin(), search.parts.end(),
                        [&](const CodePart& part) { return part.end == branch.target; });
        return behind_end || (at_begin && is_named) ? nullptr : extent;
    }
    const bool among_parts = extent->begin >= parts_begin_ && extent->begin < parts_end_;
    if (certain || is_named || !among_parts || search.parts.size() + 1 >= max_parts) return nullptr;
    return references().referred_to(*extent, search.extents) ? nullptr : extent;
}

Status ProgramCode::adopt(Search& search, std::uint64_t begin, std::uint64_t size) const {
    TRY_ASSIGN(CodePart part, decode(begin, size));
    search.bytes += size;
    if (search.parts.size() >= max_parts || search.bytes > max_function_bytes)
        return make_error(ErrorKind::TooLarge,
                          fmt::format("has more than {} parts, or parts of more than {} bytes",
                                      max_parts, max_function_bytes));
    search.extents.push_back(frames_.extent_at(begin));
    part.has_landing_pads =
        search.extents.back() != nullptr && search.extents.back()->has_landing_pads;
    search.parts.push_back(std::move(part));
    return success();
}

Status ProgramCode::follow(Search& search, bool certain) const {
    for (std::size_t number = 0; number < search.parts.size(); ++number) {
        for (std::size_t at = 0; at < search.parts[number].branches.size(); ++at) {
            const Branch branch = search.parts[number].branches[at];
            if (const FrameExtent* const part = part_behind(branch, search, certain))
                TRY(adopt(search, part->begin, part->end - part->begin));
            for (const FrameExtent* const part : parts_behind_table(branch, search))
                if (!search.holds(part->begin))
                    TRY(adopt(search, part->begin, part->end - part->begin));
        }
    }
    return success();
}

// Adds parts that no known jump reaches but that jump back.
Status ProgramCode::add_returning(Search& search) const {
    const FrameExtent* const own = search.extents.front();
    if (own == nullptr || own->begin != search.parts.front().begin) return success();
    for (const FrameExtent* const extent : references().parts_returning_to(*own)) {
        if (search.holds(extent->begin)) continue;
        const auto part = decode(extent->begin, extent->end - extent->begin);
        if (part && jumps_into(*part, search.parts.front()))
            TRY(adopt(search, extent->begin, extent->end - extent->begin));
    }
    return success();
}

// Several functions of a file may have the same name, and so may their parts. A named part belongs
// to the function if jumps connect them. Without such jumps (it may hold only landing pads) it
// belongs if the name is unique. A part that is called, as LLVM produces them, is a function of its
// own.
Status ProgramCode::add_named(Search& search, const Function& function) const {
    auto at = std::lower_bound(
        functions_.begin(), functions_.end(), function.address,
        [](const Function& other, std::uint64_t wanted) { return other.address < wanted; });
    for (; at != functions_.end() && at->address == function.address; ++at) {
        const std::string_view name = without_version(at->name);
        const auto found = addresses_of_name_.find(name);
        const bool is_unique = found != addresses_of_name_.end() && found->second == 1;
        const auto [first, last] = parts_of_name_.equal_range(name);
        for (auto named = first; named != last; ++named) {
            const Function& other = *named->second;
            if (other.size == 0 || search.holds(other.address) ||
                calls(search.parts[0], other.address))
                continue;
            const auto part = decode(other.address, other.size);
            if (!part) return part.error().within(other.name);
            if (is_unique || jumps_into(search.parts[0], *part) ||
                jumps_into(*part, search.parts[0]))
                TRY(adopt(search, other.address, other.size));
        }
    }
    return success();
}

// The parts of the function that another one just jumps to.
Result<std::vector<CodePart>> ProgramCode::parts_behind(const Branch& jump, int depth) const {
    const auto at = std::lower_bound(
        functions_.begin(), functions_.end(), jump.target,
        [](const Function& other, std::uint64_t wanted) { return other.address < wanted; });
    Function next;
    if (at != functions_.end() && at->address == jump.target) next = *at;
    next.address = jump.target;
    TRY_ASSIGN(std::vector<CodePart> parts, parts_of(next, depth + 1));
    for (CodePart& part : parts) part.of_others_too = true;
    return parts;
}

Result<std::vector<CodePart>> ProgramCode::parts_of(const Function& function) const {
    return parts_of(function, 0);
}

Result<std::vector<CodePart>> ProgramCode::parts_of(const Function& function, int depth) const {
    constexpr int max_jumps = 4;
    TRY_ASSIGN(const std::uint64_t size, size_of(function));
    Search search;
    TRY(adopt(search, function.address, size));
    const auto& own = search.parts.front().branches;
    if (depth < max_jumps && !own.empty() && own.front().address == function.address &&
        own.front().kind == BranchKind::Jump && !search.holds(own.front().target)) {
        auto behind = parts_behind(own.front(), depth);
        if (behind) search.parts.insert(search.parts.end(), behind->begin(), behind->end());
        return std::move(search.parts);
    }
    TRY(follow(search, true));
    TRY(add_named(search, function));
    TRY(add_returning(search));
    TRY(follow(search, true));
    std::size_t before = 0;
    do {
        before = search.parts.size();
        TRY(follow(search, false));
        TRY(follow(search, true));
    } while (search.parts.size() != before);
    return std::move(search.parts);
}

}  // namespace lagtrap::binaries

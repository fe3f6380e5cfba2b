#include "binaries/code/code_references.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace lagtrap::binaries {
namespace {

constexpr std::uint64_t max_code_bytes = 1ULL << 30;
constexpr std::uint64_t max_relocation_bytes = 256ULL << 20;

enum class Use { None, Call, Jump, Address };

// The meaning of a displacement, from the two bytes before it.
Use use_of(std::uint8_t before_last, std::uint8_t last) {
    if (last == 0xe8) return Use::Call;
    if (last == 0xe9 || (before_last == 0x0f && (last & 0xf0) == 0x80)) return Use::Jump;
    if (before_last == 0x8d && (last & 0xc7) == 0x05) return Use::Address;
    return Use::None;
}

}  // namespace

void CodeReferences::read_code(const FunctionFrames& frames, std::string_view code,
                               std::uint64_t address) {
    constexpr std::size_t displacement_bytes = 4;
    const auto& extents = frames.extents();
    if (extents.empty()) return;
    const std::uint64_t first = extents.front().begin, last = extents.back().end;
    for (std::size_t at = 2; at + displacement_bytes <= code.size(); ++at) {
        const Use use = use_of(static_cast<std::uint8_t>(code[at - 2]),
                               static_cast<std::uint8_t>(code[at - 1]));
        if (use == Use::None) continue;
        std::int32_t displacement = 0;
        std::memcpy(&displacement, code.data() + at, sizeof displacement);
        const std::uint64_t from = address + at;
        const std::uint64_t to =
            from + displacement_bytes + static_cast<std::uint64_t>(std::int64_t{displacement});
        if (to < first || to >= last) continue;
        const FrameExtent* const target = frames.extent_at(to);
        if (target == nullptr) continue;
        if (to == target->begin) references_.push_back({to, from});
        if (to == target->begin || use != Use::Jump || !target->begins_as_functions) continue;
        const FrameExtent* const source = frames.extent_at(from);
        if (source != nullptr && !source->begins_as_functions) returns_.push_back({target, source});
    }
}

// R_X86_64_RELATIVE relocations have 24 bytes, with the address in the last 8.
void CodeReferences::read_data(const ElfImage& image, const FunctionFrames& frames) {
    for (const ElfSection& section : image.sections()) {
        if (section.type != SHT_RELA || (section.flags & SHF_ALLOC) == 0) continue;
        const auto relocations = image.read(section, max_relocation_bytes);
        if (!relocations) continue;
        for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= relocations->size();
             at += sizeof(Elf64_Rela)) {
            const auto relocation = number_at<Elf64_Rela>(*relocations, at);
            if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_RELATIVE) continue;
            const auto to = static_cast<std::uint64_t>(relocation.r_addend);
            const FrameExtent* const target = frames.extent_at(to);
            if (target != nullptr && to == target->begin) references_.push_back({to, 0});
        }
    }
}

CodeReferences CodeReferences::read(const ElfImage& image, const FunctionFrames& frames) {
    CodeReferences found;
    for (const ElfSegment& segment : image.segments()) {
        if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
        const auto code = image.read(segment.offset, segment.file_bytes, max_code_bytes);
        if (code) found.read_code(frames, *code, segment.address);
    }
    found.read_data(image, frames);
    std::sort(found.references_.begin(), found.references_.end(),
              [](const Reference& a, const Reference& b) {
                  return std::tie(a.to, a.from) < std::tie(b.to, b.from);
              });
    std::sort(found.returns_.begin(), found.returns_.end(), [](const Return& a, const Return& b) {
        return std::tie(a.to, a.from) < std::tie(b.to, b.from);
    });
    found.returns_.erase(std::unique(found.returns_.begin(), found.returns_.end(),
                                     [](const Return& a, const Return& b) {
                                         return a.to == b.to && a.from == b.from;
                                     }),
                         found.returns_.end());
    return found;
}

bool CodeReferences::referred_to(const FrameExtent& extent,
                                 const std::vector<const FrameExtent*>& parts) const {
    auto at = std::lower_bound(
        references_.begin(), references_.end(), extent.begin,
        [](const Reference& reference, std::uint64_t to) { return reference.to < to; });
    for (; at != references_.end() && at->to == extent.begin; ++at) {
        const bool within = extent.holds(at->from) ||
                            std::any_of(parts.begin(), parts.end(),
                                        [&](const auto* part) { return part->holds(at->from); });
        if (!within) return true;
    }
    return false;
}

std::vector<const FrameExtent*> CodeReferences::parts_returning_to(
    const FrameExtent& function) const {
    std::vector<const FrameExtent*> parts;
    auto at =
        std::lower_bound(returns_.begin(), returns_.end(), &function,
                         [](const Return& entry, const FrameExtent* to) { return entry.to < to; });
    for (; at != returns_.end() && at->to == &function; ++at) parts.push_back(at->from);
    return parts;
}

}  // namespace lagtrap::binaries

#include "binaries/code/function_frames.hpp"

#include <algorithm>

#include "binaries/unwind/call_frame_sections.hpp"

namespace lagtrap::binaries {
namespace {

constexpr unsigned kind_mask = 0x0f;

}  // namespace

bool StackLevels::are_of_linkage() const {
    return std::any_of(rows_.begin(), rows_.end(), [](const CallFrameRow& row) {
        return (row.rule.kind_and_rbp & kind_mask) == LAGTRAP_UNWIND_PLT;
    });
}

StackLevel StackLevels::at(std::uint64_t address) const {
    if (rows_.empty() || address < begin_) return StackLevel::Unknown;
    const auto after =
        std::upper_bound(rows_.begin(), rows_.end(), address - begin_,
                         [](std::uint64_t wanted, const auto& row) { return wanted < row.offset; });
    if (after == rows_.begin()) return StackLevel::Unknown;
    const lagtrap_unwind_rule& rule = std::prev(after)->rule;
    constexpr unsigned return_address_bytes = 8;
    switch (rule.kind_and_rbp & kind_mask) {
        case LAGTRAP_UNWIND_REGISTER: {
            const bool by_stack_pointer = (rule.register_and_add & kind_mask) == register_rsp;
            return by_stack_pointer && rule.cfa_offset == return_address_bytes ? StackLevel::Entry
                                                                               : StackLevel::Deeper;
        }
        case LAGTRAP_UNWIND_DEREFERENCE: return StackLevel::Deeper;
        default: return StackLevel::Unknown;
    }
}

FunctionFrames FunctionFrames::read(const ElfImage& image) {
    FunctionFrames frames;
    auto sections = read_call_frame_sections(image);
    if (!sections) return frames;
    frames.sections_ = std::move(*sections);
    for (std::uint32_t number = 0; number < frames.sections_.size(); ++number)
        read_call_frame_entries(frames.sections_[number], number, frames.entries_);
    const auto& functions = frames.entries_.functions;
    frames.extents_.reserve(functions.size());
    for (std::uint32_t entry = 0; entry < functions.size(); ++entry)
        frames.extents_.push_back(
            {functions[entry].begin, functions[entry].begin + functions[entry].size, entry});
    auto& extents = frames.extents_;
    std::stable_sort(extents.begin(), extents.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; });
    extents.erase(std::unique(extents.begin(), extents.end(),
                              [](const auto& a, const auto& b) { return a.begin == b.begin; }),
                  extents.end());
    std::erase_if(extents, [&](FrameExtent& extent) {
        const StackLevels levels = frames.levels_of(extent);
        extent.has_landing_pads = functions[extent.entry].has_landing_pads;
        extent.begins_as_functions = levels.at(extent.begin) != StackLevel::Deeper;
        return levels.are_of_linkage();
    });
    return frames;
}

const FrameExtent* FunctionFrames::extent_at(std::uint64_t address) const {
    const auto after = std::upper_bound(
        extents_.begin(), extents_.end(), address,
        [](std::uint64_t wanted, const auto& extent) { return wanted < extent.begin; });
    if (after == extents_.begin() || !std::prev(after)->holds(address)) return nullptr;
    return &*std::prev(after);
}

StackLevels FunctionFrames::levels_of(const FrameExtent& extent) const {
    const CallFrameFunction& function = entries_.functions[extent.entry];
    const CallFrameCie& cie = entries_.cies[function.cie];
    const CallFrameCode code =
        code_of(sections_[cie.section], function.code_begin, function.code_end);
    std::vector<CallFrameRow> rows;
    if (!run_program(code, cie, function.begin, function.size, rows)) rows.clear();
    return StackLevels(function.begin, std::move(rows));
}

}  // namespace lagtrap::binaries

#include "trace/names/jit_pieces.hpp"

#include <algorithm>
#include <queue>

namespace lagtrap::trace {
namespace {

// Pieces of one recording to examine that start before an address but may not reach it. A file with
// more is malicious.
constexpr int later_looks = 4096;

// The pieces as seen from above, each covering those made before it: one sweep by address, with the
// pieces at the current address in a heap, latest on top.
std::vector<JitPiece> lay_out(const std::vector<JitPiece>& made) {
    std::vector<std::uint32_t> by_start(made.size());
    for (std::uint32_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::stable_sort(by_start.begin(), by_start.end(), [&](std::uint32_t a, std::uint32_t b) {
        return made[a].start < made[b].start;
    });
    std::vector<JitPiece> visible;
    std::priority_queue<std::uint32_t> over;
    std::size_t next = 0;
    std::uint64_t at = 0;
    while (next < by_start.size() || !over.empty()) {
        if (over.empty()) at = made[by_start[next]].start;
        while (next < by_start.size() && made[by_start[next]].start <= at)
            over.push(by_start[next++]);
        while (!over.empty() && made[over.top()].end <= at) over.pop();
        if (over.empty()) continue;
        const JitPiece& top = made[over.top()];
        const std::uint64_t until =
            next < by_start.size() ? std::min(top.end, made[by_start[next]].start) : top.end;
        if (!visible.empty() && visible.back().end == at &&
            visible.back().name.data() == top.name.data()) {
            visible.back().end = until;
        } else {
            visible.push_back({at, until, top.from_ns, top.name});
        }
        at = until;
    }
    return visible;
}

bool starts_after(std::uint64_t address, const JitPiece& piece) { return address < piece.start; }

}  // namespace

JitPieces::JitPieces(std::vector<JitPiece> made, std::uint64_t settled_ns) {
    std::stable_sort(made.begin(), made.end(),
                     [](const JitPiece& a, const JitPiece& b) { return a.from_ns < b.from_ns; });
    const auto first_later = std::find_if(made.begin(), made.end(), [&](const JitPiece& piece) {
        return piece.from_ns > settled_ns;
    });
    later_.assign(first_later, made.end());
    made.erase(first_later, made.end());
    settled_ = lay_out(made);
    std::stable_sort(later_.begin(), later_.end(),
                     [](const JitPiece& a, const JitPiece& b) { return a.start < b.start; });
    std::uint64_t reach = 0;
    for (const JitPiece& piece : later_) later_reach_.push_back(reach = std::max(reach, piece.end));
}

std::string_view JitPieces::find(std::uint64_t address, std::uint64_t at_ns) const {
    const JitPiece* before = nullptr;
    const JitPiece* after = nullptr;
    auto i = static_cast<std::size_t>(
        std::upper_bound(later_.begin(), later_.end(), address, starts_after) - later_.begin());
    for (int looks = 0; i > 0 && later_reach_[i - 1] > address && looks < later_looks;
         --i, ++looks) {
        const JitPiece& piece = later_[i - 1];
        if (piece.end <= address) continue;
        if (piece.from_ns <= at_ns && (before == nullptr || piece.from_ns > before->from_ns))
            before = &piece;
        if (piece.from_ns > at_ns && (after == nullptr || piece.from_ns < after->from_ns))
            after = &piece;
    }
    if (before != nullptr) return before->name;
    const auto settled = std::upper_bound(settled_.begin(), settled_.end(), address, starts_after);
    if (settled != settled_.begin() && (settled - 1)->end > address) return (settled - 1)->name;
    return after != nullptr ? after->name : std::string_view();
}

}  // namespace lagtrap::trace

#include "formats/profile_maker.hpp"

#include <algorithm>

namespace lagtrap::formats {

using analysis::TimeKind;

namespace {

bool is_wanted(TimeKind kind, TimeChoice time) {
    switch (time) {
        case TimeChoice::OnCpu: return kind == TimeKind::OnCpu;
        case TimeChoice::OffCpu: return kind == TimeKind::Runnable || kind == TimeKind::Blocked;
        default: return true;
    }
}

}  // namespace

std::uint64_t ProfiledThread::weight_ns() const {
    std::uint64_t sum_ns = 0;
    for (const Piece& piece : pieces) sum_ns += piece.weight_ns;
    return sum_ns;
}

std::uint64_t StackProfile::weight_ns() const {
    std::uint64_t sum_ns = 0;
    for (const ProfiledThread& thread : threads) sum_ns += thread.weight_ns();
    return sum_ns;
}

std::vector<std::uint32_t> StackProfile::path_of(std::uint32_t node) const {
    std::vector<std::uint32_t> path;
    for (; node != 0; node = nodes[node].parent) path.push_back(node);
    std::reverse(path.begin(), path.end());
    return path;
}

std::string state_words(const StackProfile& profile, const Piece& piece) {
    switch (piece.kind) {
        case TimeKind::OnCpu: return "on CPU";
        case TimeKind::Runnable: return "waits for a CPU";
        case TimeKind::Blocked: return "blocked: " + profile.texts[piece.reason];
        default: return "unknown: " + profile.texts[piece.reason];
    }
}

std::uint32_t ProfileMaker::add_place(Place place) {
    profile_.places.push_back(std::move(place));
    return static_cast<std::uint32_t>(profile_.places.size() - 1);
}

std::uint32_t ProfileMaker::child(std::uint32_t parent, std::uint32_t place) {
    const auto [known, added] =
        children_.try_emplace(static_cast<std::uint64_t>(parent) << 32 | place,
                              static_cast<std::uint32_t>(profile_.nodes.size()));
    if (added) profile_.nodes.push_back({parent, place});
    return known->second;
}

std::uint32_t ProfileMaker::text(const std::string& text) {
    if (text.empty()) return 0;
    const auto [known, added] =
        texts_.try_emplace(text, static_cast<std::uint32_t>(profile_.texts.size()));
    if (added) profile_.texts.push_back(text);
    return known->second;
}

void ProfileMaker::set_leaf(Piece& piece) {
    piece.leaf = piece.stack;
    if (piece.kind == TimeKind::OnCpu && piece.stack != 0) return;
    const std::string words =
        piece.kind == TimeKind::OnCpu ? "on CPU, not sampled" : state_words(profile_, piece);
    const auto [known, added] = states_.try_emplace(words, 0);
    if (added) {
        Place state;
        state.function = words;
        state.state = true;
        known->second = add_place(std::move(state));
    }
    piece.leaf = child(piece.stack, known->second);
}

void ProfileMaker::finish(TimeChoice time) {
    profile_.time = time;
    auto& threads = profile_.threads;
    for (ProfiledThread& thread : threads)
        std::erase_if(thread.pieces,
                      [&](const Piece& piece) { return !is_wanted(piece.kind, time); });
    std::erase_if(threads, [](const ProfiledThread& thread) { return thread.pieces.empty(); });
    // Most threads of a machine only sleep; list the active ones first.
    using Weights = std::pair<std::uint64_t, std::uint64_t>;
    std::vector<std::pair<Weights, std::size_t>> order;
    for (std::size_t i = 0; i < threads.size(); ++i) {
        std::uint64_t on_cpu_ns = 0;
        for (const Piece& piece : threads[i].pieces)
            on_cpu_ns += piece.kind == TimeKind::OnCpu ? piece.weight_ns : 0;
        order.emplace_back(Weights{on_cpu_ns, threads[i].weight_ns()}, i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<ProfiledThread> sorted;
    sorted.reserve(threads.size());
    for (const auto& [weights, i] : order) sorted.push_back(std::move(threads[i]));
    threads = std::move(sorted);
}

}  // namespace lagtrap::formats

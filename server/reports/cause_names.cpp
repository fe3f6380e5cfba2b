#include "server/reports/cause_names.hpp"

#include <algorithm>

#include "core/digest.hpp"

namespace lagtrap::server::reports {
namespace {

using analysis::TimeKind;

constexpr std::size_t max_frames = 64;

// The threads that the run waits for, up to the one in the suspected function.
void name_waits(const CauseTree& tree, const Suspect& suspect, std::uint32_t wait,
                CauseParts& parts) {
    parts.wait = tree.waits().kind_of(wait);
    parts.thread = tree.waits().awaited_thread(wait);
    if (!parts.awaited) return;
    bool in_function = false;
    std::uint32_t last = 0;  // innermost wait around the function
    for (std::uint32_t at = suspect.node; at != 0 && last == 0; at = tree.nodes()[at].parent) {
        const NameKind kind = tree.names()[tree.nodes()[at].name].kind;
        in_function |= kind == NameKind::Function;
        if (in_function && kind == NameKind::Blocked) last = at;
    }
    if (last != wait) parts.last_thread = tree.waits().awaited_thread(last);
    for (std::uint32_t at = tree.nodes()[wait].parent; at != 0; at = tree.nodes()[at].parent) {
        const TreeName& name = tree.names()[tree.nodes()[at].name];
        if (name.kind != NameKind::Function || name.of_kernel) continue;
        parts.waiter = name.frame;
        return;
    }
}

}  // namespace

std::vector<std::uint32_t> first_waits(const CauseTree& tree) {
    std::vector<std::uint32_t> waits(tree.nodes().size(), 0);
    for (std::uint32_t i = 1; i < waits.size(); ++i) {
        const TreeNode& node = tree.nodes()[i];
        waits[i] = waits[node.parent];
        if (waits[i] == 0 && tree.names()[node.name].kind != NameKind::Function) waits[i] = i;
    }
    return waits;
}

std::uint32_t largest_state(const CauseTree& tree, const std::map<std::uint32_t, double>& by_name,
                            const std::map<std::uint32_t, double>& by_node) {
    if (by_name.empty()) return 0;
    const std::uint32_t name = std::ranges::max_element(by_name, {}, [](const auto& state) {
                                   return state.second;
                               })->first;
    std::uint32_t largest = 0;
    double most_ns = 0;
    for (const auto& [node, time_ns] : by_node) {
        if (tree.nodes()[node].name != name || time_ns <= most_ns) continue;
        largest = node;
        most_ns = time_ns;
    }
    return largest;
}

CauseParts describe(const CauseTree& tree, const Suspect& suspect, std::uint32_t wait,
                    Cause& cause) {
    CauseParts parts;
    for (std::uint32_t at = suspect.node; at != 0; at = tree.nodes()[at].parent) {
        const TreeName& name = tree.names()[tree.nodes()[at].name];
        if (name.kind == NameKind::OnCpu) continue;
        if (cause.frames.size() < max_frames) cause.frames.push_back(name.frame);
        if (name.kind != NameKind::Function) {
            parts.awaited = !parts.function.function.empty();
        } else if (parts.function.function.empty()) {
            parts.function = name.frame;
            parts.of_kernel = name.of_kernel;
        }
    }
    const TreeName& state = tree.names()[tree.nodes()[wait].name];
    if (state.kind == NameKind::Blocked) {
        cause.state = TimeKind::Blocked;
        cause.reason = state.frame.function.substr(1, state.frame.function.size() - 2);
    } else if (state.kind == NameKind::Runnable) {
        cause.state = TimeKind::Runnable;
    }
    parts.state = cause.state;
    parts.reason = cause.reason;
    if (cause.state == TimeKind::Blocked) name_waits(tree, suspect, wait, parts);
    std::string identity = parts.awaited ? "waited for" : "own";
    for (const std::string& part : {std::string(to_text(cause.state)), cause.reason,
                                    parts.function.function, parts.function.module}) {
        identity += '\0' + part;
    }
    cause.signature = sha256_of(identity).substr(0, 16);
    return parts;
}

}  // namespace lagtrap::server::reports

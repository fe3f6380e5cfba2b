#include "binaries/code/code_reach.hpp"

#include <algorithm>

namespace lagtrap::binaries {
namespace {

class Reach {
  public:
    Reach(const ProgramCode& code, const std::vector<CodePart>& parts)
        : code_(code), parts_(parts) {
        for (const CodePart& part : parts) reached_.emplace_back(part.branches.size(), false);
    }

    std::vector<std::vector<bool>> run() {
        const bool by_exceptions =
            std::any_of(parts_.begin(), parts_.end(),
                        [](const CodePart& part) { return part.has_landing_pads; });
        open_.push_back(parts_.front().begin);
        while (!open_.empty() && !unclear_ && !by_exceptions) {
            const std::uint64_t address = open_.back();
            open_.pop_back();
            walk_from(address);
        }
        if (unclear_ || by_exceptions)
            for (auto& part : reached_) part.assign(part.size(), true);
        return std::move(reached_);
    }

  private:
    void walk_from(std::uint64_t address);
    void follow(const Branch& branch);

    const ProgramCode& code_;
    const std::vector<CodePart>& parts_;
    std::vector<std::vector<bool>> reached_;
    std::vector<std::uint64_t> open_;  // addresses still to follow
    bool unclear_ = false;
};

void Reach::follow(const Branch& branch) {
    if (branch.kind == BranchKind::Jump || branch.kind == BranchKind::ConditionalJump)
        open_.push_back(branch.target);
    if (branch.kind != BranchKind::IndirectJump) return;
    const auto cases = code_.cases_within(branch, parts_);
    open_.insert(open_.end(), cases.begin(), cases.end());
    if (cases.empty()) unclear_ = true;
}

// Walks to the next unconditional jump, or to a branch reached before.
void Reach::walk_from(std::uint64_t address) {
    const auto part = std::find_if(parts_.begin(), parts_.end(),
                                   [&](const auto& one) { return one.holds(address); });
    if (part == parts_.end()) return;
    auto& reached = reached_[static_cast<std::size_t>(part - parts_.begin())];
    const auto& branches = part->branches;
    auto at = std::lower_bound(
        branches.begin(), branches.end(), address,
        [](const Branch& branch, std::uint64_t wanted) { return branch.address < wanted; });
    for (; at != branches.end(); ++at) {
        const auto number = static_cast<std::size_t>(at - branches.begin());
        if (reached[number]) return;
        reached[number] = true;
        follow(*at);
        if (!is_call(at->kind) && at->kind != BranchKind::ConditionalJump) return;
    }
}

}  // namespace

std::vector<std::vector<bool>> reached_branches(const ProgramCode& code,
                                                const std::vector<CodePart>& parts) {
    return Reach(code, parts).run();
}

}  // namespace lagtrap::binaries

#include "binaries/code/go_entry.hpp"

#include <algorithm>
#include <string_view>

namespace lagtrap::binaries {
namespace {

using Branches = std::vector<Branch>;

bool is_direct_jump(const Branch& branch) {
    return branch.kind == BranchKind::Jump || branch.kind == BranchKind::ConditionalJump;
}

bool grows_stack(const ProgramCode& code, const Branch& branch) {
    return branch.kind == BranchKind::Call &&
           code.function_at(branch.target).starts_with("runtime.morestack");
}

// The jump back to the first instruction, after the call that moves the stack.
bool begins_anew(const ProgramCode& code, const CodePart& part, Branches::const_iterator at) {
    return at->kind == BranchKind::Jump && at->target == part.begin &&
           at != part.branches.begin() && grows_stack(code, *(at - 1));
}

// Whether this is the jump of the stack check to the code that moves the stack.
bool checks_stack(const ProgramCode& code, const CodePart& part, const Branch& branch) {
    if (branch.kind != BranchKind::ConditionalJump || branch.target <= branch.address) return false;
    const auto first = std::lower_bound(
        part.branches.begin(), part.branches.end(), branch.target,
        [](const Branch& one, std::uint64_t wanted) { return one.address < wanted; });
    return first != part.branches.end() && grows_stack(code, *first) &&
           first + 1 != part.branches.end() && begins_anew(code, part, first + 1);
}

}  // namespace

Result<std::uint64_t> go_entry(const ProgramCode& code, const CodePart& part) {
    const Branches& branches = part.branches;
    bool has_check = false;
    for (auto at = branches.begin(); at != branches.end(); ++at) {
        if (!is_direct_jump(*at) || at->target != part.begin) continue;
        if (!begins_anew(code, part, at))
            return make_error(
                ErrorKind::Unsupported,
                "begins with a loop, so calls and iterations look alike; watch its caller");
        has_check = true;
    }
    if (!has_check) return part.begin;
    std::uint64_t entry = part.begin;
    for (auto at = branches.begin(); at != branches.end() && checks_stack(code, part, *at); ++at)
        entry = at->next;
    const bool is_head = std::any_of(branches.begin(), branches.end(), [&](const Branch& branch) {
        return is_direct_jump(branch) && branch.target > part.begin && branch.target <= entry;
    });
    if (entry == part.begin || is_head)
        return make_error(
            ErrorKind::Unsupported,
            "has an unknown prologue, so its calls cannot be identified; watch its caller");
    return entry;
}

}  // namespace lagtrap::binaries

#include "server/reports/cause_title.hpp"

#include <string_view>

#include "analysis/block_reason.hpp"
#include "analysis/frame_role.hpp"
#include "analysis/function_name.hpp"

namespace lagtrap::server::reports {
namespace {

using analysis::BlockReason;
using analysis::TimeKind;
using analysis::WaitKind;

std::string in(const CauseFrame& frame) {
    return frame.function.empty() ? ""
                                  : " in " + analysis::function_words(frame.function, frame.module);
}

std::string called_by(const std::string& caller) {
    return caller.empty() || caller.starts_with('[')
               ? ""
               : ", called by " + analysis::short_function_name(caller);
}

constexpr std::string_view in_kernel = "blocked in ";

// A wait for no reason that helps a reader: none is known, or it is how a kernel thread waits for
// work.
bool is_unknown(const CauseParts& parts) {
    if (parts.wait != WaitKind::Other || parts.reason.starts_with(in_kernel)) return false;
    const BlockReason reason = analysis::find_block_reason(parts.reason);
    return reason == BlockReason::Unknown || reason == BlockReason::NoWork ||
           reason == BlockReason::KernelThread;
}

// Nothing shows what it waits for but who ended that.
bool is_for_thread(const CauseParts& parts) {
    return parts.wait == WaitKind::Futex && !parts.thread.empty();
}

// "Waits for a lock".
std::string wait_words(const CauseParts& parts) {
    if (is_unknown(parts)) return "Blocked";
    if (parts.wait == WaitKind::Sleep) return "Sleeps";
    if (parts.wait == WaitKind::Stopped) return "Is " + parts.reason;
    if (parts.wait == WaitKind::Futex) return "Waits for a lock or a signal";
    if (analysis::find_block_reason(parts.reason) == BlockReason::Frozen) return "Is frozen";
    return "Waits " + analysis::words_of_wait(parts.wait, parts.reason);
}

std::string own_words(const CauseParts& parts) {
    if (parts.wait == WaitKind::Other && parts.reason.starts_with(in_kernel)) {
        const std::string text =
            "Blocked in " + parts.reason.substr(in_kernel.size()) + " of the kernel";
        return parts.of_kernel || parts.function.function.empty()
                   ? text
                   : text + ", called by " +
                         analysis::function_words(parts.function.function, parts.function.module);
    }
    const std::string place = in(parts.function) + (parts.of_kernel ? " of the kernel" : "");
    if (is_for_thread(parts)) return "Waits" + place + " for " + parts.thread;
    const std::string text = wait_words(parts) + place;
    if (parts.thread.empty()) return text + called_by(parts.caller);
    return text + (analysis::is_held(parts.wait) ? ", held by " : ", for ") + parts.thread;
}

std::string awaited_words(const CauseParts& parts) {
    // A thread of the kernel is never to blame: it works for others.
    if (parts.of_kernel) {
        CauseParts own = parts;
        own.function = parts.waiter;
        own.of_kernel = false;
        own.thread.clear();
        own.caller.clear();
        return own_words(own);
    }
    const std::string text = wait_words(parts);
    const std::string place = in(parts.function) + called_by(parts.caller);
    const bool is_held = analysis::is_held(parts.wait);
    if (parts.thread.empty())
        return text + (is_held ? " held" : ", while another thread is") + place;
    const std::string awaited = is_for_thread(parts)
                                    ? "Waits for " + parts.thread
                                    : text + (is_held ? " held by " : ", for ") + parts.thread;
    if (parts.last_thread.empty() || parts.last_thread == parts.thread) return awaited + place;
    return awaited + ", which waits for " + parts.last_thread + place;
}

}  // namespace

std::optional<std::string> title_of(const CauseParts& parts) {
    switch (parts.state) {
        case TimeKind::Runnable: return "Waits for a CPU";
        case TimeKind::Blocked: break;
        default:
            return "Computes" + in(parts.function) + (parts.of_kernel ? " of the kernel" : "") +
                   called_by(parts.caller);
    }
    const bool of_program = !parts.function.function.empty() && !parts.of_kernel;
    if (is_unknown(parts) && !of_program && parts.waiter.function.empty()) return std::nullopt;
    return parts.awaited ? awaited_words(parts) : own_words(parts);
}

std::string holder_of(const CauseParts& parts) {
    // A thread of the kernel is never to blame.
    const bool is_named = parts.state == TimeKind::Blocked && !(parts.awaited && parts.of_kernel);
    return is_named ? parts.thread : std::string();
}

}  // namespace lagtrap::server::reports

#include "daemon/objects/object_records.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "binaries/elf/program_file.hpp"
#include "core/text.hpp"
#include "daemon/probes/exit_cookies.hpp"

namespace lagtrap::daemon {
namespace {

template <std::size_t bytes>
std::string printable_text(const char (&text)[bytes]) {
    return printable(std::string_view(text, ::strnlen(text, bytes)));
}

bool is_older(const AgedObject& one, const AgedObject& other) {
    return one.object.age_ns > other.object.age_ns;
}

}  // namespace

std::string thrown_text(const lagtrap_object_call_texts& texts) {
    std::string type = printable_text(texts.thrown_type);
    if (type.starts_with('*')) type.erase(0, 1);
    if (type.empty()) return {};
    // The type name lacks the prefix of a symbol.
    std::string name = binaries::demangle("_ZTS" + type);
    constexpr std::string_view prefix = "typeinfo name for ";
    name = name.starts_with(prefix) ? name.substr(prefix.size()) : type;
    const std::string text = printable_text(texts.thrown_text);
    return text.empty() ? name : name + ": " + text;
}

calls::ObjectCall object_call_of(const lagtrap_object_call& record,
                                 const lagtrap_object_call_texts* texts, CommandLines mode,
                                 std::uint64_t page_bytes) {
    calls::ObjectCall call;
    call.function = record.function;
    call.tid = record.tid;
    call.begin_ns = record.begin_ns;
    call.end_ns = std::max<std::uint64_t>(record.begin_ns, record.end_ns);
    const std::uint64_t whole_ns = call.end_ns - call.begin_ns;
    call.probes_ns = std::min<std::uint64_t>(record.probes_ns, whole_ns);
    call.off_cpu_ns = std::min<std::uint64_t>(record.off_cpu_ns, whole_ns);
    call.object = record.object;
    call.result = record.result;
    call.taken_bytes = record.taken_bytes;
    call.given_bytes = record.given_bytes;
    call.resident_bytes = record.resident_pages * static_cast<std::int64_t>(page_bytes);
    call.allocations = record.allocations;
    call.error_number = record.error_number;
    call.state =
        static_cast<calls::ObjectState>(std::min<__u8>(record.state, LAGTRAP_OBJECT_WITHIN));
    call.failed = record.failed != 0;
    call.left = record.left != 0;
    call.depth = record.depth;
    call.thread = printable_text(record.comm);
    if (texts != nullptr) {
        call.title = shown_text(printable_text(texts->title), mode);
        call.error = shown_text(thrown_text(*texts), mode);
    }
    return call;
}

bool add_to_failure(std::vector<calls::ObjectCall>& calls, const calls::ObjectMessage& message,
                    const SpeakOfOne& speak_of_one) {
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
        if (call->tid != message.tid || !call->failed ||
            !speak_of_one(call->function, message.function))
            continue;
        if (!call->left && call->error.empty()) call->error = message.text;
        return true;
    }
    return false;
}

void add_message(TakenObjects& taken, const lagtrap_object_message& record,
                 const SpeakOfOne& speak_of_one, CommandLines mode) {
    const calls::ObjectMessage message{record.function, record.tid, record.at_ns,
                                       shown_text(printable_text(record.text), mode)};
    if (!add_to_failure(taken.calls, message, speak_of_one)) taken.messages.push_back(message);
}

calls::ClassCounts class_counts_of(const lagtrap_object_class& counted) {
    const std::uint64_t created = counted.created,
                        gone = counted.released + counted.replaced + counted.not_followed;
    return {created,
            created - std::min(created, gone),
            counted.released,
            counted.failures,
            counted.released_twice,
            counted.used_after,
            counted.unknown,
            counted.replaced,
            counted.not_followed};
}

void OldestObjects::add(const lagtrap_object_key& key, const lagtrap_object_alive& alive) {
    auto& own = by_class_[alive.class_number];
    own.push_back({{alive.class_number,
                    alive.function,
                    alive.tid,
                    key.object,
                    now_ns_ - std::min<std::uint64_t>(now_ns_, alive.created_ns),
                    alive.uses,
                    alive.bytes,
                    shown_text(printable_text(alive.title), mode_),
                    {},
                    0,
                    alive.shares_stack != 0},
                   alive.caller,
                   alive.stack});
    std::push_heap(own.begin(), own.end(), is_older);
    if (own.size() <= most_) return;
    std::pop_heap(own.begin(), own.end(), is_older);
    own.pop_back();
}

std::vector<AgedObject> OldestObjects::take() {
    std::vector<AgedObject> oldest;
    for (auto& [number, own] : by_class_) {
        std::sort(own.begin(), own.end(), is_older);
        std::move(own.begin(), own.end(), std::back_inserter(oldest));
    }
    by_class_.clear();
    return oldest;
}

MemoryProbes memory_probes(const ObjectPlan& plan, std::uint32_t first) {
    MemoryProbes probes;
    std::map<std::uint64_t, CallProbe> exits;
    for (std::uint32_t at = 0; at < plan.memory.size(); ++at) {
        const MemoryFunction& one = plan.memory[at];
        const std::uint32_t number = first + at;
        const std::uint64_t cookie =
            number | static_cast<std::uint64_t>(one.kind) << LAGTRAP_COOKIE_MEMORY_SHIFT |
            std::uint64_t{one.size_from} << LAGTRAP_COOKIE_SIZE_SHIFT |
            (one.size_times ? LAGTRAP_COOKIE_SIZE_TIMES : 0);
        if (one.kind != LAGTRAP_MEMORY_TAKE || plan.memory_by_request)
            probes.entries.push_back({one.entry, cookie, {number}});
        for (const binaries::FunctionExit& exit : one.exits) {
            CallProbe& probe = exits[exit.file_offset];
            if (probe.functions.empty())
                probe = {exit.file_offset, number | exit_cookie_of(exit, 0), {}};
            probe.functions.push_back(number);
        }
        if (!one.exits.empty()) continue;
        if (one.kind != LAGTRAP_MEMORY_GIVE || !plan.jumps.empty())
            probes.returns.push_back({one.entry, cookie, {number}});
    }
    for (auto& [offset, probe] : exits) probes.exits.push_back(std::move(probe));
    return probes;
}

std::map<std::uint32_t, std::vector<CallProbe>> jump_probes(const ObjectPlan& plan) {
    std::map<std::uint32_t, std::vector<CallProbe>> jumps;
    for (const ObjectPlan::Jump& one : plan.jumps)
        jumps[plan.functions[one.function].file].push_back(
            {one.offset, one.function, {one.function}});
    return jumps;
}

}  // namespace lagtrap::daemon

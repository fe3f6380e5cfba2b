#include "server/store/run_detail.hpp"

#include "core/digest.hpp"
#include "server/sketch/varint.hpp"

namespace lagtrap::server {
namespace {

// Version 1 had no times. A run without times is still written as version 1.
constexpr std::uint64_t version_without_times = 1;
constexpr std::uint64_t version_with_times = 2;
// Bits of a number that used to be 0 or 1 for `aborted`.
constexpr std::uint32_t flag_aborted = 1;
constexpr std::uint32_t flag_without_stages = 2;
constexpr std::size_t id_digits = 16;

Error damaged(const char* what) {
    return make_error(ErrorKind::Invalid, std::string("a stored ") + what + " is damaged");
}

// Visits the times in a fixed order, for writing and reading.
template <typename Times, typename Visit>
bool for_each_time(Times& times, Visit visit) {
    for (auto* value : {&times.parts.on_cpu_ns, &times.parts.runnable_ns, &times.parts.throttled_ns,
                        &times.handed_over_ns})
        if (!visit(*value)) return false;
    for (auto& value : times.parts.blocked_ns)
        if (!visit(value)) return false;
    return true;
}

// The number of times precedes them, so that classes of waits can be added.
void put_times(std::string& out, const trace::RunTimes& times) {
    std::uint64_t count = 0;
    for_each_time(times, [&](std::uint64_t) { return ++count > 0; });
    put_varint(out, count);
    for_each_time(times, [&](std::uint64_t value) {
        put_varint(out, value);
        return true;
    });
}

bool take_times(std::string_view& in, trace::RunTimes& times) {
    std::uint64_t count = 0;
    if (!take_varint(in, count)) return false;
    const bool read = for_each_time(times, [&](std::uint64_t& value) {
        if (count == 0) return true;
        --count;
        return take_varint(in, value);
    });
    return read && count == 0;
}

bool take_small(std::string_view& in, std::uint32_t& value) {
    std::uint64_t wide = 0;
    if (!take_varint(in, wide)) return false;
    value = static_cast<std::uint32_t>(wide);
    return true;
}

}  // namespace

std::string write_detail(const DetailRecord& detail) {
    std::string out;
    const std::uint64_t flags =
        (detail.aborted ? flag_aborted : 0U) | (detail.without_stages ? flag_without_stages : 0U);
    for (const std::uint64_t value :
         {detail.times ? version_with_times : version_without_times, detail.threshold_ns,
          detail.key, std::uint64_t{detail.pid}, std::uint64_t{detail.begin_tid},
          std::uint64_t{detail.end_tid}, flags, std::uint64_t{detail.executable},
          std::uint64_t{detail.thread}, detail.begin_stack, detail.end_stack})
        put_varint(out, value);
    if (detail.times) put_times(out, *detail.times);
    for (const DetailStage& stage : detail.stages) {
        put_varint(out, stage.label);
        put_varint(out, stage.at_ns);
        put_varint(out, stage.tid);
        put_varint(out, stage.stack);
    }
    return out;
}

Result<DetailRecord> read_detail(std::string_view bytes) {
    DetailRecord detail;
    std::uint64_t version = 0;
    std::uint32_t flags = 0;
    const bool whole = take_varint(bytes, version) && version >= version_without_times &&
                       version <= version_with_times && take_varint(bytes, detail.threshold_ns) &&
                       take_varint(bytes, detail.key) && take_small(bytes, detail.pid) &&
                       take_small(bytes, detail.begin_tid) && take_small(bytes, detail.end_tid) &&
                       take_small(bytes, flags) && take_small(bytes, detail.executable) &&
                       take_small(bytes, detail.thread) && take_varint(bytes, detail.begin_stack) &&
                       take_varint(bytes, detail.end_stack);
    if (!whole) return damaged("run");
    detail.aborted = (flags & flag_aborted) != 0;
    detail.without_stages = (flags & flag_without_stages) != 0;
    if (version == version_with_times && !take_times(bytes, detail.times.emplace()))
        return damaged("run");
    while (!bytes.empty()) {
        DetailStage stage;
        if (!take_small(bytes, stage.label) || !take_varint(bytes, stage.at_ns) ||
            !take_small(bytes, stage.tid) || !take_varint(bytes, stage.stack))
            return damaged("run");
        detail.stages.push_back(stage);
    }
    return detail;
}

std::string write_stack(const trace::RunStack& stack) {
    std::string out;
    for (const trace::RunFrame& frame : stack) {
        put_text(out, frame.function);
        put_text(out, frame.module);
        put_text(out, frame.build_id);
        put_varint(out, frame.offset);
        put_text(out, frame.file);
        put_varint(out, frame.line);
    }
    return out;
}

Result<trace::RunStack> read_stack(std::string_view bytes) {
    trace::RunStack stack;
    while (!bytes.empty()) {
        trace::RunFrame frame;
        if (!take_text(bytes, frame.function) || !take_text(bytes, frame.module) ||
            !take_text(bytes, frame.build_id) || !take_varint(bytes, frame.offset) ||
            !take_text(bytes, frame.file) || !take_small(bytes, frame.line))
            return damaged("stack");
        stack.push_back(std::move(frame));
    }
    return stack;
}

std::uint64_t stack_id(std::string_view bytes) {
    const std::uint64_t id = std::stoull(sha256_of(bytes).substr(0, id_digits), nullptr, 16) >> 1;
    return id == 0 ? 1 : id;
}

}  // namespace lagtrap::server

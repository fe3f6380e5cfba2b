// One function per output format of a profile. The format table uses them.
#pragma once

#include <optional>
#include <string>

#include "formats/stack_profile.hpp"

namespace lagtrap::formats {

// One line per stack, sorted: "process;thread;outermost;...;innermost MICROSECONDS". Kernel
// functions end in "_[k]"; time off a CPU ends in its state. Replaces ';' in names by ':'. Omits
// less than a microsecond.
[[nodiscard]] std::string encode_folded(const StackProfile& profile);

// pprof's profile.proto, compressed with gzip. Sample types: "cpu", or "time" and its parts in
// nanoseconds. Labels: process, thread, pid, tid, state.
[[nodiscard]] std::string encode_pprof(const StackProfile& profile);

// speedscope's file format: one sampled profile per thread, ordered by time, in nanoseconds.
[[nodiscard]] std::string encode_speedscope(const StackProfile& profile);

// The Firefox Profiler's processed profile, version 60. Weights are milliseconds; runs and stages
// are markers.
[[nodiscard]] std::string encode_firefox(const StackProfile& profile);

// The Trace Event Format: calls are complete events ("X"), runs and their stages nestable async
// events.
[[nodiscard]] std::string encode_chrome(const StackProfile& profile);

// CSV (RFC 4180): a header, and a row per piece. Text that a spreadsheet would take for a formula
// is prefixed with an apostrophe.
[[nodiscard]] std::string encode_csv(const StackProfile& profile);

// The output of `perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,dso`: event "cpu-clock"
// on a CPU, otherwise "off-cpu", with the nanoseconds as period.
[[nodiscard]] std::string encode_perf(const StackProfile& profile);

// An ExportTraceServiceRequest of OpenTelemetry, as collectors accept it over HTTP. Each delay is a
// span whose children are its stages; its causes are sentences, its parts attributes. Links lead to
// the spans of requests that held it up. A delay gets the same ids every time. `delay` counts from
// 1; nullopt selects all. ErrorKind::NotFound if there is no such delay.
[[nodiscard]] Result<std::string> encode_otlp(const analysis::Recording& recording,
                                              std::optional<std::size_t> delay);

}  // namespace lagtrap::formats

// One function for each form of a profile. Used by the table of formats.
#pragma once

#include <optional>
#include <string>

#include "formats/stack_profile.hpp"

namespace lagtrap::formats {

// "process;thread;outermost;...;innermost MICROSECONDS", a line for each stack, by name. Functions of the kernel end in
// "_[k]", time off a CPU ends in its state. A ';' in a name becomes ':'. Less than a microsecond is left out.
[[nodiscard]] std::string encode_folded(const StackProfile& profile);

// profile.proto as pprof publishes it, compressed by gzip. Sample types: "cpu", or "time" and its parts in nanoseconds;
// labels: process, thread, pid, tid, state.
[[nodiscard]] std::string encode_pprof(const StackProfile& profile);

// speedscope's file format: a sampled profile for each thread, by time, in nanoseconds.
[[nodiscard]] std::string encode_speedscope(const StackProfile& profile);

// The Firefox Profiler's processed profile, version 60: weights are milliseconds, runs and stages are markers.
[[nodiscard]] std::string encode_firefox(const StackProfile& profile);

// The Trace Event Format: calls as complete events ("X"), runs and their stages as nestable async events.
[[nodiscard]] std::string encode_chrome(const StackProfile& profile);

// RFC 4180, a header and a row for each piece. A text that begins as a formula would gets a ' in front.
[[nodiscard]] std::string encode_csv(const StackProfile& profile);

// As `perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,dso` prints samples: "cpu-clock" on a CPU, "off-cpu" else,
// each with its nanoseconds as period.
[[nodiscard]] std::string encode_perf(const StackProfile& profile);

// An ExportTraceServiceRequest of OpenTelemetry, as collectors take it over HTTP: each delay is a span with its stages as
// children, its causes in sentences and its parts as attributes. The same delay has the same ids each time.
// ErrorKind::NotFound where there is no such delay (from 1; nothing: all).
[[nodiscard]] Result<std::string> encode_otlp(const analysis::Recording& recording, std::optional<std::size_t> delay);

}  // namespace lagtrap::formats

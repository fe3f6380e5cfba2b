// Field numbers of the Perfetto trace format that the reader understands, each together with its wire type, so
// that a field of the right number and the wrong type counts as unknown instead of being misread. The numbers are
// facts of a public interface: protos/perfetto/trace/ of the Perfetto project.
#pragma once

#include <cstdint>

#include <protozero/types.hpp>

namespace lagtrap::analysis::fields {

constexpr std::uint32_t varint(std::uint32_t number) {
    return protozero::tag_and_type(number, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t bytes(std::uint32_t number) {
    return protozero::tag_and_type(number, protozero::pbf_wire_type::length_delimited);
}

namespace trace {
constexpr std::uint32_t packet = bytes(1);
}

namespace packet {
constexpr std::uint32_t ftrace_events = bytes(1);
constexpr std::uint32_t process_tree = bytes(2);
constexpr std::uint32_t timestamp = varint(8);
constexpr std::uint32_t sequence_id = varint(10);
constexpr std::uint32_t track_event = bytes(11);
constexpr std::uint32_t interned_data = bytes(12);
constexpr std::uint32_t sequence_flags = varint(13);
constexpr std::uint32_t defaults = bytes(59);
constexpr std::uint32_t track_descriptor = bytes(60);
constexpr std::uint32_t module_symbols = bytes(61);
constexpr std::uint32_t perf_sample = bytes(66);
constexpr std::uint32_t lagtrap_waking = bytes(20001);  // our own
constexpr std::uint32_t lagtrap_switch = bytes(20002);  // our own
constexpr std::uint32_t lagtrap_wait_file = bytes(20003);
constexpr std::uint32_t lagtrap_history_wait = bytes(20004);
constexpr std::uint64_t incremental_state_cleared = 1;  // a bit of sequence_flags
}  // namespace packet

namespace defaults {
constexpr std::uint32_t perf_sample = bytes(12);
}
namespace perf_sample_defaults {
constexpr std::uint32_t timebase = bytes(1);
}
namespace timebase {
constexpr std::uint32_t tracepoint = bytes(3);
constexpr std::uint32_t name = bytes(10);
}  // namespace timebase

namespace interned {
constexpr std::uint32_t event_categories = bytes(1);
constexpr std::uint32_t event_names = bytes(2);
constexpr std::uint32_t annotation_names = bytes(3);
constexpr std::uint32_t function_names = bytes(5);
constexpr std::uint32_t frames = bytes(6);
constexpr std::uint32_t callstacks = bytes(7);
constexpr std::uint32_t build_ids = bytes(16);
constexpr std::uint32_t mapping_paths = bytes(17);
constexpr std::uint32_t source_paths = bytes(18);
constexpr std::uint32_t mappings = bytes(19);
constexpr std::uint32_t annotation_strings = bytes(29);
}  // namespace interned

namespace interned_string {  // also EventCategory, EventName and DebugAnnotationName
constexpr std::uint32_t iid = varint(1);
constexpr std::uint32_t text = bytes(2);
}  // namespace interned_string

namespace mapping {
constexpr std::uint32_t iid = varint(1);
constexpr std::uint32_t build_id = varint(2);
constexpr std::uint32_t load_bias = varint(6);
constexpr std::uint32_t path_ids = varint(7);
constexpr std::uint32_t path_ids_packed = bytes(7);
}  // namespace mapping

namespace frame {
constexpr std::uint32_t iid = varint(1);
constexpr std::uint32_t function_name_id = varint(2);
constexpr std::uint32_t mapping_id = varint(3);
constexpr std::uint32_t offset = varint(4);
constexpr std::uint32_t source_path_id = varint(5);
constexpr std::uint32_t line = varint(6);
}  // namespace frame

namespace module_symbols {
constexpr std::uint32_t path = bytes(1);
constexpr std::uint32_t build_id = bytes(2);
constexpr std::uint32_t address_symbols = bytes(3);
namespace of_address {
constexpr std::uint32_t address = varint(1);
constexpr std::uint32_t lines = bytes(2);
}  // namespace of_address
namespace of_line {
constexpr std::uint32_t function = bytes(1);
constexpr std::uint32_t source = bytes(2);
constexpr std::uint32_t line = varint(3);
}  // namespace of_line
}  // namespace module_symbols

namespace callstack {
constexpr std::uint32_t iid = varint(1);
constexpr std::uint32_t frame_ids = varint(2);
constexpr std::uint32_t frame_ids_packed = bytes(2);
}  // namespace callstack

namespace perf_sample {
constexpr std::uint32_t cpu = varint(1);
constexpr std::uint32_t pid = varint(2);
constexpr std::uint32_t tid = varint(3);
constexpr std::uint32_t callstack = varint(4);
}  // namespace perf_sample

namespace ftrace_bundle {
constexpr std::uint32_t cpu = varint(1);
constexpr std::uint32_t event = bytes(2);
}  // namespace ftrace_bundle

namespace ftrace_event {
constexpr std::uint32_t timestamp = varint(1);
constexpr std::uint32_t tid = varint(2);  // Perfetto calls it pid: the thread on the CPU
constexpr std::uint32_t sched_switch = bytes(4);
constexpr std::uint32_t common_flags = varint(5);
constexpr std::uint32_t sched_waking = bytes(20);
// Bits of common_flags: TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ of the kernel's linux/trace_events.h.
constexpr std::uint64_t in_interrupt = 0x08 | 0x10;
}  // namespace ftrace_event

namespace sched_switch {
constexpr std::uint32_t prev_tid = varint(2);
constexpr std::uint32_t prev_priority = varint(3);
constexpr std::uint32_t prev_state = varint(4);
constexpr std::uint32_t next_tid = varint(6);
constexpr std::uint32_t next_priority = varint(7);
}  // namespace sched_switch

namespace sched_waking {
constexpr std::uint32_t tid = varint(2);
}

namespace lagtrap_wait_file {
constexpr std::uint32_t tid = varint(1);
constexpr std::uint32_t kind = varint(2);
constexpr std::uint32_t path = bytes(3);
constexpr std::uint32_t disk = bytes(4);
constexpr std::uint32_t queue_depth = varint(5);
constexpr std::uint32_t holder_pid = varint(6);
}  // namespace lagtrap_wait_file

namespace lagtrap_history_wait {
constexpr std::uint32_t begin = varint(1);
constexpr std::uint32_t waker_tid = varint(2);
constexpr std::uint32_t by_interrupt = varint(3);
constexpr std::uint32_t in_run = varint(4);
constexpr std::uint32_t waker_stack = varint(5);
}  // namespace lagtrap_history_wait

namespace lagtrap_switch {
constexpr std::uint32_t prev_throttled = varint(2);
constexpr std::uint32_t throttled_from = varint(3);
constexpr std::uint32_t throttled_to = varint(4);
constexpr std::uint32_t concluded = varint(5);
}  // namespace lagtrap_switch

namespace lagtrap_waking {
constexpr std::uint32_t cause = varint(1);
constexpr std::uint32_t device = bytes(3);
}  // namespace lagtrap_waking

namespace process_tree {
constexpr std::uint32_t process = bytes(1);
constexpr std::uint32_t thread = bytes(2);
namespace of_process {
constexpr std::uint32_t pid = varint(1);
constexpr std::uint32_t parent_pid = varint(2);
constexpr std::uint32_t command_line = bytes(3);
constexpr std::uint32_t uid = varint(5);
constexpr std::uint32_t started = varint(7);
}  // namespace of_process
namespace of_thread {
constexpr std::uint32_t tid = varint(1);
constexpr std::uint32_t name = bytes(2);
constexpr std::uint32_t pid = varint(3);
}  // namespace of_thread
}  // namespace process_tree

namespace track_descriptor {
constexpr std::uint32_t process = bytes(3);
constexpr std::uint32_t thread = bytes(4);
namespace of_process {
constexpr std::uint32_t pid = varint(1);
constexpr std::uint32_t name = bytes(6);
constexpr std::uint32_t label = bytes(8);
}  // namespace of_process
namespace of_thread {
constexpr std::uint32_t pid = varint(1);
constexpr std::uint32_t tid = varint(2);
constexpr std::uint32_t name = bytes(5);
}  // namespace of_thread
}  // namespace track_descriptor

namespace track_event {
constexpr std::uint32_t category_ids = varint(3);
constexpr std::uint32_t annotation = bytes(4);
constexpr std::uint32_t type = varint(9);
constexpr std::uint32_t name_id = varint(10);
constexpr std::uint32_t track = varint(11);
constexpr std::uint32_t category = bytes(22);
constexpr std::uint32_t name = bytes(23);
constexpr std::uint64_t type_begin = 1;
constexpr std::uint64_t type_end = 2;
}  // namespace track_event

namespace annotation {
constexpr std::uint32_t name_id = varint(1);
constexpr std::uint32_t bool_value = varint(2);
constexpr std::uint32_t uint_value = varint(3);
constexpr std::uint32_t int_value = varint(4);
constexpr std::uint32_t string_value = bytes(6);
constexpr std::uint32_t name = bytes(10);
constexpr std::uint32_t string_id = varint(17);
}  // namespace annotation

}  // namespace lagtrap::analysis::fields

// Field numbers of Perfetto's public trace format (protos/perfetto/trace/** in its repository):
// only those the merged trace writes or a reader of it needs. One namespace per message, named
// after it.
#pragma once

#include <cstdint>

namespace lagtrap::trace::perfetto {

using Field = std::uint32_t;

namespace trace_file {  // Trace
inline constexpr Field packet = 1;
}

namespace trace_packet {  // TracePacket
inline constexpr Field ftrace_events = 1;
inline constexpr Field process_tree = 2;
inline constexpr Field clock_snapshot = 6;
inline constexpr Field timestamp = 8;
inline constexpr Field trusted_packet_sequence_id = 10;
inline constexpr Field track_event = 11;
inline constexpr Field interned_data = 12;
inline constexpr Field sequence_flags = 13;
inline constexpr Field system_info = 45;
inline constexpr Field trace_packet_defaults = 59;
inline constexpr Field track_descriptor = 60;
inline constexpr Field module_symbols = 61;
inline constexpr Field perf_sample = 66;
inline constexpr Field trace_uuid = 89;
inline constexpr Field trace_attributes = 126;
// Ours, above all of Perfetto's. Other readers skip unknown fields.
inline constexpr Field lagtrap_waking = 20001;
inline constexpr Field lagtrap_switch = 20002;
inline constexpr Field lagtrap_wait_file = 20003;
inline constexpr Field lagtrap_history_wait = 20004;
inline constexpr Field lagtrap_wait = 20005;
inline constexpr Field lagtrap_written = 20006;
inline constexpr Field lagtrap_group_memory = 20007;
inline constexpr Field lagtrap_context = 20008;
inline constexpr Field lagtrap_disk_limit = 20009;
// TracePacket.SequenceFlags
inline constexpr std::uint32_t incremental_state_cleared = 1;
inline constexpr std::uint32_t needs_incremental_state = 2;
}  // namespace trace_packet

namespace trace_packet_defaults {  // TracePacketDefaults
inline constexpr Field perf_sample_defaults = 12;
}

namespace perf_sample_defaults {  // PerfSampleDefaults
inline constexpr Field timebase = 1;
}

namespace timebase {  // PerfEvents.Timebase
inline constexpr Field frequency = 2;
inline constexpr Field period = 1;
inline constexpr Field tracepoint = 3;
inline constexpr Field counter = 4;
inline constexpr Field name = 10;
inline constexpr std::int32_t sw_cpu_clock = 1;  // PerfEvents.Counter
}  // namespace timebase

namespace tracepoint {  // PerfEvents.Tracepoint
inline constexpr Field name = 1;
}

namespace clock_snapshot {  // ClockSnapshot
inline constexpr Field clocks = 1;
inline constexpr Field primary_trace_clock = 2;
}  // namespace clock_snapshot

namespace clock {  // ClockSnapshot.Clock
inline constexpr Field clock_id = 1;
inline constexpr Field timestamp = 2;
// BuiltinClock
inline constexpr std::uint32_t boottime = 6;
}  // namespace clock

namespace trace_uuid {  // TraceUuid
inline constexpr Field msb = 1;
inline constexpr Field lsb = 2;
}  // namespace trace_uuid

namespace trace_attributes {  // TraceAttributes
inline constexpr Field attribute = 1;
}

namespace attribute {  // TraceAttributes.Attribute
inline constexpr Field key = 1;
inline constexpr Field long_value = 2;
}  // namespace attribute

namespace system_info {  // SystemInfo
inline constexpr Field utsname = 1;
inline constexpr Field tracing_service_version = 4;
inline constexpr Field page_size = 6;
inline constexpr Field num_cpus = 8;
inline constexpr Field system_ram_bytes = 16;
}  // namespace system_info

namespace utsname {  // Utsname
inline constexpr Field sysname = 1;
inline constexpr Field version = 2;
inline constexpr Field release = 3;
inline constexpr Field machine = 4;
}  // namespace utsname

namespace process_tree {  // ProcessTree
inline constexpr Field processes = 1;
inline constexpr Field threads = 2;
}  // namespace process_tree

namespace process_tree_process {  // ProcessTree.Process
inline constexpr Field pid = 1;
inline constexpr Field ppid = 2;
inline constexpr Field cmdline = 3;
inline constexpr Field uid = 5;
inline constexpr Field process_start_from_boot = 7;
}  // namespace process_tree_process

namespace process_tree_thread {  // ProcessTree.Thread
inline constexpr Field tid = 1;
inline constexpr Field name = 2;
inline constexpr Field tgid = 3;
}  // namespace process_tree_thread

namespace track_descriptor {  // TrackDescriptor
inline constexpr Field uuid = 1;
inline constexpr Field name = 2;
inline constexpr Field process = 3;
inline constexpr Field thread = 4;
inline constexpr Field parent_uuid = 5;
}  // namespace track_descriptor

namespace process_descriptor {  // ProcessDescriptor
inline constexpr Field pid = 1;
inline constexpr Field process_name = 6;
inline constexpr Field process_labels = 8;
}  // namespace process_descriptor

namespace thread_descriptor {  // ThreadDescriptor
inline constexpr Field pid = 1;
inline constexpr Field tid = 2;
inline constexpr Field thread_name = 5;
}  // namespace thread_descriptor

namespace track_event {  // TrackEvent
inline constexpr Field category_iids = 3;
inline constexpr Field debug_annotations = 4;
inline constexpr Field type = 9;
inline constexpr Field name_iid = 10;
inline constexpr Field track_uuid = 11;
inline constexpr Field categories = 22;
inline constexpr Field name = 23;
// TrackEvent.Type
inline constexpr std::int32_t slice_begin = 1;
inline constexpr std::int32_t slice_end = 2;
}  // namespace track_event

namespace debug_annotation {  // DebugAnnotation
inline constexpr Field name_iid = 1;
inline constexpr Field bool_value = 2;
inline constexpr Field uint_value = 3;
inline constexpr Field int_value = 4;
inline constexpr Field string_value = 6;
inline constexpr Field name = 10;
inline constexpr Field string_value_iid = 17;
}  // namespace debug_annotation

namespace interned_data {  // InternedData
inline constexpr Field event_categories = 1;
inline constexpr Field event_names = 2;
inline constexpr Field debug_annotation_names = 3;
inline constexpr Field function_names = 5;
inline constexpr Field frames = 6;
inline constexpr Field callstacks = 7;
inline constexpr Field build_ids = 16;
inline constexpr Field mapping_paths = 17;
inline constexpr Field source_paths = 18;
inline constexpr Field mappings = 19;
inline constexpr Field debug_annotation_string_values = 29;
}  // namespace interned_data

namespace interned_string {  // InternedString, EventCategory, EventName, DebugAnnotationName
inline constexpr Field iid = 1;
inline constexpr Field text = 2;
}  // namespace interned_string

namespace mapping {  // Mapping
inline constexpr Field iid = 1;
inline constexpr Field build_id = 2;
inline constexpr Field load_bias = 6;
inline constexpr Field path_string_ids = 7;
}  // namespace mapping

namespace frame {  // Frame
inline constexpr Field iid = 1;
inline constexpr Field function_name_id = 2;
inline constexpr Field mapping_id = 3;
inline constexpr Field rel_pc = 4;
inline constexpr Field source_path_iid = 5;
inline constexpr Field line_number = 6;
}  // namespace frame

namespace module_symbols {  // ModuleSymbols
inline constexpr Field path = 1;
inline constexpr Field build_id = 2;
inline constexpr Field address_symbols = 3;
}  // namespace module_symbols

namespace address_symbols {  // AddressSymbols
inline constexpr Field address = 1;
inline constexpr Field lines = 2;
}  // namespace address_symbols

namespace symbol_line {  // Line
inline constexpr Field function_name = 1;
inline constexpr Field source_file_name = 2;
inline constexpr Field line_number = 3;
}  // namespace symbol_line

namespace callstack {  // Callstack
inline constexpr Field iid = 1;
inline constexpr Field frame_ids = 2;
}  // namespace callstack

namespace perf_sample {  // PerfSample
inline constexpr Field cpu = 1;
inline constexpr Field pid = 2;
inline constexpr Field tid = 3;
inline constexpr Field callstack_iid = 4;
inline constexpr Field cpu_mode = 5;
// Profiling.CpuMode
inline constexpr std::int32_t mode_kernel = 1;
inline constexpr std::int32_t mode_user = 2;
}  // namespace perf_sample

namespace ftrace_event_bundle {  // FtraceEventBundle
inline constexpr Field cpu = 1;
inline constexpr Field event = 2;
}  // namespace ftrace_event_bundle

namespace ftrace_event {  // FtraceEvent
inline constexpr Field timestamp = 1;
inline constexpr Field pid = 2;
inline constexpr Field sched_switch = 4;
inline constexpr Field common_flags = 5;
inline constexpr Field sched_waking = 20;
inline constexpr Field task_newtask = 235;
inline constexpr std::uint32_t flag_hardirq = 0x08;  // the kernel's TRACE_FLAG_HARDIRQ
inline constexpr std::uint32_t flag_softirq = 0x10;  // TRACE_FLAG_SOFTIRQ
}  // namespace ftrace_event

namespace sched_switch {  // SchedSwitchFtraceEvent
inline constexpr Field prev_comm = 1;
inline constexpr Field prev_pid = 2;
inline constexpr Field prev_prio = 3;
inline constexpr Field prev_state = 4;
inline constexpr Field next_comm = 5;
inline constexpr Field next_pid = 6;
inline constexpr Field next_prio = 7;
}  // namespace sched_switch

namespace task_newtask {  // TaskNewtaskFtraceEvent
inline constexpr Field pid = 1;
inline constexpr Field comm = 2;
inline constexpr Field clone_flags = 3;
inline constexpr std::uint64_t clone_thread = 0x10000;  // the kernel's CLONE_THREAD
}  // namespace task_newtask

namespace sched_waking {  // SchedWakingFtraceEvent
inline constexpr Field comm = 1;
inline constexpr Field pid = 2;
inline constexpr Field prio = 3;
inline constexpr Field success = 4;
inline constexpr Field target_cpu = 5;
}  // namespace sched_waking

namespace lagtrap_switch {  // adds to the sched_switch in the same packet
inline constexpr Field next_policy = 1;
inline constexpr Field prev_throttled = 2;
// CLOCK_BOOTTIME, ns: when the next thread's group was last throttled
inline constexpr Field throttled_from = 3;
inline constexpr Field throttled_to = 4;
inline constexpr Field prev_yielded = 6;
// inferred: the kernel reported no switch; how the previous thread stopped is unknown.
inline constexpr Field concluded = 5;
}  // namespace lagtrap_switch

namespace lagtrap_wait {            // adds to the off-CPU stack in the same packet
inline constexpr Field object = 1;  // equal for threads that wait for the same lock
// thread that has the lock, according to the program's memory; not checked
inline constexpr Field owner = 2;
}  // namespace lagtrap_wait

namespace lagtrap_waking {         // what caused the sched_waking in the same packet
inline constexpr Field cause = 1;  // enum lagtrap_wake_cause in bpf/records.h
inline constexpr Field number = 2;
inline constexpr Field device = 3;
}  // namespace lagtrap_waking

namespace lagtrap_wait_file {  // the file a thread waits for from this packet's time on
inline constexpr Field tid = 1;
inline constexpr Field kind = 2;  // enum lagtrap_wait_file_kind in bpf/records.h
// from the root of the machine's first mount namespace, or of the thread's
inline constexpr Field path = 3;
inline constexpr Field disk = 4;
inline constexpr Field queue_depth = 5;  // requests sent to the disk and not yet completed
// a process with a conflicting lock, or at the other end of the socket
inline constexpr Field holder_pid = 6;
inline constexpr Field socket = 7;  // the same number for the same connection
}  // namespace lagtrap_wait_file

// Whose data disks write: a file, a process that has it open for writing, or a process that wrote
// and has ended.
namespace lagtrap_written {
inline constexpr Field file = 1;  // the same number for the same file
inline constexpr Field bytes = 2;
inline constexpr Field path = 3;  // from the root of its file system
inline constexpr Field name = 4;  // of the disk, or of the process that has ended
inline constexpr Field pid = 5;
inline constexpr Field ended = 6;
}  // namespace lagtrap_written

// What a thread works for from this packet's time on, as its program says; without a trace id, for
// nothing.
namespace lagtrap_context {
inline constexpr Field tid = 1;
inline constexpr Field trace_id = 2;  // 32 hexadecimal digits
inline constexpr Field span_id = 3;   // 16 hexadecimal digits
inline constexpr Field attribute = 4;
// of an attribute
inline constexpr Field name = 1;
inline constexpr Field value = 2;
}  // namespace lagtrap_context

// The control group of a process that is nearest to its memory limit, as in bpf/records.h.
namespace lagtrap_group_memory {
inline constexpr Field pid = 1;
inline constexpr Field path = 2;
inline constexpr Field limit_bytes = 3;
inline constexpr Field used_bytes = 4;
inline constexpr Field file_bytes = 5;
inline constexpr Field anonymous_bytes = 6;
inline constexpr Field shared_bytes = 7;
inline constexpr Field filler_pid = 8;
inline constexpr Field filler_bytes = 9;
}  // namespace lagtrap_group_memory

// From this packet's time on, a thread waits for a disk while its control group is at a limit.
namespace lagtrap_disk_limit {
inline constexpr Field tid = 1;
inline constexpr Field disk = 2;
inline constexpr Field group = 3;  // the last part of its path
inline constexpr Field writes = 4;
inline constexpr Field bytes_per_s = 5;
inline constexpr Field operations_per_s = 6;
}  // namespace lagtrap_disk_limit

// A wait that ended before the recording began, at this packet's time. Its stack is the perf_sample
// in the same packet; the waker's is in the sequence's next packet.
namespace lagtrap_history_wait {
inline constexpr Field begin = 1;  // in the time of packets
inline constexpr Field waker_tid = 2;
inline constexpr Field by_interrupt = 3;
inline constexpr Field in_run = 4;       // otherwise it was for a disk
inline constexpr Field waker_stack = 5;  // not a wait: this is a waker's stack
}  // namespace lagtrap_history_wait

}  // namespace lagtrap::trace::perfetto

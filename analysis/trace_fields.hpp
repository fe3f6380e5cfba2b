// Fields of a merged trace that the reader understands: field numbers from
// trace/perfetto/perfetto_fields.hpp, each combined with its wire type. A field with the right
// number but the wrong type is treated as unknown instead of being misread.
#pragma once

#include <cstdint>

#include <protozero/types.hpp>

#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::analysis::fields {

namespace perfetto = lagtrap::trace::perfetto;

constexpr std::uint32_t varint(std::uint32_t number) {
    return protozero::tag_and_type(number, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t bytes(std::uint32_t number) {
    return protozero::tag_and_type(number, protozero::pbf_wire_type::length_delimited);
}

namespace trace {
constexpr std::uint32_t packet = bytes(perfetto::trace_file::packet);
}

namespace packet {
constexpr std::uint32_t ftrace_events = bytes(perfetto::trace_packet::ftrace_events);
constexpr std::uint32_t process_tree = bytes(perfetto::trace_packet::process_tree);
constexpr std::uint32_t timestamp = varint(perfetto::trace_packet::timestamp);
constexpr std::uint32_t sequence_id = varint(perfetto::trace_packet::trusted_packet_sequence_id);
constexpr std::uint32_t track_event = bytes(perfetto::trace_packet::track_event);
constexpr std::uint32_t interned_data = bytes(perfetto::trace_packet::interned_data);
constexpr std::uint32_t sequence_flags = varint(perfetto::trace_packet::sequence_flags);
constexpr std::uint32_t defaults = bytes(perfetto::trace_packet::trace_packet_defaults);
constexpr std::uint32_t track_descriptor = bytes(perfetto::trace_packet::track_descriptor);
constexpr std::uint32_t module_symbols = bytes(perfetto::trace_packet::module_symbols);
constexpr std::uint32_t perf_sample = bytes(perfetto::trace_packet::perf_sample);
constexpr std::uint32_t lagtrap_waking = bytes(perfetto::trace_packet::lagtrap_waking);
constexpr std::uint32_t lagtrap_switch = bytes(perfetto::trace_packet::lagtrap_switch);
constexpr std::uint32_t lagtrap_wait_file = bytes(perfetto::trace_packet::lagtrap_wait_file);
constexpr std::uint32_t lagtrap_history_wait = bytes(perfetto::trace_packet::lagtrap_history_wait);
constexpr std::uint32_t lagtrap_wait = bytes(perfetto::trace_packet::lagtrap_wait);
constexpr std::uint32_t lagtrap_written = bytes(perfetto::trace_packet::lagtrap_written);
constexpr std::uint32_t lagtrap_group_memory = bytes(perfetto::trace_packet::lagtrap_group_memory);
constexpr std::uint32_t lagtrap_context = bytes(perfetto::trace_packet::lagtrap_context);
constexpr std::uint32_t lagtrap_disk_limit = bytes(perfetto::trace_packet::lagtrap_disk_limit);
using perfetto::trace_packet::incremental_state_cleared;  // a bit of sequence_flags
}  // namespace packet

namespace defaults {
constexpr std::uint32_t perf_sample = bytes(perfetto::trace_packet_defaults::perf_sample_defaults);
}
namespace perf_sample_defaults {
constexpr std::uint32_t timebase = bytes(perfetto::perf_sample_defaults::timebase);
}
namespace timebase {
constexpr std::uint32_t tracepoint = bytes(perfetto::timebase::tracepoint);
constexpr std::uint32_t name = bytes(perfetto::timebase::name);
}  // namespace timebase

namespace interned {
constexpr std::uint32_t event_categories = bytes(perfetto::interned_data::event_categories);
constexpr std::uint32_t event_names = bytes(perfetto::interned_data::event_names);
constexpr std::uint32_t annotation_names = bytes(perfetto::interned_data::debug_annotation_names);
constexpr std::uint32_t function_names = bytes(perfetto::interned_data::function_names);
constexpr std::uint32_t frames = bytes(perfetto::interned_data::frames);
constexpr std::uint32_t callstacks = bytes(perfetto::interned_data::callstacks);
constexpr std::uint32_t build_ids = bytes(perfetto::interned_data::build_ids);
constexpr std::uint32_t mapping_paths = bytes(perfetto::interned_data::mapping_paths);
constexpr std::uint32_t source_paths = bytes(perfetto::interned_data::source_paths);
constexpr std::uint32_t mappings = bytes(perfetto::interned_data::mappings);
constexpr std::uint32_t annotation_strings =
    bytes(perfetto::interned_data::debug_annotation_string_values);
}  // namespace interned

namespace interned_string {  // also EventCategory, EventName and DebugAnnotationName
constexpr std::uint32_t iid = varint(perfetto::interned_string::iid);
constexpr std::uint32_t text = bytes(perfetto::interned_string::text);
}  // namespace interned_string

namespace mapping {
constexpr std::uint32_t iid = varint(perfetto::mapping::iid);
constexpr std::uint32_t build_id = varint(perfetto::mapping::build_id);
constexpr std::uint32_t load_bias = varint(perfetto::mapping::load_bias);
constexpr std::uint32_t path_ids = varint(perfetto::mapping::path_string_ids);
constexpr std::uint32_t path_ids_packed = bytes(perfetto::mapping::path_string_ids);
}  // namespace mapping

namespace frame {
constexpr std::uint32_t iid = varint(perfetto::frame::iid);
constexpr std::uint32_t function_name_id = varint(perfetto::frame::function_name_id);
constexpr std::uint32_t mapping_id = varint(perfetto::frame::mapping_id);
constexpr std::uint32_t offset = varint(perfetto::frame::rel_pc);
constexpr std::uint32_t source_path_id = varint(perfetto::frame::source_path_iid);
constexpr std::uint32_t line = varint(perfetto::frame::line_number);
}  // namespace frame

namespace module_symbols {
constexpr std::uint32_t path = bytes(perfetto::module_symbols::path);
constexpr std::uint32_t build_id = bytes(perfetto::module_symbols::build_id);
constexpr std::uint32_t address_symbols = bytes(perfetto::module_symbols::address_symbols);
namespace of_address {
constexpr std::uint32_t address = varint(perfetto::address_symbols::address);
constexpr std::uint32_t lines = bytes(perfetto::address_symbols::lines);
}  // namespace of_address
namespace of_line {
constexpr std::uint32_t function = bytes(perfetto::symbol_line::function_name);
constexpr std::uint32_t source = bytes(perfetto::symbol_line::source_file_name);
constexpr std::uint32_t line = varint(perfetto::symbol_line::line_number);
}  // namespace of_line
}  // namespace module_symbols

namespace callstack {
constexpr std::uint32_t iid = varint(perfetto::callstack::iid);
constexpr std::uint32_t frame_ids = varint(perfetto::callstack::frame_ids);
constexpr std::uint32_t frame_ids_packed = bytes(perfetto::callstack::frame_ids);
}  // namespace callstack

namespace perf_sample {
constexpr std::uint32_t cpu = varint(perfetto::perf_sample::cpu);
constexpr std::uint32_t pid = varint(perfetto::perf_sample::pid);
constexpr std::uint32_t tid = varint(perfetto::perf_sample::tid);
constexpr std::uint32_t callstack = varint(perfetto::perf_sample::callstack_iid);
}  // namespace perf_sample

namespace ftrace_bundle {
constexpr std::uint32_t cpu = varint(perfetto::ftrace_event_bundle::cpu);
constexpr std::uint32_t event = bytes(perfetto::ftrace_event_bundle::event);
}  // namespace ftrace_bundle

namespace ftrace_event {
constexpr std::uint32_t timestamp = varint(perfetto::ftrace_event::timestamp);
// Perfetto calls it pid: the thread on the CPU
constexpr std::uint32_t tid = varint(perfetto::ftrace_event::pid);
constexpr std::uint32_t sched_switch = bytes(perfetto::ftrace_event::sched_switch);
constexpr std::uint32_t common_flags = varint(perfetto::ftrace_event::common_flags);
constexpr std::uint32_t sched_waking = bytes(perfetto::ftrace_event::sched_waking);
constexpr std::uint32_t task_newtask = bytes(perfetto::ftrace_event::task_newtask);
constexpr std::uint64_t in_interrupt =
    perfetto::ftrace_event::flag_hardirq | perfetto::ftrace_event::flag_softirq;
}  // namespace ftrace_event

namespace task_newtask {
constexpr std::uint32_t tid = varint(perfetto::task_newtask::pid);
}  // namespace task_newtask

namespace sched_switch {
constexpr std::uint32_t prev_tid = varint(perfetto::sched_switch::prev_pid);
constexpr std::uint32_t prev_priority = varint(perfetto::sched_switch::prev_prio);
constexpr std::uint32_t prev_state = varint(perfetto::sched_switch::prev_state);
constexpr std::uint32_t next_tid = varint(perfetto::sched_switch::next_pid);
constexpr std::uint32_t next_priority = varint(perfetto::sched_switch::next_prio);
}  // namespace sched_switch

namespace sched_waking {
constexpr std::uint32_t tid = varint(perfetto::sched_waking::pid);
}

namespace lagtrap_wait_file {
constexpr std::uint32_t tid = varint(perfetto::lagtrap_wait_file::tid);
constexpr std::uint32_t kind = varint(perfetto::lagtrap_wait_file::kind);
constexpr std::uint32_t path = bytes(perfetto::lagtrap_wait_file::path);
constexpr std::uint32_t disk = bytes(perfetto::lagtrap_wait_file::disk);
constexpr std::uint32_t queue_depth = varint(perfetto::lagtrap_wait_file::queue_depth);
constexpr std::uint32_t holder_pid = varint(perfetto::lagtrap_wait_file::holder_pid);
constexpr std::uint32_t socket = varint(perfetto::lagtrap_wait_file::socket);
}  // namespace lagtrap_wait_file

namespace lagtrap_written {
constexpr std::uint32_t file = varint(perfetto::lagtrap_written::file);
constexpr std::uint32_t bytes = varint(perfetto::lagtrap_written::bytes);
constexpr std::uint32_t path = fields::bytes(perfetto::lagtrap_written::path);
constexpr std::uint32_t name = fields::bytes(perfetto::lagtrap_written::name);
constexpr std::uint32_t pid = varint(perfetto::lagtrap_written::pid);
constexpr std::uint32_t ended = varint(perfetto::lagtrap_written::ended);
}  // namespace lagtrap_written

namespace lagtrap_context {
constexpr std::uint32_t tid = varint(perfetto::lagtrap_context::tid);
constexpr std::uint32_t trace_id = bytes(perfetto::lagtrap_context::trace_id);
constexpr std::uint32_t span_id = bytes(perfetto::lagtrap_context::span_id);
constexpr std::uint32_t attribute = bytes(perfetto::lagtrap_context::attribute);
constexpr std::uint32_t name = bytes(perfetto::lagtrap_context::name);
constexpr std::uint32_t value = bytes(perfetto::lagtrap_context::value);
}  // namespace lagtrap_context

namespace lagtrap_group_memory {
constexpr std::uint32_t pid = varint(perfetto::lagtrap_group_memory::pid);
constexpr std::uint32_t path = bytes(perfetto::lagtrap_group_memory::path);
constexpr std::uint32_t limit_bytes = varint(perfetto::lagtrap_group_memory::limit_bytes);
constexpr std::uint32_t used_bytes = varint(perfetto::lagtrap_group_memory::used_bytes);
constexpr std::uint32_t file_bytes = varint(perfetto::lagtrap_group_memory::file_bytes);
constexpr std::uint32_t anonymous_bytes = varint(perfetto::lagtrap_group_memory::anonymous_bytes);
constexpr std::uint32_t shared_bytes = varint(perfetto::lagtrap_group_memory::shared_bytes);
constexpr std::uint32_t filler_pid = varint(perfetto::lagtrap_group_memory::filler_pid);
constexpr std::uint32_t filler_bytes = varint(perfetto::lagtrap_group_memory::filler_bytes);
}  // namespace lagtrap_group_memory

namespace lagtrap_disk_limit {
constexpr std::uint32_t tid = varint(perfetto::lagtrap_disk_limit::tid);
constexpr std::uint32_t disk = bytes(perfetto::lagtrap_disk_limit::disk);
constexpr std::uint32_t group = bytes(perfetto::lagtrap_disk_limit::group);
constexpr std::uint32_t writes = varint(perfetto::lagtrap_disk_limit::writes);
constexpr std::uint32_t bytes_per_s = varint(perfetto::lagtrap_disk_limit::bytes_per_s);
constexpr std::uint32_t operations_per_s = varint(perfetto::lagtrap_disk_limit::operations_per_s);
}  // namespace lagtrap_disk_limit

namespace lagtrap_wait {
constexpr std::uint32_t object = varint(perfetto::lagtrap_wait::object);
constexpr std::uint32_t owner = varint(perfetto::lagtrap_wait::owner);
}  // namespace lagtrap_wait

namespace lagtrap_history_wait {
constexpr std::uint32_t begin = varint(perfetto::lagtrap_history_wait::begin);
constexpr std::uint32_t waker_tid = varint(perfetto::lagtrap_history_wait::waker_tid);
constexpr std::uint32_t by_interrupt = varint(perfetto::lagtrap_history_wait::by_interrupt);
constexpr std::uint32_t in_run = varint(perfetto::lagtrap_history_wait::in_run);
constexpr std::uint32_t waker_stack = varint(perfetto::lagtrap_history_wait::waker_stack);
}  // namespace lagtrap_history_wait

namespace lagtrap_switch {
constexpr std::uint32_t next_policy = varint(perfetto::lagtrap_switch::next_policy);
constexpr std::uint32_t prev_throttled = varint(perfetto::lagtrap_switch::prev_throttled);
constexpr std::uint32_t throttled_from = varint(perfetto::lagtrap_switch::throttled_from);
constexpr std::uint32_t throttled_to = varint(perfetto::lagtrap_switch::throttled_to);
constexpr std::uint32_t concluded = varint(perfetto::lagtrap_switch::concluded);
constexpr std::uint32_t prev_yielded = varint(perfetto::lagtrap_switch::prev_yielded);
}  // namespace lagtrap_switch

namespace lagtrap_waking {
constexpr std::uint32_t cause = varint(perfetto::lagtrap_waking::cause);
constexpr std::uint32_t device = bytes(perfetto::lagtrap_waking::device);
}  // namespace lagtrap_waking

namespace process_tree {
constexpr std::uint32_t process = bytes(perfetto::process_tree::processes);
constexpr std::uint32_t thread = bytes(perfetto::process_tree::threads);
namespace of_process {
constexpr std::uint32_t pid = varint(perfetto::process_tree_process::pid);
constexpr std::uint32_t parent_pid = varint(perfetto::process_tree_process::ppid);
constexpr std::uint32_t command_line = bytes(perfetto::process_tree_process::cmdline);
constexpr std::uint32_t uid = varint(perfetto::process_tree_process::uid);
constexpr std::uint32_t started = varint(perfetto::process_tree_process::process_start_from_boot);
}  // namespace of_process
namespace of_thread {
constexpr std::uint32_t tid = varint(perfetto::process_tree_thread::tid);
constexpr std::uint32_t name = bytes(perfetto::process_tree_thread::name);
constexpr std::uint32_t pid = varint(perfetto::process_tree_thread::tgid);
}  // namespace of_thread
}  // namespace process_tree

namespace track_descriptor {
constexpr std::uint32_t process = bytes(perfetto::track_descriptor::process);
constexpr std::uint32_t thread = bytes(perfetto::track_descriptor::thread);
namespace of_process {
constexpr std::uint32_t pid = varint(perfetto::process_descriptor::pid);
constexpr std::uint32_t name = bytes(perfetto::process_descriptor::process_name);
constexpr std::uint32_t label = bytes(perfetto::process_descriptor::process_labels);
}  // namespace of_process
namespace of_thread {
constexpr std::uint32_t pid = varint(perfetto::thread_descriptor::pid);
constexpr std::uint32_t tid = varint(perfetto::thread_descriptor::tid);
constexpr std::uint32_t name = bytes(perfetto::thread_descriptor::thread_name);
}  // namespace of_thread
}  // namespace track_descriptor

namespace track_event {
constexpr std::uint32_t category_ids = varint(perfetto::track_event::category_iids);
constexpr std::uint32_t annotation = bytes(perfetto::track_event::debug_annotations);
constexpr std::uint32_t type = varint(perfetto::track_event::type);
constexpr std::uint32_t name_id = varint(perfetto::track_event::name_iid);
constexpr std::uint32_t track = varint(perfetto::track_event::track_uuid);
constexpr std::uint32_t category = bytes(perfetto::track_event::categories);
constexpr std::uint32_t name = bytes(perfetto::track_event::name);
constexpr std::uint64_t type_begin = perfetto::track_event::slice_begin;
constexpr std::uint64_t type_end = perfetto::track_event::slice_end;
}  // namespace track_event

namespace annotation {
constexpr std::uint32_t name_id = varint(perfetto::debug_annotation::name_iid);
constexpr std::uint32_t bool_value = varint(perfetto::debug_annotation::bool_value);
constexpr std::uint32_t uint_value = varint(perfetto::debug_annotation::uint_value);
constexpr std::uint32_t int_value = varint(perfetto::debug_annotation::int_value);
constexpr std::uint32_t string_value = bytes(perfetto::debug_annotation::string_value);
constexpr std::uint32_t name = bytes(perfetto::debug_annotation::name);
constexpr std::uint32_t string_id = varint(perfetto::debug_annotation::string_value_iid);
}  // namespace annotation

}  // namespace lagtrap::analysis::fields

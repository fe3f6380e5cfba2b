#include "analysis/task_decoder.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include "analysis/interning.hpp"
#include "analysis/trace_fields.hpp"
#include "core/text.hpp"

namespace lagtrap::analysis {

namespace {

using protozero::data_view;
using protozero::pbf_reader;

constexpr std::size_t name_limit_bytes = 4096;

void name_thread(std::uint64_t tid, std::uint64_t pid, std::string_view name, std::uint64_t at_ns,
                 RawTrace& trace) {
    if (tid >= tid_limit || pid >= tid_limit) {
        ++trace.unreadable;
        return;
    }
    ++trace.records;
    RawThread& thread = trace.threads[static_cast<std::uint32_t>(tid)];
    if (pid != 0) thread.pid = static_cast<std::uint32_t>(pid);
    if (!name.empty()) thread.name = interned(name, name_limit_bytes, trace);
    thread.first_seen_ns = std::min(thread.first_seen_ns, at_ns);
}

void take_process(data_view message, RawTrace& trace) {
    constexpr std::size_t command_line_limit = 4096;
    Process process;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::process_tree::of_process::pid: process.pid = reader.get_uint32(); break;
            case fields::process_tree::of_process::parent_pid:
                process.parent_pid = reader.get_uint32();
                break;
            case fields::process_tree::of_process::uid: process.uid = reader.get_uint32(); break;
            case fields::process_tree::of_process::started:
                process.started_ns = reader.get_uint64();
                break;
            case fields::process_tree::of_process::command_line: {
                const auto part = reader.get_view();
                if (process.command_line.size() >= command_line_limit) break;
                if (!process.command_line.empty()) process.command_line += ' ';
                process.command_line +=
                    printable({part.data(), std::min(part.size(), command_line_limit)});
                break;
            }
            default: reader.skip();
        }
    }
    if (process.pid >= tid_limit) {
        ++trace.unreadable;
        return;
    }
    trace.name_bytes += process.command_line.size();
    ++trace.records;
    Process& known = trace.processes[process.pid];
    process.name = known.name;
    process.unit = known.unit;
    known = std::move(process);
}

void take_thread(data_view message, std::uint64_t at_ns, RawTrace& trace) {
    std::uint64_t tid = 0;
    std::uint64_t pid = 0;
    std::string_view name;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::process_tree::of_thread::tid: tid = reader.get_uint64(); break;
            case fields::process_tree::of_thread::pid: pid = reader.get_uint64(); break;
            case fields::process_tree::of_thread::name: name = view_of(reader.get_view()); break;
            default: reader.skip();
        }
    }
    name_thread(tid, pid, name, at_ns, trace);
}

void take_thread_track(data_view message, std::uint64_t at_ns, RawTrace& trace) {
    namespace field = fields::track_descriptor::of_thread;
    std::uint64_t pid = 0, tid = 0;
    std::string_view name;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::pid: pid = reader.get_uint64(); break;
            case field::tid: tid = reader.get_uint64(); break;
            case field::name: name = view_of(reader.get_view()); break;
            default: reader.skip();
        }
    }
    name_thread(tid, pid, name, at_ns, trace);
}

void take_process_track(data_view message, RawTrace& trace) {
    namespace field = fields::track_descriptor::of_process;
    std::uint64_t pid = 0;
    std::string_view name, label;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::pid: pid = reader.get_uint64(); break;
            case field::name: name = view_of(reader.get_view()); break;
            case field::label: {
                const std::string_view text = view_of(reader.get_view());
                if (label.empty()) label = text;
                break;
            }
            default: reader.skip();
        }
    }
    if (pid >= tid_limit || (name.empty() && label.empty())) return;
    Process& process = trace.processes[static_cast<std::uint32_t>(pid)];
    process.pid = static_cast<std::uint32_t>(pid);
    if (!label.empty()) process.unit = interned(label, name_limit_bytes, trace);
    if (!name.empty()) process.name = interned(name, name_limit_bytes, trace);
}

}  // namespace

void take_process_tree(data_view message, std::uint64_t at_ns, RawTrace& trace) {
    pbf_reader reader(message);
    while (reader.next() && !trace.too_large()) {
        switch (reader.tag_and_type()) {
            case fields::process_tree::process: take_process(reader.get_view(), trace); break;
            case fields::process_tree::thread: take_thread(reader.get_view(), at_ns, trace); break;
            default: reader.skip();
        }
    }
}

void take_track(data_view message, std::uint64_t at_ns, RawTrace& trace) {
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::track_descriptor::thread:
                take_thread_track(reader.get_view(), at_ns, trace);
                break;
            case fields::track_descriptor::process:
                take_process_track(reader.get_view(), trace);
                break;
            default: reader.skip();
        }
    }
}

void take_new_task(data_view message, std::uint64_t at_ns, std::uint32_t creator_tid,
                   RawTrace& trace) {
    std::uint64_t tid = 0;
    pbf_reader reader(message);
    while (reader.next()) {
        if (reader.tag_and_type() == fields::task_newtask::tid) {
            tid = reader.get_uint64();
        } else {
            reader.skip();
        }
    }
    if (tid == 0 || tid >= tid_limit || creator_tid >= tid_limit) {
        ++trace.unreadable;
        return;
    }
    ++trace.records;
    trace.threads[static_cast<std::uint32_t>(tid)].creation = {creator_tid, at_ns};
}

}  // namespace lagtrap::analysis

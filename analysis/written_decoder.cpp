#include "analysis/written_decoder.hpp"

#include <protozero/pbf_reader.hpp>

#include "analysis/interning.hpp"
#include "analysis/trace_fields.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t max_name_bytes = 64, max_path_bytes = 4096;

}  // namespace

void take_written(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace) {
    namespace field = fields::lagtrap_written;
    WrittenFile written;
    std::uint32_t pid = 0;
    std::uint64_t ended_ns = 0;
    written.at_ns = at_ns;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::file: written.file = reader.get_uint64(); break;
            case field::bytes: written.bytes = reader.get_uint64(); break;
            case field::path:
                written.path = interned(view_of(reader.get_view()), max_path_bytes, trace);
                break;
            case field::name:
                written.disk = interned(view_of(reader.get_view()), max_name_bytes, trace);
                break;
            case field::pid: pid = reader.get_uint32(); break;
            case field::ended: ended_ns = reader.get_uint64(); break;
            default: reader.skip();
        }
    }
    ++trace.records;
    if (pid >= tid_limit) {
        ++trace.unreadable;
    } else if (pid == 0) {
        trace.written_files.push_back(written);
    } else {
        trace.file_writers.push_back({written.file, pid, written.disk, written.bytes, ended_ns});
    }
}

void take_disk_limit(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace) {
    namespace field = fields::lagtrap_disk_limit;
    DiskLimit limit;
    limit.at_ns = at_ns;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::tid: limit.tid = reader.get_uint32(); break;
            case field::disk:
                limit.disk = interned(view_of(reader.get_view()), max_name_bytes, trace);
                break;
            case field::group:
                limit.group = interned(view_of(reader.get_view()), max_name_bytes, trace);
                break;
            case field::writes: limit.writes = reader.get_bool(); break;
            case field::bytes_per_s: limit.bytes_per_s = reader.get_uint64(); break;
            case field::operations_per_s: limit.operations_per_s = reader.get_uint64(); break;
            default: reader.skip();
        }
    }
    ++trace.records;
    if (limit.tid >= tid_limit)
        ++trace.unreadable;
    else
        trace.disk_limits.push_back(limit);
}

void take_group_memory(protozero::data_view message, RawTrace& trace) {
    namespace field = fields::lagtrap_group_memory;
    GroupMemory memory;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::pid: memory.pid = reader.get_uint32(); break;
            case field::path:
                memory.path = interned(view_of(reader.get_view()), max_path_bytes, trace);
                break;
            case field::limit_bytes: memory.limit_bytes = reader.get_uint64(); break;
            case field::used_bytes: memory.used_bytes = reader.get_uint64(); break;
            case field::file_bytes: memory.file_bytes = reader.get_uint64(); break;
            case field::anonymous_bytes: memory.anonymous_bytes = reader.get_uint64(); break;
            case field::shared_bytes: memory.shared_bytes = reader.get_uint64(); break;
            case field::filler_pid: memory.filler_pid = reader.get_uint32(); break;
            case field::filler_bytes: memory.filler_bytes = reader.get_uint64(); break;
            default: reader.skip();
        }
    }
    ++trace.records;
    trace.group_memory = memory;
}

}  // namespace lagtrap::analysis

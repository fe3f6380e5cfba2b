#include "trace/merge/resource_record_writer.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "core/text.hpp"
#include "trace/merge/peer_text.hpp"
#include "trace/perfetto/perfetto_fields.hpp"
#include "trace/processes/thread_table.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

// `names`: from the last to the first, each NUL-terminated.
std::string path_of_names(std::string_view names) {
    std::string path;
    while (!names.empty()) {
        const std::size_t end = std::min(names.find('\0'), names.size());
        path = "/" + printable(std::string(names.substr(0, end))) + path;
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return path;
}

}  // namespace

void ResourceRecordWriter::write(const lagtrap_wait_file& record) {
    namespace field = perfetto::lagtrap_wait_file;
    if (record.path_bytes > 0) {
        const std::string_view after{reinterpret_cast<const char*>(&record + 1), record.path_bytes};
        const bool local = record.kind == LAGTRAP_FILE_LOCAL_PEER;
        waited_files_[record.file] = has_peer(record.kind) ? peer_text(after)
                                     : local
                                         ? printable(std::string(after.substr(0, after.find('\0'))))
                                         : path_of_names(after);
    }
    const auto known = waited_files_.find(record.file);
    writer_.packet(cpu_sequence(record.header.cpu), record.header.at_ns + offset_ns_,
                   UsesInterning::No, [&](pbf_writer& packet) {
                       pbf_writer wait(packet, perfetto::trace_packet::lagtrap_wait_file);
                       wait.add_uint32(field::tid, record.tid);
                       wait.add_uint32(field::kind, record.kind);
                       if (known != waited_files_.end())
                           wait.add_string(field::path, known->second);
                       if (record.disk[0] != 0)
                           wait.add_string(field::disk, comm_text(record.disk));
                       if (record.queue_depth != 0)
                           wait.add_uint32(field::queue_depth, record.queue_depth);
                       if (record.holder_pid != 0)
                           wait.add_uint32(field::holder_pid, record.holder_pid);
                       if (is_of_socket(record.kind)) wait.add_uint64(field::socket, record.file);
                   });
}

void ResourceRecordWriter::write(const lagtrap_written& record) {
    namespace field = perfetto::lagtrap_written;
    if (record.path_bytes > 0)
        written_files_[record.file] =
            path_of_names({reinterpret_cast<const char*>(&record + 1), record.path_bytes});
    const auto known = written_files_.find(record.file);
    writer_.packet(cpu_sequence(record.header.cpu), record.header.at_ns + offset_ns_,
                   UsesInterning::No, [&](pbf_writer& packet) {
                       pbf_writer written(packet, perfetto::trace_packet::lagtrap_written);
                       if (record.file != 0) written.add_uint64(field::file, record.file);
                       if (record.bytes != 0) written.add_uint64(field::bytes, record.bytes);
                       if (known != written_files_.end())
                           written.add_string(field::path, known->second);
                       if (record.name[0] != 0)
                           written.add_string(field::name, comm_text(record.name));
                       if (record.pid != 0) written.add_uint32(field::pid, record.pid);
                       if (record.ended_ns != 0)
                           written.add_uint64(field::ended, record.ended_ns + offset_ns_);
                   });
}

void ResourceRecordWriter::write(const lagtrap_group_memory& record) {
    namespace field = perfetto::lagtrap_group_memory;
    writer_.packet(cpu_sequence(record.header.cpu), record.header.at_ns + offset_ns_,
                   UsesInterning::No, [&](pbf_writer& packet) {
                       pbf_writer memory(packet, perfetto::trace_packet::lagtrap_group_memory);
                       const std::string path(reinterpret_cast<const char*>(&record + 1),
                                              record.path_bytes);
                       memory.add_uint32(field::pid, record.pid);
                       memory.add_string(field::path, printable(path));
                       memory.add_uint64(field::limit_bytes, record.limit_bytes);
                       memory.add_uint64(field::used_bytes, record.used_bytes);
                       memory.add_uint64(field::file_bytes, record.file_bytes);
                       memory.add_uint64(field::anonymous_bytes, record.anonymous_bytes);
                       memory.add_uint64(field::shared_bytes, record.shared_bytes);
                       if (record.filler_pid == 0) return;
                       memory.add_uint32(field::filler_pid, record.filler_pid);
                       memory.add_uint64(field::filler_bytes, record.filler_bytes);
                   });
}

void ResourceRecordWriter::write(const lagtrap_disk_limit& record) {
    namespace field = perfetto::lagtrap_disk_limit;
    writer_.packet(cpu_sequence(record.header.cpu), record.header.at_ns + offset_ns_,
                   UsesInterning::No, [&](pbf_writer& packet) {
                       pbf_writer limit(packet, perfetto::trace_packet::lagtrap_disk_limit);
                       limit.add_uint32(field::tid, record.tid);
                       limit.add_string(field::disk, comm_text(record.disk));
                       limit.add_string(
                           field::group,
                           printable(std::string(record.group,
                                                 ::strnlen(record.group, sizeof(record.group)))));
                       limit.add_bool(field::writes, record.writes != 0);
                       if (record.bytes_per_s != 0)
                           limit.add_uint64(field::bytes_per_s, record.bytes_per_s);
                       if (record.operations_per_s != 0)
                           limit.add_uint64(field::operations_per_s, record.operations_per_s);
                   });
}

}  // namespace lagtrap::trace

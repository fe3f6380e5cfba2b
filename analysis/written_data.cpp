#include "analysis/written_data.hpp"

#include <algorithm>
#include <map>

namespace lagtrap::analysis {

namespace {

constexpr std::uint64_t min_reported_bytes = 8 << 20;
// The kernel writes data back once it is older than vm.dirty_expire_centisecs (30 s), and checks
// every few seconds.
constexpr std::uint64_t written_late_ns = 40'000'000'000;

struct OneFile {
    std::uint64_t before_bytes = 0;  // until the window's begin
    std::uint64_t bytes = 0;         // until its end
    NameId path = 0, disk = 0;
    [[nodiscard]] std::uint64_t in_window() const { return bytes - std::min(bytes, before_bytes); }
};

std::map<std::uint64_t, OneFile> files_by(const Recording& recording, Window window,
                                          std::string_view disk) {
    std::map<std::uint64_t, OneFile> files;
    // Disks composed of others (device mapper, RAID) have no requests of their own.
    const bool has_requests =
        std::any_of(recording.written_files.begin(), recording.written_files.end(),
                    [&](const WrittenFile& one) { return recording.name(one.disk) == disk; });
    if (!has_requests) disk = {};
    for (const WrittenFile& written : recording.written_files) {
        if (written.at_ns >= window.end_ns ||
            (!disk.empty() && recording.name(written.disk) != disk))
            continue;
        OneFile& file = files[written.file];
        file.path = written.path;
        file.disk = written.disk;
        file.bytes = std::max(file.bytes, written.bytes);
        if (written.at_ns <= window.begin_ns)
            file.before_bytes = std::max(file.before_bytes, written.bytes);
    }
    return files;
}

void find_open_writer(const Recording& recording, std::uint64_t file, WrittenData& data) {
    for (const FileWriter& writer : recording.file_writers) {
        if (writer.file == 0 || writer.file != file) continue;
        const std::string& name = recording.process_name(writer.pid);
        if (data.writer_pid != 0 && writer.pid != data.writer_pid && name == data.writer)
            ++data.writers;
        if (data.writer_pid != 0) continue;
        data.writer_pid = writer.pid;
        data.writer = name;
    }
}

// An ended process that may have written most of the file shortly before.
void find_ended_writer(const Recording& recording, Window window, WrittenData& data) {
    for (const FileWriter& writer : recording.file_writers) {
        const bool late =
            writer.ended_ns > window.end_ns || writer.ended_ns + written_late_ns < window.begin_ns;
        if (writer.file != 0 || late || writer.bytes * 2 < data.path_bytes ||
            writer.bytes <= data.writer_bytes)
            continue;
        data.writer_pid = writer.pid;
        data.writer = recording.name(writer.name);
        data.writer_bytes = writer.bytes;
        data.writer_ended = true;
    }
}

}  // namespace

WrittenData written_in(const Recording& recording, Window window, std::string_view disk) {
    WrittenData data;
    std::uint64_t most = 0;
    for (const auto& [number, file] : files_by(recording, window, disk)) {
        const std::uint64_t bytes = file.in_window();
        if (bytes == 0) continue;
        data.bytes += bytes;
        ++data.files;
        if (bytes <= data.path_bytes) continue;
        most = number;
        data.path_bytes = bytes;
        data.path = recording.name(file.path);
        data.disk = recording.name(file.disk);
    }
    if (data.bytes < min_reported_bytes) return {};
    find_open_writer(recording, most, data);
    if (data.writer_pid == 0) find_ended_writer(recording, window, data);
    return data;
}

}  // namespace lagtrap::analysis

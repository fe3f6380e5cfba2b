#include "tests/replay/unpacked_recording.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lagtrap::test {
namespace {

namespace fs = std::filesystem;

struct FreeArchive {
    void operator()(archive* handle) const { archive_read_free(handle); }
};

// In memory if possible, because a merge waits for its files to reach the disk.
fs::path make_folder() {
    std::error_code ignored;
    const fs::path parent =
        fs::is_directory("/dev/shm", ignored) ? "/dev/shm" : fs::temp_directory_path();
    std::string name = (parent / "lagtrap-replay-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    return name;
}

void unpack_file(archive* handle, const fs::path& path) {
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    std::vector<char> part(1 << 16);
    for (;;) {
        const la_ssize_t got = archive_read_data(handle, part.data(), part.size());
        if (got < 0) throw std::runtime_error(archive_error_string(handle));
        if (got == 0) break;
        file.write(part.data(), got);
    }
    if (!file.flush()) throw std::runtime_error(path.string() + " was not written");
}

void unpack(const fs::path& archive_path, const fs::path& folder) {
    const std::unique_ptr<archive, FreeArchive> handle(archive_read_new());
    archive_read_support_format_tar(handle.get());
    archive_read_support_filter_zstd(handle.get());
    int status = archive_read_open_filename(handle.get(), archive_path.c_str(), 1 << 16);
    archive_entry* entry = nullptr;
    while (status == ARCHIVE_OK &&
           (status = archive_read_next_header(handle.get(), &entry)) == ARCHIVE_OK)
        if (archive_entry_filetype(entry) == AE_IFREG)
            unpack_file(handle.get(), folder / archive_entry_pathname(entry));
    if (status != ARCHIVE_EOF) throw std::runtime_error(archive_error_string(handle.get()));
}

}  // namespace

UnpackedRecording::UnpackedRecording(const fs::path& archive) : folder_(make_folder()) {
    unpack(archive, folder_);
}

UnpackedRecording::~UnpackedRecording() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

trace::MergeOptions UnpackedRecording::merge_options() const {
    const fs::path machine = folder_ / "machine";
    trace::MergeOptions options;
    options.symbols.machine = machine;
    options.symbols.proc_root = machine / "proc";
    options.symbols.kernel_notes = machine / "sys/kernel/notes";
    options.symbols.vdso = machine / "vdso";
    options.symbols.limits.cpu_time = options.symbols.limits.wall_time = std::chrono::hours(1);
    options.symbols.debug_files.folders = {machine / "usr/lib/debug"};
    return options;
}

}  // namespace lagtrap::test

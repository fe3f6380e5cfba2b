#include "trace/bundle/bundle.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "core/digest.hpp"
#include "core/fault_point.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/bundle/bundle_names.hpp"
#include "trace/logs/session_id.hpp"

namespace lagtrap::trace {
namespace {

constexpr const char* compression_level = "6";

struct FreeArchive {
    void operator()(archive* handle) const { archive_free(handle); }
};
struct FreeEntry {
    void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;
using Entry = std::unique_ptr<archive_entry, FreeEntry>;

Error archive_error(archive* handle, std::string_view doing) {
    const char* said = archive_error_string(handle);
    return make_error(
        ErrorKind::Invalid,
        std::string(doing) + ": " + (said != nullptr ? printable(said) : "unknown error"));
}

// Receives the archive's bytes: a file, and the digest of what was written.
struct Output {
    UniqueFd fd;
    Sha256 digest;
    std::uint64_t size_bytes = 0;
    std::optional<Error> error;
};

la_ssize_t write_output(archive*, void* context, const void* data, std::size_t size) {
    auto* output = static_cast<Output*>(context);
    if (auto written = write_all(output->fd.get(), data, size); !written) {
        output->error = written.error();
        return -1;
    }
    output->digest.update(data, size);
    output->size_bytes += size;
    return static_cast<la_ssize_t>(size);
}

Status add_file(archive* handle, const std::filesystem::path& path, const char* name) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(path.string());
    if (!S_ISREG(facts.st_mode))
        return make_error(ErrorKind::Invalid, path.string() + ": not a plain file");
    const Entry entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), name);
    archive_entry_set_size(entry.get(), facts.st_size);
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    // No owner and no time, so that the same capture always gives the same bytes and digest.
    archive_entry_set_mtime(entry.get(), 0, 0);
    if (archive_write_header(handle, entry.get()) != ARCHIVE_OK) return archive_error(handle, name);
    std::array<char, 65536> buffer;
    std::uint64_t left = static_cast<std::uint64_t>(facts.st_size);
    while (left > 0) {
        const ssize_t got =
            ::read(fd.get(), buffer.data(), std::min<std::uint64_t>(left, buffer.size()));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(path.string());
        if (got == 0)
            return make_error(ErrorKind::Invalid, path.string() + ": shrank while it was packed");
        if (archive_write_data(handle, buffer.data(), static_cast<std::size_t>(got)) != got)
            return archive_error(handle, name);
        left -= static_cast<std::uint64_t>(got);
    }
    return success();
}

Status pack(const std::filesystem::path& directory, Output& output) {
    const Archive handle(archive_write_new());
    if (archive_write_set_format_pax_restricted(handle.get()) != ARCHIVE_OK ||
        archive_write_add_filter_zstd(handle.get()) != ARCHIVE_OK ||
        archive_write_set_filter_option(handle.get(), "zstd", "compression-level",
                                        compression_level) != ARCHIVE_OK ||
        archive_write_set_bytes_per_block(handle.get(), 1 << 16) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(handle.get(), 1) != ARCHIVE_OK ||
        archive_write_open(handle.get(), &output, nullptr, write_output, nullptr) != ARCHIVE_OK)
        return archive_error(handle.get(), "make archive");
    Status status = success();
    for (const char* name : {system_name, settings_name, trace_name}) {
        if (!status) break;
        status = add_file(handle.get(), directory / name, name);
        // A capture without settings is still useful.
        if (!status && name == settings_name && status.error().kind == ErrorKind::NotFound)
            status = success();
    }
    if (status && archive_write_close(handle.get()) != ARCHIVE_OK)
        status = archive_error(handle.get(), "close archive");
    if (output.error) return *output.error;
    return status;
}

}  // namespace

Result<PackedBundle> pack_bundle(const std::filesystem::path& directory,
                                 const std::string& session_id,
                                 const std::filesystem::path& output_directory) {
    if (!is_session_id(session_id))
        return make_error(ErrorKind::Invalid,
                          "session id \"" + printable(session_id) + "\" is not a UUID");
    std::string beside = (output_directory / ("." + session_id + ".XXXXXX")).string();
    Output output;
    TRY_ASSIGN(output.fd, make_temporary_file(beside));
    const auto packed = [&]() -> Status {
        FAULT_POINT("bundle.begin");
        TRY(pack(directory, output));
        TRY(set_mode(output.fd.get(), 0640));
        if (::fsync(output.fd.get()) != 0) return system_error("sync");
        return success();
    }();
    if (!packed) {
        remove_file(beside);
        return packed.error().within("bundle of " + session_id);
    }
    PackedBundle bundle{beside, {}};
    bundle.info.digest = output.digest.finish_hex();
    bundle.info.size_bytes = output.size_bytes;
    bundle.info.path = output_directory /
                       (session_id + "-" + bundle.info.digest.substr(0, 16) + ".lagtrap.tar.zst");
    return bundle;
}

Result<BundleInfo> write_bundle(const std::filesystem::path& directory,
                                const std::string& session_id,
                                const std::filesystem::path& output_directory) {
    TRY_ASSIGN(const PackedBundle packed, pack_bundle(directory, session_id, output_directory));
    if (const auto renamed = rename_durably(packed.beside, packed.info.path); !renamed) {
        remove_file(packed.beside);
        return renamed.error().within("bundle of " + session_id);
    }
    return packed.info;
}

}  // namespace lagtrap::trace

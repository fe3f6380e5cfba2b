#include "trace/bundle.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/session_id.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t xml_limit_bytes = 16 << 20;
constexpr const char* trace_name = "trace.pftrace";
constexpr const char* system_name = "system.xml";
constexpr const char* settings_name = "settings.xml";
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
    return make_error(ErrorKind::Invalid,
                      std::string(doing) + ": " + (said != nullptr ? printable(said) : "unknown error"));
}

// Where the archive's bytes go: a file, and the digest of what went into it.
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
    if (!S_ISREG(facts.st_mode)) return make_error(ErrorKind::Invalid, path.string() + ": not a plain file");
    const Entry entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), name);
    archive_entry_set_size(entry.get(), facts.st_size);
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    // No owner and no time: the same capture gives the same bytes, and so the same digest, whenever it is packed.
    archive_entry_set_mtime(entry.get(), 0, 0);
    if (archive_write_header(handle, entry.get()) != ARCHIVE_OK) return archive_error(handle, name);
    std::array<char, 65536> buffer;
    std::uint64_t left = static_cast<std::uint64_t>(facts.st_size);
    while (left > 0) {
        const ssize_t got = ::read(fd.get(), buffer.data(), std::min<std::uint64_t>(left, buffer.size()));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(path.string());
        if (got == 0) return make_error(ErrorKind::Invalid, path.string() + ": shrank while it was packed");
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
        archive_write_set_filter_option(handle.get(), "zstd", "compression-level", compression_level) != ARCHIVE_OK ||
        archive_write_set_bytes_per_block(handle.get(), 1 << 16) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(handle.get(), 1) != ARCHIVE_OK ||
        archive_write_open(handle.get(), &output, nullptr, write_output, nullptr) != ARCHIVE_OK)
        return archive_error(handle.get(), "make archive");
    Status status = success();
    for (const char* name : {system_name, settings_name, trace_name}) {
        if (!status) break;
        status = add_file(handle.get(), directory / name, name);
        // A capture without its settings is worth having all the same.
        if (!status && name == settings_name && status.error().kind == ErrorKind::NotFound) status = success();
    }
    if (status && archive_write_close(handle.get()) != ARCHIVE_OK)
        status = archive_error(handle.get(), "close archive");
    if (output.error) return *output.error;
    return status;
}

using Take = std::function<Status(std::string_view)>;

Result<Archive> open_archive(int fd) {
    Archive handle(archive_read_new());
    if (archive_read_support_format_tar(handle.get()) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(handle.get()) != ARCHIVE_OK ||
        archive_read_open_fd(handle.get(), fd, 1 << 16) != ARCHIVE_OK)
        return archive_error(handle.get(), "not a bundle");
    return handle;
}

struct Member {
    const char* name;
    std::uint64_t limit_bytes;
    Take take;
    bool seen = false;
};

Take append_to(std::string& content) {
    return [&content](std::string_view piece) {
        content.append(piece);
        return success();
    };
}

Take ignore() {
    return [](std::string_view) { return success(); };
}

Status read_member(archive* handle, archive_entry* entry, Member& member) {
    const std::string name = member.name;
    if (member.seen) return make_error(ErrorKind::Invalid, "holds " + name + " twice");
    member.seen = true;
    const auto too_large =
        make_error(ErrorKind::TooLarge, name + " is larger than " + std::to_string(member.limit_bytes) + " bytes");
    const la_int64_t announced = archive_entry_size(entry);
    if (announced < 0 || static_cast<std::uint64_t>(announced) > member.limit_bytes) return too_large;
    // The space grows with what really comes: a small file may announce gigabytes.
    std::array<char, 65536> buffer;
    std::uint64_t size_bytes = 0;
    for (;;) {
        const la_ssize_t got = archive_read_data(handle, buffer.data(), buffer.size());
        if (got < 0) return archive_error(handle, name);
        if (got == 0) break;
        size_bytes += static_cast<std::uint64_t>(got);
        if (size_bytes > member.limit_bytes) return too_large;
        TRY(member.take({buffer.data(), static_cast<std::size_t>(got)}));
    }
    if (size_bytes != static_cast<std::uint64_t>(announced))
        return make_error(ErrorKind::Invalid, name + " is cut short");
    return success();
}

Status check_entry(archive_entry* entry) {
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr ||
        archive_entry_symlink(entry) != nullptr || archive_entry_sparse_count(entry) > 0)
        return make_error(ErrorKind::Invalid, "holds something that is not a plain file");
    return success();
}

// Reads members until the archive ends, or until the first `stop_after` members were seen (0: all).
Status read_members(archive* handle, std::array<Member, 3>& members, std::size_t stop_after) {
    for (std::size_t seen = 0; stop_after == 0 || seen < stop_after; ++seen) {
        archive_entry* entry = nullptr;
        const int status = archive_read_next_header(handle, &entry);
        if (status == ARCHIVE_EOF) break;
        if (status != ARCHIVE_OK) return archive_error(handle, "damaged");
        TRY(check_entry(entry));
        const char* name = archive_entry_pathname(entry);
        bool known = false;
        for (auto& member : members) {
            if (name == nullptr || std::string_view(name) != member.name) continue;
            known = true;
            TRY(read_member(handle, entry, member));
        }
        if (!known)
            return make_error(ErrorKind::Invalid, "holds \"" + printable(name != nullptr ? name : "") +
                                                      "\"; only system.xml, settings.xml and trace.pftrace "
                                                      "belong into a bundle");
    }
    return success();
}

// The members in any order; `stop_after` as read_members() has it.
Status read_archive(int fd, std::array<Member, 3> members, std::size_t stop_after) {
    TRY_ASSIGN(const Archive handle, open_archive(fd));
    TRY(read_members(handle.get(), members, stop_after));
    for (const auto& member : members)
        if (!member.seen && (member.name == system_name || (stop_after == 0 && member.name == trace_name)))
            return make_error(ErrorKind::Invalid,
                              std::string("holds no ") + member.name + (stop_after == 0 ? "" : " as its first file"));
    return success();
}

}  // namespace

Result<BundleInfo> write_bundle(const std::filesystem::path& directory, const std::string& session_id,
                                const std::filesystem::path& output_directory) {
    if (!is_session_id(session_id))
        return make_error(ErrorKind::Invalid, "session id \"" + printable(session_id) + "\" is not a UUID");
    std::string temporary = (output_directory / ("." + session_id + ".XXXXXX")).string();
    Output output;
    output.fd = UniqueFd(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!output.fd.valid()) return system_error(temporary);
    auto finish = [&]() -> Result<BundleInfo> {
        TRY(pack(directory, output));
        if (::fchmod(output.fd.get(), 0640) != 0) return system_error("chmod");
        if (::fsync(output.fd.get()) != 0) return system_error("sync");
        BundleInfo info;
        info.digest = output.digest.finish_hex();
        info.size_bytes = output.size_bytes;
        info.path = output_directory / (session_id + "-" + info.digest.substr(0, 16) + ".lagtrap.tar.zst");
        TRY(rename_durably(temporary, info.path));
        return info;
    };
    auto info = finish();
    if (!info) {
        ::unlink(temporary.c_str());
        return info.error().within("bundle of " + session_id);
    }
    return info;
}

Result<BundleContent> read_open_bundle(int fd, std::uint64_t trace_limit_bytes) {
    BundleContent content;
    TRY(read_archive(fd,
                     {Member{system_name, xml_limit_bytes, append_to(content.system_xml)},
                      Member{settings_name, xml_limit_bytes, append_to(content.settings_xml)},
                      Member{trace_name, trace_limit_bytes, append_to(content.trace)}},
                     0));
    return content;
}

Result<std::string> read_open_bundle_system_file(int fd) {
    std::string system_xml;
    TRY(read_archive(fd,
                     {Member{system_name, xml_limit_bytes, append_to(system_xml)},
                      Member{settings_name, xml_limit_bytes, ignore()}, Member{trace_name, 0, ignore()}},
                     1));
    return system_xml;
}

Status read_open_bundle_trace(int fd, std::uint64_t trace_limit_bytes, const Take& take) {
    return read_archive(fd,
                        {Member{system_name, xml_limit_bytes, ignore()},
                         Member{settings_name, xml_limit_bytes, ignore()}, Member{trace_name, trace_limit_bytes, take}},
                        0);
}

Result<BundleContent> read_bundle(const std::filesystem::path& path, std::uint64_t trace_limit_bytes) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY | O_NONBLOCK));
    auto content = read_open_bundle(fd.get(), trace_limit_bytes);
    if (!content) return content.error().within(path.string());
    return content;
}

Result<std::string> read_bundle_system_file(const std::filesystem::path& path) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY | O_NONBLOCK));
    auto system_xml = read_open_bundle_system_file(fd.get());
    if (!system_xml) return system_xml.error().within(path.string());
    return system_xml;
}

}  // namespace lagtrap::trace

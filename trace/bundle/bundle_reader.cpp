// Reads a bundle's tar file directly, without an archive library. A bundle contains only three
// regular files, and the other features of tar (sparse files, long names, extended headers,
// attributes) are what archive bombs are made of.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/bundle/bundle_names.hpp"
#include "trace/bundle/unpacked_stream.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t xml_limit_bytes = 16 << 20;
// tar pads its last record with zeros; GNU tar's records have up to this size.
constexpr std::uint64_t padding_limit_bytes = 1 << 20;

// POSIX ustar, IEEE Std 1003.1, "pax": numbers are octal digits, terminated by a space or a zero
// byte.
struct TarHeader {
    char name[100], mode[8], owner[8], group[8], size[12], modified[12], checksum[8];
    char kind;
    char link[100], magic[6], version[2], owner_name[32], group_name[32], major[8], minor[8],
        prefix[155], padding[12];
};
static_assert(sizeof(TarHeader) == 512);
constexpr char plain_file = '0';
constexpr char plain_file_of_old = '\0';

using Take = std::function<Status(std::string_view)>;

struct Member {
    const char* name;
    std::uint64_t limit_bytes;
    Take take;
    bool seen = false;
};

Error invalid(std::string message) { return make_error(ErrorKind::Invalid, std::move(message)); }

template <std::size_t size>
std::string_view text_of(const char (&field)[size]) {
    return {field, ::strnlen(field, size)};
}

// nullopt if the field is not an octal number, for example a size in binary because it is too
// large.
template <std::size_t size>
std::optional<std::uint64_t> number_of(const char (&field)[size]) {
    std::string_view digits = text_of(field);
    while (digits.ends_with(' ')) digits.remove_suffix(1);
    while (digits.starts_with(' ')) digits.remove_prefix(1);
    if (digits.empty()) return std::nullopt;
    std::uint64_t number = 0;
    for (const char digit : digits) {
        if (digit < '0' || digit > '7') return std::nullopt;
        number = number * 8 + static_cast<std::uint64_t>(digit - '0');
    }
    return number;
}

// Sum of all bytes, with spaces in place of the checksum.
bool has_right_checksum(const TarHeader& header) {
    TarHeader blank = header;
    std::fill(std::begin(blank.checksum), std::end(blank.checksum), ' ');
    std::array<unsigned char, sizeof blank> bytes{};
    std::memcpy(bytes.data(), &blank, sizeof blank);
    std::uint64_t sum = 0;
    for (const unsigned char byte : bytes) sum += byte;
    return number_of(header.checksum) == sum;
}

bool is_blank(const char* bytes, std::size_t size) {
    return std::all_of(bytes, bytes + size, [](char byte) { return byte == 0; });
}

class BundleReader {
  public:
    explicit BundleReader(int fd) : stream_(fd) {}

    // The next regular file, or nullptr after the last.
    Result<const TarHeader*> next() {
        TRY_ASSIGN(const std::size_t got,
                   stream_.read(reinterpret_cast<char*>(&header_), sizeof header_));
        if (got == 0 && first_) return invalid("not a bundle: it is empty");
        if (got != sizeof header_) return invalid(first_ ? "not a bundle" : "it is cut short");
        if (!first_ && is_blank(reinterpret_cast<const char*>(&header_), sizeof header_))
            return nullptr;
        if (!text_of(header_.magic).starts_with("ustar") || !has_right_checksum(header_))
            return invalid(first_ ? "not a bundle: no tar file is packed in it"
                                  : "it is damaged: a header is malformed");
        first_ = false;
        if ((header_.kind != plain_file && header_.kind != plain_file_of_old) ||
            header_.link[0] != 0)
            return invalid("it holds something that is not a plain file");
        return &header_;
    }

    // Passes the content of the file with the last header to `member`.
    Status read(Member& member) {
        const std::string name = member.name;
        if (member.seen) return invalid("it holds " + name + " twice");
        member.seen = true;
        const auto size_bytes = number_of(header_.size);
        if (!size_bytes || *size_bytes > member.limit_bytes)
            return make_error(
                ErrorKind::TooLarge,
                name + " is larger than " + std::to_string(member.limit_bytes) + " bytes");
        // Grow with the data actually read: a small file may announce gigabytes.
        std::array<char, 65536> buffer;
        for (std::uint64_t left = *size_bytes; left > 0;) {
            const std::size_t wanted = std::min<std::uint64_t>(left, buffer.size());
            TRY_ASSIGN(const std::size_t got, stream_.read(buffer.data(), wanted));
            TRY(member.take({buffer.data(), got}));
            if (got < wanted) return invalid(name + " is cut short");
            left -= got;
        }
        const std::size_t padding = (512 - *size_bytes % 512) % 512;
        TRY_ASSIGN(const std::size_t got, stream_.read(buffer.data(), padding));
        return got == padding ? success() : invalid(name + " is cut short");
    }

    // Only zeros may follow the last file.
    Status check_end() {
        std::array<char, 65536> buffer;
        for (std::uint64_t size_bytes = 0; size_bytes <= padding_limit_bytes;) {
            TRY_ASSIGN(const std::size_t got, stream_.read(buffer.data(), buffer.size()));
            if (got == 0) return success();
            if (!is_blank(buffer.data(), got)) break;
            size_bytes += got;
        }
        return invalid("it goes on after its end");
    }

  private:
    UnpackedStream stream_;
    TarHeader header_{};
    bool first_ = true;
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

Status check_plain_file(int fd) {
    struct stat facts {};
    if (::fstat(fd, &facts) != 0) return system_error("reading");
    return S_ISREG(facts.st_mode) ? success() : invalid("not a bundle: it is not a plain file");
}

// Reads the members in any order, until the archive ends or the first `stop_after` members were
// seen (0: all).
Status read_members(int fd, std::array<Member, 3>& members, std::size_t stop_after) {
    TRY(check_plain_file(fd));
    BundleReader reader(fd);
    for (std::size_t seen = 0; stop_after == 0 || seen < stop_after; ++seen) {
        TRY_ASSIGN(const TarHeader* const header, reader.next());
        if (header == nullptr) return reader.check_end();
        const std::string_view name = text_of(header->name);
        const auto known = std::find_if(members.begin(), members.end(),
                                        [&](const Member& member) { return name == member.name; });
        if (known == members.end() || header->prefix[0] != 0)
            return invalid(
                "it holds \"" + printable(name) +
                "\"; only system.xml, settings.xml and trace.pftrace belong into a bundle");
        TRY(reader.read(*known));
    }
    return success();
}

Status read_archive(int fd, std::array<Member, 3> members, std::size_t stop_after) {
    TRY(read_members(fd, members, stop_after));
    for (const auto& member : members)
        if (!member.seen &&
            (member.name == system_name || (stop_after == 0 && member.name == trace_name)))
            return invalid(std::string("it holds no ") + member.name +
                           (stop_after == 0 ? "" : " as its first file"));
    return success();
}

}  // namespace

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
    TRY(read_archive(
        fd,
        {Member{system_name, xml_limit_bytes, append_to(system_xml)},
         Member{settings_name, xml_limit_bytes, ignore()}, Member{trace_name, 0, ignore()}},
        1));
    return system_xml;
}

Status read_open_bundle_trace(int fd, std::uint64_t trace_limit_bytes, const Take& take) {
    return read_archive(fd,
                        {Member{system_name, xml_limit_bytes, ignore()},
                         Member{settings_name, xml_limit_bytes, ignore()},
                         Member{trace_name, trace_limit_bytes, take}},
                        0);
}

Result<BundleContent> read_bundle(const std::filesystem::path& path,
                                  std::uint64_t trace_limit_bytes) {
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

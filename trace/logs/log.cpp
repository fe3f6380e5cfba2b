#include "trace/logs/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "core/fault_point.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/logs/log_format.hpp"
#include "trace/logs/record_check.hpp"
#include "trace/logs/session_id.hpp"

namespace lagtrap::trace {
namespace {

std::uint32_t checksum_of(const void* data, std::size_t size, std::uint32_t so_far = 0) {
    return static_cast<std::uint32_t>(
        crc32(so_far, static_cast<const Bytef*>(data), static_cast<uInt>(size)));
}

std::uint32_t header_checksum(const LogFileHeader& header) {
    return checksum_of(&header, offsetof(LogFileHeader, checksum));
}

std::uint32_t block_checksum(const LogBlockHeader& header, const std::vector<char>& payload) {
    const std::uint32_t fields = checksum_of(&header, offsetof(LogBlockHeader, checksum));
    return checksum_of(payload.data(), payload.size(), fields);
}

// Reads up to `size` bytes; fewer only at the end of the file.
Result<std::size_t> read_fully(int fd, void* data, std::size_t size) {
    std::size_t got = 0;
    while (got < size) {
        const ssize_t step = ::read(fd, static_cast<char*>(data) + got, size - got);
        if (step < 0 && errno == EINTR) continue;
        if (step < 0) return system_error("read log");
        if (step == 0) break;
        got += static_cast<std::size_t>(step);
    }
    return got;
}

Status check_header(const LogFileHeader& header, std::size_t got) {
    if (got < sizeof(header) || std::memcmp(header.magic, log_magic, sizeof(log_magic)) != 0)
        return make_error(ErrorKind::Invalid, "not a lagtrap log (its first bytes are others)");
    if (header.version != log_version)
        return make_error(ErrorKind::Unsupported,
                          "log of version " + std::to_string(header.version) +
                              "; this program reads version " + std::to_string(log_version));
    if (header.checksum != header_checksum(header))
        return make_error(ErrorKind::Invalid, "the log's header is damaged (checksum differs)");
    if (header.kind < 1 || header.kind > 3)
        return make_error(ErrorKind::Invalid,
                          "log of kind " + std::to_string(header.kind) +
                              "; allowed are 1 (user), 2 (kernel) and 3 (rundown)");
    const std::string_view id(header.session_id,
                              strnlen(header.session_id, sizeof(header.session_id)));
    if (!is_session_id(id))
        return make_error(ErrorKind::Invalid,
                          "the log's session id is \"" + printable(id) + "\", not a UUID");
    return success();
}

}  // namespace

const char* log_file_name(LogKind kind) {
    switch (kind) {
        case LogKind::User: return "user.log";
        case LogKind::Kernel: return "kernel.log";
        case LogKind::Rundown: break;
    }
    return "rundown.log";
}

Result<LogWriter> LogWriter::create(const std::filesystem::path& directory, LogKind kind,
                                    const std::string& session_id, const ClockSnapshot& clocks) {
    if (!is_session_id(session_id))
        return make_error(ErrorKind::Invalid,
                          "session id \"" + printable(session_id) + "\" is not a UUID");
    LogWriter writer;
    FAULT_POINT_OF("log.create", log_file_name(kind));
    // The user log may contain memory of programs (lagtrap_stack_copy), so only root may read it.
    const unsigned mode = kind == LogKind::User ? 0600 : 0640;
    TRY_ASSIGN(writer.fd_,
               open_file(directory / log_file_name(kind), O_WRONLY | O_CREAT | O_EXCL, mode));
    LogFileHeader header{};
    std::memcpy(header.magic, log_magic, sizeof(log_magic));
    header.version = log_version;
    header.kind = static_cast<std::uint32_t>(kind);
    header.monotonic_ns = clocks.monotonic_ns;
    header.boottime_ns = clocks.boottime_ns;
    header.realtime_ns = clocks.realtime_ns;
    std::memcpy(header.session_id, session_id.data(), session_id.size());
    header.checksum = header_checksum(header);
    TRY(write_all(writer.fd_.get(), &header, sizeof(header)));
    writer.written_bytes_ = sizeof(header);
    writer.block_.reserve(log_block_bytes);
    return writer;
}

Status LogWriter::append(const lagtrap_record* record) {
    if (record->size_bytes < sizeof(*record) || record->size_bytes > log_block_bytes)
        return make_error(ErrorKind::Invalid, "record of " + std::to_string(record->size_bytes) +
                                                  " bytes; allowed are 16 to " +
                                                  std::to_string(log_block_bytes));
    const std::size_t padded = padded_record_bytes(record->size_bytes);
    if (block_.size() + padded > log_block_bytes) TRY(flush());
    const auto* bytes = reinterpret_cast<const char*>(record);
    block_.insert(block_.end(), bytes, bytes + record->size_bytes);
    block_.resize(block_.size() + padded - record->size_bytes);
    ++block_records_;
    return success();
}

Status LogWriter::flush() {
    if (block_.empty()) return success();
    LogBlockHeader header{log_block_magic, static_cast<std::uint32_t>(block_.size()),
                          block_records_, 0};
    header.checksum = block_checksum(header, block_);
    const auto write_block = [&]() -> Status {
        TRY(write_all(fd_.get(), &header, sizeof(header)));
        FAULT_POINT("log.torn");
        return write_all(fd_.get(), block_.data(), block_.size());
    };
    const Status written = write_block();
    if (!written) {
        // A torn block would hide all later ones from readers.
        const auto end = static_cast<off_t>(written_bytes_);
        if (::ftruncate(fd_.get(), end) == 0) (void)::lseek(fd_.get(), end, SEEK_SET);
        return written.error().within("write log");
    }
    written_bytes_ += sizeof(header) + block_.size();
    block_.clear();
    block_records_ = 0;
    KILL_POINT("log.flushed");
    return success();
}

Result<LogReader> LogReader::open(const std::filesystem::path& path) {
    LogReader reader;
    // O_NONBLOCK: do not block if the log is a FIFO.
    TRY_ASSIGN(reader.fd_, open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat facts {};
    if (::fstat(reader.fd_.get(), &facts) != 0) return system_error(path.string());
    if (!S_ISREG(facts.st_mode))
        return make_error(ErrorKind::Invalid, path.string() + ": not a plain file");
    LogFileHeader header{};
    TRY_ASSIGN(const std::size_t got, read_fully(reader.fd_.get(), &header, sizeof(header)));
    if (auto checked = check_header(header, got); !checked)
        return checked.error().within(path.string());
    reader.summary_.kind = static_cast<LogKind>(header.kind);
    reader.summary_.bytes = sizeof(header);
    reader.summary_.clocks = {header.monotonic_ns, header.boottime_ns, header.realtime_ns};
    reader.summary_.session_id = header.session_id;
    return reader;
}

// Returns true if it read another complete block. Sets `partial` if the log continues, but not with
// a complete block.
Result<bool> LogReader::read_block() {
    LogBlockHeader header{};
    TRY_ASSIGN(const std::size_t got, read_fully(fd_.get(), &header, sizeof(header)));
    if (got == 0) return false;
    summary_.partial = true;
    if (got < sizeof(header) || header.magic != log_block_magic || header.payload_bytes == 0 ||
        header.payload_bytes > log_block_bytes ||
        header.payload_bytes % record_alignment_bytes != 0)
        return false;
    block_.resize(header.payload_bytes);
    position_ = 0;
    TRY_ASSIGN(const std::size_t payload, read_fully(fd_.get(), block_.data(), block_.size()));
    if (payload < block_.size() || header.checksum != block_checksum(header, block_)) {
        block_.clear();
        return false;
    }
    summary_.partial = false;
    summary_.bytes += sizeof(header) + payload;
    return true;
}

Result<const lagtrap_record*> LogReader::next() {
    while (!ended_) {
        if (position_ >= block_.size()) {
            TRY_ASSIGN(const bool more, read_block());
            ended_ = !more;
            continue;
        }
        const std::size_t available = block_.size() - position_;
        const auto* record = reinterpret_cast<const lagtrap_record*>(block_.data() + position_);
        const RecordCheck check =
            available < sizeof(*record) ? RecordCheck::Damaged : check_record(record, available);
        if (check == RecordCheck::Damaged) {
            summary_.partial = true;
            ended_ = true;
            break;
        }
        position_ += padded_record_bytes(record->size_bytes);
        if (check == RecordCheck::UnknownType) continue;
        ++summary_.records;
        return record;
    }
    return static_cast<const lagtrap_record*>(nullptr);
}

}  // namespace lagtrap::trace

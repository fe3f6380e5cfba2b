#include "trace/perfetto/packet_writer.hpp"

#include <fcntl.h>

#include "core/files.hpp"

namespace lagtrap::trace {

Result<PacketWriter> PacketWriter::create(const std::filesystem::path& path) {
    PacketWriter writer;
    TRY_ASSIGN(writer.fd_, open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0640));
    writer.buffer_.reserve(flush_bytes + (1 << 16));
    return writer;
}

void PacketWriter::flush() {
    if (!error_) {
        if (auto written = write_all(fd_.get(), buffer_.data(), buffer_.size()); !written)
            error_ = written.error().within("write the merged trace");
    }
    written_bytes_ += buffer_.size();
    buffer_.clear();
}

Status PacketWriter::finish() {
    flush();
    if (error_) return *error_;
    return success();
}

}  // namespace lagtrap::trace

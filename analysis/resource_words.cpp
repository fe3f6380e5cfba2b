#include "analysis/resource_words.hpp"

#include <algorithm>

#include "analysis/frame_role.hpp"
#include "analysis/function_name.hpp"
#include "analysis/group_name.hpp"
#include "core/duration.hpp"

namespace lagtrap::analysis {

namespace {

std::string others_of_that_name(std::uint32_t others) {
    return others == 0 ? ""
                       : " and " + std::to_string(others) +
                             (others == 1 ? " other of that name" : " others of that name");
}

// "a full pipe", "the full pipe /run/log".
std::string name_words(const std::string& what, const std::string& path) {
    return path.empty() ? "a " + what : "the " + what + " " + path;
}

// "on a pipe", "to write to the full pipe /run/log", "to connect to the local socket /run/app".
std::string thing_words(Room room, const std::string& what, const std::string& path) {
    switch (room) {
        case Room::Data: return "to write to " + name_words("full " + what, path);
        case Room::Connection: return "to connect to " + name_words(what, path);
        case Room::Partner:
            return "for somebody to open the other end of " + name_words(what, path);
        case Room::Rest:
        case Room::None: break;
    }
    return "on " + name_words(what, path);
}

std::string queue_words(Room room) {
    return room == Room::Connection ? ", whose accept queue was full," : "";
}

}  // namespace

std::string words_of_room(Room room, BlockReason reason) {
    switch (reason) {
        case BlockReason::Pipe: return thing_words(room, "pipe", "");
        case BlockReason::LocalSocket:
            return thing_words(room, "local socket", "") + queue_words(room);
        case BlockReason::Events: return "to write to a full eventfd";
        case BlockReason::MessageQueue: return message_queue_words(room, "");
        case BlockReason::Terminal: return "to write to a full or paused terminal";
        default:
            if (room == Room::Rest)
                return "to close a network connection (SO_LINGER), whose other end had not read "
                       "all that was sent,";
            return "to send to a network connection, whose other end had not read what was sent "
                   "before,";
    }
}

std::string interpreter_lock_words(std::string_view module, std::string_view source) {
    const std::string_view name = module_name(module);
    if (name.starts_with("python") || name.starts_with("libpython") || is_of_script(module, source))
        return "for Python's lock (GIL)";
    if (name.starts_with("ruby") || name.starts_with("libruby")) return "for Ruby's lock (GVL)";
    return words_of_wait(WaitKind::InterpreterLock, "");
}

std::string only_path(const FileWaits& files) { return files.files == 1 ? files.path : ""; }

std::string message_queue_words(Room room, const std::string& path) {
    return room == Room::Data ? thing_words(room, "message queue", path)
                              : "for a message in " + name_words("message queue", path);
}

std::string file_lock_words(BlockReason reason, const std::string& path) {
    const std::string what = reason == BlockReason::Lease ? "lease" : "lock";
    if (!path.empty()) return "for a " + what + " on " + path;
    return reason == BlockReason::Lease ? "for a lease on a file" : "for a file lock";
}

std::string sharers_words(const CauseLink& link) {
    if (link.sharers == 0) return "";
    const std::string count = std::to_string(link.sharers);
    return "; " + count + (link.sharers == 1 ? " other thread was" : " other threads were") +
           " in " + short_function_name(link.doings.front().focus.place.function) +
           ", too, and may have held it, too";
}

std::string_view words_of_room_maker(Room room) {
    switch (room) {
        case Room::Data:
        case Room::Rest: return "read from it";
        case Room::Connection: return "accepted another connection";
        case Room::Partner: return "opened it";
        case Room::None: break;
    }
    return "";
}

std::string process_words(const std::string& name, std::uint32_t pid) {
    return name.empty() ? "process " + std::to_string(pid)
                        : name + " (" + std::to_string(pid) + ")";
}

std::string owner_words(const FileWaits& socket) {
    return process_words(socket.owner, socket.owner_pid) + others_of_that_name(socket.more_owners);
}

bool is_of_full_listener(const FileWaits& socket) {
    return socket.kind == WaitFileKind::Connecting && socket.syn_repeated && socket.listener_full &&
           socket.owner_pid != 0 && socket.time_ns * 2 >= socket.asked_ns;
}

std::string peer_words(const FileWaits& socket, bool named, Room room) {
    const std::string others = socket.files == 2 ? " and another"
                               : socket.files > 2
                                   ? " and " + std::to_string(socket.files - 1) + " others"
                                   : "";
    const std::string at = (named ? owner_words(socket) + " at " : "") + socket.path + others;
    const bool unanswered = socket.syn_repeated && !is_of_full_listener(socket);
    switch (socket.kind) {
        case WaitFileKind::Connecting:
            return "to connect to " + at +
                   (unanswered ? ", which did not answer, so the SYN was sent again," : "");
        case WaitFileKind::DatagramPeer:
            return (room == Room::Data ? "for room in a send buffer, to send to "
                                       : "for an answer from ") +
                   at;
        case WaitFileKind::Pipe:
            return thing_words(room, "pipe", socket.path) +
                   (named ? " shared with " + owner_words(socket) : "") + others;
        case WaitFileKind::LocalPeer:
            return thing_words(room, "local socket", socket.path) +
                   (named ? " of " + owner_words(socket) : "") + others + queue_words(room);
        default:
            if (room == Room::Data)
                return "to send to " + at + ", which had not read what was sent before,";
            return (named ? "for an answer from " : "on a connection to ") + at;
    }
}

std::string full_listener_clause(const FileWaits& socket) {
    if (!is_of_full_listener(socket)) return "";
    return ": the accept queue of " + owner_words(socket) +
           ", which listens there, was full, so the SYN was sent again";
}

std::string limit_words(const MemoryOfGroup& group, std::uint32_t pid) {
    const GroupMemory& memory = group.memory;
    if (memory.pid == 0 || memory.pid != pid || memory.limit_bytes == 0) return "";
    const std::string limit = format_byte_size(memory.limit_bytes);
    const std::uint64_t max_bytes =
        std::max({memory.file_bytes, memory.anonymous_bytes, memory.shared_bytes});
    const std::string most = " (" + format_byte_size(max_bytes) + ")";
    if (max_bytes * 2 < memory.used_bytes) return limit;
    if (max_bytes == memory.shared_bytes)
        return limit + ", most of it used by shared memory and tmpfs" + most;
    const bool of_files = max_bytes == memory.file_bytes;
    const std::string text = limit + ", most of it used by " +
                             (of_files ? "cached files" : "its processes' memory") + most;
    if (memory.filler_pid == 0) return text;
    return text + "; " + process_words(group.filler, memory.filler_pid) +
           (of_files ? " has read and written the most (" : " has the most (") +
           format_byte_size(memory.filler_bytes) + ")";
}

std::string held_back_clause(const HeldBack& held_back) {
    if (held_back.disk.empty()) return "";
    const std::string group = short_group_name(held_back.group);
    const std::string bytes =
        held_back.bytes_per_s == 0 ? "" : format_byte_size(held_back.bytes_per_s);
    const std::string operations = held_back.operations_per_s == 0
                                       ? ""
                                       : std::to_string(held_back.operations_per_s) + " operations";
    const std::string limit =
        bytes + (bytes.empty() || operations.empty() ? "" : " or ") + operations;
    return (group.empty() ? ": the root control group" : ": its control group " + group) +
           " was at its limit" + (limit.empty() ? "" : " of " + limit + " a second") +
           (held_back.writes ? " for writing to " : " for reading from ") + held_back.disk;
}

std::string written_clause(const WrittenData& written, std::uint32_t pid) {
    if (written.bytes == 0) return "";
    const std::string disk = written.disk.empty() ? "disks" : written.disk;
    std::string text = "; meanwhile " + disk + " wrote " + format_byte_size(written.bytes);
    if (written.files > 1 && written.path_bytes * 2 < written.bytes)
        return text + " of " + std::to_string(written.files) + " files";
    if (!written.path.empty()) text += (written.files > 1 ? ", mostly of " : " of ") + written.path;
    if (written.writer_pid == 0) return text;
    if (written.writer_pid == pid) return text + ", which it has open for writing itself";
    const std::string writer = process_words(written.writer, written.writer_pid);
    if (written.writer_ended)
        return text + "; " + writer + ", which has ended, had written " +
               format_byte_size(written.writer_bytes);
    return text + ", which " + writer + others_of_that_name(written.writers) +
           (written.writers == 0 ? " has" : " have") + " open for writing";
}

}  // namespace lagtrap::analysis

// Words for what threads wait for: sockets, disks, the memory of a control group. For analysis/
// only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/delay_cause.hpp"

namespace lagtrap::analysis {

// "python3 (123)", or "process 123" if the name is unknown.
[[nodiscard]] std::string process_words(const std::string& name, std::uint32_t pid);

// The processes at the other end of a socket: "python3 (123)", "nginx (100) and 3 others of that
// name".
[[nodiscard]] std::string owner_words(const FileWaits& socket);

// True if a connection was not answered because the listener's accept queue was full.
[[nodiscard]] bool is_of_full_listener(const FileWaits& socket);

// "for an answer from 127.0.0.1:53 (UDP)", "on the local socket /run/app". If `named`, includes the
// process at the other end. With `room`: "to write to a full pipe".
[[nodiscard]] std::string peer_words(const FileWaits& socket, bool named, Room room);

// The same for a wait of which nothing more is known. `room` is not None.
[[nodiscard]] std::string words_of_room(Room room, BlockReason reason);

// "for Python's lock (GIL)"; `module` and `source` are those of the function that waits for it,
// the interpreter's or the script's.
[[nodiscard]] std::string interpreter_lock_words(std::string_view module, std::string_view source);

// The path of the file that was waited for; empty if there were several.
[[nodiscard]] std::string only_path(const FileWaits& files);

// "for a message in the message queue /jobs", "to write to a full message queue".
[[nodiscard]] std::string message_queue_words(Room room, const std::string& path);

// "for a lock on /var/lib/app/data", "for a lease on a file". The path may be unknown.
[[nodiscard]] std::string file_lock_words(BlockReason reason, const std::string& path);

// "; 3 other threads were in read_table, too, and may have held it, too"; empty if there are none.
[[nodiscard]] std::string sharers_words(const CauseLink& link);

// What a thread did that ended a wait for room; empty for None.
[[nodiscard]] std::string_view words_of_room_maker(Room room);

// Clauses to append to a sentence, or empty. `pid` is the process that waited.
[[nodiscard]] std::string full_listener_clause(const FileWaits& socket);
// "80.0 MiB, most of it used by cached files (74.0 MiB); dd (20) has ..."
[[nodiscard]] std::string limit_words(const MemoryOfGroup& group, std::uint32_t pid);
// ": its control group batch was at its limit of 1.0 MiB a second for reading from vda"
[[nodiscard]] std::string held_back_clause(const HeldBack& held_back);
[[nodiscard]] std::string written_clause(const WrittenData& written, std::uint32_t pid);

}  // namespace lagtrap::analysis

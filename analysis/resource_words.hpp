// What is said of things that threads wait for: sockets, disks, the memory of a control group. Used inside analysis/ alone.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/delay_cause.hpp"

namespace lagtrap::analysis {

// "python3 (123)", "process 123" where its name is not known.
[[nodiscard]] std::string process_words(const std::string& name, std::uint32_t pid);

// Of the other end of a socket: "python3 (123)", "nginx (100) and 3 others of that name".
[[nodiscard]] std::string owner_words(const FileWaits& socket);

// Whether a connection was not answered for want of room at who listens.
[[nodiscard]] bool is_of_full_listener(const FileWaits& socket);

// "for an answer from 127.0.0.1:53 (UDP)", "on the local socket /run/app"; with its other end where `named`.
[[nodiscard]] std::string peer_words(const FileWaits& socket, bool named);

// Clauses to add to a sentence; empty where there is nothing to say. `pid` is the process that waited.
[[nodiscard]] std::string full_listener_clause(const FileWaits& socket);
[[nodiscard]] std::string group_clause(const MemoryOfGroup& group, std::uint32_t pid);
[[nodiscard]] std::string written_clause(const WrittenData& written, std::uint32_t pid);

}  // namespace lagtrap::analysis

// The executable memory that one process has mapped, or several since a fork, and what the kernel
// side knows of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bpf/records.h"
#include "core/party.hpp"
#include "daemon/processes/code_pieces.hpp"
#include "daemon/processes/record_buffer.hpp"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/unwind_memory.hpp"

namespace lagtrap::daemon {

// Its pieces count against the share of `user` in `room`.
struct CodeSpace {
    using Clock = std::chrono::steady_clock;

    // The references must outlive it.
    CodeSpace(UnwindMemory& in_store, UserShares& in_room, Party of_user)
        : store(in_store), room(in_room), user(of_user) {}
    ~CodeSpace();
    CodeSpace(const CodeSpace&) = delete;
    CodeSpace& operator=(const CodeSpace&) = delete;

    // Adds a piece. False if there are `max_pieces` already or the user has no room: the process
    // must be read again.
    bool put(CodePiece piece, std::size_t max_pieces);
    // Takes over the pieces of another space, as far as there is room.
    void copy(const CodeSpace& other);
    // Forgets and returns the pieces.
    [[nodiscard]] CodePieces take_pieces();
    void change_user(Party to);
    // Writes the mappings for stack walks, if they have changed. `modules` is the generation of the
    // modules. False if there is no room. Adds mappings beyond the limit to `left_out`.
    bool write(std::uint64_t modules, std::uint64_t& left_out);
    // Appends a lagtrap_mapping record for each piece, as far as `log_room` allows.
    void describe(std::uint32_t pid, std::uint64_t at_ns, UserShares& log_room,
                  RecordBuffer& records) const;
    // Mappings of files that were not identified yet, without those whose inspection was delayed.
    [[nodiscard]] std::uint64_t files_waiting() const;

    UnwindMemory& store;
    UserShares& room;
    Party user;
    CodePieces pieces;
    std::uint64_t charged_bytes = 0;
    bool watched = false;
    bool changed = true;
    bool identified = false;
    bool outgrown = false;
    Clock::duration reading_pause{};  // until it may be read again
    Clock::duration look_pause{};     // until files may be inspected again after a delay
    Clock::time_point next_reading;
    Clock::time_point first_look;  // at files that are assumed to be known ones
    Clock::time_point next_identification;
    std::uint64_t generation = 0;  // of the modules, when it was written
    std::optional<lagtrap_unwind_space> place;
    std::vector<lagtrap_unwind_mapping> written;

  private:
    void charge();
    [[nodiscard]] std::vector<lagtrap_unwind_mapping> mappings(std::uint64_t& left_out) const;
};

}  // namespace lagtrap::daemon

// The executable memory of one address space as pieces that do not overlap, updated from the
// kernel's mmap events. There are no events for munmap, so unmapped pieces stay until something is
// mapped over them, or until all are read again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bpf/records.h"

namespace lagtrap::daemon {

struct CodeModule;

// A mapped file as an event described it; shared by pieces.
struct ReportedFile {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::string build_id;  // hexadecimal; empty if the event had none
    std::string path;
    // All fields as a key. Empty without a build id, because nothing else identifies the file's
    // content.
    [[nodiscard]] std::string key() const;
};

enum class PieceKind { RuntimeCode, File };

struct CodePiece {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    PieceKind kind = PieceKind::RuntimeCode;
    // its file was inspected; before, `module` is an assumption
    bool identified = false;
    std::shared_ptr<const ReportedFile> file;  // nullptr for RuntimeCode
    std::shared_ptr<CodeModule> module;

    // Approximate size in memory, and in the log of a capture.
    [[nodiscard]] std::uint64_t cost_bytes() const { return 256 + (file ? file->path.size() : 0); }
    [[nodiscard]] lagtrap_mapping mapping_in(std::uint32_t pid) const;
};

class CodePieces {
  public:
    using Map = std::map<std::uint64_t, CodePiece>;  // by start

    // Adds a piece and removes what it overlaps.
    void put(CodePiece piece);
    // True if adding this piece would change nothing: just-in-time compilers make the same memory
    // executable again and again.
    [[nodiscard]] bool covers(const CodePiece& piece) const;

    [[nodiscard]] Map& all() { return pieces_; }
    [[nodiscard]] const Map& all() const { return pieces_; }
    [[nodiscard]] std::uint64_t cost_bytes() const { return cost_bytes_; }

  private:
    void insert(CodePiece piece);
    Map pieces_;
    std::uint64_t cost_bytes_ = 0;
};

}  // namespace lagtrap::daemon

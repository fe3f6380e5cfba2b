// The executable memory of one address space, in pieces that do not overlap, as the kernel tells of new ones. It tells nothing
// of what is unmapped: such pieces stay until something is mapped over them, or all are read anew.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bpf/records.h"

namespace lagtrap::daemon {

struct CodeModule;

// What was told of a mapped file; pieces share it.
struct ToldFile {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::string build_id;  // hexadecimal; empty: none was told
    std::string path;
    // All of it, as a key; empty without a build id, as then nothing of it tells what the file holds.
    [[nodiscard]] std::string key() const;
};

enum class PieceKind { RuntimeCode, File };

struct CodePiece {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    PieceKind kind = PieceKind::RuntimeCode;
    bool identified = false;               // its file was looked at: until then `module` is what it is taken for
    std::shared_ptr<const ToldFile> file;  // nullptr: of RuntimeCode
    std::shared_ptr<CodeModule> module;

    // In memory, and written out for a capture.
    [[nodiscard]] std::uint64_t cost_bytes() const { return 256 + (file ? file->path.size() : 0); }
    [[nodiscard]] lagtrap_mapping mapping_in(std::uint32_t pid) const;
};

class CodePieces {
  public:
    using Map = std::map<std::uint64_t, CodePiece>;  // by start

    // What is mapped over a place takes what was there before off the map.
    void put(CodePiece piece);
    // Whether this piece would change nothing: compilers at run time make the same memory executable again and again.
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

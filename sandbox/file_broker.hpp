// Opens files for a process that may not open any. It asks its parent over a socket; the parent
// treats every request as hostile, opens the file, and passes the descriptor.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/file_access.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap {

// Whether the open file is an ELF program, library or debug file. A core dump is not: it holds the
// memory of someone's process. Reads the first bytes, which may block on the file system.
[[nodiscard]] bool is_program(int fd);

// The requesting side. Use from one thread only.
class BrokeredFiles : public FileAccess {
  public:
    // `socket` is a SOCK_SEQPACKET socket whose other end a FileBroker serves.
    explicit BrokeredFiles(UniqueFd socket) : socket_(std::move(socket)) {}

    // A path that names a descriptor of this process ("/proc/self/fd/N") is opened without a
    // request.
    [[nodiscard]] Result<UniqueFd> open(const std::filesystem::path& path, int flags,
                                        unsigned mode) override;
    [[nodiscard]] Result<UniqueFd> make_temporary(std::string& name) override;
    [[nodiscard]] Status rename(const std::filesystem::path& from,
                                const std::filesystem::path& to) override;
    void remove(const std::filesystem::path& path) override;

  private:
    struct Answer;
    [[nodiscard]] Result<Answer> ask(int kind, int flags, unsigned mode, const std::string& paths);
    UniqueFd socket_;
};

// How a program, library or debug file may be opened: not at all, without following links, or with
// links.
enum class ProgramAccess { Refused, WithoutLinks, Allowed };

// What a broker hands out.
struct BrokerPolicy {
    struct Folder {
        std::filesystem::path path;
        std::string name_part;  // required part of file names in it
    };
    // Files below these folders may be read, created (mode 0640), renamed and removed. Links are
    // not followed.
    std::vector<Folder> folders;
    // These may be read, whatever they are.
    std::vector<std::filesystem::path> readable;
    // Further files that may be read, chosen by name: those of root that anybody may read. A final
    // link is not followed. May be empty.
    std::function<bool(const std::filesystem::path&)> is_readable{};
    // Whether a program, library or debug file of this name may be read. Only a regular ELF file
    // that is not a core dump is handed out. If empty, none may be read.
    std::function<ProgramAccess(const std::filesystem::path&)> program_access;
    // Opens them instead of this thread, and returns only files for which is_program() holds. If
    // empty, this thread uses open_regular_file().
    std::function<Result<UniqueFd>(const std::filesystem::path&)> open_program{};
    // Called with the path before a program is opened, which may block forever, and with an empty
    // path when that is done. May be empty.
    std::function<void(const std::filesystem::path&)> on_program{};
};

// The opening side. Use from one thread only.
class FileBroker {
  public:
    // Fails if one of the folders does not exist.
    [[nodiscard]] static Result<FileBroker> create(BrokerPolicy policy);

    // Reads and answers one request from `socket`. False if the peer is gone or the request is
    // malformed.
    [[nodiscard]] bool serve(int socket);
    // Answers requests until serve() returns false.
    void serve_all(int socket);

  private:
    struct Folder {
        std::filesystem::path path;
        std::string name_part;
        UniqueFd fd;
    };
    struct Place {
        int folder = -1;
        std::filesystem::path name;  // relative to `folder`
    };
    struct Reply;
    FileBroker() = default;
    [[nodiscard]] Result<Place> place_of(const std::filesystem::path& path) const;
    [[nodiscard]] Result<UniqueFd> open(const std::filesystem::path& path, int flags,
                                        unsigned mode) const;
    [[nodiscard]] Result<UniqueFd> open_program(const std::filesystem::path& path) const;
    [[nodiscard]] Result<UniqueFd> make_temporary(std::string& name) const;
    [[nodiscard]] Status rename(const std::filesystem::path& from,
                                const std::filesystem::path& to) const;
    [[nodiscard]] Status remove(const std::filesystem::path& path) const;
    [[nodiscard]] Reply answer(int kind, int flags, unsigned mode, const std::string& first,
                               const std::string& second) const;

    BrokerPolicy policy_;
    std::vector<Folder> folders_;
};

}  // namespace lagtrap

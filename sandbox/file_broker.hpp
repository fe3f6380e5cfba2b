// Opens files for a process that may not open any. It asks its parent over a socket; the parent
// treats every request as hostile, opens the file, and passes the descriptor.
#pragma once

#include <filesystem>
#include <memory>
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

// The programs, libraries and debug files that a broker hands out. Paths are absolute and in normal
// form.
class BrokeredPrograms {
  public:
    BrokeredPrograms() = default;
    BrokeredPrograms(const BrokeredPrograms&) = delete;
    BrokeredPrograms& operator=(const BrokeredPrograms&) = delete;
    virtual ~BrokeredPrograms() = default;

    [[nodiscard]] virtual ProgramAccess access(const std::filesystem::path& path) = 0;
    // Opens a file with that access, which may block for ever. Only a regular ELF file that is not
    // a core dump is handed out (is_program()).
    [[nodiscard]] virtual Result<UniqueFd> open(const std::filesystem::path& path,
                                                ProgramAccess access);
    // Whether another file of root that anybody may read is handed out, because of its name. A
    // final link is not followed.
    [[nodiscard]] virtual bool may_read(const std::filesystem::path& path);
};

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
    std::shared_ptr<BrokeredPrograms> programs{};  // nullptr: none
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

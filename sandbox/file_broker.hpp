// Files for a process that may open none: it asks, over a socket, the process that started it; that one looks at every
// request as at those of an enemy, opens the file and hands the descriptor over.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/file_access.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap {

// Whether the open file is a program, a library, or what holds their debug information. A core dump is the memory of somebody's
// process. Reads its first bytes, and may wait for its file system.
[[nodiscard]] bool is_program(int fd);

// The side that asks. One thread's.
class BrokeredFiles : public FileAccess {
  public:
    // `socket`: SOCK_SEQPACKET, whose other end a FileBroker serves.
    explicit BrokeredFiles(UniqueFd socket) : socket_(std::move(socket)) {}

    // Paths that stand for a descriptor that this process has already ("/proc/self/fd/N") are not asked for.
    [[nodiscard]] Result<UniqueFd> open(const std::filesystem::path& path, int flags, unsigned mode) override;
    [[nodiscard]] Result<UniqueFd> make_temporary(std::string& name) override;
    [[nodiscard]] Status rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
    void remove(const std::filesystem::path& path) override;

  private:
    struct Answer;
    [[nodiscard]] Result<Answer> ask(int kind, int flags, unsigned mode, const std::string& paths);
    UniqueFd socket_;
};

// About a program, library or debug file of some name: not to be opened; where no link leads there; or wherever links lead.
enum class ProgramAccess { Refused, WithoutLinks, Allowed };

// What is given out.
struct BrokerPolicy {
    struct Folder {
        std::filesystem::path path;
        std::string name_part;  // that names in it must have
    };
    // Below these folders files may be read, made (mode 0640), renamed and removed; links are not followed.
    std::vector<Folder> folders;
    // These may be read, whatever they are.
    std::vector<std::filesystem::path> readable;
    // Whether a program, library or debug file of this name may be read: what is handed out is a regular file that
    // begins as an ELF file does which is no core dump. Empty: none.
    // Further files that anybody may read, by their names: root's own. No link in place of the file is followed.
    std::function<bool(const std::filesystem::path&)> is_readable{};
    std::function<ProgramAccess(const std::filesystem::path&)> program_access;
    // Who opens them, and gives only what is_program(); empty: this thread, as open_regular_file() does.
    std::function<Result<UniqueFd>(const std::filesystem::path&)> open_program{};
    // Told before one is opened, which may take for ever, and with an empty path when that is over. May be empty.
    std::function<void(const std::filesystem::path&)> on_program{};
};

// The side that opens. One thread's.
class FileBroker {
  public:
    // Errors: one of the folders is not there.
    [[nodiscard]] static Result<FileBroker> create(BrokerPolicy policy);

    // Answers one request that waits at `socket`. False: the other side is gone, or what it says is malformed.
    [[nodiscard]] bool serve(int socket);
    // Answers until then.
    void serve_all(int socket);

  private:
    struct Folder {
        std::filesystem::path path;
        std::string name_part;
        UniqueFd fd;
    };
    struct Place {
        int folder = -1;
        std::filesystem::path name;  // below it
    };
    struct Reply;
    FileBroker() = default;
    [[nodiscard]] Result<Place> place_of(const std::filesystem::path& path) const;
    [[nodiscard]] Result<UniqueFd> open(const std::filesystem::path& path, int flags, unsigned mode) const;
    [[nodiscard]] Result<UniqueFd> open_program(const std::filesystem::path& path) const;
    [[nodiscard]] Result<UniqueFd> make_temporary(std::string& name) const;
    [[nodiscard]] Status rename(const std::filesystem::path& from, const std::filesystem::path& to) const;
    [[nodiscard]] Status remove(const std::filesystem::path& path) const;
    [[nodiscard]] Reply answer(int kind, int flags, unsigned mode, const std::string& first,
                               const std::string& second) const;

    BrokerPolicy policy_;
    std::vector<Folder> folders_;
};

}  // namespace lagtrap

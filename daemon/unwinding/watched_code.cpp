#include "daemon/unwinding/watched_code.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <utility>
#include <vector>

#include "binaries/elf/library_paths.hpp"
#include "binaries/elf/program_file.hpp"
#include "binaries/reader/file_reader.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

NamedMapping by_path(const fs::path& path) {
    NamedMapping named;
    named.mapping.pid = static_cast<__u32>(::getpid());
    named.path = path.string();
    return named;
}

class Search {
  public:
    Search(ProcessInspector& inspector, const std::function<bool(const WatchedCode&)>& take)
        : inspector_(inspector), take_(take) {}

    void run(const std::set<std::string>& programs) {
        for (const std::string& program : programs)
            if (!stopped_) look_at(program);
        while (!stopped_ && !needed_.empty()) {
            const Needed next = std::move(needed_.front());
            needed_.pop_front();
            find(next);
        }
    }

  private:
    struct Needed {
        std::string name;
        std::vector<fs::path> folders;
    };

    // False if it cannot be read, or is not a program.
    bool look_at(const fs::path& path) {
        auto opened = inspector_.open(by_path(path));
        if (!opened) return false;
        struct stat facts {};
        if (::fstat(opened->file.get(), &facts) != 0) return false;
        // The loader gets the program's folder from the kernel, which has followed all symlinks.
        std::error_code failed;
        const fs::path followed = fs::read_symlink(path_of_descriptor(opened->file.get()), failed);
        const auto file = binaries::ProgramFile::open(std::move(opened->file), path.string(), {});
        if (!file) return false;
        for (const fs::path& origin : {followed.parent_path(), path.parent_path()})
            add_needed(*file, origin);
        if (!seen_.insert(opened->identity.inode ^ opened->identity.device << 20).second)
            return true;
        stopped_ = seen_.size() > max_watched_files ||
                   !take_({by_path(path), opened->identity, facts.st_uid});
        return true;
    }

    void add_needed(const binaries::ProgramFile& file, const fs::path& origin) {
        const binaries::NeededLibraries needed = file.needed();
        const std::vector<fs::path> folders = folders_.of(needed, origin);
        for (const std::string& name : needed.names)
            if (names_.size() < max_watched_files && names_.insert({name, origin}).second)
                needed_.push_back({name, folders});
    }

    void find(const Needed& needed) {
        std::vector<NamedMapping> candidates;
        if (needed.name.find('/') != std::string::npos) {
            candidates.push_back(by_path(needed.name));
        } else {
            for (const fs::path& folder : needed.folders)
                candidates.push_back(by_path(folder / needed.name));
        }
        const auto identities = inspector_.identify(candidates);
        for (std::size_t i = 0; i < std::min(candidates.size(), identities.size()); ++i)
            if (identities[i] && look_at(candidates[i].path)) return;
    }

    ProcessInspector& inspector_;
    const std::function<bool(const WatchedCode&)>& take_;
    binaries::LibraryFolders folders_;
    std::deque<Needed> needed_;
    std::set<std::pair<std::string, fs::path>> names_;
    std::set<std::uint64_t> seen_;
    bool stopped_ = false;
};

}  // namespace

void find_watched_code(const std::set<std::string>& programs, ProcessInspector& inspector,
                       const std::function<bool(const WatchedCode&)>& take) {
    Search(inspector, take).run(programs);
}

}  // namespace lagtrap::daemon

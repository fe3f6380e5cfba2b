#include "binaries/elf/library_paths.hpp"

#include <glob.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"

namespace lagtrap::binaries {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t list_limit_bytes = 64 * 1024;
constexpr int deepest_list = 4;

std::vector<std::string> files_like(const std::string& pattern) {
    glob_t found{};
    std::vector<std::string> files;
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
        files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    return files;
}

// Adds the folders listed in a file such as /etc/ld.so.conf and the files it includes.
void add_folders(const std::string& list, int depth, std::vector<fs::path>& folders) {
    const auto text = depth < deepest_list ? read_file(list, list_limit_bytes)
                                           : Result<std::string>(std::string());
    if (!text) return;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string word, pattern;
        if (!(words >> word)) continue;
        if (word.starts_with('/')) folders.emplace_back(word);
        if (word != "include" || !(words >> pattern)) continue;
        for (const std::string& file : files_like(pattern)) add_folders(file, depth + 1, folders);
    }
}

std::vector<fs::path> usual_folders() {
    std::vector<fs::path> folders;
    add_folders("/etc/ld.so.conf", 0, folders);
    for (const char* folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                               "/usr/lib64", "/lib", "/usr/lib"})
        folders.emplace_back(folder);
    return folders;
}

fs::path with_origin(std::string folder, const fs::path& origin) {
    for (const std::string_view mark : {"${ORIGIN}", "$ORIGIN"})
        for (auto at = folder.find(mark); at != std::string::npos;
             at = folder.find(mark, at + origin.string().size()))
            folder.replace(at, mark.size(), origin.string());
    return folder;
}

class Search {
  public:
    std::vector<fs::path> run(const fs::path& program) {
        look_at(program);
        // Breadth-first, so that the nearest come first.
        for (std::size_t next = 0; next < found_.size(); ++next) look_at(fs::path(found_[next]));
        return std::move(found_);
    }

  private:
    void look_at(const fs::path& path) {
        const auto file = ProgramFile::open(path);
        if (!file) return;
        const NeededLibraries needed = file->needed();
        std::error_code ignored;
        const fs::path origin = fs::weakly_canonical(path, ignored).parent_path();
        const std::vector<fs::path> folders = folders_.of(needed, origin);
        for (const std::string& name : needed.names)
            if (found_.size() < max_libraries && seen_.insert(name).second) find(name, folders);
    }

    // Keeps the requested name, which outlives the versioned file it links to.
    void find(const std::string& name, const std::vector<fs::path>& folders) {
        std::error_code ignored;
        for (const fs::path& folder : folders) {
            const fs::path named =
                name.find('/') == std::string::npos ? folder / name : fs::path(name);
            if (!fs::is_regular_file(named, ignored) || !ProgramFile::open(named)) continue;
            const fs::path whole = fs::canonical(named.parent_path(), ignored) / named.filename();
            if (std::find(found_.begin(), found_.end(), whole) == found_.end())
                found_.push_back(whole);
            return;
        }
    }

    LibraryFolders folders_;
    std::vector<fs::path> found_;
    std::set<std::string> seen_;
};

}  // namespace

LibraryFolders::LibraryFolders() : usual_(usual_folders()) {}

std::vector<fs::path> LibraryFolders::of(const NeededLibraries& needed,
                                         const fs::path& origin) const {
    std::vector<fs::path> folders;
    for (const std::string& folder : needed.folders) folders.push_back(with_origin(folder, origin));
    folders.insert(folders.end(), usual_.begin(), usual_.end());
    return folders;
}

std::vector<fs::path> libraries_of(const fs::path& program) { return Search().run(program); }

}  // namespace lagtrap::binaries

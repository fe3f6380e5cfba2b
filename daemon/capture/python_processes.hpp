// Finds the processes that run Python, and tells the recorder's programs where each keeps what its
// threads run. A thread follows MappedFiles; helpers (inspector_pool.hpp) read the interpreters'
// files.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "core/result.hpp"
#include "daemon/capture/python_map.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/unwinding/mapped_files.hpp"

namespace lagtrap::daemon {

class PythonProcesses {
  public:
    // `files` must be told to track python_file_names(). All three must outlive this object.
    PythonProcesses(PythonPlaces& places, MappedFiles& files, ProcessInspector& inspector);
    // Aborts a running look.
    ~PythonProcesses();
    PythonProcesses(const PythonProcesses&) = delete;
    PythonProcesses& operator=(const PythonProcesses&) = delete;

    static constexpr std::size_t files_limit = 256;  // remembered

  private:
    void work();
    // False if a file could not be read now, so that it must look again.
    bool look();
    // nullopt: the file has no interpreter that is supported.
    [[nodiscard]] Result<std::optional<lagtrap_python>> layout_of(
        const MappedFiles::MappedFile& file);

    PythonPlaces& places_;
    MappedFiles& files_;
    ProcessInspector& inspector_;
    // Only for the thread. By device, inode and build id.
    std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, std::optional<lagtrap_python>>
        known_;
    std::set<std::uint32_t> told_;  // processes in `places_`
    std::mutex mutex_;              // protects the following two
    std::condition_variable more_;
    bool changed_ = true;
    std::atomic<bool> ending_{false};
    std::uint64_t subscription_ = 0;
    std::thread thread_;
};

// Names of files that may contain an interpreter, as MappedFiles::want() takes them.
[[nodiscard]] std::set<std::string> python_file_names();

}  // namespace lagtrap::daemon

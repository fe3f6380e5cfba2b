// What the threads of the unwinder share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/processes/process_inspector.hpp"
#include "daemon/unwinding/code_modules.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "daemon/unwinding/process_spaces.hpp"
#include "daemon/unwinding/unwind_store.hpp"

namespace lagtrap::daemon {

struct FollowedCode {
    // The references must outlive it.
    FollowedCode(std::unique_ptr<UnwindStore> memory, std::size_t makers,
                 ProcessInspector& inspector_, MappedFiles& mapped_files_)
        : store(std::move(memory)),
          modules(*store, makers),
          spaces(*store, modules, find_user),
          inspector(inspector_),
          mapped_files(mapped_files_) {}

    // For the next three. Never held while a file is opened.
    std::mutex mutex;
    std::unique_ptr<UnwindStore> store;
    CodeModules modules;
    ProcessSpaces spaces;
    std::condition_variable has_published;

    ProcessInspector& inspector;
    MappedFiles& mapped_files;
    std::atomic<bool> stopping{false};
};

}  // namespace lagtrap::daemon

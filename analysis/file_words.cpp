#include "analysis/file_words.hpp"

#include "analysis/resource_words.hpp"

namespace lagtrap::analysis {

namespace {

// Waits without a file of their own.
bool is_refused(const ThreadDoing& doing) {
    return doing.wait == WaitKind::Sleep || doing.wait == WaitKind::Events ||
           doing.wait == WaitKind::DatabaseLock;
}

}  // namespace

std::string file_clause(const ThreadDoing& doing) {
    const FileWaits& files = doing.files;
    if (doing.wait == WaitKind::FileLock || doing.block == BlockReason::MessageQueue ||
        is_refused(doing) || has_other_end(files.kind))
        return "";
    if (files.path.empty() || files.time_ns * 2 < files.asked_ns) {
        const bool of_disk = doing.wait == WaitKind::Disk || doing.wait == WaitKind::PageFault;
        return of_disk && !files.disk.empty() ? " (" + files.disk + ")" : "";
    }
    std::string text = files.files == 1
                           ? files.path
                           : std::to_string(files.files) + " files, most of it for " + files.path;
    if (!files.disk.empty()) text += " on " + files.disk;
    if (!files.disk.empty() && files.queue_depth > 1 && doing.held_back.disk.empty())
        text += ", which had " + std::to_string(files.queue_depth) + " requests in its queue";
    return " (" + text + ")";
}

std::string refused_clause(const ThreadDoing& doing) {
    const FileWaits& files = doing.files;
    if (doing.refusals > 0) {
        const std::string times =
            doing.refusals == 1 ? "" : " " + std::to_string(doing.refusals) + " times";
        return "; meanwhile its connection to " + doing.refused_by + " was refused" + times;
    }
    if (!is_refused(doing) || is_socket(files.kind) || files.path.empty() ||
        files.time_ns * 2 < files.asked_ns)
        return "";
    const std::string text = "; before, it had been refused a lock on " + files.path;
    return files.holder_pid == 0
               ? text
               : text + ", which " + process_words(files.holder, files.holder_pid) + " held";
}

std::string missed_lock_clause(const ThreadDoing& doing) {
    if (doing.wait != WaitKind::FileLock || doing.files.holder_pid == 0) return "";
    return "; " + process_words(doing.files.holder, doing.files.holder_pid) + " held it";
}

}  // namespace lagtrap::analysis

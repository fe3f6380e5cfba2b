#include "trace/merge/run_sorter.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "core/files.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::size_t piece_buffer_runs = 256;

}  // namespace

RunSorter::RunSorter(std::filesystem::path directory, std::size_t limit_bytes)
    : directory_(std::move(directory)),
      runs_limit_(std::max<std::size_t>(limit_bytes / sizeof(lagtrap_run), 1)) {}

bool RunSorter::before(const lagtrap_run& a, const lagtrap_run& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return a.depth < b.depth;
}

Status RunSorter::add(const lagtrap_run& run) {
    runs_.push_back(run);
    return runs_.size() >= runs_limit_ ? spill() : success();
}

Status RunSorter::spill() {
    if (!file_.valid()) {
        std::string name = (directory_ / ".runs.XXXXXX").string();
        TRY_ASSIGN(file_, make_temporary_file(name));
        remove_file(name);
    }
    std::stable_sort(runs_.begin(), runs_.end(), before);
    const std::uint64_t bytes = runs_.size() * sizeof(lagtrap_run);
    TRY(write_all(file_.get(), runs_.data(), bytes));
    pieces_.push_back({file_bytes_, file_bytes_ + bytes, {}, 0});
    file_bytes_ += bytes;
    runs_.clear();
    return success();
}

Status RunSorter::finish() {
    std::stable_sort(runs_.begin(), runs_.end(), before);
    pieces_.push_back({0, 0, std::move(runs_), 0});
    return success();
}

Status RunSorter::refill(Piece& piece) {
    const std::uint64_t bytes = std::min<std::uint64_t>(piece.end_byte - piece.next_byte,
                                                        piece_buffer_runs * sizeof(lagtrap_run));
    piece.runs.resize(bytes / sizeof(lagtrap_run));
    piece.position = 0;
    std::uint64_t done = 0;
    while (done < bytes) {
        const ssize_t got = ::pread(file_.get(), reinterpret_cast<char*>(piece.runs.data()) + done,
                                    bytes - done, static_cast<off_t>(piece.next_byte + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return system_error("read sorted runs", got == 0 ? EIO : errno);
        done += static_cast<std::uint64_t>(got);
    }
    piece.next_byte += bytes;
    return success();
}

Result<const lagtrap_run*> RunSorter::peek() {
    if (front_ != nullptr) return &front_->runs[front_->position];
    for (Piece& piece : pieces_) {
        if (piece.position == piece.runs.size() && piece.next_byte < piece.end_byte)
            TRY(refill(piece));
        if (piece.position == piece.runs.size()) continue;
        if (front_ == nullptr || before(piece.runs[piece.position], front_->runs[front_->position]))
            front_ = &piece;
    }
    if (front_ == nullptr) return static_cast<const lagtrap_run*>(nullptr);
    return &front_->runs[front_->position];
}

void RunSorter::pop() {
    ++front_->position;
    front_ = nullptr;
}

}  // namespace lagtrap::trace

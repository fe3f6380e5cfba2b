// A recording made by hand, without a trace: names, stacks, threads and processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::test {

// Frames are written as for TraceBuilder: "k:name" is a kernel function, "?:path" an address in a
// file without a name, and "!path!name" a function in a file other than /usr/bin/app.
class MadeRecording {
  public:
    analysis::Recording recording;

    analysis::NameId name(std::string_view text) {
        auto& names = recording.names;
        const auto known = std::find(names.begin(), names.end(), text);
        if (known != names.end()) return static_cast<analysis::NameId>(known - names.begin());
        names.emplace_back(text);
        return static_cast<analysis::NameId>(names.size() - 1);
    }

    // The function's name and file, as in a stack.
    std::pair<analysis::NameId, analysis::NameId> key(const std::string& frame) {
        const analysis::Frame made = frame_of(frame);
        return {made.label, made.module};
    }

    analysis::StackId stack(const std::vector<std::string>& frames) {
        auto& places = owned_.emplace_back();
        for (const std::string& frame : frames) {
            places.push_back(static_cast<std::uint32_t>(recording.frames.size()));
            recording.frames.push_back(frame_of(frame));
        }
        recording.stacks.emplace_back(places);
        return static_cast<analysis::StackId>(recording.stacks.size() - 1);
    }

    // Call by ascending number.
    analysis::Thread& thread(std::uint32_t pid, std::uint32_t tid, std::string_view text = "") {
        analysis::Thread& made = recording.threads.emplace_back();
        made.pid = pid;
        made.tid = tid;
        made.name = name(text);
        return made;
    }

    void process(std::uint32_t pid, std::uint32_t parent_pid) {
        analysis::Process& made = recording.processes[pid];
        made.pid = pid;
        made.parent_pid = parent_pid;
    }

    // The labels of frames.
    std::vector<std::string> labels(const std::vector<std::uint32_t>& frames) const {
        std::vector<std::string> texts;
        for (const std::uint32_t frame : frames)
            texts.push_back(recording.name(recording.frames[frame].label));
        return texts;
    }

  private:
    analysis::Frame frame_of(const std::string& text) {
        analysis::Frame frame;
        frame.kernel = text.starts_with("k:");
        frame.named = !text.starts_with("?:");
        if (frame.kernel) {
            frame.label = name(text.substr(2));
            frame.module = name(analysis::kernel_path);
        } else if (!frame.named) {
            frame.label = name("[" + text.substr(text.rfind('/') + 1) + "]");
            frame.module = name(text.substr(2));
        } else if (text.starts_with('!')) {
            const std::size_t end = text.find('!', 1);
            frame.module = name(text.substr(1, end - 1));
            frame.label = name(text.substr(end + 1));
        } else {
            frame.label = name(text);
            frame.module = name("/usr/bin/app");
        }
        return frame;
    }

    std::deque<std::vector<std::uint32_t>> owned_;
};

}  // namespace lagtrap::test

#include "analysis/program_path.hpp"

#include <algorithm>
#include <utility>

#include "analysis/frame_role.hpp"
#include "analysis/plumbing.hpp"
#include "trace/names/busy_wait_name.hpp"

namespace lagtrap::analysis {

namespace {

// Where a signal handler returns to: glibc, musl, Go.
bool is_signal_return(const Recording& recording, std::uint32_t place) {
    const Frame& frame = recording.frames[place];
    if (!frame.named) return false;
    const std::string_view name = recording.name(frame.label);
    return name == "__restore_rt" || name == "__restore" || name.starts_with("runtime.sigreturn");
}

// A language's runtime or, for Python, an extension in C that comes with it, such as _json.
bool comes_with_runtime(std::string_view path) {
    return is_language_runtime(path) || path.find("/lib-dynload/") != std::string_view::npos;
}

class PathMaker {
  public:
    PathMaker(const Recording& recording, StackId stack)
        : recording_(recording), frames_(recording.stacks[stack]) {
        for (const std::uint32_t place : frames_) {
            const FrameRole role = role_of(recording_, recording_.frames[place]);
            const bool is_named = recording_.frames[place].named;
            has_own_script_ = has_own_script_ || (is_named && role == FrameRole::RunTimeCode);
            knows_script_ = knows_script_ || has_own_script_ || role == FrameRole::ScriptLibrary;
        }
    }

    ProgramPath make() {
        for (const std::uint32_t place : frames_) take(place);
        end();
        return std::move(path_);
    }

  private:
    FrameRole role(std::uint32_t place) const {
        const Frame& frame = recording_.frames[place];
        const FrameRole role = role_of(recording_, frame);
        // Without functions of the program's own, those of the library are better than none.
        if (role == FrameRole::ScriptLibrary)
            return has_own_script_ ? FrameRole::Plumbing : FrameRole::RunTimeCode;
        if (!knows_script_ || !comes_with_runtime(recording_.name(frame.module))) return role;
        // What runs the script is of no interest, and what the script calls in it is plumbing.
        if (role == FrameRole::Interpreter) return FrameRole::Start;
        return role == FrameRole::Code ? FrameRole::Plumbing : role;
    }

    void take(std::uint32_t place) {
        switch (role(place)) {
            case FrameRole::Start: break;
            case FrameRole::Kernel:
                if (!is_kernel_plumbing(recording_.name(recording_.frames[place].label)))
                    path_.kernel = place;
                break;
            case FrameRole::Plumbing: {
                if (is_signal_return(recording_, place)) {
                    begin_handler();
                    break;
                }
                const std::string& name = recording_.name(recording_.frames[place].label);
                if (name.ends_with("@plt") || name == trace::busy_wait_name ||
                    name == trace::possible_busy_wait_name)
                    break;
                // The first with a name, otherwise the first.
                const bool better = path_.called && !recording_.frames[*path_.called].named;
                if (!path_.called || (better && recording_.frames[place].named))
                    path_.called = place;
                break;
            }
            case FrameRole::Interpreter:
                interpreter_ = place;
                path_.called.reset();
                nameless_.reset();
                break;
            case FrameRole::ScriptLibrary:
            case FrameRole::RunTimeCode:
            case FrameRole::Code: take_code(place); break;
        }
    }

    void take_code(std::uint32_t place) {
        interpreter_.reset();
        path_.called.reset();
        if (!recording_.frames[place].named) {
            if (!nameless_) nameless_ = place;
            return;
        }
        nameless_.reset();
        add(place);
    }

    // Whatever was interrupted called nothing of what follows.
    void begin_handler() {
        interpreter_.reset();
        path_.called.reset();
        nameless_.reset();
        handler_ = path_.steps.size();
    }

    // Folds recursion, whatever is in between, back to the function's first occurrence.
    void add(std::uint32_t place) {
        const Frame& frame = recording_.frames[place];
        const auto begin = path_.steps.begin() + static_cast<std::ptrdiff_t>(handler_.value_or(0));
        const auto known = std::find_if(begin, path_.steps.end(), [&](std::uint32_t step) {
            const Frame& other = recording_.frames[step];
            return other.label == frame.label && other.module == frame.module &&
                   other.source == frame.source;
        });
        path_.steps.erase(known, path_.steps.end());
        path_.steps.push_back(place);
    }

    // The innermost functions of the program that wait on behalf of their caller are not the place.
    void fold_wait_wrappers() {
        if (!path_.kernel) return;
        std::size_t kept = path_.steps.size();
        while (kept > 0 &&
               is_wait_wrapper(recording_.name(recording_.frames[path_.steps[kept - 1]].label)))
            --kept;
        if (kept == path_.steps.size()) return;
        if (kept == 0) kept = 1;
        nameless_.reset();
        if (kept == path_.steps.size()) return;
        path_.called = path_.steps[kept];
        path_.steps.resize(kept);
    }

    void end() {
        if (interpreter_) add(*interpreter_);
        if (handler_ && *handler_ < path_.steps.size()) path_.handler = handler_;
        if (!interpreter_) fold_wait_wrappers();
        if (nameless_) {
            path_.nameless = true;
            const bool known =
                !path_.steps.empty() && recording_.frames[path_.steps.back()].module ==
                                            recording_.frames[*nameless_].module;
            if (!known) path_.steps.push_back(*nameless_);
        }
        // A stack of plumbing only, or a kernel thread: better than nothing.
        if (path_.steps.empty() && path_.called)
            path_.steps.push_back(*std::exchange(path_.called, std::nullopt));
        if (path_.steps.empty() && path_.kernel) path_.steps.push_back(*path_.kernel);
    }

    const Recording& recording_;
    std::span<const std::uint32_t> frames_;
    bool knows_script_ = false;
    bool has_own_script_ = false;
    ProgramPath path_;
    // the last one, unless a program function is inside it
    std::optional<std::uint32_t> interpreter_;
    std::optional<std::uint32_t> nameless_;  // outermost of those after the last step
    std::optional<std::size_t> handler_;     // as ProgramPath::handler, which may yet come
};

}  // namespace

ProgramPath program_path(const Recording& recording, StackId stack) {
    return PathMaker(recording, stack).make();
}

}  // namespace lagtrap::analysis

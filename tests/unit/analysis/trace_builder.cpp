#include "tests/unit/analysis/trace_builder.hpp"

#include <protozero/pbf_writer.hpp>

namespace lagtrap::test {

using protozero::pbf_writer;

namespace {

constexpr const char* build_id = "\xab\xcd";

struct NameAndLine {
    std::string name;
    std::string file;
    std::uint32_t line = 0;

    explicit NameAndLine(const std::string& text) : name(text.substr(0, text.find('@'))) {
        if (name.size() == text.size()) return;
        const std::size_t colon = text.rfind(':');
        file = text.substr(name.size() + 1, colon - name.size() - 1);
        line = static_cast<std::uint32_t>(std::stoul(text.substr(colon + 1)));
    }
};

}  // namespace

TraceBuilder::TraceBuilder(std::uint64_t length_ns, std::uint32_t cpus) {
    system.session_id = "3f0c1c5e-7a61-4a0e-9a7a-0c8f8a3b9d11";
    system.lagtrap_version = "0.1.0";
    system.host = "db1";
    system.os_name = "Debian GNU/Linux 12 (bookworm)";
    system.kernel_release = "6.1.0-28-amd64";
    system.architecture = "x86_64";
    system.cpu_count = cpus;
    system.cpu_model = "Some CPU";
    system.memory_bytes = 8ULL << 30;
    system.started_realtime_ns = 1'795'235'589'123'456'789;
    system.started_boottime_ns = begin_ns;
    system.length_ns = length_ns;
    system.sample_interval_ns = ms;
    system.stack_method = "frame-pointer";
    system.trigger_reason = "deadline";
    system.stacks = {100, 97, 1000, 990, 0, {60, 59, 6, 0}, {40, 38, 0, 0}, {}, {}, {}, {}};
    system.quality.samples_taken = 321;
    system.quality.daemon_cpu_ns = length_ns / 500;
}

void TraceBuilder::packet(std::uint32_t sequence, std::uint64_t at, std::uint32_t field,
                          const std::string& message, const std::string& interned,
                          const std::string& defaults, std::uint32_t more_field,
                          const std::string& more) {
    Sequence& state = sequences_[sequence];
    std::string data;
    pbf_writer writer(data);
    writer.add_uint64(8, at);
    writer.add_uint32(10, sequence);
    writer.add_uint32(13, (state.begun ? 0U : 1U) | 2U);
    state.begun = true;
    if (!interned.empty()) writer.add_message(12, interned);
    if (!defaults.empty()) writer.add_message(59, defaults);
    writer.add_message(field, message);
    if (!more.empty()) writer.add_message(more_field, more);
    pbf_writer(trace_).add_message(1, data);
}

TraceBuilder& TraceBuilder::process(std::uint32_t pid, const std::string& command_line,
                                    std::uint32_t parent_pid, std::uint64_t started_ns,
                                    std::uint32_t uid) {
    std::string message;
    {
        pbf_writer tree(message);
        pbf_writer process(tree, 1);
        process.add_int32(1, static_cast<std::int32_t>(pid));
        process.add_int32(2, static_cast<std::int32_t>(parent_pid));
        process.add_string(3, command_line);
        process.add_int32(5, static_cast<std::int32_t>(uid));
        if (started_ns != 0) process.add_uint64(7, started_ns);
    }
    packet(1, begin_ns, 2, message);
    return *this;
}

TraceBuilder& TraceBuilder::unit(std::uint32_t pid, const std::string& label) {
    std::string message;
    {
        pbf_writer track(message);
        track.add_uint64(1, 1'000'000 + pid);
        pbf_writer process(track, 3);
        process.add_int32(1, static_cast<std::int32_t>(pid));
        process.add_string(8, label);
    }
    packet(1, begin_ns, 60, message);
    return *this;
}

TraceBuilder& TraceBuilder::thread(std::uint32_t pid, std::uint32_t tid, const std::string& name) {
    std::string message;
    {
        pbf_writer tree(message);
        pbf_writer thread(tree, 2);
        thread.add_int32(1, static_cast<std::int32_t>(tid));
        thread.add_string(2, name);
        thread.add_int32(3, static_cast<std::int32_t>(pid));
    }
    packet(1, begin_ns, 2, message);
    return *this;
}

void TraceBuilder::ftrace(std::uint64_t at, std::uint32_t cpu, const std::string& event,
                          std::uint32_t more_field, const std::string& more) {
    std::string bundle;
    pbf_writer writer(bundle);
    writer.add_uint32(1, cpu);
    writer.add_message(2, event);
    packet(16 + cpu, begin_ns + at, 1, bundle, {}, {}, more_field, more);
}

TraceBuilder& TraceBuilder::switched(std::uint64_t at, std::uint32_t cpu, std::uint32_t prev,
                                     std::uint64_t prev_state, std::uint32_t next,
                                     std::uint32_t next_priority, std::uint32_t prev_priority) {
    std::string event;
    {
        pbf_writer writer(event);
        writer.add_uint64(1, begin_ns + at);
        writer.add_uint32(2, prev);
        pbf_writer change(writer, 4);
        change.add_int32(2, static_cast<std::int32_t>(prev));
        change.add_int32(3, static_cast<std::int32_t>(prev_priority));
        change.add_int64(4, static_cast<std::int64_t>(prev_state));
        change.add_int32(6, static_cast<std::int32_t>(next));
        change.add_int32(7, static_cast<std::int32_t>(next_priority));
    }
    ftrace(at, cpu, event);
    return *this;
}

TraceBuilder& TraceBuilder::created(std::uint64_t at, std::uint32_t cpu, std::uint32_t creator,
                                    std::uint32_t tid) {
    std::string event;
    {
        pbf_writer writer(event);
        writer.add_uint64(1, begin_ns + at);
        writer.add_uint32(2, creator);
        pbf_writer task(writer, 235);
        task.add_int32(1, static_cast<std::int32_t>(tid));
    }
    ftrace(at, cpu, event);
    return *this;
}

TraceBuilder& TraceBuilder::wait_file(std::uint64_t at, std::uint32_t cpu, std::uint32_t tid,
                                      std::uint32_t kind, const std::string& path,
                                      const std::string& disk, std::uint32_t queue_depth,
                                      std::uint32_t holder_pid, std::uint64_t socket) {
    std::string wait;
    pbf_writer writer(wait);
    writer.add_uint32(1, tid);
    writer.add_uint32(2, kind);
    if (!path.empty()) writer.add_string(3, path);
    if (!disk.empty()) writer.add_string(4, disk);
    if (queue_depth != 0) writer.add_uint32(5, queue_depth);
    if (holder_pid != 0) writer.add_uint32(6, holder_pid);
    if (socket != 0) writer.add_uint64(7, socket);
    packet(16 + cpu, begin_ns + at, 20003, wait);
    return *this;
}

TraceBuilder& TraceBuilder::written(std::uint64_t at, std::uint64_t file, std::uint64_t bytes,
                                    const std::string& path, const std::string& disk) {
    std::string message;
    pbf_writer writer(message);
    writer.add_uint64(1, file);
    writer.add_uint64(2, bytes);
    writer.add_string(3, path);
    writer.add_string(4, disk);
    packet(16, begin_ns + at, 20006, message);
    return *this;
}

TraceBuilder& TraceBuilder::writer(std::uint64_t file, std::uint32_t pid) {
    std::string message;
    pbf_writer writer(message);
    writer.add_uint64(1, file);
    writer.add_uint32(5, pid);
    packet(16, begin_ns, 20006, message);
    return *this;
}

TraceBuilder& TraceBuilder::ended_writer(std::uint64_t at, std::uint32_t pid,
                                         const std::string& name, std::uint64_t bytes) {
    std::string message;
    pbf_writer writer(message);
    writer.add_uint64(2, bytes);
    writer.add_string(4, name);
    writer.add_uint32(5, pid);
    writer.add_uint64(6, begin_ns + at);
    packet(16, begin_ns, 20006, message);
    return *this;
}

TraceBuilder& TraceBuilder::group_memory(std::uint32_t pid, const std::string& path,
                                         std::uint64_t limit, std::uint64_t files,
                                         std::uint64_t anonymous, std::uint32_t filler_pid,
                                         std::uint64_t filler) {
    std::string message;
    pbf_writer writer(message);
    writer.add_uint32(1, pid);
    writer.add_string(2, path);
    writer.add_uint64(3, limit);
    writer.add_uint64(4, files + anonymous);
    writer.add_uint64(5, files);
    writer.add_uint64(6, anonymous);
    writer.add_uint32(8, filler_pid);
    writer.add_uint64(9, filler);
    packet(16, begin_ns, 20007, message);
    return *this;
}

TraceBuilder& TraceBuilder::context(std::uint64_t at, std::uint32_t tid,
                                    const std::string& trace_id, const std::string& span_id,
                                    const std::map<std::string, std::string>& attributes) {
    std::string message;
    pbf_writer writer(message);
    writer.add_uint32(1, tid);
    writer.add_string(2, trace_id);
    writer.add_string(3, span_id);
    for (const auto& [name, value] : attributes) {
        pbf_writer attribute(writer, 4);
        attribute.add_string(1, name);
        attribute.add_string(2, value);
    }
    packet(16, begin_ns + at, 20008, message);
    return *this;
}

TraceBuilder& TraceBuilder::waking(std::uint64_t at, std::uint32_t cpu, std::uint32_t waker,
                                   std::uint32_t wakee, bool by_interrupt) {
    std::string event;
    {
        pbf_writer writer(event);
        writer.add_uint64(1, begin_ns + at);
        writer.add_uint32(2, waker);
        if (by_interrupt) writer.add_uint32(5, 0x08);
        pbf_writer waking(writer, 20);
        waking.add_int32(2, static_cast<std::int32_t>(wakee));
    }
    ftrace(at, cpu, event);
    return *this;
}

TraceBuilder& TraceBuilder::concluded_switch(std::uint64_t at, std::uint32_t cpu,
                                             std::uint32_t prev, std::uint32_t next) {
    std::string event, facts;
    {
        pbf_writer writer(event);
        writer.add_uint64(1, begin_ns + at);
        writer.add_uint32(2, prev);
        pbf_writer change(writer, 4);
        change.add_int32(2, static_cast<std::int32_t>(prev));
        change.add_int64(4, 1);
        change.add_int32(6, static_cast<std::int32_t>(next));
    }
    pbf_writer(facts).add_bool(5, true);
    ftrace(at, cpu, event, 20002, facts);
    return *this;
}

TraceBuilder& TraceBuilder::throttled_switch(std::uint64_t at, std::uint32_t cpu,
                                             std::uint32_t prev, std::uint32_t next,
                                             bool prev_throttled, std::uint64_t from,
                                             std::uint64_t to) {
    std::string event, quota;
    {
        pbf_writer writer(event);
        writer.add_uint64(1, begin_ns + at);
        writer.add_uint32(2, prev);
        pbf_writer change(writer, 4);
        change.add_int32(2, static_cast<std::int32_t>(prev));
        change.add_int32(6, static_cast<std::int32_t>(next));
    }
    pbf_writer writer(quota);
    if (prev_throttled) writer.add_bool(2, true);
    if (to != 0) {
        writer.add_uint64(3, begin_ns + from);
        writer.add_uint64(4, begin_ns + to);
    }
    ftrace(at, cpu, event, 20002, quota);
    return *this;
}

TraceBuilder& TraceBuilder::caused_waking(std::uint64_t at, std::uint32_t cpu, std::uint32_t waker,
                                          std::uint32_t wakee, std::uint32_t cause,
                                          const std::string& device) {
    std::string event, why;
    {
        pbf_writer writer(event);
        writer.add_uint64(1, begin_ns + at);
        writer.add_uint32(2, waker);
        pbf_writer waking(writer, 20);
        waking.add_int32(2, static_cast<std::int32_t>(wakee));
    }
    pbf_writer writer(why);
    writer.add_uint32(1, cause);
    if (!device.empty()) writer.add_string(3, device);
    ftrace(at, cpu, event, 20001, why);
    return *this;
}

std::uint64_t TraceBuilder::intern_frame(Sequence& sequence, const std::string& frame,
                                         std::string& interned) {
    if (const auto known = sequence.frames.find(frame); known != sequence.frames.end())
        return known->second;
    pbf_writer data(interned);
    const auto text = [&](std::map<std::string, std::uint64_t>& ids, std::uint32_t field,
                          const std::string& value) {
        const auto [place, added] = ids.emplace(value, ids.size() + 1);
        if (added) {
            pbf_writer string(data, field);
            string.add_uint64(1, place->second);
            string.add_bytes(2, value);
        }
        return place->second;
    };
    const bool kernel = frame.starts_with("k:");
    const bool unnamed = frame.starts_with("?:");
    const std::size_t path_end = frame.starts_with('!') ? frame.find('!', 1) : 0;
    const std::string path = kernel         ? "[kernel.kallsyms]"
                             : unnamed      ? frame.substr(2)
                             : path_end > 0 ? frame.substr(1, path_end - 1)
                                            : "/usr/bin/app";
    const std::uint64_t path_id = text(sequence.paths, 17, path);
    const auto [mapping, added] = sequence.mappings.emplace(path, sequence.mappings.size() + 1);
    const NameAndLine named(kernel ? frame.substr(2)
                                   : frame.substr(path_end > 0 ? path_end + 1 : 0));
    const std::uint64_t function = unnamed ? 0 : text(sequence.functions, 5, named.name);
    const std::uint64_t source =
        unnamed || named.file.empty() ? 0 : text(sequence.sources, 18, named.file);
    const std::uint64_t id = sequence.frames.size() + 1;
    {  // Frames before their mapping: the order of fields in a message has no meaning.
        pbf_writer writer(data, 6);
        writer.add_uint64(1, id);
        if (function != 0) writer.add_uint64(2, function);
        writer.add_uint64(3, mapping->second);
        writer.add_uint64(4, 0x1000 + id);
        if (source != 0) {
            writer.add_uint64(5, source);
            writer.add_uint32(6, named.line);
        }
    }
    if (added) {
        {
            pbf_writer string(data, 16);
            string.add_uint64(1, mapping->second);
            string.add_bytes(2, build_id);
        }
        pbf_writer writer(data, 19);
        writer.add_uint64(1, mapping->second);
        writer.add_uint64(2, mapping->second);
        writer.add_uint64(7, path_id);
    }
    sequence.frames.emplace(frame, id);
    return id;
}

std::uint64_t TraceBuilder::intern(Sequence& sequence, const Stack& stack, std::string& interned) {
    if (const auto known = sequence.stacks.find(stack); known != sequence.stacks.end())
        return known->second;
    std::vector<std::uint64_t> ids;
    for (const std::string& frame : stack) ids.push_back(intern_frame(sequence, frame, interned));
    const std::uint64_t id = sequence.stacks.size() + 1;
    {
        pbf_writer data(interned);
        pbf_writer writer(data, 7);
        writer.add_uint64(1, id);
        for (const std::uint64_t frame : ids) writer.add_uint64(2, frame);
    }
    sequence.stacks.emplace(stack, id);
    return id;
}

void TraceBuilder::perf_sample(std::uint32_t sequence, std::uint64_t at, std::uint32_t cpu,
                               std::uint32_t pid, std::uint32_t tid, const Stack& stack,
                               std::uint32_t more_field, const std::string& more) {
    Sequence& state = sequences_[sequence];
    std::string defaults;
    if (!state.begun) {
        pbf_writer writer(defaults);
        pbf_writer perf(writer, 12);
        pbf_writer timebase(perf, 1);
        if (sequence == 4) {
            pbf_writer tracepoint(timebase, 3);
            tracepoint.add_string(1, "sched:sched_switch");
        } else {
            timebase.add_uint64(2, 1000);
            timebase.add_enum(4, 1);
            if (sequence == 5) timebase.add_string(10, "history");
        }
    }
    std::string interned;
    const std::uint64_t id = intern(state, stack, interned);
    std::string message;
    pbf_writer writer(message);
    writer.add_uint32(1, cpu);
    writer.add_uint32(2, pid);
    writer.add_uint32(3, tid);
    writer.add_uint64(4, id);
    packet(sequence, begin_ns + at, 66, message, interned, defaults, more_field, more);
}

TraceBuilder& TraceBuilder::earlier_sample(std::uint64_t before, std::uint32_t pid,
                                           std::uint32_t tid, const Stack& stack) {
    perf_sample(5, 0 - before, 0, pid, tid, stack);
    return *this;
}

TraceBuilder& TraceBuilder::earlier_wait(std::uint64_t before, std::uint64_t length,
                                         std::uint32_t pid, std::uint32_t tid, std::uint32_t waker,
                                         const Stack& stack, bool in_run) {
    std::string wait;
    pbf_writer writer(wait);
    writer.add_uint64(1, begin_ns - before - length);
    writer.add_uint32(2, waker);
    writer.add_bool(3, false);
    writer.add_bool(4, in_run);
    perf_sample(5, 0 - before, 0, pid, tid, stack, 20004, wait);
    return *this;
}

TraceBuilder& TraceBuilder::sample(std::uint64_t at, std::uint32_t cpu, std::uint32_t pid,
                                   std::uint32_t tid, const Stack& stack) {
    perf_sample(3, at, cpu, pid, tid, stack);
    return *this;
}

TraceBuilder& TraceBuilder::samples(std::uint64_t from, std::uint64_t to, std::uint32_t cpu,
                                    std::uint32_t pid, std::uint32_t tid, const Stack& stack) {
    for (std::uint64_t at = from; at < to; at += ms) sample(at, cpu, pid, tid, stack);
    return *this;
}

TraceBuilder& TraceBuilder::off_cpu(std::uint64_t at, std::uint32_t pid, std::uint32_t tid,
                                    const Stack& stack, std::uint64_t object, std::uint32_t owner) {
    std::string wait;
    pbf_writer writer(wait);
    if (object != 0) writer.add_uint64(1, object);
    if (owner != 0) writer.add_uint32(2, owner);
    perf_sample(4, at, 0, pid, tid, stack, 20005, wait);
    return *this;
}

TraceBuilder& TraceBuilder::later_symbols(const std::string& frame,
                                          const std::vector<std::string>& functions) {
    std::string message;
    {
        pbf_writer symbols(message);
        symbols.add_string(1, frame.starts_with("?:") ? frame.substr(2) : "/usr/bin/app");
        symbols.add_bytes(2, build_id);
        pbf_writer address(symbols, 3);
        address.add_uint64(1, 0x1000 + sequences_[3].frames.at(frame));
        for (const std::string& function : functions) {
            const NameAndLine named(function);
            pbf_writer line(address, 2);
            line.add_string(1, named.name);
            if (named.file.empty()) continue;
            line.add_string(2, named.file);
            line.add_uint32(3, named.line);
        }
    }
    packet(1, begin_ns, 61, message);
    return *this;
}

void TraceBuilder::slice(std::uint64_t track, std::uint64_t at, bool begin,
                         const std::string& category, const std::string& name,
                         const std::map<std::string, std::uint64_t>& numbers) {
    std::string message;
    {
        pbf_writer writer(message);
        writer.add_enum(9, begin ? 1 : 2);
        writer.add_uint64(11, track);
        if (begin) {
            writer.add_string(22, category);
            writer.add_string(23, name);
        }
        for (const auto& [key, value] : numbers) {
            pbf_writer annotation(writer, 4);
            annotation.add_string(10, key);
            annotation.add_uint64(3, value);
        }
    }
    packet(2, at, 11, message);
}

TraceBuilder& TraceBuilder::run(const trace::Delay& delay, bool is_delay) {
    const std::uint64_t end = delay.begin_ns + delay.duration_ns;
    slice(delay.begin_tid, delay.begin_ns, true, is_delay ? "lagtrap.delay" : "lagtrap.run",
          delay.event,
          {{"run", delay.run_id},
           {"threshold_ns", delay.threshold_ns},
           {"duration_ns", delay.duration_ns},
           {"key", delay.key},
           {"begin_pid", delay.begin_pid},
           {"begin_tid", delay.begin_tid},
           {"end_pid", delay.end_pid},
           {"end_tid", delay.end_tid},
           {"delay", is_delay ? 1U : 0U},
           {"first", delay.first ? 1U : 0U}});
    for (std::size_t i = 0; i < delay.stages.size(); ++i) {
        const auto& stage = delay.stages[i];
        slice(delay.begin_tid, delay.begin_ns + stage.offset_ns, true, "lagtrap.stage", stage.name,
              {{"run", delay.run_id}, {"stage_tid", stage.tid}});
        const bool last = i + 1 == delay.stages.size();
        slice(delay.begin_tid, last ? end : delay.begin_ns + delay.stages[i + 1].offset_ns, false,
              "", "", {});
    }
    slice(delay.begin_tid, end, false, "", "", {});
    ++system.runs[delay.event].runs;
    if (is_delay) {
        ++system.runs[delay.event].delays;
        system.delays.push_back(delay);
    }
    return *this;
}

trace::Delay TraceBuilder::delay(std::uint64_t id, const std::string& event, std::int64_t at,
                                 std::uint64_t duration, std::uint64_t threshold, std::uint32_t pid,
                                 std::uint32_t tid) {
    trace::Delay delay;
    delay.run_id = id;
    delay.event = event;
    delay.threshold_ns = threshold;
    delay.begin_ns = static_cast<std::uint64_t>(static_cast<std::int64_t>(begin_ns) + at);
    delay.duration_ns = duration;
    delay.begin_pid = delay.end_pid = pid;
    delay.begin_tid = delay.end_tid = tid;
    return delay;
}

}  // namespace lagtrap::test

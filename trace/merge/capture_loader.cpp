#include "trace/merge/capture_loader.hpp"

#include <algorithm>
#include <cstring>

#include "trace/logs/whole_record.hpp"
#include "trace/merge/recorded_objects.hpp"
#include "trace/names/run_time_code.hpp"
#include "trace/stacks/copied_stack.hpp"
#include "trace/stacks/late_tables.hpp"

namespace lagtrap::trace {

Status CaptureLoader::load_user_log() {
    TRY_ASSIGN(auto reader, contents_.open_log(LogKind::User));
    if (!reader) return success();
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) break;
        if (record->type == LAGTRAP_RECORD_STACK)
            contents_.stacks.add(*reinterpret_cast<const lagtrap_stack*>(record));
        if (record->type == LAGTRAP_RECORD_RUN_SO_FAR)
            contents_.run_details.take(*reinterpret_cast<const lagtrap_run_so_far*>(record));
        if (record->type == LAGTRAP_RECORD_TRACE_TEXT)
            contents_.run_details.take(*reinterpret_cast<const lagtrap_trace_text*>(record));
        if (record->type != LAGTRAP_RECORD_RUN) continue;
        lagtrap_run run{};  // a record holds only the stages that were hit
        std::memcpy(&run, record, std::min<std::size_t>(record->size_bytes, sizeof(run)));
        if (run.event >= contents_.session.events.size()) {
            ++contents_.file.quality.runs_lost;
            continue;
        }
        run.end_ns = std::max<std::uint64_t>(run.end_ns, run.begin_ns);
        contents_.thread_ends.cut_off(run);
        TRY(contents_.sorter.add(run));
    }
    if (reader->summary().partial) contents_.partial = true;
    return success();
}

// Walks the stacks that the BPF side could not walk to their ends, from the copies in the user log,
// once all other stacks and the mappings are known.
Status CaptureLoader::walk_copies() {
    TRY_ASSIGN(auto reader, contents_.open_log(LogKind::User));
    if (!reader) return success();
    const SymbolizerOptions& symbols = contents_.options.symbols;
    LateTables tables(contents_.modules, {symbols.proc_root,
                                          symbols.open_programs,
                                          symbols.this_boot,
                                          {},
                                          symbols.machine,
                                          symbols.vdso});
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) return success();
        if (record->type != LAGTRAP_RECORD_STACK_COPY) continue;
        const auto& copy = *reinterpret_cast<const lagtrap_stack_copy*>(record);
        const CallStack* const inner = contents_.stacks.find(copy.inner_id);
        const auto rule_at = [&](std::uint64_t address) {
            return tables.rule_at(contents_.spaces.find(copy.pid, address, copy.header.at_ns));
        };
        const ContinuedStack rest =
            continue_stack(copy, inner != nullptr ? inner->frame_count : 1, rule_at);
        // If it found no frame, keep the end that the BPF side saw.
        const bool useless = rest.frames.empty() && (rest.end & ~LAGTRAP_STACK_BY_FRAME_POINTER) !=
                                                        LAGTRAP_STACK_END_COMPLETE;
        contents_.stacks.add_copied(copy, rest.frames, useless ? copy.end : rest.end);
    }
}

Status CaptureLoader::load_kernel_log() {
    TRY_ASSIGN(auto reader, contents_.open_log(LogKind::Kernel));
    if (!reader) return success();
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) break;
        if (record->type == LAGTRAP_RECORD_STACK)
            contents_.stacks.add(*reinterpret_cast<const lagtrap_stack*>(record));
        if (record->type == LAGTRAP_RECORD_SAMPLE)
            contents_.stacks.count_use(
                reinterpret_cast<const lagtrap_sample*>(record)->user_stack_id);
        if (record->type == LAGTRAP_RECORD_CONTEXT_KEYS)
            contents_.thread_contexts.take(*reinterpret_cast<const lagtrap_context_keys*>(record));
        if (record->type == LAGTRAP_RECORD_PYTHON_CODE)
            contents_.python.take(*reinterpret_cast<const lagtrap_python_code*>(record));
        if (record->type == LAGTRAP_RECORD_CONTEXT)
            contents_.thread_contexts.take(*reinterpret_cast<const lagtrap_context*>(record));
        if (record->type != LAGTRAP_RECORD_SWITCH) continue;
        const auto& change = *reinterpret_cast<const lagtrap_switch*>(record);
        contents_.stacks.count_use(change.user_stack_id);
        for (const std::uint32_t tid : {change.prev_tid, change.next_tid})
            contents_.listed.note_switch(tid, record->at_ns);
    }
    if (reader->summary().partial) contents_.partial = true;
    return success();
}

// The threads that existed when the recording began; later ones have fork records.
Status CaptureLoader::load_threads() {
    TRY_ASSIGN(auto reader, contents_.open_log(LogKind::Rundown));
    if (!reader) return success();
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) break;
        if (record->type == LAGTRAP_RECORD_EXIT)
            contents_.thread_ends.add(whole_record<lagtrap_task_change>(record));
        if (record->type != LAGTRAP_RECORD_THREAD) continue;
        const auto thread = whole_record<lagtrap_thread>(record);
        if (thread.started_ns > contents_.to_boottime(contents_.session.started_ns)) continue;
        contents_.listed.add(thread);
    }
    if (reader->summary().partial) contents_.partial = true;
    contents_.listed.finish();
    return success();
}

Status CaptureLoader::load() {
    // A capture interrupted by a crash of the machine is merged after the next boot.
    if (!contents_.session.boot_id.empty() &&
        contents_.session.boot_id != running_boot_id(contents_.options.symbols.proc_root))
        contents_.options.symbols.this_boot = false;
    TRY_ASSIGN(RecordStream rundown, contents_.open_stream(LogKind::Rundown));
    TRY(contents_.spaces.load(rundown));
    TRY(load_threads());
    contents_.calls.load(contents_.directory, contents_.file);
    contents_.functions.load(contents_.directory, contents_.file);
    report_objects(contents_.directory, contents_.file);
    TRY(load_user_log());
    TRY(walk_copies());
    TRY(contents_.sorter.finish());
    TRY(load_kernel_log());
    for (const lagtrap_thread& thread : contents_.listed.first())
        contents_.stacks.count_use(thread.user_stack_id);
    contents_.file.quality.stacks_lost += contents_.stacks.dropped();
    contents_.modules.at(kernel_module).build_id =
        read_kernel_build_id(contents_.options.symbols.kernel_notes);
    contents_.python.name(contents_.stacks);
    contents_.file.quality.code_files_lost +=
        name_run_time_code(contents_.stacks, contents_.directory, contents_.session.started_ns)
            .files_bad;
    if (!contents_.options.symbols.open_programs &&
        contents_.file.quality.omitted.size() < omitted_limit)
        contents_.file.quality.omitted.emplace_back(
            "program functions have no names: the merge that looked them up took too long");
    contents_.options.symbols.held_roots = read_held_roots(contents_.directory);
    contents_.calls.ask_sources(contents_.stacks, contents_.modules);
    contents_.functions.ask_sources(contents_.stacks, contents_.modules);
    contents_.naming = symbolize(contents_.stacks, contents_.modules, contents_.options.symbols);
    contents_.calls.fill_sources(contents_.stacks);
    contents_.functions.fill_sources(contents_.stacks);
    contents_.stacks.finish();
    return success();
}

}  // namespace lagtrap::trace

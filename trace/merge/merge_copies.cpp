// Walks the stacks that the BPF side could not walk to their ends, from the copies in the user log,
// once all other stacks and the mappings are known.
#include "trace/merge/merger.hpp"
#include "trace/stacks/copied_stack.hpp"
#include "trace/stacks/late_tables.hpp"

namespace lagtrap::trace {

Status Merger::walk_copies() {
    TRY_ASSIGN(auto reader, open_log(LogKind::User));
    if (!reader) return success();
    const SymbolizerOptions& symbols = options_.symbols;
    LateTables tables(modules_,
                      {symbols.proc_root, symbols.open_programs, symbols.this_boot, {}, symbols.machine, symbols.vdso});
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) return success();
        if (record->type != LAGTRAP_RECORD_STACK_COPY) continue;
        const auto& copy = *reinterpret_cast<const lagtrap_stack_copy*>(record);
        const CallStack* const inner = stacks_.find(copy.inner_id);
        const auto rule_at = [&](std::uint64_t address) {
            return tables.rule_at(spaces_.find(copy.pid, address, copy.header.at_ns));
        };
        const ContinuedStack rest = continue_stack(copy, inner != nullptr ? inner->frame_count : 1, rule_at);
        // If it found no frame, keep the end that the BPF side saw.
        const bool useless =
            rest.frames.empty() && (rest.end & ~LAGTRAP_STACK_BY_FRAME_POINTER) != LAGTRAP_STACK_END_COMPLETE;
        stacks_.add_copied(copy, rest.frames, useless ? copy.end : rest.end);
    }
}

}  // namespace lagtrap::trace

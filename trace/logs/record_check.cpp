#include "trace/logs/record_check.hpp"

#include <cstddef>

#include "bpf/python.h"

namespace lagtrap::trace {
namespace {

template <typename Record>
const Record* as(const lagtrap_record* record) {
    return record->size_bytes >= sizeof(Record) ? reinterpret_cast<const Record*>(record) : nullptr;
}

template <typename Record>
RecordCheck check_plain(const lagtrap_record* record) {
    return as<Record>(record) != nullptr ? RecordCheck::Whole : RecordCheck::Damaged;
}

RecordCheck whole_if(bool condition) {
    return condition ? RecordCheck::Whole : RecordCheck::Damaged;
}

RecordCheck check_run(const lagtrap_record* record) {
    constexpr std::size_t fixed_bytes = offsetof(lagtrap_run, stages);
    if (record->size_bytes < fixed_bytes) return RecordCheck::Damaged;
    const std::size_t stages = reinterpret_cast<const lagtrap_run*>(record)->stage_count;
    return whole_if(stages <= LAGTRAP_MAX_STAGES &&
                    fixed_bytes + stages * sizeof(lagtrap_stage_hit) <= record->size_bytes);
}

RecordCheck check_stack(const lagtrap_record* record) {
    const auto* stack = as<lagtrap_stack>(record);
    return whole_if(stack != nullptr && stack->frame_count <= LAGTRAP_MAX_FRAMES &&
                    sizeof(*stack) + stack->frame_count * sizeof(stack->frames[0]) <=
                        record->size_bytes);
}

RecordCheck check_stack_copy(const lagtrap_record* record) {
    const auto* copy = as<lagtrap_stack_copy>(record);
    return whole_if(copy != nullptr && copy->copied_bytes <= LAGTRAP_COPIED_STACK_BYTES &&
                    copy->return_count <= LAGTRAP_COPIED_RETURNS &&
                    copy->copied_bytes <= record->size_bytes - sizeof(*copy));
}

RecordCheck check_least(const lagtrap_record* record, std::size_t min_bytes) {
    return whole_if(record->size_bytes >= min_bytes);
}

RecordCheck check_process(const lagtrap_record* record) {
    const auto* process = as<lagtrap_process>(record);
    return whole_if(process != nullptr &&
                    process->text_bytes <= record->size_bytes - sizeof(*process));
}

RecordCheck check_mapping(const lagtrap_record* record) {
    const auto* mapping = as<lagtrap_mapping>(record);
    return whole_if(mapping != nullptr && mapping->build_id_bytes <= sizeof(mapping->build_id) &&
                    mapping->path_bytes <= record->size_bytes - sizeof(*mapping));
}

RecordCheck check_context(const lagtrap_record* record) {
    const auto* context = as<lagtrap_context>(record);
    return whole_if(context != nullptr &&
                    context->attribute_bytes <= LAGTRAP_CONTEXT_ATTRIBUTE_BYTES &&
                    context->attribute_bytes <= record->size_bytes - sizeof(*context));
}

RecordCheck check_context_keys(const lagtrap_record* record) {
    const auto* keys = as<lagtrap_context_keys>(record);
    return whole_if(keys != nullptr && keys->text_bytes <= record->size_bytes - sizeof(*keys));
}

template <typename Record>
RecordCheck check_with_path(const lagtrap_record* record) {
    const auto* whole = as<Record>(record);
    return whole_if(whole != nullptr && whole->path_bytes <= record->size_bytes - sizeof(*whole));
}

}  // namespace

RecordCheck check_record(const lagtrap_record* record, std::size_t available_bytes) {
    if (record->size_bytes < sizeof(lagtrap_record) || record->size_bytes > available_bytes)
        return RecordCheck::Damaged;
    switch (record->type) {
        case LAGTRAP_RECORD_RUN:
        case LAGTRAP_RECORD_BREACH: return check_run(record);
        case LAGTRAP_RECORD_STACK: return check_stack(record);
        case LAGTRAP_RECORD_SAMPLE: return check_plain<lagtrap_sample>(record);
        case LAGTRAP_RECORD_SWITCH: return check_least(record, LAGTRAP_SWITCH_LEAST_BYTES);
        case LAGTRAP_RECORD_WAKING: return check_least(record, LAGTRAP_WAKING_LEAST_BYTES);
        case LAGTRAP_RECORD_WAIT_FILE: return check_with_path<lagtrap_wait_file>(record);
        case LAGTRAP_RECORD_WRITTEN: return check_with_path<lagtrap_written>(record);
        case LAGTRAP_RECORD_GROUP_MEMORY: return check_with_path<lagtrap_group_memory>(record);
        case LAGTRAP_RECORD_DISK_LIMIT: return check_plain<lagtrap_disk_limit>(record);
        case LAGTRAP_RECORD_PYTHON_CODE: return check_plain<lagtrap_python_code>(record);
        case LAGTRAP_RECORD_CONTEXT: return check_context(record);
        case LAGTRAP_RECORD_CONTEXT_KEYS: return check_context_keys(record);
        case LAGTRAP_RECORD_THREAD: return check_least(record, LAGTRAP_THREAD_LEAST_BYTES);
        case LAGTRAP_RECORD_PROCESS: return check_process(record);
        case LAGTRAP_RECORD_MAPPING: return check_mapping(record);
        case LAGTRAP_RECORD_FORK:
        case LAGTRAP_RECORD_EXIT: return check_plain<lagtrap_task_change>(record);
        case LAGTRAP_RECORD_RUN_SO_FAR: return check_plain<lagtrap_run_so_far>(record);
        case LAGTRAP_RECORD_TRACE_TEXT: return check_plain<lagtrap_trace_text>(record);
        case LAGTRAP_RECORD_STACK_COPY: return check_stack_copy(record);
        case LAGTRAP_RECORD_NAME: return check_plain<lagtrap_name>(record);
        case LAGTRAP_RECORD_HISTORY_SAMPLE: return check_plain<lagtrap_history_sample>(record);
        case LAGTRAP_RECORD_HISTORY_WAIT: return check_plain<lagtrap_history_wait>(record);
        default: return RecordCheck::UnknownType;
    }
}

}  // namespace lagtrap::trace

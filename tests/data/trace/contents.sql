-- What a merged trace must show: one row per table, how many rows it has. tests/integration/trace_processor.sh reads it.
select 'runs' as what, count(*) as rows from slice where category in ('lagtrap.run', 'lagtrap.delay')
union all select 'runs_unfinished', count(*) from slice where dur < 0
union all select 'runs_without_event', count(*) from slice
  where category in ('lagtrap.run', 'lagtrap.delay') and extract_arg(arg_set_id, 'debug.event') is not name
union all select 'stages_outside_runs', count(*) from slice s left join slice p on s.parent_id = p.id
  where s.category = 'lagtrap.stage' and (p.id is null or s.ts < p.ts or s.ts + s.dur > p.ts + p.dur)
union all select 'perf_samples', count(*) from perf_sample
union all select 'perf_sessions', count(*) from perf_session
union all select 'samples_without_thread', count(*) from perf_sample where utid is null
union all select 'callsites', count(*) from stack_profile_callsite
union all select 'callsites_without_root', count(*) from stack_profile_callsite where depth > 0 and parent_id is null
union all select 'frames_without_mapping', count(*) from stack_profile_frame where mapping is null
union all select 'frames_located', count(*) from stack_profile_frame where symbol_set_id is not null
union all select 'lines_without_source', count(*) from stack_profile_symbol
  where line_number is not null and source_file is null
union all select 'sched', count(*) from sched
union all select 'thread_states', count(*) from thread_state
union all select 'processes', count(*) from process
union all select 'threads', count(*) from thread
union all select 'clock_is_not_boottime', count(*) from metadata where name = 'trace_time_clock_id' and int_value <> 6;

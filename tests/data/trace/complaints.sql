-- Everything that trace_processor has to say against a trace; durations are its own.
select name, idx, severity, value from stats where value <> 0 and name not like '%_duration_ns';

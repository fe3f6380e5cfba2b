#!/usr/bin/env python3
"""Decodes a merged trace with only the protobuf wire format and its own field tables, checks it,
and prints its content as JSON. Exits with 1 and a line per error on standard error if a rule of
the format is broken.

usage: decode_trace.py TRACE [SAMPLE]      with SAMPLE, also prints details of that many threads
and runs
"""

import collections
import json
import sys

from trace_fields import FIELDS, REPEATED, SEQUENCES, TRACK_SEQUENCES

CLEARED, NEEDS = 1, 2
CALLS = ("lagtrap.call", "lagtrap.function")

faults = []


def fault(text):
    if len(faults) < 20:
        faults.append(text)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("varint of more than ten bytes")


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("field %d reaches beyond its message" % number)
            value = data[at : at + size]
            at += size
        else:
            raise ValueError("wire type %d, which the trace does not use" % wire)
        yield number, wire, value


def text_of(value, message):
    text = bytes(value).decode("utf-8")
    if any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in text):
        fault("control character in %s: %r" % (message, text))
    return text


def decode(message, data):
    result = {}
    for number, wire, value in fields(data):
        if number not in FIELDS[message]:
            fault("%s has field %d, which nobody knows" % (message, number))
            continue
        name, kind = FIELDS[message][number]
        if (kind == "v") != (wire == 0):
            fault("%s.%s has wire type %d" % (message, name, wire))
            continue
        if kind == "s":
            value = text_of(value, message + "." + name)
        elif kind == "b":
            value = bytes(value).hex()
        elif kind.startswith("m:"):
            value = decode(kind[2:], value)
        repeated = name in REPEATED and not (
            message in ("Track", "Event") and name not in ("categories", "annotations")
        )
        if repeated:
            result.setdefault(name, []).append(value)
        elif name in result:
            fault("%s.%s stands twice" % (message, name))
        else:
            result[name] = value
    return result


class Sequence:
    def __init__(self):
        self.tables = collections.defaultdict(dict)
        self.timebase = None

    def add(self, interned):
        for table, entries in interned.items():
            for entry in entries:
                if entry["iid"] == 0 or entry["iid"] in self.tables[table]:
                    fault("%s %d is interned twice" % (table, entry["iid"]))
                self.tables[table][entry["iid"]] = entry
        for mapping in interned.get("mappings", []):
            for path in mapping.get("paths", []):
                self.get("paths", path)
            if "build_id" in mapping:
                self.get("build_ids", mapping["build_id"])
        for frame in interned.get("frames", []):
            self.get("mappings", frame["mapping"])
            if "function" in frame:
                self.get("functions", frame["function"])
            if "source" in frame:
                self.get("sources", frame["source"])
            elif "line" in frame:
                fault("frame %d has a line without a source file" % frame["iid"])
        for stack in interned.get("callstacks", []):
            for frame in stack["frames"]:
                self.get("frames", frame)

    def get(self, table, iid):
        if iid not in self.tables[table]:
            fault("%s %d is used before it is defined" % (table, iid))
            return {"text": "?", "frames": [], "paths": []}
        return self.tables[table][iid]


class Trace:
    def __init__(self):
        self.sequences = {}
        self.tracks = {}
        self.open = collections.defaultdict(list)
        self.threads = {}
        self.processes = {}
        self.runs = {}
        self.calls = {category: [] for category in CALLS}
        self.counts = collections.Counter()
        self.stacks = collections.Counter()
        self.off_cpu_stacks = collections.Counter()
        self.wakings = []
        self.switch_states = []
        self.switch_facts = []
        self.wait_files = []
        self.wait_sockets = []
        self.written = []
        self.group_memory = []
        self.wait_objects = []
        self.history_waits = []
        self.history_stacks = collections.Counter()
        self.modules = {}
        self.places = {}
        self.lines = {}
        self.symbols = {}
        self.names_seen = set()
        self.last_ns = 0
        self.last_event_ns = collections.defaultdict(int)
        self.first = True

    def packet(self, packet):
        self.counts["packets"] += 1
        number, flags = packet.get("sequence", 0), packet.get("flags", 0)
        if number == 0:
            fault("packet without a sequence")
        if self.first and "clock_snapshot" not in packet:
            fault("the first packet is no clock snapshot")
        self.first = False
        if number not in self.sequences and not flags & CLEARED:
            fault("sequence %d does not begin with its state cleared" % number)
        if flags & CLEARED:
            self.sequences[number] = Sequence()
        sequence = self.sequences.setdefault(number, Sequence())
        at_ns = packet.get("timestamp", 0)
        if at_ns < self.last_ns:
            fault("packet at %d after one at %d" % (at_ns, self.last_ns))
        self.last_ns = max(self.last_ns, at_ns)
        if (
            "interned" in packet
            or "track_event" in packet
            or "callstack" in packet.get("sample", {})
        ) and not flags & NEEDS:
            fault("packet with interned data does not say that it needs the sequence's state")
        if "interned" in packet:
            sequence.add(packet["interned"])
        if "defaults" in packet:
            sequence.timebase = packet["defaults"]["perf"]["timebase"]
        for part, home in SEQUENCES.items():
            if part in packet and number != home:
                fault("%s on sequence %d" % (part, number))
        if ("track" in packet or "track_event" in packet) and number not in TRACK_SEQUENCES:
            fault("tracks on sequence %d" % number)
        if "clock_snapshot" in packet:
            self.clocks = {
                clock["id"]: clock["timestamp"] for clock in packet["clock_snapshot"]["clocks"]
            }
        if "attributes" in packet:
            self.attributes = {
                pair["key"]: pair["long"] for pair in packet["attributes"]["attribute"]
            }
        if "uuid" in packet:
            self.counts["uuid"] += 1
        if "system_info" in packet:
            self.counts["system_info"] += 1
        if "process_tree" in packet:
            self.tree(packet["process_tree"])
        if "track" in packet:
            self.track(packet["track"])
        if "track_event" in packet:
            self.event(packet["track_event"], at_ns, sequence, number)
        if "sample" in packet:
            self.sample(packet["sample"], sequence, number)
        if "symbols" in packet:
            self.symbols_of(packet["symbols"])
        if "ftrace" in packet:
            self.ftrace(packet["ftrace"], number, at_ns, packet.get("wake_cause", {}))
        if "wait_file" in packet:
            wait = packet["wait_file"]
            self.wait_files.append(
                [
                    at_ns,
                    wait["tid"],
                    wait["kind"],
                    wait.get("path", ""),
                    wait.get("disk", ""),
                    wait.get("queue_depth", 0),
                    wait.get("holder", 0),
                ]
            )
            self.wait_sockets.append(wait.get("socket", 0))
        if "written" in packet:
            self.written.append([at_ns, packet["written"]])
        if "group_memory" in packet:
            self.group_memory.append(packet["group_memory"])
        if "wait" in packet:
            self.wait_objects.append(
                [
                    at_ns,
                    packet["sample"]["tid"],
                    packet["wait"]["object"],
                    packet["wait"].get("owner", 0),
                ]
            )
        if "history_wait" in packet:
            wait = packet["history_wait"]
            if number != 5 or "sample" not in packet or wait.get("begin", 0) > at_ns:
                fault("a wait of the history on sequence %d" % number)
            self.history_waits.append([at_ns, packet["sample"]["tid"], wait])
        if "switch_facts" in packet:
            self.switch_facts.append([at_ns, packet["switch_facts"]])

    def tree(self, tree):
        for process in tree.get("processes", []):
            self.processes[process["pid"]] = process
        for thread in tree.get("threads", []):
            self.threads[thread["tid"]] = thread
            self.names_seen.add(thread.get("name", ""))

    def track(self, track):
        if track["uuid"] in self.tracks:
            fault("track %d is described twice" % track["uuid"])
        if "parent" in track and track["parent"] not in self.tracks:
            fault("track %d has a parent that nobody described" % track["uuid"])
        self.tracks[track["uuid"]] = track
        kind = (
            "thread_tracks"
            if "thread" in track
            else "process_tracks"
            if "process" in track
            else "own_tracks"
        )
        self.counts[kind] += 1

    def event(self, event, at_ns, sequence, number):
        track = event["track"]
        if track not in self.tracks:
            fault("event on track %d, which nobody described" % track)
        if event["type"] == 1:
            self.begin(event, at_ns, sequence, number)
        elif not self.open[track]:
            fault("slice ends on track %d, where none is open" % track)
        else:
            category, run, begun_ns = self.open[track].pop()
            self.counts["slice_ends"] += 1
            if category in CALLS:
                self.end_call(run, at_ns - begun_ns)
            elif category != "lagtrap.stage" and at_ns - begun_ns != self.runs[run]["duration_ns"]:
                fault(
                    "run %d lasts %d, its annotation says %d"
                    % (run, at_ns - begun_ns, self.runs[run]["duration_ns"])
                )

    def begin_call(self, facts, track, at_ns, category):
        """A call on the call track of its thread; at its end, returns its facts and those of the
        calls in it."""
        above = self.open[track][-1][1] if self.open[track] else None
        if (above is None) != ("begin_tid" in facts):
            fault("call of %s says that it is outermost, or does not" % facts["name"])
        parent = self.tracks.get(self.tracks.get(track, {}).get("parent"), {})
        if "begin_tid" in facts and parent.get("thread", {}).get("tid") != facts["begin_tid"]:
            fault("call of %s is not below its thread's track" % facts["name"])
        if facts["wall_ns"] != facts["on_cpu_ns"] + facts["runnable_ns"] + facts["blocked_ns"]:
            fault("call of %s: its times do not add up" % facts["name"])
        call = dict(
            facts,
            begin_ns=at_ns,
            depth=0 if above is None else above["depth"] + 1,
            below_ns=0,
            above=above,
            number=len(self.calls[category]),
        )
        self.calls[category].append(call)
        return call

    def end_call(self, call, length_ns):
        call["length_ns"] = length_ns
        if call["own_ns"] != call["wall_ns"] - call["below_ns"]:
            fault("call of %s: its own time is not what is left" % call["name"])
        if call["above"] is not None:
            call["above"]["below_ns"] += call["wall_ns"]

    def begin(self, event, at_ns, sequence, number):
        self.counts["slice_begins"] += 1
        category = sequence.get("categories", event["categories"][0])["text"]
        facts = {}
        for annotation in event.get("annotations", []):
            name = sequence.get("annotation_names", annotation["name"])["text"]
            if "string_iid" in annotation:
                annotation["string"] = sequence.get("annotation_strings", annotation["string_iid"])[
                    "text"
                ]
            facts[name] = next(
                annotation[key] for key in ("bool", "uint", "string") if key in annotation
            )
        facts["name"] = sequence.get("event_names", event["name"])["text"]
        track = event["track"]
        if category not in TRACK_SEQUENCES[number]:
            fault("a slice of %s on sequence %d" % (category, number))
        if category in CALLS:
            self.open[track].append(
                (category, self.begin_call(facts, track, at_ns, category), at_ns)
            )
            return
        if category == "lagtrap.stage":
            if not self.open[track] or self.open[track][-1][1] != facts["run"]:
                fault("stage %s does not lie in its run %d" % (facts["name"], facts["run"]))
            self.counts["stages"] += 1
            self.runs[facts["run"]].setdefault("stages", []).append(
                [facts["name"], at_ns, facts["stage_tid"]]
            )
        else:
            if facts["run"] in self.runs:
                fault("run %d begins twice" % facts["run"])
            facts["begin_ns"] = at_ns
            facts["own_track"] = "thread" not in self.tracks.get(track, {})
            self.runs[facts["run"]] = facts
            self.counts["delays" if category == "lagtrap.delay" else "fast_runs"] += 1
            if facts["delay"] != (1 if category == "lagtrap.delay" else 0):
                fault("run %d is of category %s" % (facts["run"], category))
        self.open[track].append((category, facts["run"], at_ns))

    def frames(self, sequence, callstack):
        names = []
        for iid in sequence.get("callstacks", callstack)["frames"]:
            frame = sequence.get("frames", iid)
            mapping = sequence.get("mappings", frame["mapping"])
            path = "/".join(sequence.get("paths", path)["text"] for path in mapping["paths"])
            build_id = (
                sequence.get("build_ids", mapping["build_id"])["text"]
                if "build_id" in mapping
                else ""
            )
            self.modules[path] = build_id
            place = "%s+0x%x" % (path, frame["rel_pc"] - mapping.get("load_bias", 0))
            names.append(
                sequence.get("functions", frame["function"])["text"]
                if "function" in frame
                else place
            )
            self.places[path, build_id, frame["rel_pc"]] = True
            if "source" in frame:
                where = "%s:%d" % (
                    sequence.get("sources", frame["source"])["text"],
                    frame.get("line", 0),
                )
                self.lines.setdefault(names[-1], set()).add(where)
        return ";".join(names)

    def symbols_of(self, symbols):
        for address in symbols["addresses"]:
            place = symbols["path"], symbols["build_id"], address["address"]
            if place not in self.places:
                fault("symbols for %s+0x%x, where no frame is" % (place[0], place[2]))
            self.symbols["%s+0x%x" % (place[0], place[2])] = [
                [line.get("function", ""), line.get("source", ""), line.get("line", 0)]
                for line in address["lines"]
            ]

    def sample(self, sample, sequence, number):
        if number not in (3, 4, 5) or sequence.timebase is None:
            fault("sample on sequence %d without a timebase" % number)
        kind = {"off-cpu": "off_cpu", "history": "history"}.get(
            sequence.timebase.get("name"), "samples"
        )
        if (kind == "history") != (number == 5):
            fault(
                "a sample of the time base %s on sequence %d"
                % (sequence.timebase.get("name"), number)
            )
        self.counts[kind] += 1
        if sample["tid"] not in self.threads:
            fault("sample of thread %d, which nobody told of" % sample["tid"])
        if "callstack" in sample:
            stacks = {"off_cpu": self.off_cpu_stacks, "history": self.history_stacks}.get(
                kind, self.stacks
            )
            stacks["%d:%s" % (sample["tid"], self.frames(sequence, sample["callstack"]))] += 1

    def ftrace(self, bundle, number, at_ns, cause):
        if number != 16 + bundle["cpu"]:
            fault("events of CPU %d on sequence %d" % (bundle["cpu"], number))
        for event in bundle["events"]:
            if event["timestamp"] < max(at_ns, self.last_event_ns[bundle["cpu"]]):
                fault("event at %d on CPU %d is out of order" % (event["timestamp"], bundle["cpu"]))
            self.last_event_ns[bundle["cpu"]] = event["timestamp"]
            if "switch" in event:
                self.counts["switches"] += 1
                self.switch_states.append(event["switch"]["prev_state"])
                if event["switch"]["prev_state"] not in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256):
                    fault(
                        "state %d is none that the tracepoint shows" % event["switch"]["prev_state"]
                    )
                for side in ("prev", "next"):
                    tid = event["switch"][side + "_pid"]
                    if (
                        tid != 0
                        and self.threads[tid].get("name", "") != event["switch"][side + "_comm"]
                    ):
                        fault(
                            "thread %d is called %s in a switch"
                            % (tid, event["switch"][side + "_comm"])
                        )
            if "new_task" in event:
                self.counts["new_tasks"] += 1
            if "waking" in event:
                self.counts["wakings"] += 1
                self.wakings.append(
                    [
                        event["timestamp"],
                        event["pid"],
                        event["waking"]["pid"],
                        event.get("flags", 0),
                        cause.get("cause", 0),
                        cause.get("number", 0),
                        cause.get("device", ""),
                    ]
                )

    def finish(self):
        for track, slices in self.open.items():
            if slices:
                fault("track %d ends with %d slices open" % (track, len(slices)))


def main():
    with open(sys.argv[1], "rb") as file:
        data = memoryview(file.read())
    trace = Trace()
    try:
        for number, wire, value in fields(data):
            if number != 1 or wire != 2:
                fault("field %d in the trace" % number)
            else:
                trace.packet(decode("Packet", value))
        trace.finish()
    except (ValueError, IndexError, KeyError, UnicodeDecodeError) as problem:
        fault("%s: %s" % (type(problem).__name__, problem))
    summary = {
        "counts": trace.counts,
        "sequences": sorted(trace.sequences),
        "clocks": getattr(trace, "clocks", {}),
        "attributes": getattr(trace, "attributes", {}),
    }
    if len(sys.argv) > 2:
        limit = int(sys.argv[2])
        summary["threads"] = {
            tid: [t["tgid"], t.get("name", "")] for tid, t in list(trace.threads.items())[:limit]
        }
        summary["names"] = sorted(trace.names_seen)[:limit]
        summary["processes"] = dict(list(trace.processes.items())[:limit])
        summary["runs"] = dict(list(trace.runs.items())[:limit])
        summary["stacks"] = dict(trace.stacks.most_common(limit))
        summary["off_cpu_stacks"] = dict(trace.off_cpu_stacks.most_common(limit))
        summary["modules"] = trace.modules
        summary["switch_states"] = trace.switch_states[:limit]
        summary["wakings"] = trace.wakings[:limit]
        summary["wait_files"] = trace.wait_files[:limit]
        summary["wait_sockets"] = trace.wait_sockets[:limit]
        summary["written"] = trace.written[:limit]
        summary["group_memory"] = trace.group_memory[:limit]
        summary["wait_objects"] = trace.wait_objects[:limit]
        summary["history_waits"] = trace.history_waits[:limit]
        summary["history_stacks"] = dict(trace.history_stacks.most_common(limit))
        summary["switch_facts"] = trace.switch_facts[:limit]
        summary["lines"] = {name: sorted(lines) for name, lines in trace.lines.items()}
        summary["symbols"] = trace.symbols
        for name, category in (("calls", "lagtrap.call"), ("function_calls", "lagtrap.function")):
            summary[name] = [
                {key: value for key, value in call.items() if key != "above"}
                for call in trace.calls[category][:limit]
            ]
    json.dump(summary, sys.stdout, sort_keys=True, indent=1)
    print()
    for line in faults:
        print("fault: " + line, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

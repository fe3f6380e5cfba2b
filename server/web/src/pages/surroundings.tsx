// The surroundings of a delay: program, machine, what used the CPUs meanwhile, what was started.
import type { ComponentChildren } from "preact";
import { BuildName } from "../builds";
import { eventAddress } from "../filters";
import { formatBytes, formatDifference, formatDuration, formatShare, plural } from "../format";
import { MaskedNote, Scroll, Section, Shortened } from "../parts";
import type { Delay, Surroundings } from "../types";

export function userOf(delay: Delay): string {
  const uid = delay.surroundings?.uid ?? null;
  if (delay.user !== "") return delay.user;
  return uid === null ? "" : uid === 0 ? "root" : `uid ${uid}`;
}

export function SurroundingsView({ delay, around }: { delay: Delay; around: Surroundings }) {
  const { machine } = around;
  const facts: [string, ComponentChildren][] = [
    [
      "Program",
      around.program !== "" && (
        <>
          <span class="code">{around.program}</span>
          {around.program_version !== "" && ` (${around.program_version})`}
        </>
      ),
    ],
    ["Command line", around.command_line !== "" && <span class="code">{around.command_line}</span>],
    [
      "Build",
      delay.build !== "" && (
        <a
          href={eventAddress(delay.event, { build: [delay.build] })}
          title={`Runs of build ${delay.build}`}>
          <BuildName id={delay.build} />
        </a>
      ),
    ],
    ["User", userOf(delay)],
    [
      "Unit",
      delay.unit !== "" && (
        <a href={eventAddress(delay.event, { unit: [delay.unit] })}>
          <Shortened text={delay.unit} most={60} />
        </a>
      ),
    ],
    ["Kernel", [machine.kernel, machine.architecture].filter((part) => part !== "").join(", ")],
    ["System", machine.os],
    [
      "Machine",
      machine.cpus > 0 &&
        [
          plural(machine.cpus, "CPU"),
          machine.cpu_model,
          machine.memory_bytes > 0 ? formatBytes(machine.memory_bytes) : "",
        ]
          .filter((part) => part !== "")
          .join(", "),
    ],
  ];
  return (
    <Section title="Program and machine" id="surroundings">
      <details>
        <summary>Program, command line, machine and CPU use</summary>
        <dl class="facts" data-testid="surroundings">
          {facts
            .filter(([, value]) => value !== "" && value !== false)
            .map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
        </dl>
        <MaskedNote
          texts={[around.command_line, ...around.started.map((one) => one.command_line)]}
        />
        {around.cpu_holders.length > 0 && <Holders delay={delay} around={around} />}
        {around.cpu_use && <CpuUse use={around.cpu_use} pid={delay.pid} />}
        {around.started.length > 0 && (
          <details class="sub">
            <summary>
              {plural(around.started.length, "process", "processes")} started shortly before or
              during the delay
            </summary>
            <Scroll label="Processes that were started">
              <table class="list compact">
                <thead>
                  <tr>
                    <th scope="col" class="number">
                      Relative to start
                    </th>
                    <th scope="col">Process</th>
                    <th scope="col">Command line</th>
                  </tr>
                </thead>
                <tbody>
                  {around.started.map((one, index) => (
                    <tr key={index}>
                      <td class="number">{formatDifference(one.offset_ns)}</td>
                      <th scope="row">
                        {one.process} <span class="muted">{one.pid}</span>
                      </th>
                      <td class="code command" title={one.command_line}>
                        {one.command_line}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          </details>
        )}
      </details>
    </Section>
  );
}

function Holders({ delay, around }: { delay: Delay; around: Surroundings }) {
  return (
    <div class="sub" data-testid="cpu-holders">
      <h3>Who had the CPU while the delay waited for one ({formatDuration(delay.runnable_ns)})</h3>
      <ul>
        {around.cpu_holders.map((holder, index) => (
          <li key={index}>
            <strong>{holder.process}</strong> {formatDuration(holder.time_ns)}
            <span class="muted">
              {" "}
              pid {holder.pid}
              {holder.threads > 1
                ? `, ${plural(holder.threads, "thread")}, mostly ${holder.thread}`
                : `, thread ${holder.thread}`}
              {holder.unit !== "" && (
                <>
                  , <Shortened text={holder.unit} />
                </>
              )}
              {holder.real_time_priority > 0 && `, real-time priority ${holder.real_time_priority}`}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function CpuUse({ use, pid }: { use: NonNullable<Surroundings["cpu_use"]>; pid: number }) {
  if (use.known_ns === 0) return null;
  const share = (ns: number) => formatShare(Math.min(1, ns / use.known_ns));
  return (
    <details class="sub">
      <summary>CPU use of all processes during the delay</summary>
      <Scroll label="CPU time of processes">
        <table class="list compact" data-testid="cpu-use">
          <thead>
            <tr>
              <th scope="col">Process</th>
              <th scope="col" class="number">
                On CPU
              </th>
              <th scope="col" class="number">
                Share of all CPUs
              </th>
              <th scope="col">Unit</th>
              <th scope="col">Command line</th>
            </tr>
          </thead>
          <tbody>
            {use.processes.map((one) => (
              <tr key={one.pid}>
                <th scope="row">
                  {one.process}{" "}
                  <span class="muted">
                    {one.pid}
                    {one.pid === pid && ", the delayed process"}
                  </span>
                </th>
                <td class="number">{formatDuration(one.on_cpu_ns)}</td>
                <td class="number">{share(one.on_cpu_ns)}</td>
                <td>
                  <Shortened text={one.unit} most={32} />
                </td>
                <td class="code command" title={one.command_line}>
                  {one.command_line}
                </td>
              </tr>
            ))}
            {use.other_processes > 0 && (
              <tr>
                <th scope="row" class="muted">
                  {plural(use.other_processes, "other process", "other processes")}
                </th>
                <td class="number">{formatDuration(use.others_ns)}</td>
                <td class="number">{share(use.others_ns)}</td>
                <td />
                <td />
              </tr>
            )}
            <tr>
              <th scope="row" class="muted">
                idle
              </th>
              <td class="number">{formatDuration(use.idle_ns)}</td>
              <td class="number">{share(use.idle_ns)}</td>
              <td />
              <td />
            </tr>
          </tbody>
        </table>
      </Scroll>
      <MaskedNote texts={use.processes.map((one) => one.command_line)} />
    </details>
  );
}

// The call stacks recorded at the begin of a stage, and the stage's durations with each.
import { useEffect, useRef } from "preact/hooks";
import { type Filters, apiQuery } from "../filters";
import { formatCount, formatDuration, frameName } from "../format";
import { useGet } from "../load";
import { foldName } from "../names";
import { Ready, StackList } from "../parts";
import { setQuery } from "../router";
import type { StageStacks } from "../types";

export function StageStackList({
  event,
  filters,
  stage,
}: {
  event: string;
  filters: Filters;
  stage: string;
}) {
  const loaded = useGet<StageStacks>(
    `/api/v1/events/${encodeURIComponent(event)}/stages${apiQuery(filters, { stage })}`,
  );
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.scrollIntoView?.({ block: "nearest" }), [stage]);
  return (
    <div
      class="sub"
      role="region"
      aria-label={`Call stacks at stage ${stage}`}
      ref={place}
      data-testid="stage-stacks">
      <div class="sub-head">
        <h3>
          Call stacks at stage <span class="code">{stage}</span>
        </h3>
        <button type="button" class="quiet" onClick={() => setQuery({ stage: undefined })}>
          Close
        </button>
      </div>
      <Ready of={loaded}>
        {(data) =>
          data.stacks.length === 0 ? (
            <p class="muted">
              No call stacks were recorded at this stage. To record one at each marker, give the
              event <code>stacks="markers"</code> in the settings.
            </p>
          ) : (
            <>
              {data.runs_read >= data.runs_read_most && (
                <p class="muted">
                  From the newest {formatCount(data.runs_read)} matching runs; older ones are not
                  included.
                </p>
              )}
              <table class="list compact stacks">
                <thead>
                  <tr>
                    <th scope="col" class="number">
                      Hits
                    </th>
                    <th scope="col" class="number">
                      Median
                    </th>
                    <th scope="col" class="number">
                      Longest
                    </th>
                    <th scope="col">Call stack, innermost first</th>
                  </tr>
                </thead>
                <tbody>
                  {data.stacks.map((stack, index) => (
                    <tr key={index}>
                      <td class="number">{formatCount(stack.hits)}</td>
                      <td class="number">{formatDuration(stack.median_ns)}</td>
                      <td class="number">{formatDuration(stack.longest_ns)}</td>
                      <td>
                        {stack.frames.length === 0 ? (
                          <span class="muted">no call stack</span>
                        ) : (
                          <details open={index === 0}>
                            <summary
                              class="code"
                              title={stack.frames.slice(0, 3).map(frameName).join("\n")}>
                              {stack.frames
                                .slice(0, 3)
                                .map((frame) => foldName(frameName(frame)))
                                .join(" ← ")}
                            </summary>
                            <StackList frames={stack.frames} />
                          </details>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </>
          )
        }
      </Ready>
    </div>
  );
}

// How the event's percentiles went over time, and whether they got worse.
import { TrendChart } from "../charts/trend_chart";
import { type Filters, apiQuery } from "../filters";
import { useClock, useGet } from "../load";
import { Ready, Section } from "../parts";
import type { Trend } from "../types";
import { VerdictTag, verdictSentence } from "../verdict";

export function TrendSection({ event, filters }: { event: string; filters: Filters }) {
  useClock(60e3);
  const all_time = filters.span === undefined && filters.from === undefined && filters.to === undefined;
  const shown: Filters = all_time ? { ...filters, span: "30d" } : filters;
  const loaded = useGet<Trend>(`/api/v1/events/${encodeURIComponent(event)}/trend${apiQuery(shown)}`);
  return (
    <Section title={all_time ? "Over time: the last 30 days against those before" : "Over time, against the time before"} id="trend">
      <Ready of={loaded} height={260}>
        {(trend) =>
          trend.units.runs.every((runs) => runs === 0) ? <p class="muted">There are no runs in this time, nor in the time before.</p> : (
            <>
              <p class="verdict" data-testid="trend-verdict">{trend.verdict !== "untested" && <><VerdictTag trend={trend} brief />{" "}</>}<strong>{verdictSentence(trend)}</strong></p>
              <TrendChart trend={trend} />
            </>
          )
        }
      </Ready>
    </Section>
  );
}

// The event's percentiles over time, and whether they got worse.
import { TrendChart } from "../charts/trend_chart";
import { type Filters, apiQuery } from "../filters";
import { type Loaded, useClock, useGet } from "../load";
import { Help } from "../help";
import { Ready, Section } from "../parts";
import type { Trend } from "../types";
import { VerdictSentence, VerdictTag } from "../verdict";

function isAllTime(filters: Filters): boolean {
  return filters.span === undefined && filters.from === undefined && filters.to === undefined;
}

export function useTrend(event: string, filters: Filters): Loaded<Trend> {
  useClock(60e3);
  const shown: Filters = isAllTime(filters) ? { ...filters, span: "30d" } : filters;
  return useGet<Trend>(`/api/v1/events/${encodeURIComponent(event)}/trend${apiQuery(shown)}`);
}

// The verdict, above the picture.
export function TrendVerdict({ trend: loaded }: { trend: Loaded<Trend> }) {
  const trend = loaded.data;
  if (trend === null || trend.units.runs.every((runs) => runs === 0))
    return <p class="verdict">&nbsp;</p>;
  return (
    <p class="verdict" data-testid="trend-verdict">
      {trend.verdict !== "untested" && (
        <>
          <VerdictTag trend={trend} brief />{" "}
        </>
      )}
      <strong>
        <VerdictSentence trend={trend} />
      </strong>
    </p>
  );
}

export function TrendSection({
  trend: loaded,
  filters,
}: {
  trend: Loaded<Trend>;
  filters: Filters;
}) {
  return (
    <Section title={isAllTime(filters) ? "Trend, last 30 days" : "Trend"} id="trend">
      <Ready of={loaded} height={260}>
        {(trend) =>
          trend.units.runs.every((runs) => runs === 0) ? (
            <p class="muted">No runs in this period or the one before.</p>
          ) : (
            <>
              <TrendChart trend={trend} />
              <Help of={["level", "p"]} />
            </>
          )
        }
      </Ready>
    </Section>
  );
}

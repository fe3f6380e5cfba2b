// Explains the pages' terms where they appear.

const meanings = {
  q: [
    "q",
    "Of the causes (or changes) listed at this q or below, the share that chance alone would " +
      "produce. Listed are those with q up to 0.05: at most 1 in 20 of them is wrong.",
  ],
  p: [
    "p",
    "How often chance alone produces a difference this large. Unlike q, " +
      "it does not account for the number of tests.",
  ],
  signature: [
    "signature",
    "Identifies a cause across builds, hosts and inlining. It is computed from the reason for " +
      "waiting and from functions of your program.",
  ],
  extra: [
    "extra time",
    "The time that delayed runs take beyond normal runs of the same host. " +
      "The shares of all causes and the unexplained share add up to 100 %.",
  ],
  dirty: [
    "dirty",
    "Disturbed by something outside the program: the machine slept, the clock was set, " +
      "the thread exited, or the operation failed or was cancelled. Dirty runs are hidden, " +
      "with the reason, and never deleted. Being slow does not make a run dirty.",
  ],
  outlier: [
    "outlier",
    "A run whose duration clearly differs from other runs of the same event, start and build. " +
      "Outliers are marked but included, because slow runs are what you look for.",
  ],
  weight: [
    "weight",
    "The number of runs that a stored run represents. A machine that exceeds its limit sends " +
      "only a sample. Counts and percentiles use the weights.",
  ],
  level: [
    "level change",
    "The hour or day from which a figure stays higher or lower than before, " +
      "beyond its usual hourly, daily and weekly variation.",
  ],
  certain: [
    "bold",
    "Significantly different from the period before (q up to 0.05). " +
      "Other differences may be chance.",
  ],
  evidence: [
    "interval",
    "In 95 of 100 such comparisons, the true difference lies within the interval. " +
      "If the interval contains zero, the difference is not significant.",
  ],
} as const;

export function Help({
  of,
  label = "Explain these terms",
}: {
  of: (keyof typeof meanings)[];
  label?: string;
}) {
  return (
    <details class="help">
      <summary>{label}</summary>
      <dl>
        {of.map((word) => (
          <div key={word}>
            <dt>{meanings[word][0]}</dt>
            <dd>{meanings[word][1]}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

// Explains the pages' terms where they appear.

const meanings = {
  q: ["q", "The share of causes (or changes) named with this certainty that chance alone would name. Those at 0.05 or less are shown: at most 1 in 20 of them is wrong."],
  p: ["p", "How often chance alone gives a difference this large. It does not count how many were looked at; q does."],
  signature: ["signature", "The digits that make a cause the same cause over builds, hosts and inlining: from what was waited for and the functions that belong to your program."],
  extra: ["extra time", "What delayed runs took beyond normal runs of the same host, place by place. The shares of the causes and of what no cause explains add up to all of it."],
  dirty: ["dirty", "Disturbed by something that is not the program's: the machine slept, the clock was set, its thread exited, or the operation failed or was cancelled. Hidden with the reason and never deleted; being slow alone makes no run dirty."],
  outlier: ["outlier", "A duration that differs plainly from the others of its event, start and build. Marked and shown, because slow runs are what you look for."],
  weight: ["weight", "How many runs a stored one stands for: where a machine had more runs than it may send, it sent a part of them. Counts and percentiles use the weights."],
  level: ["change of level", "The hour or day from which on the figure stays higher or lower than before, beyond what varies by the hour and comes round every day or week."],
  certain: ["in bold", "Differs from the time before by more than chance (q at most 0.05). What is not bold may be chance."],
  evidence: ["interval", "The true difference lies within it in 95 of 100 comparisons like this one. Where it holds zero there is no evidence of a difference."],
} as const;

export function Help({ of, label = "What these words mean" }: { of: (keyof typeof meanings)[]; label?: string }) {
  return (
    <details class="help">
      <summary>{label}</summary>
      <dl>{of.map((word) => <div key={word}><dt>{meanings[word][0]}</dt><dd>{meanings[word][1]}</dd></div>)}</dl>
    </details>
  );
}

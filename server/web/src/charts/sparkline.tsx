// A figure over time as a small line: the earlier period in grey, then the current one.

// The points of polylines; the line is broken where the value is unknown.
export function sparkParts(
  values: number[],
  width: number,
  height: number,
  gap_at_zero: boolean,
): string[] {
  const highest = Math.max(...values, 1e-9);
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const parts: string[] = [];
  let part: string[] = [];
  const close = () => {
    // A single point is drawn as a short line.
    if (part.length === 1) {
      const [x, y] = part[0].split(",").map(Number);
      part.push(`${x + 1},${y}`);
    }
    if (part.length > 0) parts.push(part.join(" "));
    part = [];
  };
  values.forEach((value, index) => {
    if (value === 0 && gap_at_zero) return close();
    part.push(
      `${(index * step).toFixed(1)},${(height - 1 - (value / highest) * (height - 2)).toFixed(1)}`,
    );
  });
  close();
  return parts;
}

export function Sparkline({
  values,
  split,
  gaps = false,
  tone,
}: {
  values: number[];
  split: number;
  gaps?: boolean;
  tone?: "bad";
}) {
  const width = 96;
  const height = 20;
  const parts = sparkParts(values, width, height, gaps);
  const at = values.length > 1 ? (split / (values.length - 1)) * width : 0;
  return (
    <svg class={`spark ${tone ?? ""}`} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <line x1={at} x2={at} y1="0" y2={height} />
      {parts.map((points, index) => (
        <polyline key={index} points={points} />
      ))}
    </svg>
  );
}

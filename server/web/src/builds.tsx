// Shows builds by the names that people gave them.
import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { shortId } from "./format";

interface Labels {
  labels: { build: string; name: string }[];
}

let names: Promise<Map<string, string>> | null = null;

// The names are loaded once, and forgotten when the session ends.
export function forgetBuildNames(): void {
  names = null;
}

function buildNames(): Promise<Map<string, string>> {
  names ??= get<Labels>("/api/v1/builds").then(
    (answer) => new Map(answer.labels.map((label) => [label.build, label.name])),
    () => {
      names = null;
      return new Map<string, string>();
    },
  );
  return names;
}

export function useBuildNames(): Map<string, string> {
  const [known, setKnown] = useState<Map<string, string>>(() => new Map());
  useEffect(() => {
    let here = true;
    void buildNames().then((found) => here && setKnown(found));
    return () => {
      here = false;
    };
  }, []);
  return known;
}

export function BuildName({ id }: { id: string }) {
  const name = useBuildNames().get(id);
  if (id === "") return <span class="muted">not known</span>;
  return name === undefined ? (
    <span class="code" title={id}>
      {shortId(id)}
    </span>
  ) : (
    <span title={`build ${id}`}>{name}</span>
  );
}

// What people type.
import { useEffect, useRef, useState } from "preact/hooks";

// Whether somebody types in an element: its keys are no commands, and the focus stays there.
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
  );
}

// The text of a field that is also in the address: written there after a pause in typing, and read
// from there if it changes in another way.
export function useTyped(
  value: string,
  pause_ms: number,
  write: (text: string) => void,
): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const written = useRef(value);
  useEffect(() => {
    // What this field wrote must not undo what was typed since.
    if (value !== written.current) setText(value);
    written.current = value;
  }, [value]);
  useEffect(() => {
    if (text === written.current) return undefined;
    const timer = setTimeout(() => {
      written.current = text;
      write(text);
    }, pause_ms);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}

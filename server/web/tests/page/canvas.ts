// A canvas's context that writes down what is drawn, one line for each shape and text.

const width_of_letter = 6;

const round = (value: number) => String(Math.round(value * 10) / 10);

// What a canvas shows: everything since it was last cleared.
export class Drawing {
  lines: string[] = [];
  fillStyle = "";
  strokeStyle = "";
  lineWidth = 1;
  globalAlpha = 1;
  font = "";
  textAlign = "";
  textBaseline = "";
  transform: number[] = [];
  cleared: number[] = [];
  private dash: number[] = [];
  private path: string[] = [];

  private say(what: string, colour: string): void {
    const opacity = this.globalAlpha === 1 ? "" : ` opacity ${round(this.globalAlpha * 100)} %`;
    this.lines.push(`${colour}${opacity} ${what}`);
  }
  private step(name: string, ...values: number[]): void {
    this.path.push([name, ...values.map(round)].join(" "));
  }

  setTransform(...matrix: number[]): void {
    this.transform = matrix;
  }
  clearRect(left: number, top: number, width: number, height: number): void {
    this.cleared = [left, top, width, height];
    this.lines = [];
  }
  fillRect(left: number, top: number, width: number, height: number): void {
    this.say(`box ${[left, top, width, height].map(round).join(" ")}`, this.fillStyle);
  }
  strokeRect(left: number, top: number, width: number, height: number): void {
    const box = [left, top, width, height].map(round).join(" ");
    this.say(`frame ${box} line ${this.lineWidth}`, this.strokeStyle);
  }
  fillText(text: string, left: number, top: number): void {
    const aligned = this.textAlign === "" ? "" : ` ${this.textAlign}`;
    this.say(`"${text}" at ${round(left)} ${round(top)}${aligned}`, this.fillStyle);
  }
  measureText(text: string): { width: number } {
    return { width: text.length * width_of_letter };
  }
  beginPath(): void {
    this.path = [];
  }
  moveTo(x: number, y: number): void {
    this.step("from", x, y);
  }
  lineTo(x: number, y: number): void {
    this.step("to", x, y);
  }
  rect(left: number, top: number, width: number, height: number): void {
    this.step("box", left, top, width, height);
  }
  clip(): void {
    this.lines.push(`within ${this.path.join(" ")}`);
  }
  stroke(): void {
    const dashes = this.dash.length > 0 ? ` dashes ${this.dash.join(" ")}` : "";
    this.say(`line ${this.path.join(" ")} line ${this.lineWidth}${dashes}`, this.strokeStyle);
  }
  fill(): void {
    this.say(`shape ${this.path.join(" ")}`, this.fillStyle);
  }
  setLineDash(dash: number[]): void {
    this.dash = dash;
  }
  translate(x: number, y: number): void {
    this.lines.push(`moved ${round(x)} ${round(y)}`);
  }
  rotate(angle: number): void {
    this.lines.push(`turned ${round((angle * 180) / Math.PI)} degrees`);
  }
  save(): void {
    this.lines.push("{");
  }
  restore(): void {
    this.lines.push("}");
  }
}

const drawings = new WeakMap<object, Drawing>();

export function drawingOf(canvas: object): Drawing {
  const known = drawings.get(canvas) ?? new Drawing();
  drawings.set(canvas, known);
  return known;
}

// busy.js [FILE]: computes until it is killed or FILE exists; spends nearly all of the time in
// plantedInner, called by plantedOuter.
"use strict";

function plantedInner(count) {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += Math.sqrt(i) * ((i % 7) + 1);
  return sum;
}

function plantedOuter(times) {
  let sum = 0;
  for (let i = 0; i < times; i++) sum += plantedInner(20000);
  return sum;
}

const fs = require("fs");
const file = process.argv[2];
let sum = 0;
for (let i = 0; i < 100; i++) sum += plantedOuter(20);
fs.writeSync(1, "ready\n");
while (!file || !fs.existsSync(file)) sum += plantedOuter(20);

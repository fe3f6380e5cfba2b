// One delay: flame graph, timeline, top stacks, downloads, Perfetto.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, delayPath, keep, openPage, parameter, world } from "./support.mjs";

const graph = (page) => page.getByRole("application", { name: /^Flame graph/ });
const canvas = (page) => page.locator("#flame canvas.flame-canvas");
const readout = (page) => page.locator("#flame").getByTestId("flame-readout");
async function pixels(page) {
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  return canvas(page).evaluate((element) => element.toDataURL());
}

test("search marks what it finds, says how much it is, and stands in the address", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  await canvas(page).waitFor();
  const before = await pixels(page);
  await page.keyboard.press("/");
  await page.keyboard.type(world.delay.function);
  const found = page.getByTestId("flame-found");
  await page.waitForFunction(() =>
    /% in \d+ match/.test(document.querySelector("[data-testid=flame-found]").innerText),
  );
  await page.waitForURL(/search=/);
  assert.notEqual(await pixels(page), before);
  await page.keyboard.press("Enter");
  assert.match(await found.innerText(), /at 1$/);
  await page.waitForFunction(
    (name) =>
      document.querySelector("#flame [data-testid=flame-readout]").innerText.startsWith(name),
    world.delay.function,
  );
  await keep(page, "flame-search", { fullPage: true });
  await page.goto(page.url());
  await page.waitForFunction(() =>
    /% in \d+ match/.test(document.querySelector("[data-testid=flame-found]")?.innerText),
  );
  await page.locator("[name=flame-search]").fill("/(/");
  await page.getByText("not a regular expression").waitFor();
  await page.locator("[name=flame-search]").fill("no function has this name");
  await page.waitForFunction(() =>
    document.querySelector("[data-testid=flame-found]").innerText.startsWith("0 % in 0 matches"),
  );
  await done();
});

test("letters typed while the address takes the earlier ones are kept", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  await canvas(page).waitFor();
  const [early, whole] = [world.delay.function.slice(0, 4), world.delay.function];
  await page.evaluate(
    ([early, whole]) => {
      const replace = window.history.replaceState.bind(window.history);
      window.history.replaceState = (...given) => {
        replace(...given);
        const box = document.querySelector("[name=flame-search]");
        if (box.value !== early) return;
        box.value = whole;
        box.dispatchEvent(new Event("input", { bubbles: true }));
      };
    },
    [early, whole],
  );
  await page.locator("[name=flame-search]").fill(early);
  await page.waitForURL((url) => url.searchParams.get("search") === whole);
  assert.equal(await page.locator("[name=flame-search]").inputValue(), whole);
  await done();
});

test("an address with a search opens at the match; states are found by either name", async () => {
  const { page, go, done } = await openPage();
  await go(`${delayPath(world.delay)}?search=${world.delay.function}`);
  await page.waitForFunction(
    (name) =>
      document.querySelector("#flame [data-testid=flame-readout]")?.innerText.startsWith(name),
    world.delay.function,
  );
  for (const state of ["[lock (futex)]", "blocked: lock (futex)"]) {
    await page.locator("[name=flame-search]").fill(state);
    await page.waitForFunction(() =>
      /in [1-9]\d* match/.test(document.querySelector("[data-testid=flame-found]").innerText),
    );
    await page.waitForFunction(() =>
      document
        .querySelector("#flame [data-testid=flame-readout]")
        .innerText.startsWith("blocked: lock (futex)"),
    );
  }
  await page.getByRole("button", { name: "all frames" }).click();
  await page.waitForURL(/frames=all/);
  await canvas(page).waitFor();
  await done();
});

test("the graph is walked, zoomed and left with the keyboard", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  await canvas(page).waitFor();
  await graph(page).focus();
  const whole = await pixels(page);
  const names = [];
  for (let step = 0; step < 5; ++step) {
    await page.keyboard.press("ArrowDown");
    names.push(await readout(page).innerText());
  }
  assert.equal(new Set(names).size, 5, names.join("\n"));
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForURL(/zoom=/);
  assert.notEqual(await pixels(page), whole);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !window.location.search.includes("zoom="));
  await done();
});

test("a click zooms; inverted, the functions with time of their own stand at the top", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  await canvas(page).scrollIntoViewIfNeeded();
  const box = await canvas(page).boundingBox();
  await page.mouse.click(box.x + box.width * 0.2, box.y + 4 * 18 + 9);
  await page.waitForURL(/zoom=/);
  await page.getByRole("button", { name: "Whole graph" }).click();
  assert.equal(parameter(page, "zoom"), null);
  const top = await page.getByTestId("top-stacks").locator("tbody tr").first().innerText();
  await page.getByRole("button", { name: "inverted" }).click();
  await page.waitForURL(/view=inverted/);
  await graph(page).focus();
  await page.keyboard.press("ArrowDown");
  const first = (await readout(page).innerText()).split(":")[0];
  assert.ok(top.includes(first.split(/\s+\(/)[0]), `${top} against ${first}`);
  await keep(page, "flame-inverted");
  await done();
});

test("against normal runs, the difference is told and coloured", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  await canvas(page).waitFor();
  const before = await pixels(page);
  await page.getByRole("button", { name: "against normal runs" }).click();
  await page.getByTestId("difference-legend").waitFor();
  assert.notEqual(await pixels(page), before);
  assert.match(await readout(page).innerText(), /normal runs .+, [+−]/);
  await keep(page, "flame-difference");
  const wide = await pixels(page);
  await page.getByRole("button", { name: "width: normal" }).click();
  await page.waitForURL(/width=normal/);
  assert.notEqual(await pixels(page), wide);
  await done();
});

test("a large graph on a canvas no larger than the window is searched and inverted", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.big_delay));
  await canvas(page).waitFor();
  assert.equal(Number(await canvas(page).getAttribute("data-nodes")), world.big_delay.nodes);
  assert.ok((await canvas(page).evaluate((element) => element.height)) <= 1200);
  const top = await pixels(page);
  // Each line has another function under the mouse.
  await canvas(page).scrollIntoViewIfNeeded();
  const box = await canvas(page).boundingBox();
  const seen = new Set();
  for (let line = 0; line < 5; ++line) {
    await page.mouse.move(box.x + box.width / 4, box.y + line * 18 + 9);
    seen.add(await readout(page).innerText());
  }
  assert.equal(seen.size, 5, [...seen].join("\n"));
  const scroller = page.locator("#flame .flame-scroller");
  await scroller.evaluate((element) => (element.scrollTop = 400));
  assert.notEqual(await pixels(page), top);
  await page.locator("[name=flame-search]").fill("step_1");
  await page.waitForFunction(() =>
    /in [\d,]+ matches/.test(document.querySelector("[data-testid=flame-found]").innerText),
  );
  await page.getByRole("button", { name: "inverted" }).click();
  await page.waitForURL(/view=inverted/);
  await canvas(page).waitFor();
  await keep(page, "flame-large");
  await done();
});

test("a hostile name of a function is text", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  const table = page.getByTestId("top-stacks");
  await table.getByText(world.delay.hostile_function).first().waitFor();
  await page.locator("[name=flame-search]").fill(world.delay.hostile_function);
  await page.waitForFunction(() =>
    /in [1-9]\d* match/.test(document.querySelector("[data-testid=flame-found]").innerText),
  );
  await page.locator("[name=flame-search]").press("Enter");
  await page.waitForFunction(
    (name) =>
      document.querySelector("#flame [data-testid=flame-readout]").innerText.startsWith(name),
    world.delay.hostile_function,
  );
  assert.equal(await page.locator("main script, main img, main iframe").count(), 0);
  assert.match(await page.title(), /lagtrap$/);
  await keep(page, "hostile-function");
  await done();
});

test("the timeline names states and wakers, with the keyboard too", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  const timeline = page.getByRole("application", { name: "Timeline of the thread" });
  await timeline.focus();
  const told = page.getByTestId("timeline-readout");
  const seen = [];
  for (let step = 0; step < 12; ++step) {
    await page.keyboard.press("ArrowRight");
    seen.push(await told.innerText());
  }
  assert.equal(new Set(seen).size, 12);
  assert.match(seen.join("\n"), /^(on CPU|runnable|blocked|unknown)/m);
  await page.getByTestId("interval").waitFor();
  await page.keyboard.press("+");
  await page.getByRole("button", { name: "Whole delay" }).click();
  await timeline.scrollIntoViewIfNeeded();
  await keep(page, "timeline");
  await done();
});

test("the bundle and its system file are to be had", async () => {
  const { page, go, context, done } = await openPage();
  await go(delayPath(world.delay));
  const link = page.getByRole("link", { name: "Download bundle" });
  const file = await context.request.get(world.url + (await link.getAttribute("href")));
  assert.equal(file.status(), 200);
  assert.ok((await file.body()).length > 0);
  const system = await context.request.get(
    world.url + (await page.getByRole("link", { name: "System file" }).getAttribute("href")),
  );
  assert.equal(system.status(), 200);
  assert.match(system.headers()["content-type"], /xml/);
  await done();
});

test("the delay is to be had in the forms that the server lists", async () => {
  const { page, go, context, done } = await openPage();
  await go(`${delayPath(world.delay)}?state=off-cpu`);
  const { formats } = await (await context.request.get(`${world.url}/api/v1/formats`)).json();
  for (const form of formats) {
    const link = page.getByRole("link", { name: form.title, exact: true });
    await link.waitFor();
    const href = await link.getAttribute("href");
    assert.match(
      href,
      new RegExp(`/delays/${world.delay.number}/export\\?format=${form.name}&state=off-cpu$`),
    );
    assert.equal((await context.request.get(world.url + href)).status(), 200, href);
  }
  await done();
});

// The Perfetto UI itself cannot be reached here; its side of the protocol is small.
test('"Open in Perfetto" hands the trace over once the other window answers', async () => {
  const { page, go, context, done } = await openPage();
  await context.route("https://ui.perfetto.dev/**", (route) =>
    route.fulfill({
      contentType: "text/html",
      body: `<script>let pings = 0; window.got = []; addEventListener("message", (event) => {
        if (event.data === "PING") {
          if (++pings > 2) event.source.postMessage("PONG", event.origin);
        } else if (event.data.perfetto) window.got.push(event.data.perfetto);
      });</script>`,
    }),
  );
  await go(delayPath(world.delay));
  const opened = context.waitForEvent("page");
  await page.getByRole("button", { name: "Open in Perfetto" }).click();
  const other = await opened;
  await page.getByText("Opened in the Perfetto UI.").waitFor();
  await other.waitForFunction(() => window.got.length > 0);
  const [first] = await other.evaluate(() =>
    window.got.map((message) => ({ ...message, bytes: message.buffer?.byteLength })),
  );
  assert.ok(first.bytes > 0);
  assert.ok(first.title.length > 0);
  assert.ok(first.url.includes(world.delay.bundle));
  await done();
});

test("without a way to the Perfetto UI, the page offers the trace as a file", async () => {
  const { page, go, context, done } = await openPage();
  await context.route("https://ui.perfetto.dev/**", (route) => route.abort("addressunreachable"));
  // Checked in the page: the browser driver may never see a window that closes at once.
  await page.addInitScript(() => {
    const open = window.open.bind(window);
    window.open = (...wanted) => (window.opened = open(...wanted));
  });
  await go(delayPath(world.delay));
  await page.getByRole("button", { name: "Open in Perfetto" }).click();
  await page
    .getByText(/ui\.perfetto\.dev cannot be reached from this browser.*--trace-viewer/)
    .waitFor();
  await page.waitForFunction(() => window.opened.closed);
  const coming = page.waitForEvent("download");
  await page.getByRole("link", { name: "Trace (.pftrace)" }).click();
  assert.match((await coming).suggestedFilename(), /trace$/);
  await done();
});

test("a delay says of what program and machine it is, and who had the CPUs", async () => {
  const { page, go, done } = await openPage();
  const { bundle, number } = world.delay;
  await go(delayPath(world.delay));
  const [delay] = (
    await (
      await page.request.get(`${world.url}/api/v1/bundles/${bundle}/delays?number=${number}`)
    ).json()
  ).delays;
  const around = page.getByTestId("surroundings");
  await page.getByText("Program, command line, machine and CPU use").click();
  await around.waitFor();
  const text = await around.innerText();
  for (const value of [
    delay.surroundings.machine.kernel,
    delay.surroundings.command_line,
    delay.surroundings.program,
  ])
    assert.ok(text.includes(value), `${value} in ${text}`);
  const uses = delay.surroundings.cpu_use.processes;
  await page.getByText("CPU use of all processes during the delay").click();
  for (const one of uses)
    await page
      .getByTestId("cpu-use")
      .getByRole("row", { name: `${one.process} ${one.pid}` })
      .first()
      .waitFor();
  for (const holder of delay.surroundings.cpu_holders)
    await page
      .getByTestId("cpu-holders")
      .getByText(holder.process, { exact: true })
      .first()
      .waitFor();
  await keep(page, "surroundings", { fullPage: true });
  await done();
});

test("a bundle that cannot be read says why and can still be downloaded", async () => {
  const { page, go, done } = await openPage();
  await go(`/bundle/${world.bad_bundle}`);
  await page.getByText("This bundle cannot be read.").waitFor();
  assert.ok((await page.locator("main .problem").innerText()).length > 10);
  await page.getByRole("link", { name: "Download bundle" }).waitFor();
  await keep(page, "bad-bundle");
  await done();
});

test("from delay to delay in order of time, and back", async () => {
  const { page, go, context, done } = await openPage();
  const { bundle, number } = world.delay;
  const asked = async (path) => (await (await context.request.get(world.url + path)).json()).delays;
  const [{ event }] = await asked(`/api/v1/bundles/${bundle}/delays?number=${number}`);
  const [newest] = await asked(`/api/v1/delays?event=${encodeURIComponent(event)}&limit=1`);
  await go(`/bundle/${newest.bundle}/${newest.number}`);
  const neighbours = page.getByRole("navigation", { name: "Delays of this event by time" });
  await neighbours.getByRole("link", { name: "Previous delay" }).click();
  await page.waitForURL((url) => url.pathname !== `/bundle/${newest.bundle}/${newest.number}`);
  const older = new URL(page.url()).pathname;
  await neighbours.getByRole("link", { name: "Next delay" }).waitFor();
  const [found] = await asked(
    `/api/v1/bundles/${older.split("/")[2]}/delays?number=${older.split("/")[3]}`,
  );
  assert.equal(found.event, event);
  assert.ok(BigInt(found.begin_ns) < BigInt(newest.begin_ns));
  await neighbours.getByRole("link", { name: "Next delay" }).click();
  await page.waitForURL((url) => url.pathname !== older);
  // There is nothing between them, so this is the previous delay or one that began at the same
  // time.
  const back = new URL(page.url()).pathname.split("/");
  const [again] = await asked(`/api/v1/bundles/${back[2]}/delays?number=${back[3]}`);
  assert.equal(again.begin_ns, newest.begin_ns);
  assert.equal(
    await neighbours.getByRole("link", { name: "Next delay" }).count(),
    0,
    "it is the newest",
  );
  await done();
});

test("objects: failures first, a tree with its callers, and a filter", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  const failures = page.getByTestId("object-failures").getByRole("row");
  const name = world.delay.followed_class;
  await page.getByTestId("object-classes").getByText(name, { exact: true }).waitFor();
  const all = await failures.count();
  const calls = page.getByTestId("object-calls").locator("tbody tr");
  const before = await calls.count();
  assert.ok((await page.getByTestId("objects").boundingBox()).height > 0);
  await page.getByTestId("objects-filter").fill("sqlite3_step");
  // Callees are below their caller.
  await page.waitForFunction(
    (count) => document.querySelectorAll("[data-testid=object-calls] tbody tr").length < count,
    before,
  );
  assert.deepEqual(await calls.locator("td:nth-child(3)").allInnerTexts(), [
    "shop::Cart::price",
    "sqlite3_step",
  ]);
  await page.getByTestId("objects-filter").fill("-sqlite3");
  await page.waitForFunction(
    (count) => document.querySelectorAll("[data-testid=object-failures] tbody tr").length === count,
    all - 2,
  );
  await page.getByTestId("objects-filter").fill("");
  await page.getByLabel("failures only").check();
  await page.getByTestId("object-classes").waitFor({ state: "detached" });
  assert.deepEqual(
    (await calls.locator("td:nth-child(3)").allInnerTexts()).map((text) => text.split("(")[0]),
    ["+ shop::Cart::Cart", "+ sqlite3_prepare_v2"],
  );
  await checkAxe(page);
  await page.getByLabel("failures only").uncheck();
  await page.getByTestId("object-classes").waitFor();
  const creation = page.getByTestId("object-stack").first();
  await creation.locator("summary").click();
  await creation.getByText("shop::Server::accept (shop)", { exact: true }).waitFor();
  assert.match(await creation.innerText(), /12 objects created here are alive/);
  await page.getByTestId("objects-filter").fill("shop::Server::accept");
  await creation.waitFor();
  await page.getByTestId("objects-filter").fill("");
  await checkAxe(page);
  await keep(page, "objects", { fullPage: true });
  await done();
});

test("traced functions: own time, longest call and the path to it", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  const first = page.getByTestId("traced-functions").locator("tbody tr").first();
  await first.getByText(world.delay.traced_function).waitFor();
  const { bundle, number } = world.delay;
  const [delay] = (
    await (
      await page.request.get(`${world.url}/api/v1/bundles/${bundle}/delays?number=${number}`)
    ).json()
  ).delays;
  assert.equal(delay.traced_functions.functions[0].name, world.delay.traced_function);
  assert.match(
    await first.innerText(),
    new RegExp(
      delay.traced_functions.functions[0].path
        .join(" › ")
        .replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"),
    ),
  );
  await page.getByText("Functions detached because they were called too often: 12").waitFor();
  // Template arguments are folded until the user expands them.
  const long = delay.traced_functions.functions.find((one) => one.name.length > 40).name;
  const folded = page.getByTestId("traced-functions").getByRole("button", { name: "<…>" });
  assert.equal(await folded.innerText(), `${long.slice(0, long.indexOf("<"))}<…>`);
  assert.equal(await folded.getAttribute("title"), long);
  await folded.click();
  await page.getByTestId("traced-functions").getByRole("button", { name: long }).waitFor();
  // However long a name is, the figures stay on screen.
  for (const number of [0, 1, 2, 3]) {
    const figure = await first.locator("td").nth(number).boundingBox();
    assert.ok(
      figure.x >= 0 && figure.x + figure.width <= page.viewportSize().width,
      `column ${number}: ${JSON.stringify(figure)}`,
    );
  }
  await done();
});

test("a long unit above the details stays whole", async () => {
  for (const width of [390, 800]) {
    const { page, go, done } = await openPage({ width });
    await go(delayPath(world.delay));
    await canvas(page).waitFor();
    const lines = await page
      .locator(".figure dd")
      .nth(2)
      .evaluate((value) => {
        value.firstChild.textContent = "postgresql.service";
        const range = document.createRange();
        range.selectNodeContents(value.firstChild);
        return range.getClientRects().length;
      });
    assert.equal(lines, 1);
    assert.ok(
      (await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)) <= 0,
    );
    await done();
  }
});

test("the delay stands beside normal runs, part by part and stage by stage", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  await page
    .locator(".figures")
    .getByText(/threshold 50 ms, normally \d/)
    .waitFor();
  const stages = page.getByRole("region", { name: "Stages" });
  await stages.getByRole("columnheader", { name: "Normally" }).waitFor();
  assert.match(
    await stages.getByRole("row", { name: /^execute/ }).innerText(),
    /79 ms\s+\d+(\.\d+)? ms/,
  );
  assert.match(
    await page.getByRole("region", { name: "Where the time went" }).innerText(),
    /blocked: lock \(futex\) 63 ms 77\.8 %, normally \d/,
  );
  await done();
});

test("a sentence about the cause leads to its function in the flame graph", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  const cause = page.getByRole("region", { name: "Cause" });
  await cause.getByRole("button", { name: "Timeline" }).first().waitFor();
  await cause.getByRole("button", { name: "Flame graph" }).first().click();
  await page.waitForURL(/search=ReadWholeTable/);
  await page.waitForFunction(() =>
    /% in \d+ match/.test(document.querySelector("[data-testid=flame-found]").innerText),
  );
  await done();
});

test("the chain of waits names each thread and what it did", async () => {
  const { page, go, done } = await openPage();
  await go(delayPath(world.delay));
  const lines = page.getByTestId("wait-chain").getByRole("listitem");
  await lines.first().waitFor();
  assert.match(
    await lines.nth(0).innerText(),
    /^postgres \(100\), waiting: lock \(futex\) in ReadWholeTable 63 ms of 81 ms$/,
  );
  assert.match(
    await lines.nth(1).innerText(),
    /^← prefetch \(101\), on CPU in parse_price_list 63 ms of 63 ms$/,
  );
  assert.equal(await lines.count(), 2);
  // Nine waits between nine times on the CPU; the other thread was on the CPU all the time.
  assert.equal(await lines.nth(0).locator("rect").count(), 18);
  assert.equal(await lines.nth(1).locator("rect").count(), 1);
  await keep(page, "wait-chain", { fullPage: true });
  await done();
});

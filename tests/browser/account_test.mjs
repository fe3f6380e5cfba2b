// The user's own account, and the audit log as a file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { checkAxe, keep, openPage, world } from "./support.mjs";

test("one changes one's own password, and is signed out elsewhere", async () => {
  const name = `own-${process.pid}`;
  const [old, fresh] = ["the first long password", "the second long password"];
  const admin = await openPage();
  const headers = { "Sec-Fetch-Site": "same-origin" };
  assert.equal(
    (
      await admin.context.request.post(`${world.url}/api/v1/accounts`, {
        headers,
        data: { account: name, password: old, role: "reader" },
      })
    ).status(),
    201,
  );
  world.accounts[name] = { account: name, password: old };
  const here = await openPage({ account: name, new_session: true });
  const elsewhere = await openPage({ account: name, new_session: true });
  const { page } = here;
  await here.go("/");
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { name: "Your account" }).waitFor();
  const fill = async (...texts) => {
    for (const [index, label] of [
      "Current password",
      "New password (at least 12 characters)",
      "Repeat new password",
    ].entries())
      await page.getByLabel(label).fill(texts[index]);
    await page.getByRole("button", { name: "Change password" }).click();
  };
  await fill(old, fresh, "something else entirely");
  await page.getByRole("alert").filter({ hasText: "the new passwords do not match" }).waitFor();
  await fill("not the password", fresh, fresh);
  await page.getByRole("alert").filter({ hasText: "that is not the current password" }).waitFor();
  await keep(page, "own-account");
  await checkAxe(page);
  await fill(old, fresh, fresh);
  await page.getByRole("status").filter({ hasText: "Password changed" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Your account" }).waitFor();
  await elsewhere.go("/");
  await elsewhere.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await elsewhere.page.getByLabel("Account").fill(name);
  await elsewhere.page.getByLabel("Password").fill(fresh);
  await elsewhere.page.getByRole("button", { name: "Sign in" }).click();
  await elsewhere.page.getByRole("link", { name, exact: true }).waitFor();
  await here.done();
  await elsewhere.done();
  await admin.context.request.delete(`${world.url}/api/v1/accounts/${name}`, { headers });
  await admin.done();
});

test("an admin looks at sign-ins alone, and takes them away as a file", async () => {
  const { page, go, done } = await openPage();
  await go("/audit");
  await page.getByTestId("audit").waitFor();
  await page.getByLabel("Show").selectOption("Sign-ins and sign-outs");
  await page.waitForURL(/only=sign-ins/);
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[data-testid="audit"] tbody td:nth-child(3)')].every((cell) =>
      /^(sign in|sign out|refuse sign-in)$/.test(cell.textContent),
    ),
  );
  await checkAxe(page);
  for (const [link, suffix] of [
    ["CSV", "csv"],
    ["NDJSON", "ndjson"],
  ]) {
    const coming = page.waitForEvent("download");
    await page.getByRole("link", { name: link, exact: true }).click();
    const file = await coming;
    assert.equal(file.suggestedFilename(), `audit.${suffix}`);
    assert.match(readFileSync(await file.path(), "utf8"), /sign in/);
  }
  await done();
});

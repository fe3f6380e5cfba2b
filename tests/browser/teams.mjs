// Teams: an admin creates one and adds somebody, who then sees only its events. Run by name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, keep, openPage, world } from "./support.mjs";

test("an admin makes a team, and whoever is in it sees its events alone", async () => {
  const admin = await openPage();
  await admin.go("/accounts");
  await admin.page.getByText("No teams: everyone sees everything.").waitFor();
  await admin.page.getByLabel("New team").fill("shop");
  await admin.page.getByLabel("Events, one pattern per line").fill("shop.*\n  cart.*  ");
  await admin.page.getByRole("button", { name: "Create team" }).click();
  const row = admin.page.getByTestId("teams").getByRole("row", { name: /^shop/ });
  await row.getByText("cart.*").waitFor();
  await row.getByLabel("Add an account to shop").selectOption(world.accounts.reader.account);
  await row.getByRole("button", { name: "Remove", exact: true }).waitFor();
  await keep(admin.page, "teams");
  await checkAxe(admin.page);

  const reader = await openPage({ account: "reader" });
  await reader.go("/account");
  assert.match(await reader.page.getByTestId("own-teams").innerText(), /the team shop/);
  await checkAxe(reader.page);
  await reader.go("/bundles");
  await reader.page.getByText(world.event.name).first().waitFor();
  assert.ok(!(await reader.page.locator("main").innerText()).includes(world.foreign));
  await reader.done();

  await row.getByRole("button", { name: "Edit shop" }).click();
  await admin.page.getByLabel("Events, one pattern per line").fill("");
  await admin.page.getByLabel("Units, one pattern per line").fill("shop-*.service");
  await admin.page.getByRole("button", { name: "Save team" }).click();
  await row.getByText("shop-*.service").waitFor();
  await row.getByRole("button", { name: "Delete" }).click();
  await row.getByRole("button", { name: "Delete shop" }).click();
  await admin.page.getByText(/are in no other team/).waitFor();
  await row.getByRole("button", { name: "Remove", exact: true }).click();
  await row.getByRole("button", { name: /^Remove .* from shop$/ }).click();
  await row.getByRole("button", { name: "Remove", exact: true }).waitFor({ state: "detached" });
  const outside = await openPage({ account: "reader" });
  await outside.go("/account");
  await outside.page.getByTestId("no-team").waitFor();
  await checkAxe(outside.page);
  await outside.done();
  await row.getByRole("button", { name: "Delete" }).click();
  await row.getByRole("button", { name: "Delete shop" }).click();
  await row.waitFor({ state: "detached" });
  await admin.done();
});

// What a server without data shows: the three steps to the first data.
import { base } from "../base";
import { Empty } from "../parts";
import type { Session } from "../types";

export function FirstSteps({ session }: { session: Session }) {
  return (
    <div data-testid="first-steps">
      {session.role === "admin" ? (
        <AdminSteps has_account={session.account !== ""} />
      ) : (
        <ReaderSteps session={session} />
      )}
    </div>
  );
}

function AdminSteps({ has_account }: { has_account: boolean }) {
  return (
    <Empty title="No data yet. Three steps to the first data:">
      <ol>
        <li>
          {!has_account && (
            <>
              Create your <a href="/accounts">account</a> and sign in. Then{" "}
            </>
          )}
          {has_account ? "Create" : "create"} a token with the scope "upload" under{" "}
          <a href="/accounts">Accounts</a>.
        </li>
        <li>
          On a machine to watch, store the token in a file and add this server to{" "}
          <code>/etc/lagtrap/settings.xml</code>:{" "}
          <code>
            {`<upload url="${window.location.origin + base}" ` +
              `token-file="/etc/lagtrap/upload-token"/>`}
          </code>
        </li>
        <li>
          Name an event there: <code>lagtrap add PROGRAM</code> suggests some. Give it{" "}
          <code>record="runs"</code> to see all runs, not only delays. Then run{" "}
          <code>systemctl enable --now lagtrapd lagtrap-uploader</code>.
        </li>
      </ol>
      <p>
        This page shows the event soon after its first runs. <code>lagtrap status</code> on the
        machine says whether uploads work.
      </p>
    </Empty>
  );
}

function ReaderSteps({ session }: { session: Session }) {
  const outside = !session.sees_everything && session.teams.length === 0;
  return (
    <Empty
      title={
        outside
          ? "You are not in a team, so you see no data yet. Three steps to your first data:"
          : "No data yet. Three steps to your first data:"
      }>
      <ol>
        <li>
          {outside
            ? "Ask an admin of this server to add you to the team that owns your service."
            : "Ask an admin of this server for an upload token for your machine."}
        </li>
        <li>
          On the machine of your service, run <code>lagtrap status</code>: it says whether lagtrapd
          watches an event of your service and whether uploads work.
        </li>
        <li>
          Come back after the event has run. A recording follows when a run exceeds its threshold.
        </li>
      </ol>
      <p>
        Until then, <code>sudo lagtrap why PROGRAM</code> on the machine shows what a program is
        waiting for, without this server.
      </p>
    </Empty>
  );
}

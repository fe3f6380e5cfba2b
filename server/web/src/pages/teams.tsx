// Teams of people who see only their own events and units; a section of the accounts page.
import { useState } from "preact/hooks";
import { type Act, useAction } from "../action";
import { send } from "../api";
import { useGet } from "../load";
import { Confirm, Empty, Failure, Ready, Section } from "../parts";
import type { Account, Team } from "../types";

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
const address = (team: string, account?: string) =>
  `/api/v1/teams/${encodeURIComponent(team)}` +
  `${account === undefined ? "" : `/accounts/${encodeURIComponent(account)}`}`;

export function TeamSection({ accounts }: { accounts: Account[] }) {
  const list = useGet<{ teams: Team[] }>("/api/v1/teams");
  const { problem, act } = useAction(list.reload);
  const [edited, setEdited] = useState<Team | null>(null);
  return (
    <Section title="Teams">
      <p class="muted">
        Members of a team see only the events and units that match a pattern of one of their teams.
        Admins see everything. Once a team exists, accounts without a team see nothing.
      </p>
      {problem && <Failure error={problem} />}
      <Ready of={list}>
        {(data) =>
          data.teams.length === 0 ? (
            <Empty title="No teams: everyone sees everything." />
          ) : (
            <table class="list" data-testid="teams">
              <thead>
                <tr>
                  <th scope="col">Team</th>
                  <th scope="col">Sees events</th>
                  <th scope="col">Sees units</th>
                  <th scope="col">Accounts</th>
                  <th scope="col">Action</th>
                </tr>
              </thead>
              <tbody>
                {data.teams.map((team) => (
                  <tr key={team.team}>
                    <th scope="row">{team.team}</th>
                    <td>
                      <Patterns of={team.events} />
                    </td>
                    <td>
                      <Patterns of={team.units} />
                    </td>
                    <td>
                      <Members team={team} accounts={accounts} act={act} />
                    </td>
                    <td>
                      <button
                        type="button"
                        onClick={() => setEdited(team)}
                        aria-label={`Edit ${team.team}`}>
                        Edit
                      </button>{" "}
                      <Confirm
                        text="Delete"
                        question={`Delete ${team.team}`}
                        onConfirm={() => void act(() => send("DELETE", address(team.team)))}
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Ready>
      <TeamForm key={edited?.team ?? ""} team={edited} act={act} done={() => setEdited(null)} />
    </Section>
  );
}

function Patterns({ of }: { of: string[] }) {
  if (of.length === 0) return <span class="muted">none</span>;
  return (
    <>
      {of.map((pattern) => (
        <div key={pattern}>
          <code>{pattern}</code>
        </div>
      ))}
    </>
  );
}

function Members({ team, accounts, act }: { team: Team; accounts: Account[]; act: Act }) {
  const others = accounts.filter(
    (account) => !team.accounts.some((member) => member.account === account.account),
  );
  return (
    <>
      {team.accounts.map((member) => (
        <div key={member.account}>
          {member.account}
          {member.by_group && <span class="muted"> by group</span>}{" "}
          <Confirm
            text="Remove"
            question={`Remove ${member.account} from ${team.team}`}
            onConfirm={() => void act(() => send("DELETE", address(team.team, member.account)))}
          />
        </div>
      ))}
      {team.groups.length > 0 && (
        <div class="muted">and members of the group {team.groups.join(" or ")}</div>
      )}
      {others.length > 0 && (
        <select
          aria-label={`Add an account to ${team.team}`}
          value=""
          onChange={(event) =>
            void act(() => send("PUT", address(team.team, event.currentTarget.value)))
          }>
          <option value="">Add…</option>
          {others.map((account) => (
            <option key={account.account} value={account.account}>
              {account.account}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

function TeamForm({ team, act, done }: { team: Team | null; act: Act; done: () => void }) {
  const [name, setName] = useState(team?.team ?? "");
  const [events, setEvents] = useState(team?.events.join("\n") ?? "");
  const [units, setUnits] = useState(team?.units.join("\n") ?? "");
  const [groups, setGroups] = useState(team?.groups.join("\n") ?? "");
  const save = async (event: Event) => {
    event.preventDefault();
    if (
      !(await act(() =>
        send("PUT", address(name), {
          events: lines(events),
          units: lines(units),
          groups: lines(groups),
        }),
      ))
    )
      return;
    setName("");
    setEvents("");
    setUnits("");
    setGroups("");
    done();
  };
  return (
    <form
      class="row-form"
      onSubmit={save}
      aria-label={team ? `Change team ${team.team}` : "Create a team"}>
      <label class="field">
        <span>{team ? "Team" : "New team"}</span>
        <input
          name="team-name"
          required
          readOnly={team !== null}
          pattern="[A-Za-z0-9._\-]{1,64}"
          title="letters, digits, dot, dash and underscore"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Events, one pattern per line</span>
        <textarea
          name="team-events"
          rows={2}
          placeholder="checkout.*"
          value={events}
          onInput={(event) => setEvents(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Units, one pattern per line</span>
        <textarea
          name="team-units"
          rows={2}
          placeholder="shop-*.service"
          value={units}
          onInput={(event) => setUnits(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Provider groups, one per line</span>
        <textarea
          name="team-groups"
          rows={2}
          value={groups}
          onInput={(event) => setGroups(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        {team ? "Save team" : "Create team"}
      </button>
      {team && (
        <button type="button" onClick={done}>
          Cancel
        </button>
      )}
    </form>
  );
}

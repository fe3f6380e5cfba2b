// Alert rules, their state, and one of them in full; for admins.
import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../api";
import { formatCount, formatDuration, formatShare, plural } from "../format";
import { useGet } from "../load";
import { Confirm, Empty, Failure, Ready, Scroll, Section, Time, Title } from "../parts";
import { type Place, navigate } from "../router";
import type { MadeRule, Rule, RuleDetail, RuleMessage, Session } from "../types";
import { RuleForm, filledFields, way_names } from "./rule_form";

function OnlyAdmins({ session }: { session: Session }) {
  return (
    <Empty title="Only admins may see alerts.">
      <p>
        You are signed in as {session.account} (role: {session.role}). Ask an admin of this server.
      </p>
    </Empty>
  );
}

// Describes a rule's condition in words.
export function conditionText(rule: Rule): string {
  const event = rule.event === null ? "any event" : rule.event;
  const host = rule.host === null ? "any host" : rule.host;
  const hours = plural(rule.hours ?? 2, "hour");
  switch (rule.condition) {
    case "got_worse":
      return `${event} got worse`;
    case "weekly_digest":
      return `every Monday: what happened to ${event}`;
    case "new_cause":
      return `a new cause of delays of ${event}`;
    case "cause_came_back":
      return `a resolved cause of delays of ${event} came back`;
    case "p99":
      return (
        `p99 of ${event} over ${hours} above ` +
        (rule.over_ns != null
          ? formatDuration(rule.over_ns)
          : `${rule.factor} times that of the week before`)
      );
    case "delay_share":
      return (
        `share of delays of ${event} over ${hours} above ` +
        (rule.over_share != null
          ? formatShare(rule.over_share)
          : `${rule.factor} times that of the week before`)
      );
    case "host_silent":
      return `no data from ${host} for ${formatDuration(rule.silent_ns ?? 0)}`;
    case "runs_lost":
      return `more than ${plural(rule.over_runs ?? 0, "run")} lost on ${host} within ${hours}`;
  }
}

function RuleState({ rule }: { rule: Rule }) {
  const { state } = rule;
  if (!rule.enabled) return <span class="state">off</span>;
  if (state.look_failure !== null)
    return (
      <>
        <span class="state worse">check failed</span> {state.look_failure}
      </>
    );
  if (state.failure !== null)
    return (
      <>
        <span class="state worse">not delivered</span> {state.failure}
      </>
    );
  if (state.looked_ns === null) return <span class="state">not checked yet</span>;
  return (
    <>
      <span class="state">on</span> checked <Time ns={state.looked_ns} age />
    </>
  );
}

export function Rules({ session, place }: { session: Session; place: Place }) {
  const admin = session.role === "admin";
  const filled = filledFields(place.query);
  const list = useGet<{ rules: Rule[] }>(admin ? "/api/v1/rules" : null);
  const [made, setMade] = useState<MadeRule | null>(null);
  const form = (
    <Section title="New rule">
      <RuleForm
        key={place.key}
        filled={filled}
        button="Create rule"
        onSend={async (rule) => {
          setMade(await send<MadeRule>("POST", "/api/v1/rules", rule));
          list.reload();
        }}
      />
    </Section>
  );
  return (
    <main id="main">
      <Title text="Alerts" />
      {!admin ? (
        <OnlyAdmins session={session} />
      ) : (
        <>
          {made?.secret && (
            <div class="notice" role="status" data-testid="made-rule">
              <p>
                <strong>
                  Rule {made.name} created. Its receiver verifies signatures with this secret. Copy
                  it now: it is shown only once.
                </strong>
              </p>
              <p>
                <code class="secret">{made.secret}</code>
              </p>
              <p>
                Next, <a href={`/rule/${made.id}`}>send a test</a>.{" "}
                <button type="button" onClick={() => setMade(null)}>
                  I copied it
                </button>
              </p>
            </div>
          )}
          {filled && form}
          <Section title="Alert rules">
            <Ready of={list}>
              {(data) =>
                data.rules.length === 0 ? (
                  <Empty title="No alert rules yet.">
                    <p>
                      Create one with the form. The server then notifies you by webhook, e-mail,
                      Slack or Alertmanager.
                    </p>
                  </Empty>
                ) : (
                  <Scroll label="List of rules">
                    <table class="list" data-testid="rules">
                      <thead>
                        <tr>
                          <th scope="col">Rule</th>
                          <th scope="col">Condition</th>
                          <th scope="col">Notifies</th>
                          <th scope="col">State</th>
                          <th scope="col">Last notified</th>
                          <th scope="col">Last failure</th>
                        </tr>
                      </thead>
                      <tbody>
                        {data.rules.map((rule) => (
                          <tr key={rule.id}>
                            <th scope="row">
                              <a href={`/rule/${rule.id}`}>{rule.name}</a>
                            </th>
                            <td>{conditionText(rule)}</td>
                            <td>
                              {way_names[rule.way]},{" "}
                              {rule.way === "email" ? rule.to?.join(", ") : rule.address}
                            </td>
                            <td>
                              <RuleState rule={rule} />
                            </td>
                            <td>
                              {rule.state.notified_ns ? (
                                <Time ns={rule.state.notified_ns} age />
                              ) : (
                                <span class="muted">never</span>
                              )}
                            </td>
                            <td>
                              {rule.state.failed_ns ? (
                                <Time ns={rule.state.failed_ns} age />
                              ) : (
                                <span class="muted">never</span>
                              )}
                            </td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </Scroll>
                )
              }
            </Ready>
          </Section>
          {!filled && form}
        </>
      )}
    </main>
  );
}

export function RulePage({ id, session }: { id: string; session: Session }) {
  const admin = session.role === "admin";
  const loaded = useGet<RuleDetail>(admin ? `/api/v1/rules/${id}` : null);
  const under_way =
    loaded.data?.messages.some(
      (message) => message.state === "waiting" || message.state === "sending",
    ) ?? false;
  // Reloads while a message is being sent, until it has arrived or failed.
  useEffect(() => {
    if (!under_way || loaded.loading) return undefined;
    const timer = setTimeout(loaded.reload, 1000);
    return () => clearTimeout(timer);
  }, [under_way, loaded.loading]);
  return (
    <main id="main">
      {!admin ? (
        <>
          <Title text="Alert rule" />
          <OnlyAdmins session={session} />
        </>
      ) : (
        <Ready of={loaded} height={400}>
          {(rule) => <Detail rule={rule} onChanged={loaded.reload} />}
        </Ready>
      )}
    </main>
  );
}

function Detail({ rule, onChanged }: { rule: RuleDetail; onChanged: () => void }) {
  const [problem, setProblem] = useState<ApiError | null>(null);
  const act = async (work: () => Promise<void>) => {
    setProblem(null);
    try {
      await work();
    } catch (error) {
      setProblem(error instanceof ApiError ? error : new ApiError(0, String(error), "Try again."));
    }
  };
  const test = () =>
    act(async () => {
      await send("POST", `/api/v1/rules/${rule.id}/test`);
      onChanged();
    });
  const remove = () =>
    act(async () => {
      await send("DELETE", `/api/v1/rules/${rule.id}`);
      navigate("/rules");
    });
  return (
    <>
      <p class="crumbs">
        <a href="/rules">Alerts</a>
      </p>
      <Title text={rule.name} />
      <p data-testid="rule-state">
        <RuleState rule={rule} />. Condition: {conditionText(rule)}. Notifies by{" "}
        {way_names[rule.way]}, {rule.address}. {plural(rule.state.delivered, "message")} delivered
        {rule.state.given_up > 0 && `, ${formatCount(rule.state.given_up)} failed`}.
      </p>
      {problem && <Failure error={problem} />}
      <p class="actions">
        <button type="button" class="primary" onClick={() => void test()}>
          Send a test
        </button>{" "}
        <Confirm text="Remove" question={`Remove ${rule.name}`} onConfirm={() => void remove()} />
      </p>
      <Section title="Messages">
        <Messages messages={rule.messages} />
      </Section>
      <Section title="Findings">
        <Findings rule={rule} />
      </Section>
      <Section title="Edit rule">
        <RuleForm
          key={rule.changed_ns}
          rule={rule}
          button="Save"
          onSend={async (changed) => {
            await send("PUT", `/api/v1/rules/${rule.id}`, changed);
            onChanged();
          }}
        />
      </Section>
    </>
  );
}

function Outcome({ message }: { message: RuleMessage }) {
  const attempts = message.attempts > 1 ? ` after ${message.attempts} attempts` : "";
  if (message.state === "delivered")
    return (
      <>
        <span class="state">delivered</span>
        {attempts}
      </>
    );
  if (message.state === "given_up")
    return (
      <>
        <span class="state worse">not delivered</span> {message.reason}
      </>
    );
  if (message.reason !== null)
    return (
      <>
        <span class="state worse">retrying</span> after {plural(message.attempts, "attempt")}:{" "}
        {message.reason}
        {message.next_ns && (
          <>
            ; next attempt <Time ns={message.next_ns} />
          </>
        )}
      </>
    );
  return <span class="state">sending</span>;
}

function Messages({ messages }: { messages: RuleMessage[] }) {
  if (messages.length === 0)
    return <p class="muted">No messages yet. Send a test to see whether they arrive.</p>;
  return (
    <Scroll label="List of messages">
      <table class="list" data-testid="messages">
        <thead>
          <tr>
            <th scope="col">Created</th>
            <th scope="col">Message</th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          {messages.map((message) => (
            <tr key={message.id}>
              <th scope="row">
                <Time ns={message.made_ns} />
              </th>
              <td>
                {message.test && <span class="tag">test</span>} {message.headline}
              </td>
              <td>
                <Outcome message={message} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Findings({ rule }: { rule: RuleDetail }) {
  if (rule.findings.length === 0) return <p class="muted">No findings yet.</p>;
  return (
    <Scroll label="List of findings">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Since</th>
            <th scope="col">Finding</th>
            <th scope="col">Resolved</th>
            <th scope="col">Notified</th>
          </tr>
        </thead>
        <tbody>
          {rule.findings.map((finding) => (
            <tr key={finding.subject}>
              <th scope="row">
                <Time ns={finding.found_ns} />
              </th>
              <td>
                {finding.path.startsWith("/") && !finding.path.startsWith("//") ? (
                  <a href={finding.path}>{finding.title}</a>
                ) : (
                  finding.title
                )}
              </td>
              <td>
                {finding.ended_ns ? (
                  <Time ns={finding.ended_ns} age />
                ) : (
                  <span class="muted">no</span>
                )}
              </td>
              <td>
                {finding.notified_ns ? (
                  <Time ns={finding.notified_ns} age />
                ) : (
                  <span class="muted">not yet</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

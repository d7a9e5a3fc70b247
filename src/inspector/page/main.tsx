/**
 * The inspector's page. This is the entry file of the folder:
 *
 * - api.ts, router.ts: the server: requests and the stream of changes; the URL
 * - text.tsx: text from outside, times, states; tree.tsx: JSON and differences; view.tsx: parts of all views
 * - sessions.tsx: the list of sessions; filters.tsx: search and filters; rows.tsx: its rows; list.ts: how it is read and changes
 * - session.tsx: one session; strip.tsx: the time that it has taken; keys.tsx: the keys of the page
 * - attempts.tsx: attempts, and what gates found; records.tsx: log and audit; routed.tsx: entries of routed and recorded ones
 * - inbox.tsx: the inbox; waiting.tsx: a request and the answer; passkey.tsx: signing with a passkey, and registering one
 * - actions.tsx: what the host may do
 * - in-client.tsx: not of this page, but the view of a session inside of an MCP client; client.ts: the client around it
 * - workflows.tsx: workflows; gate.tsx: their gates; graph.tsx: drawings; statistics.tsx, bars.tsx: figures
 */
import { render } from "preact";
import { useEffect } from "preact/hooks";
import type { Inbox as Items } from "../../read/model.js";
import {
  about,
  asFailure,
  changesInbox,
  connection,
  get,
  isAllowed,
  logIn,
  login,
  noteInbox,
  onMessage,
  openStream,
  readAbout,
  waiting,
} from "./api.js";
import { Inbox } from "./inbox.js";
import { Keys } from "./keys.js";
import { listed } from "./list.js";
import { Invitation } from "./passkey.js";
import { followLinks, href, place } from "./router.js";
import { Session } from "./session.js";
import { Sessions } from "./sessions.js";
import { Statistics } from "./statistics.js";
import { line, number } from "./text.js";
import { announcement, Empty, Failed, Form, Heading, useTask } from "./view.js";
import { Workflow, Workflows } from "./workflows.js";

const VIEWS = [
  ["sessions", "Sessions"],
  ["inbox", "Inbox"],
  ["workflows", "Workflows"],
  ["statistics", "Statistics"],
] as const;

function View() {
  const { segments } = place.value;
  const [what = "sessions", name] = segments;
  if (what === "sessions") return name === undefined ? <Sessions /> : <Session id={name} key={name} />;
  if (what === "workflows") return name === undefined ? <Workflows /> : <Workflow type={name} key={name} />;
  if (what === "inbox") return <Inbox />;
  if (what === "statistics") return <Statistics />;
  return (
    <>
      <Heading title="Nothing here" />
      <Empty>
        This URL leads nowhere. <a href={href(["sessions"])}>Show the sessions</a>
      </Empty>
    </>
  );
}

function Header() {
  const { segments } = place.value;
  const current = segments[0] ?? "sessions";
  const count = waiting.value?.count;
  return (
    <header>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      {current === "sessions" && segments[1] === undefined && listed.value.rows.length > 0 && (
        <a class="skip" href="#rows">
          Skip to the list
        </a>
      )}
      <a class="brand" href={href(["sessions"])}>
        phasegate
      </a>
      <nav aria-label="Views">
        {VIEWS.map(([id, label]) => (
          <a href={href([id])} key={id} aria-current={id === current ? "page" : undefined}>
            {label}
            {id === "inbox" && count !== undefined && count > 0 && (
              <span class="badge">
                {number(count)}
                <span class="unseen"> waiting</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      <span class="title">{line(about.value.title, 80)}</span>
    </header>
  );
}

/** For a person with a token of their own. */
function Login() {
  const { error, run } = useTask();
  const submit = async (data: FormData) => {
    await logIn(String(data.get("token")).trim());
    location.reload();
  };
  return (
    <main id="main" class="login">
      <h1>Log in</h1>
      <p>This page shows what agents do, so it asks who you are.</p>
      <Form onSubmit={(data) => run(() => submit(data))}>
        <label>
          Your token <input name="token" type="password" autocomplete="off" required />
        </label>{" "}
        <button type="submit">Log in</button>
      </Form>
      {error !== undefined && <p role="alert">{error.message}</p>}
      <p>
        If you have no token of your own, open the URL that the inspector printed when it started. It ends with{" "}
        <code>#token=</code> and a secret.
      </p>
      <p>
        If that URL leads back here, the inspector has been started again and has printed a new one. Where the page
        belongs to another server, log in to that server.
      </p>
    </main>
  );
}

function App() {
  const { error, run } = useTask();
  useEffect(() => {
    run(begin);
  }, []);
  if (login.value === "needed") return <Login />;
  if (login.value === "unknown") {
    return (
      <main id="main">
        <Failed error={error} reload={() => location.reload()} />
      </main>
    );
  }
  return (
    <>
      <Header />
      {connection.value === "lost" && (
        <p class="lost" role="status">
          The connection is lost. The page may be old; it tries again.
        </p>
      )}
      <main id="main" tabIndex={-1}>
        <View />
      </main>
      <Keys />
      <div class="unseen" aria-live="polite">
        {announcement.value}
      </div>
    </>
  );
}

/** Returns a secret that the URL has brought after its `#`. */
function secretIn(name: "token" | "invite"): string | null {
  return new URLSearchParams(location.hash.slice(1)).get(name);
}

async function begin(): Promise<void> {
  const token = secretIn("token");
  if (token !== null) {
    history.replaceState(null, "", location.pathname + location.search);
    await logIn(token).catch((error: unknown) => {
      // The URL may be an old one, and the cookie of this browser a new one: the next request tells.
      if (asFailure(error).status !== 401) throw error;
    });
  }
  await Promise.all([readAbout(), openStream()]);
  login.value = "done";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const countSoon = (wait: number) => {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      // The next change counts anew, should this fail.
      get<Items>("inbox").then(noteInbox, () => undefined);
    }, wait);
  };
  onMessage((message) => changesInbox(message) && countSoon(500));
  // Somebody may have registered a passkey while this page was not looked at.
  addEventListener("focus", () => void isAllowed());
  countSoon(0);
}

followLinks();
// A URL with a secret, pasted into a tab that shows the page already.
addEventListener("hashchange", () => {
  if ((secretIn("token") ?? secretIn("invite")) !== null) location.reload();
});
const app = document.getElementById("app");
const invitation = secretIn("invite");
if (app !== null) render(invitation === null ? <App /> : <Invitation secret={invitation} />, app);

/** All that waits for a person, the oldest request first. */
import { useEffect } from "preact/hooks";
import type { Inbox as Items, Waiting, WaitingLine } from "../../read/model.js";
import { AnswerForm, Matter, WhoMay } from "./answer.js";
import { changesInbox, noteInbox, useData } from "./api.js";
import { href } from "./router.js";
import { Ago, Line, line, number, Some, State } from "./text.js";
import { Empty, Fold, Heading, Loading } from "./view.js";

export function Inbox() {
  const inbox = useData<Items>("inbox", changesInbox);
  const { data } = inbox;
  useEffect(() => {
    if (data !== undefined) noteInbox(data);
  }, [data]);
  return (
    <>
      <Heading title="Inbox">
        Inbox <span class="count">{inbox.data !== undefined && number(inbox.data.items.length)}</span>
      </Heading>
      <Loading of={inbox} what="the inbox">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>
              <p>Nothing waits for a person.</p>
            </Empty>
          ) : (
            <ol class="inbox" aria-label="Requests, oldest first">
              <Some items={items} what="request">
                {(waiting, index) => (
                  <Request waiting={waiting} isFirst={index === 0} onDone={inbox.reload} key={waiting.request} />
                )}
              </Some>
            </ol>
          )
        }
      </Loading>
    </>
  );
}

interface RequestProps {
  readonly waiting: WaitingLine;
  readonly isFirst: boolean;
  readonly onDone: () => void;
}

function Request({ waiting, isFirst, onDone }: RequestProps) {
  const { what, sessionId, target, workflowType, phase, phaseName, question, askedAt } = waiting;
  const summary = (isOpen: boolean) => (
    <>
      <State of="waiting" word={what} />
      <span>
        <h2>
          <Line text={target === "" ? sessionId : target} max={120} />
        </h2>{" "}
        <span class="quiet">
          <Line text={workflowType} max={80} />, phase {phase} <Line text={phaseName} max={80} />
          <WhoMay waiting={waiting} />
        </span>
        {!isOpen && <span class="quiet preview">{line(question, 160)}</span>}
      </span>
      <span class="quiet right">
        <Ago at={askedAt} suffix=" ago" />
      </span>
    </>
  );
  return (
    <li>
      <Fold class="attempt" isFirst={isFirst} summary={summary}>
        {() => <Whole line={waiting} onDone={onDone} />}
      </Fold>
    </li>
  );
}

/** A request with all that it is about, which is read when it is opened. */
function Whole({ line: { sessionId, request }, onDone }: { readonly line: WaitingLine; readonly onDone: () => void }) {
  // What a request is about does not change. The session may ask something else: that is another line.
  const waiting = useData<Waiting>(`sessions/${encodeURIComponent(sessionId)}/waiting?${request}`, () => false);
  return (
    <Loading of={waiting} what="the request">
      {(whole) => (
        <>
          <Matter waiting={whole} />
          <AnswerForm waiting={whole} onDone={onDone} />
          <p>
            <a href={href(["sessions", sessionId], { answer: request })}>Open the session</a>
          </p>
        </>
      )}
    </Loading>
  );
}

/** Streams with events out of order, missing, repeated or added. */
import { isObject } from "../../../domain/json/json.ts"
import { type Case, refused } from "../Case.ts"
import { eventsOf } from "../../lyingProxy/answer.ts"
import { BREAK, type Lie, type ReplyPiece, type WireEvent } from "../../lyingProxy/Lie.ts"

type Events = ReadonlyArray<WireEvent>

const stream = (must: string, name: string, says: string, events: Exclude<Lie["events"], undefined>): Case =>
  refused(must, `events-${name}`, says, { events })

const frame = (data: unknown): WireEvent => ({ event: "frame", data })

const dataOf = (event: WireEvent | undefined) => (isObject(event?.data) ? event.data : {})

const renumbered = (events: ReadonlyArray<WireEvent>): ReadonlyArray<ReplyPiece> => {
  let seq = 0
  return events.map((each) => (each.event === "frame" ? frame({ ...dataOf(each), seq: seq++ }) : each))
}

const changed = (events: Events, at: number, change: (data: object) => unknown): Events =>
  events.map((each, index) => (index === at ? { ...each, data: change(dataOf(each)) } : each))

const RESTART = { reason: "upstream-unavailable", provider: "provider2", model: "model-2" }

const restarting = (name: string, says: string, restart: unknown, may: boolean): Case =>
  refused(may ? "C31" : "C38", `restart-${name}`, says, {
    form: "stream",
    restart: may,
    payloads: ([, ...more]) => [{ restart, deltas: [] }, ...more],
  })

export const events: ReadonlyArray<Case> = [
  stream("C36", "frame-dropped", "leaves a frame out", (events) => events.toSpliced(2, 1)),
  stream("C30", "frame-dropped-hidden", "leaves a frame out and numbers the others anew", (events) =>
    renumbered(events.toSpliced(2, 1)),
  ),
  stream("C36", "frame-repeated", "sends a frame twice", (events) => events.toSpliced(2, 0, ...events.slice(2, 3))),
  stream("C30", "frame-repeated-hidden", "sends a frame twice under two numbers", (events) =>
    renumbered(events.toSpliced(2, 0, ...events.slice(2, 3))),
  ),
  stream("C36", "frames-swapped", "sends two frames in the other order", (events) =>
    events.toSpliced(1, 2, ...events.slice(1, 3).toReversed()),
  ),
  stream("C30", "frames-swapped-hidden", "sends two frames in the other order, under the other's number", (events) =>
    renumbered(events.toSpliced(1, 2, ...events.slice(1, 3).toReversed())),
  ),
  stream("C36", "seq-text", "writes seq as text", (events) => changed(events, 1, (data) => ({ ...data, seq: "0" }))),
  stream("C36", "seq-from-one", "counts its frames from 1", (events) =>
    events.map((each, i) => (each.event === "frame" ? frame({ ...dataOf(each), seq: i }) : each)),
  ),
  stream("C36", "seq-missing", "does not number a frame", (events) =>
    changed(events, 1, ({ ...data }) => ({ ...data, seq: undefined })),
  ),
  stream("C30", "final-early", "marks its first frame as final", (events) =>
    changed(events, 1, (data) => ({ ...data, final: true })),
  ),
  stream("C30", "final-missing", "does not mark its final frame", (events) =>
    changed(events, events.length - 2, (data) => ({ ...data, final: false })),
  ),
  stream("C30", "final-text", "marks its final frame with a text", (events) =>
    changed(events, events.length - 2, (data) => ({ ...data, final: "true" })),
  ),
  stream("C37", "final-twice", "sends its final frame twice", (events) =>
    events.toSpliced(-1, 0, ...events.slice(-2, -1)),
  ),
  stream("C37", "frame-after-final", "sends another frame after its final one", (events) =>
    events.toSpliced(-1, 0, frame({ ...dataOf(events[1]), seq: events.length - 2 })),
  ),
  stream("C35", "open-missing", "does not open the stream", (events) => events.slice(1)),
  stream("C35", "open-twice", "opens the stream twice", (events) => [...events.slice(0, 1), ...events]),
  stream("C35", "open-late", "opens the stream after its first frame", ([open, first, ...events]) =>
    [first, open, ...events].flatMap((each) => each ?? []),
  ),
  stream("C35", "open-again", "opens the stream again in its midst", (events) =>
    events.toSpliced(2, 0, ...events.slice(0, 1)),
  ),
  stream("C35", "proof-early", "proves the stream before its final frame", (events) =>
    events.toSpliced(-2, 2, ...events.slice(-2).toReversed()),
  ),
  stream("C37", "proof-twice", "proves the stream twice", (events) => [...events, ...events.slice(-1)]),
  stream("C37", "frame-after-proof", "sends a frame after the proof", (events) => [...events, ...events.slice(1, 2)]),
  stream("C35", "unknown-event", "sends an unknown event", (events) =>
    events.toSpliced(2, 0, { event: "note", data: {} }),
  ),
  stream("C37", "unknown-after-proof", "sends an unknown event after the proof", (events) => [
    ...events,
    { event: "note", data: {} },
  ]),
  stream("C35", "unnamed-event", "sends a frame in an event without a name", (events) =>
    events.flatMap((each, i) => (i === 1 ? `data: ${JSON.stringify(each.data)}\n\n` : each)),
  ),
  stream("C2", "not-json", "sends an event whose data is no JSON", (events) => changed(events, 1, () => "{")),
  stream("C29", "array", "sends an event whose data is no object", (events) => changed(events, 1, (data) => [data])),
  stream("C35", "event-case", "writes the name of an event in capitals", (events) =>
    events.map((each, i) => (i === 1 ? { ...each, event: "Frame" } : each)),
  ),
  stream("C39", "none", "sends nothing", () => []),
  stream("C39", "cut-after-open", "ends after the opening", (events) => events.slice(0, 1)),
  stream("C39", "cut-after-frame", "ends after a frame", (events) => events.slice(0, 3)),
  stream("C39", "cut-before-final", "ends before its final frame", (events) => events.slice(0, -2)),
  stream("C39", "cut-before-proof", "ends before its proof", (events) => events.slice(0, -1)),
  stream("C39", "cut-within-proof", "ends within the event of its proof, all but the empty line", (events) => [
    ...events.slice(0, -1),
    ...events.slice(-1).map(({ data }) => `event: proof\ndata: ${JSON.stringify(data)}\n`),
  ]),
  stream("C39", "broken-after-frame", "breaks the connection after a frame", (events) => [
    ...events.slice(0, 3),
    BREAK,
  ]),
  stream("C39", "broken-before-proof", "breaks the connection before its proof", (events) => [
    ...events.slice(0, -1),
    BREAK,
  ]),
  stream(
    "C30",
    "of-another-answer",
    "puts a frame of another answer to the same request in a frame's place",
    (events, { again }) => events.map((each, i) => (i === 2 ? frame({ seq: 1, ciphertext: again().frames[1] }) : each)),
  ),
  stream("C30", "of-another-request", "sends the answer to another request", (_, { foreign }) => eventsOf(foreign())),
  stream("C30", "opening-of-another", "opens with another answer's response_nonce", (events, { again }) => [
    ...eventsOf(again()).slice(0, 1),
    ...events.slice(1),
  ]),
  stream("C30", "ending-of-another", "ends with another answer's final frame and proof", (events, { again }) => [
    ...events.slice(0, -2),
    ...eventsOf(again()).slice(-2),
  ]),
  restarting("forbidden", "begins again although the request forbids it", RESTART, false),
  restarting(
    "without-provider",
    "begins again without naming the provider that took over",
    { reason: "upstream-unavailable" },
    true,
  ),
  restarting("text", "begins again with a text in place of an object", "again", true),
]

/** Honest answers, which a client must believe. */
import { omit } from "../../omit.ts"
import { isObject } from "../../../domain/json/json.ts"
import { believed, type Case } from "../Case.ts"
import { bodyOf, BREAK, type ProxyReply } from "../../lyingProxy/Lie.ts"

/** Cuts bytes into pieces of `size`, also within characters. */
const inPieces =
  (size: number) =>
  (reply: ProxyReply): ProxyReply => {
    const bytes = bodyOf(reply)
    const count = Math.ceil(bytes.length / size)
    const body = Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
    return { ...reply, body }
  }

const asText =
  (change: (text: string) => string) =>
  (reply: ProxyReply): ProxyReply => ({
    ...reply,
    body: reply.body.map((piece) => (piece === BREAK ? piece : change(Buffer.from(piece).toString("utf8")))),
  })

const UNKNOWN = { extension: { of: ["a later version", 1.5, null] } }

const RESTART = { reason: "upstream-unavailable", provider: "provider2", model: "model-1" }

export const honest: ReadonlyArray<Case> = [
  believed("C28", "honest-complete", "answers as the protocol says, in one piece", { form: "complete" }),
  believed("C28", "honest-stream", "answers as the protocol says, in a stream", { form: "stream" }),
  believed("C3", "honest-unknown-claims", "has unknown members in its offer and statements", {
    offer: (offer) => ({ ...UNKNOWN, ...offer }),
    session: { claims: (claims) => ({ ...UNKNOWN, ...claims }) },
    receipt: { claims: (claims) => ({ ...claims, ...UNKNOWN }) },
    proof: { claims: (claims) => ({ ...UNKNOWN, ...claims }) },
  }),
  believed("C3", "honest-unknown-complete", "has unknown members in its answer and end record", {
    body: (body) => ({ ...UNKNOWN, ...body }),
    record: (record) => ({ ...UNKNOWN, ...record }),
  }),
  believed("C3", "honest-unknown-stream", "has unknown members in its frames and events", {
    payloads: (payloads) => payloads.map((payload) => ({ ...payload, ...UNKNOWN })),
    events: (events) =>
      events.map(({ data, event }) => ({ event, data: isObject(data) ? { ...data, ...UNKNOWN } : data })),
  }),
  believed("C6", "honest-other-keys", "sends other keys besides its own", {
    offer: ({ attestation, keys }, stranger) => ({
      attestation,
      keys: [{ kty: "RSA", n: "AQAB", e: "AQAB" }, stranger, ...keys],
    }),
  }),
  believed("C6", "honest-unnamed-key", "sends its key under another kid: a key counts by its own thumbprint", {
    offer: ({ attestation, keys }) => ({ attestation, keys: keys.map((key) => ({ ...key, kid: "another" })) }),
  }),
  believed("C41", "honest-no-usage", "counts nothing", {
    payloads: (payloads) => payloads.map((payload) => omit(payload, "usage")),
    record: (record) => ({ ...record, usage: null }),
    receipt: { claims: (claims) => ({ ...claims, usage: null }) },
  }),
  believed("C41", "honest-no-finish-reason", "names no reason for the end", {
    form: "stream",
    payloads: (payloads) => payloads.slice(0, -1),
    record: (record) => ({ ...record, finish_reasons: [] }),
    receipt: { claims: (claims) => ({ ...claims, finish_reasons: [] }) },
  }),
  believed("C44", "honest-long-record", "has an end record that needs the next size, 8188 bytes", {
    record: (record) => ({ ...record, note: "x".repeat(5000) }),
    recordBytes: 8188,
  }),
  believed("C29", "honest-white-space", "keeps the connection alive with white space before a complete answer", {
    form: "complete",
    reply: (reply) => ({ ...reply, body: [" ", " ", " ", ...reply.body] }),
  }),
  believed("C28", "honest-media-parameters", "writes its media type in other letters, and with a parameter", {
    reply: (reply) => ({
      ...reply,
      headers: {
        ...reply.headers,
        "content-type": `${reply.headers["content-type"]?.toUpperCase()} ; charset=utf-8`,
      },
    }),
  }),
  believed("C35", "honest-comments", "sends comments and fields of server-sent events that mean nothing here", {
    events: (events) => [
      ": still here\n\n",
      "retry: 1000\n\n",
      ...events.flatMap((event) => [":\n\n", event, "id: 7\n\n"]),
    ],
  }),
  believed("C35", "honest-crlf", "ends its lines with CR LF", {
    form: "stream",
    reply: asText((text) => text.replaceAll("\n", "\r\n")),
  }),
  believed("C35", "honest-split-data", "writes the data of an event on two lines, and no space after the colon", {
    form: "stream",
    reply: asText((text) => text.replaceAll("data: {", "data:{\ndata:")),
  }),
  believed("C35", "honest-small-pieces", "sends 100 bytes at a time, cut anywhere", {
    form: "stream",
    reply: inPieces(100),
  }),
  believed("C31", "honest-empty-frames", "sends empty frames at ticks without text", {
    form: "stream",
    payloads: (payloads) => [{ deltas: [] }, ...payloads.flatMap((payload) => [payload, { deltas: [] }])],
  }),
  believed(
    "C2",
    "honest-noncharacter",
    "says a noncharacter, which is allowed, and characters beyond the first plane",
    { payloads: (payloads) => payloads.map((payload) => ({ ...payload, note: "\uFFFF \u{1F9AD} \u{10FFFF}" })) },
  ),
  believed("C38", "honest-restart", "begins again with another provider: what came before is void", {
    form: "stream",
    restart: true,
    payloads: (payloads) => [...payloads.slice(0, 1), { restart: RESTART, deltas: [] }, ...payloads],
    receipt: { claims: (claims) => ({ ...claims, provider: RESTART.provider }) },
  }),
  believed("C39", "honest-reset", "resets the connection once the proof was sent", {
    events: (events) => [...events, BREAK],
  }),
  believed("C15", "honest-x25519", "takes the suite DHKEM(X25519)", { suite: "X25519" }),
  believed("C15", "honest-mlkem768-x25519", "takes the suite MLKEM768-X25519", { suite: "MLKEM768-X25519" }),
]

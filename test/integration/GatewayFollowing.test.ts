/** Following a job over sockets: its text and its tool calls as they come, without gap or repetition. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { defineMode } from "../../src/index.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"
import { ScriptedUpstream, status } from "../services/routing/ScriptedUpstream.ts"
import { type Answer, FakeUpstream } from "../support/FakeUpstream.ts"
import { describeDatabases } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, type TestGateway, tokenFor } from "../support/gateway.ts"
import { toolServer } from "../support/toolServer.ts"

interface Event {
  readonly id: string
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
}

const eventOf = (text: string): Event => {
  const fields = Object.fromEntries(text.split("\n").map((line) => [line.split(": ")[0], line.replace(/^\w+: /, "")]))
  return { id: fields["id"] ?? "", event: fields["event"] ?? "", data: JSON.parse(fields["data"] ?? "null") }
}

/** Reads events of a job's stream until `enough`. */
const read = async (
  { gateway, path, token }: { readonly gateway: TestGateway; readonly path: string; readonly token: string },
  last: string | undefined,
  enough: (event: Event) => boolean,
): Promise<ReadonlyArray<Event>> => {
  const controller = new AbortController()
  const headers = { authorization: `Bearer ${token}`, ...(last !== undefined && { "last-event-id": last }) }
  const response = await fetch(`${gateway.url}${path}/events`, { headers, signal: controller.signal })
  assert.strictEqual(response.status, 200)
  const events: Array<Event> = []
  let rest = ""
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const texts = `${rest}${piece}`.split("\n\n")
    rest = texts.pop() ?? ""
    for (const text of texts) {
      if (text.startsWith(":")) continue
      const event = eventOf(text)
      events.push(event)
      if (!enough(event)) continue
      controller.abort()
      return events
    }
  }
  return events
}

const isEnd = ({ event }: Event) => event === "ended"

/** The texts by step, with every piece in its place, and the other events. */
const assembled = (events: ReadonlyArray<Event>) => {
  const texts: Record<string, string> = {}
  for (const { data, event } of events) {
    if (event !== "delta") continue
    const name = String(data["name"])
    if (data["at"] !== 0) assert.strictEqual(data["at"], texts[name]?.length, `a gap or a repetition in ${name}`)
    texts[name] = `${data["at"] === 0 ? "" : texts[name]}${String(data["text"])}`
  }
  const others = events.filter(({ event }) => event !== "delta")
  return { texts, others: others.map(({ data, event }) => `${event} ${String(data["name"] ?? "")}`.trim()) }
}

/** Milliseconds between chunks. A text of 30 takes about 2 s, so more than 8 pieces come also while the machine is busy. */
const GAP = 60
const THOUGHT = Array.from({ length: 30 }, (_, i) => `Thought ${i} 🦭. `)
const ANSWER = Array.from({ length: 30 }, (_, i) => `${"long ".repeat(100)}word ${i}. `)

/** A reply that begins once `readers` of the job have heard that its step has begun. */
const onceHeard = (readers: number, reply: Answer) => {
  const heard = new Set<string>()
  const { promise: all, resolve } = Promise.withResolvers<void>()
  return {
    reply: () => all.then(() => reply),
    hears: (reader: string, { event }: Event) => {
      if (event === "begun" && heard.add(reader).size === readers) resolve()
    },
  }
}

/** Writes an answer and another one, and has the first judged. */
const judged = defineMode({
  name: "judged",
  run: Effect.fnUntraced(function* (job) {
    const { text } = yield* job.propose("draft")
    yield* job.propose("second", { optional: true })
    const question = { role: "judge", instruction: "Judge it.", sections: [{ title: "answer", text }] } as const
    yield* job.decide("check", Schema.Struct({ good: Schema.Boolean }), question)
    return { answer: text }
  }),
})

/** A provider that refuses after it has begun to answer, and ends half a second later. */
const refusing = Layer.effect(
  Upstream,
  Effect.map(Upstream, (scripted) =>
    Upstream.of({
      ...scripted,
      streamTo: (request, emit) => Effect.tap(scripted.streamTo(request, emit), Effect.sleep("500 millis")),
    }),
  ),
).pipe(
  Layer.provide(new ScriptedUpstream([status("provider1")], () => ({ text: "Well, ", refusal: "I cannot." })).layer),
)

describeDatabases("following a job", (database) => {
  const setup = Effect.gen(function* () {
    const upstream = yield* FakeUpstream.make()
    const url = yield* databaseUrl(database)
    const environment = { TOOL_PRIVATE_NETWORKS: "127.0.0.1" }
    const worker = yield* startGateway(url, environment, upstream, [judged])
    // Only one process can open the embedded database.
    const other =
      database.kind === "sqlite"
        ? worker
        : yield* startGateway(url, { ...environment, JOB_WORKERS: "0" }, upstream, [judged])
    const server = yield* toolServer((_, response) => void setTimeout(() => response.end("3"), 300))
    const token = yield* tokenFor("alice")
    const tools = [{ name: "add", description: "Adds.", input_schema: { type: "object" }, url: server.url }]
    const start = Effect.fnUntraced(function* (mode = "direct") {
      const agent = yield* call(worker, "POST", "/api/v1/agents", { token, body: { name: "a", tools } })
      const body = { task: "x", mode }
      const { json } = yield* call(worker, "POST", `/api/v1/agents/${agent.json["id"]}/execute`, { token, body })
      return `/api/v1/jobs/${json["id"]}`
    })
    return { upstream, worker, other, token, start }
  })

  it.live("brings each text and each tool call once, across gateways and however often the stream is cut", () =>
    Effect.gen(function* () {
      const { other, start, token, upstream, worker } = yield* setup
      const thought = { text: THOUGHT, toolCalls: [{ name: "add", arguments: { a: 1 } }], delivery: { gap: GAP } }
      const { hears, reply } = onceHeard(2, thought)
      upstream.script(reply, { text: ANSWER, delivery: { gap: GAP } })
      const path = yield* start()
      const inOneGo = yield* Effect.forkChild(
        Effect.promise(() =>
          read({ gateway: other, path, token }, undefined, (event) => {
            hears("in one go", event)
            return isEnd(event)
          }),
        ),
      )
      const pieces: Array<Event> = []
      while (!pieces.some(isEnd)) {
        const gateway = pieces.length % 2 === 0 ? other : worker
        let count = 0
        const enough = (event: Event) => {
          hears("in pieces", event)
          return isEnd(event) || ++count === 3
        }
        pieces.push(...(yield* Effect.promise(() => read({ gateway, path, token }, pieces.at(-1)?.id, enough))))
      }
      const late = yield* Effect.promise(() => read({ gateway: other, path, token }, undefined, isEnd))
      const texts = { "turn-1": THOUGHT.join(""), "turn-2": ANSWER.join("") }
      const calls = ["tool_call tool-1-1", "tool_result tool-1-1", "step tool-1-1"]
      const all = ["begun turn-1", "step turn-1", ...calls, "begun turn-2", "step turn-2", "ended"]
      const whole = yield* Fiber.join(inOneGo)
      assert.deepStrictEqual(assembled(whole), { texts, others: all })
      assert.isAbove(whole.filter(({ event }) => event === "delta").length, 8)
      assert.deepStrictEqual(assembled(pieces), { texts, others: all })
      const stored = all.filter((event) => !event.startsWith("begun"))
      assert.deepStrictEqual(assembled(late), { texts, others: stored })
      const called = whole.find(({ event }) => event === "tool_call")
      assert.deepInclude(called?.data, { tool: "add", input: '{"a":1}', turn: 1, call: 1 })
      const result = whole.find(({ event }) => event === "tool_result")
      assert.deepStrictEqual(result?.data, { name: "tool-1-1", tool: "add", output: "3", is_error: false })
    }),
  )

  it.live("begins a text again when the model is asked again", () =>
    Effect.gen(function* () {
      const { other, start, token, upstream } = yield* setup
      const { hears, reply } = onceHeard(1, { text: THOUGHT, delivery: { gap: 30, breaks: { after: 20, how: "cut" } } })
      upstream.script(reply, { text: ["The ", "answer."], delivery: { gap: 300 } })
      const path = yield* start()
      const events = yield* Effect.promise(() =>
        read({ gateway: other, path, token }, undefined, (event) => {
          hears("the reader", event)
          return isEnd(event)
        }),
      )
      const deltas = events.filter(({ event }) => event === "delta").map(({ data }) => data)
      assert.isAbove(deltas.filter(({ at }) => at === 0).length, 1)
      assert.include(String(deltas[0]?.["text"]), "Thought 0")
      assert.deepStrictEqual(assembled(events).texts, { "turn-1": "The answer." })
    }),
  )

  it.live("brings the texts that an own mode lets the agent's model write, also filtered ones, and no judge's", () =>
    Effect.gen(function* () {
      const { other, start, token, upstream } = yield* setup
      const { hears, reply } = onceHeard(1, { text: ANSWER, delivery: { gap: GAP } })
      upstream.script(
        reply,
        { text: THOUGHT, finish: "content_filter", delivery: { gap: GAP } },
        { text: ['{"good":', " true}"], delivery: { gap: 300 } },
      )
      const path = yield* start("judged")
      const events = yield* Effect.promise(() =>
        read({ gateway: other, path, token }, undefined, (event) => {
          hears("the reader", event)
          return isEnd(event)
        }),
      )
      const texts = { draft: ANSWER.join(""), second: THOUGHT.join("") }
      const others = ["draft", "second", "check"].flatMap((name) => [`begun ${name}`, `step ${name}`])
      assert.deepStrictEqual(assembled(events), { texts, others: [...others, "ended"] })
      assert.isAbove(events.filter(({ data }) => data["name"] === "draft").length, 8)
      const late = yield* Effect.promise(() => read({ gateway: other, path, token }, undefined, isEnd))
      assert.deepStrictEqual(assembled(late).texts, texts)
    }),
  )

  it.live("replaces a text by the refusal that follows it", () =>
    Effect.gen(function* () {
      const timid = defineMode({
        name: "timid",
        run: (job) => Effect.map(job.propose("draft", { optional: true }), ({ text }) => ({ answer: text })),
      })
      const gateway = yield* startGateway(yield* databaseUrl(database), {}, refusing, [timid])
      const token = yield* tokenFor("alice")
      const body = { name: "a", default_mode: "timid" }
      const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body })
      const path = `/api/v1/agents/${agent["id"]}/execute`
      const { json: job } = yield* call(gateway, "POST", path, { token, body: { task: "x" } })
      const from = { gateway, path: `/api/v1/jobs/${job["id"]}`, token }
      const events = yield* Effect.promise(() => read(from, undefined, isEnd))
      const deltas = events.filter(({ event }) => event === "delta").map(({ data }) => data["text"])
      assert.deepStrictEqual(deltas, ["Well, ", "I cannot."])
      assert.deepStrictEqual(assembled(events).texts, { draft: "I cannot." })
    }),
  )

  it.live("refuses invalid ids, and reads on after an id of no step", () =>
    Effect.gen(function* () {
      const { other, start, token, upstream } = yield* setup
      upstream.script({ text: "It is 3." })
      const path = yield* start()
      yield* call(other, "GET", `${path}?wait=30`, { token })
      for (const id of ["-1", "1,turn-1", "1,turn 1.1.1", "x", `1${",a.1.1".repeat(17)}`, "1".repeat(16)]) {
        const refused = yield* call(other, "GET", `${path}/events`, { token, headers: { "last-event-id": id } })
        assert.deepInclude(problemIn(refused), { status: 400 }, id)
      }
      const id = "0,none.999999999999999.999999999999999,turn-1.1.5"
      const events = yield* Effect.promise(() => read({ gateway: other, path, token }, id, isEnd))
      assert.deepStrictEqual(assembled(events), { texts: { "turn-1": "It is 3." }, others: ["step turn-1", "ended"] })
    }),
  )
})

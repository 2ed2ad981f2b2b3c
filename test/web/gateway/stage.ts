/** A gateway with scripted models; a gate can release their answers one at a time. */
import { Array, Effect, Layer } from "effect"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import type { CallRecord } from "../../../src/services/routing/CallRecord.ts"
import { layerSqlite } from "../../../src/layers/database/Database.ts"
import { sqlite } from "../../support/databases.ts"
import { type Asked, FakeUpstream, type Reply } from "../../support/FakeUpstream.ts"
import { databaseUrl, startGateway } from "../../support/gateway.ts"

export const TASK = "May the service keep session tokens in localStorage if every response has a strict CSP?"
export const PROPOSAL = "Yes. A strict content security policy blocks injected scripts, so localStorage is safe enough."
export const OBJECTION =
  "A CSP does not protect against a compromised dependency that the page itself loads; it reads localStorage like any other script."
export const DETAIL = "The answer does not say how long such a token would live."
export const REVISION =
  "No. A strict CSP lowers the risk of injected scripts, but a compromised dependency still reads localStorage. Keep session tokens in HttpOnly, Secure, SameSite cookies, keep them short-lived, and keep the CSP as a second line of defence."
const DRAFT = "391 is not a prime: it is 17 × 23."

/** The reply of a model that asks a person. */
export const ASKS: Reply = {
  toolCalls: [
    {
      name: "ask_person",
      arguments: {
        question: "May I pay the 40 dollars that this bill asks for?\nIt came without an order.",
        answer_schema: {
          type: "object",
          properties: {
            approved: { type: "boolean", description: "Whether to pay" },
            note: { type: "string" },
            answer: { type: "string" },
          },
          required: ["approved"],
        },
      },
    },
  ],
}

export type Kind = "propose" | "critique" | "respond" | "judge" | "compare" | "questions" | "answer" | "reconcile"

/** Detects the purpose of a request from its text. */
const kindOf = ({ system, text: last }: Asked): Kind => {
  const text = `${system}\n${last}`
  if (text.includes("You examine an answer")) return "critique"
  if (text.includes("Another model examined your answer")) return "respond"
  if (text.includes("You decide whether an answer")) return "judge"
  if (text.includes("You compare answers")) return "compare"
  if (text.includes("Ask questions whose answers")) return "questions"
  if (text.includes("You answer a question of fact")) return "answer"
  if (text.includes("You decide which of several")) return "reconcile"
  return "propose"
}

/** Answers of three models, one of them careless. */
const answerOf = ({ model }: Asked): string => (model.startsWith("gemini") ? "391 is a prime." : DRAFT)

const json = (value: unknown): Reply => ({
  text: JSON.stringify(value),
  usage: { input: 900, cached: 300, output: 140 },
})

const partFor = (kind: Kind, asked: Asked, round: number): Reply => {
  switch (kind) {
    case "critique":
      return round > 1
        ? json({ resolved: [1], objections: [] })
        : json({
            resolved: [],
            objections: [
              { claim: OBJECTION, evidence: "", severity: "major" },
              { claim: DETAIL, evidence: "", severity: "minor" },
            ],
          })
    case "respond":
      return json({ replies: [{ objection: 1, action: "revise", text: "Cookies it is." }], answer: REVISION })
    case "judge":
      return json({ verdict: "sound", resolved: [1, 2], confidence: 0.86 })
    case "compare":
      return json({ same_as: null })
    case "questions":
      return json({ questions: ["What is 17 × 23?", "Is 17 a prime?"] })
    case "answer":
      return { text: asked.text.includes("×") ? "391" : "Yes.", usage: { input: 120, output: 6 } }
    case "reconcile":
      return json({
        checks: [
          { question: 1, fits: [2], note: "Both give 391." },
          { question: 2, fits: [2], note: "Both take 17 for a prime." },
        ],
        right: 2,
      })
    case "propose":
      return { text: asked.text.includes("391") ? answerOf(asked) : PROPOSAL, usage: { input: 420, output: 90 } }
  }
}

const ROWS_PER_WRITE = 1000

/** Holds answers until they are released. */
class Gate {
  private open = true
  private waiting: globalThis.Array<() => void> = []

  hold(): void {
    this.open = false
  }

  /** Releases the first waiting answer, if any. */
  next(): void {
    this.waiting.shift()?.()
  }

  release(): void {
    this.open = true
    for (const go of this.waiting.splice(0)) go()
  }

  pass(): Promise<void> {
    if (this.open) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push(resolve))
  }
}

/** Starts a gateway on a database with `calls`. It prefers the cheapest of three models; the first is the baseline. */
export const setStage = Effect.fnUntraced(function* (calls: ReadonlyArray<CallRecord> = []) {
  const fake = yield* FakeUpstream.make()
  const gate = yield* Effect.acquireRelease(
    Effect.sync(() => new Gate()),
    // The fake closes only after all its answers.
    (gate) => Effect.sync(() => gate.release()),
  )
  let rounds = 0
  fake.always(async (asked) => {
    const kind = kindOf(asked)
    if (kind === "critique") rounds++
    if (kind === "propose") rounds = 0
    const round = rounds
    await gate.pass()
    return partFor(kind, asked, round)
  })
  const filename = yield* databaseUrl(sqlite)
  if (calls.length > 0) {
    yield* Ledger.use((ledger) =>
      // In chunks, because the parameters of a statement are limited.
      Effect.forEach(Array.chunksOf(calls, ROWS_PER_WRITE), ledger.record, { discard: true }),
    ).pipe(Effect.provide(Layer.provide(Ledger.layer, layerSqlite({ filename }))), Effect.orDie)
  }
  const gateway = yield* startGateway(
    filename,
    {
      PROVIDER1_API_KEY: "key",
      PROVIDER1_BASE_URL: fake.openAi,
      PROVIDER1_MODEL: "gpt-6-sol",
      PROVIDER3_API_KEY: "key",
      PROVIDER3_BASE_URL: fake.anthropic,
      PROVIDER3_MODEL: "claude-haiku-4-5",
      PROVIDER4_API_KEY: "key",
      PROVIDER4_BASE_URL: fake.gemini,
      PROVIDER4_MODEL: "gemini-3.8-flash",
      TOOL_PRIVATE_NETWORKS: "127.0.0.1",
      // Jobs that the gate still holds at the end are not waited for.
      SHUTDOWN_GRACE: "100 millis",
    },
    "configured",
  )
  return { fake, gate, gateway, consoleUrl: `${gateway.url}/console` }
})

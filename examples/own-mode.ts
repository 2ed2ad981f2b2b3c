/** A gateway with a mode of its own: a model drafts a reply, a person approves it, and it is sent once, whatever crashes. */
import { createHmac, randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Option, Redacted, Schema } from "effect"
import { defineMode, Gateway } from "sealgate"
import { GatewayClient } from "sealgate/gateway-client"

const reply = defineMode({
  name: "reply",
  maxCalls: { proposer: 1 },
  run: Effect.fn(function* (job) {
    const draft = yield* job.propose("draft")
    yield* job.waitFor("night", "100 millis")
    const said = yield* job.ask("approve", {
      question: `May this be sent? ${draft.text}`,
      answer: Schema.Struct({ approved: Schema.Boolean }),
      timeout: "2 days",
    })
    if (!Option.exists(said, ({ approved }) => approved)) return { answer: "Not sent.", output: { sent: null } }
    const sent = yield* job.step(
      "send",
      Schema.String,
      Effect.sync(() => randomUUID()),
    )
    return { answer: draft.text, output: { sent } }
  }),
})

const folder = mkdtempSync(join(tmpdir(), "sealgate-own-mode-"))
const secret = "a secret of at least thirty-two bytes"
const gateway = await Gateway.start({
  dev: true,
  port: 0,
  logLevel: "warn",
  jwtSecret: Redacted.make(secret),
  databaseUrl: { kind: "sqlite", filename: join(folder, "gateway.db") },
  modes: [reply],
})

/** What your identity provider does; `sealgate token` makes one, too. */
const makeToken = (): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const claims = { iss: "sealgate", aud: "sealgate", sub: "me", tenant: "me", exp: Math.floor(Date.now() / 1000) + 600 }
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`
}

const client = new GatewayClient({ baseUrl: gateway.url, token: makeToken() })
const agent = await client.agents.create({ name: "support" })
const job = await client.agents.execute(agent.id, { task: "Where is my parcel?", mode: "reply" })
for await (const event of job.events()) {
  if (event.type === "step") console.log(`step ${event.step.name}`)
  if (event.type === "input_required") await client.jobs.input(job.id, { approved: true })
}
const { result } = await job.wait()
console.log(`${result?.answer} ${result?.mode === "own" ? JSON.stringify(result.output) : ""}`)
await gateway.stop()
rmSync(folder, { recursive: true })

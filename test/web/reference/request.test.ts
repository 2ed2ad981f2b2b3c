import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import * as fc from "fast-check"
import { CreateAgent, UpdateAgent } from "../../../src/domain/agent.ts"
import { ExecuteRequest } from "../../../src/domain/job.ts"
import { GatewayApi } from "../../../src/api/gateway/GatewayApi.ts"
import { LANGUAGES } from "../../../src/web/reference/languages.ts"
import { type Document, groupsOf, type Operation } from "../../../src/web/reference/openApi.ts"
import { firstDraft, keyOf, missingIn, requestOf } from "../../../src/web/reference/request.ts"

// What the page reads is what is sent as JSON.
const document = JSON.parse(JSON.stringify(OpenApi.fromApi(GatewayApi))) as Document
const { schemas } = document.components
const operations = new Map(
  groupsOf(document).flatMap(({ operations }) => operations.map((operation) => [operation.operationId, operation])),
)

const operation = (id: string): Operation => {
  const found = operations.get(id)
  assert.isDefined(found, id)
  return found
}

const BASE = "http://127.0.0.1:3000"

describe("a request that somebody composes", () => {
  it("begins with a body that the API takes", () => {
    for (const [id, payload] of [
      ["agents.create", CreateAgent],
      ["agents.update", UpdateAgent],
      ["agents.execute", ExecuteRequest],
    ] as const) {
      const { body } = firstDraft(operation(id), schemas)
      Schema.decodeUnknownSync(Schema.fromJsonString(payload as Schema.Codec<unknown>))(body)
    }
    assert.isUndefined(firstDraft(operation("agents.list"), schemas).body)
  })

  it("puts what was filled in where it belongs, and leaves out what was not", () => {
    const execute = operation("agents.execute")
    const [id, key] = execute.parameters ?? []
    assert.isDefined(id)
    assert.isDefined(key)
    const empty = firstDraft(execute, schemas)
    assert.deepStrictEqual(missingIn(execute, empty), [id])
    assert.strictEqual(requestOf(execute, empty, BASE).url, `${BASE}/api/v1/agents/ID/execute`)
    const draft = { ...empty, parameters: { [keyOf(id)]: "a/b?c", [keyOf(key)]: "once" } }
    assert.deepStrictEqual(missingIn(execute, draft), [])
    assert.deepInclude(requestOf(execute, draft, BASE), {
      url: `${BASE}/api/v1/agents/a%2Fb%3Fc/execute`,
      headers: [
        ["idempotency-key", "once"],
        ["content-type", "application/json"],
      ],
      needsToken: true,
    })
    const list = operation("jobs.list")
    const filled = { parameters: { "query limit": "5", "query status": "a&b" }, body: undefined }
    assert.deepInclude(requestOf(list, filled, BASE), { url: `${BASE}/api/v1/jobs?limit=5&status=a%26b`, headers: [] })
  })
})

describe("samples", () => {
  it("of curl survive a shell, whatever was filled in", () => {
    const special = fc.constantFrom("'", '"', "\\", "$", "`", "!", "\n", " ", "*", "ü", "a")
    const texts = fc.sample(fc.string({ unit: special }), 200)
    const samples = texts.map((body) =>
      LANGUAGES.curl({ method: "PUT", url: BASE, headers: [["a", body]], needsToken: true, body }, "json"),
    )
    // Says of every argument what it got.
    const script = `curl() { printf '%s\\0' "$@"; }; SEALGATE_TOKEN=t; ${samples.join("\n")}`
    const { stdout } = spawnSync("sh", { input: script, encoding: "utf8" })
    const expected = texts.flatMap((text) => {
      return ["-s", "-X", "PUT", BASE, "-H", "authorization: Bearer t", "-H", `a: ${text}`, "-d", text]
    })
    assert.deepStrictEqual(stdout.split("\0").slice(0, -1), expected)
  })

  it("of TypeScript make the same request", async () => {
    const request = {
      method: "POST",
      url: `${BASE}/x?a=%22`,
      headers: [["content-type", "application/json"]],
      needsToken: true,
      body: '{\n  "name": "it\'s `${x}`"\n}',
    } as const
    const sample = LANGUAGES.TypeScript(request, "nothing").replace("console.log(response.status)", "")
    let asked: readonly [string, RequestInit] | undefined
    const fetch = (url: string, init: RequestInit) => {
      asked = [url, init]
      return Promise.resolve()
    }
    // The sample is a program, so it is run as one.
    // oxlint-disable-next-line no-new-func
    const run: unknown = new Function("fetch", "process", `return (async () => { ${sample} })()`)
    await (run as (...globals: ReadonlyArray<unknown>) => Promise<void>)(fetch, { env: { SEALGATE_TOKEN: "t" } })
    assert.deepStrictEqual(asked, [
      request.url,
      {
        method: "POST",
        headers: { authorization: "Bearer t", "content-type": "application/json" },
        body: JSON.stringify(JSON.parse(request.body)),
      },
    ])
  })

  it("read what the operation answers with, and never name a token", () => {
    const plain = { method: "GET", url: BASE, headers: [], needsToken: false, body: undefined }
    assert.strictEqual(LANGUAGES.curl(plain, "stream"), `curl -sN '${BASE}'`)
    assert.include(LANGUAGES.TypeScript(plain, "text"), `await fetch("${BASE}")`)
    assert.include(LANGUAGES.TypeScript(plain, "text"), "await response.text()")
    assert.include(LANGUAGES.TypeScript(plain, "stream"), "TextDecoderStream")
  })
})

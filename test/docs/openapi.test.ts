/** The descriptions of both servers: what a linter says, what they tell people, and what a generated client makes of one. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Effect } from "effect"
import type { OpenApi } from "effect/http-api"
import { generateSource } from "oazapfts"
import { GatewayApi } from "../../src/api/gateway/GatewayApi.ts"
import { ProxyApi } from "../../src/api/proxy/ProxyApi.ts"
import { GATEWAY_WORDS } from "../../src/http/gateway/words.ts"
import { PROXY_WORDS } from "../../src/http/proxy/words.ts"
import { descriptionOf } from "../../src/http/shared/description/describe.ts"
import { bodiesOf, operationsIn } from "../../src/http/shared/description/operationsIn.ts"
import { type JsonSchema, partsOf } from "../../src/http/shared/description/jsonSchemas.ts"
import { sqlite } from "../support/databases.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"

// As they are sent.
const parsed = (document: OpenApi.OpenAPISpec) => JSON.parse(JSON.stringify(document)) as OpenApi.OpenAPISpec

const documents = [
  { name: "the gateway", words: GATEWAY_WORDS, document: parsed(descriptionOf(GatewayApi, GATEWAY_WORDS)) },
  { name: "the proxy", words: PROXY_WORDS, document: parsed(descriptionOf(ProxyApi, PROXY_WORDS)) },
]

/** The members that have no words, wherever they are within a schema. */
const wordless = (schema: JsonSchema, path: string): ReadonlyArray<string> => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    ...(member.description === undefined ? [`${path}.${name}`] : []),
    ...wordless(member, `${path}.${name}`),
  ]),
  ...partsOf(schema).flatMap((part) => wordless(part, path)),
]

for (const { document, name, words } of documents) {
  describe(`the description of ${name}`, () => {
    const operations = operationsIn(document)

    it("passes a linter's strictest rules, examples included", async () => {
      const config = await createConfig({ extends: ["recommended-strict"] })
      const mistakes = await lintFromString({ source: JSON.stringify(document), config })
      assert.deepStrictEqual(
        mistakes.map(({ location, message }) => `${location[0]?.pointer}: ${message}`),
        [],
      )
    })

    it("has an example of every body and path parameter", () => {
      for (const operation of operations) {
        const { operationId, parameters, requestBody, responses } = operation
        for (const media of Object.values(requestBody?.content ?? {})) assert.property(media, "example", operationId)
        for (const [status, { content = {} }] of Object.entries(responses)) {
          if (status === "503" && operationId === "ready") continue
          for (const media of Object.values(content)) assert.property(media, "example", `${operationId} ${status}`)
        }
        for (const parameter of parameters) {
          if (parameter.in === "path") assert.property(parameter, "example", operationId)
        }
      }
      assert.includeMembers(
        operations.map(({ operationId }) => operationId),
        Object.keys(words.examples),
      )
    })

    it("describes every member and parameter, and has no unused descriptions", () => {
      const schemas: ReadonlyArray<readonly [string, JsonSchema]> = [
        ...Object.entries(document.components.schemas),
        ...operations.flatMap((operation) =>
          bodiesOf(operation).map(({ schema }) => [operation.operationId, schema] as const),
        ),
      ]
      assert.deepStrictEqual(
        schemas.flatMap(([path, schema]) => wordless(schema, path)),
        [],
      )
      for (const { operationId, parameters } of operations) {
        for (const { description, name } of parameters) assert.isDefined(description, `${operationId} ${name}`)
      }
      const said = JSON.stringify(document)
      const unused = Object.entries(words.glossary).filter(([, text]) => !said.includes(JSON.stringify(text)))
      assert.deepStrictEqual(unused, [])
    })

    it("names each schema once, gives each problem its code, and 429 its header fields", () => {
      for (const [name, { properties }] of Object.entries<JsonSchema>(document.components.schemas)) {
        assert.notMatch(name, /_\d+$|Encoded$/)
        if (properties?.["retryable"] !== undefined && name !== "Problem") {
          assert.lengthOf(properties["code"]?.enum ?? [], 1, name)
        }
      }
      for (const { operationId, responses } of operations) {
        assert.hasAllKeys(responses[429]?.headers, ["retry-after", "ratelimit-policy", "ratelimit"], operationId)
      }
    })
  })
}

const run = promisify(execFile)

/** A folder in which generated code finds what it imports. */
const workshop = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "sealgate-generated-"))
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"))
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

/** A program that uses only the generated client. */
const PROGRAM = `
import { agentsCreate, agentsExecute, agentsGet, defaults, jobsGet, type Job } from "./client.ts"

defaults.baseUrl = process.argv[2]
defaults.headers = { authorization: "Bearer " + process.argv[3] }

const created = await agentsCreate({ name: "generated", default_mode: "verified" })
if (created.status !== 201) throw new Error(created.data.code)
const begun = await agentsExecute(created.data.id, { task: "hello" }, { idempotencyKey: "once" })
if (begun.status !== 202) throw new Error(begun.data.code)
const ended = await jobsGet(begun.data.id, { wait: 30 })
if (ended.status !== 200) throw new Error(ended.data.code)
const job: Job = ended.data
const missing = await agentsGet("none")
// The compiler knows the code of every status.
const code: "agent-not-found" | undefined = missing.status === 404 ? missing.data.code : undefined
console.log(JSON.stringify({ status: job.status, mode: job.result?.mode, code }))
`

it.live("a client generated from the gateway's description compiles and works", () =>
  Effect.gen(function* () {
    const { url } = yield* startGateway(yield* databaseUrl(sqlite))
    const token = yield* tokenFor("dana")
    const folder = yield* workshop
    const said = yield* Effect.promise(async () => {
      writeFileSync(join(folder, "client.ts"), await generateSource(`${url}/openapi.json`))
      writeFileSync(join(folder, "program.ts"), PROGRAM)
      const options = "--strict --noEmit --target esnext --module nodenext --allowImportingTsExtensions --skipLibCheck"
      const tsc = [resolve("node_modules/.bin/tsc"), ...options.split(" "), "--types", "node", "program.ts"]
      await run(process.execPath, tsc, { cwd: folder })
      return (await run(process.execPath, ["program.ts", url, token], { cwd: folder })).stdout
    })
    assert.deepStrictEqual(JSON.parse(said), { status: "completed", mode: "verified", code: "agent-not-found" })
  }),
)

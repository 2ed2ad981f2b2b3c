/** The OpenAPI documents of both servers: lint, descriptions, examples, and a generated client. */
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
import { GATEWAY_EXAMPLES } from "../../src/http/gateway/examples.ts"
import { PROXY_EXAMPLES } from "../../src/http/proxy/examples.ts"
import { descriptionOf, operationsIn } from "../../src/http/shared/description/describe.ts"
import { partsOf, type SchemaObject } from "../../src/http/shared/description/jsonSchemas.ts"
import { sqlite } from "../support/databases.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"

/** The bodies of an operation's request and responses, for all content types. */
const bodiesOf = ({ requestBody, responses }: OpenApi.OpenAPISpecOperation) =>
  [requestBody?.content, ...Object.values(responses).map(({ content }) => content)].flatMap((content) =>
    Object.values(content ?? {}),
  )

/** A document as clients receive it. */
const parsed = (document: OpenApi.OpenAPISpec) => JSON.parse(JSON.stringify(document)) as OpenApi.OpenAPISpec

const documents = [
  { name: "gateway", examples: GATEWAY_EXAMPLES, document: parsed(descriptionOf(GatewayApi, GATEWAY_EXAMPLES)) },
  { name: "proxy", examples: PROXY_EXAMPLES, document: parsed(descriptionOf(ProxyApi, PROXY_EXAMPLES)) },
]

/** Members without a description: their name or their standard (RFC 9457, JWK, Chat Completions) says enough. */
const PLAIN = new Set(
  `
  above_input_tokens aead agent_id alg answer arguments as_of at breaker by_mode by_provider_model by_strategy
  by_target cached_tokens calls claim code content created_at critic crv data default_mode detail
  effective_prices evidence expires_at failed_calls finished_at from function function_call id image_url
  input_tokens instance items judge kdf kem kty last_job_id last_problem limits max_retries message mode model
  model_policy name next_at note object objections options output_tokens participants problem proposer
  provider question refusal replies request retry retryable role round rounds said_by sample severity since
  software started_at status strategy targets task text timeouts title to tool_call_id tool_calls type
  updated_at url use version
`.match(/\w+/g),
)

/** The names of members without a description, at any depth of a schema. */
const undescribed = (schema: SchemaObject): ReadonlyArray<string> => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    ...([member, ...(member.anyOf ?? [])].some(({ description }) => description !== undefined) ? [] : [name]),
    ...undescribed(member),
  ]),
  ...partsOf(schema).flatMap(undescribed),
]

for (const { document, examples, name } of documents) {
  describe(`the ${name}'s OpenAPI document`, () => {
    const operations = operationsIn(document)

    it("passes the linter's strictest rules, examples included", async () => {
      const config = await createConfig({ extends: ["recommended-strict"] })
      const mistakes = await lintFromString({ source: JSON.stringify(document), config })
      assert.deepStrictEqual(
        mistakes.map(({ location, message }) => `${location[0]?.pointer}: ${message}`),
        [],
      )
    })

    it("has an example of every body and every path parameter", () => {
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
        Object.keys(examples),
      )
    })

    it("describes every parameter, and every member whose name does not explain it", () => {
      const schemas: ReadonlyArray<SchemaObject> = [
        ...Object.values(document.components.schemas),
        ...operations.flatMap(bodiesOf).map(({ schema }) => schema),
      ]
      const unexplained = schemas.flatMap(undescribed).filter((member) => !PLAIN.has(member))
      assert.deepStrictEqual(unexplained, [])
      for (const { operationId, parameters } of operations) {
        for (const { description, name } of parameters) assert.isDefined(description, `${operationId} ${name}`)
      }
    })

    it("gives each schema one name, each problem one code, and status 429 its header fields", () => {
      for (const [name, { properties }] of Object.entries<SchemaObject>(document.components.schemas)) {
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

/** A temporary folder in which generated code can import from node_modules. */
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

it.live("a client generated from the gateway's OpenAPI document compiles and works with the gateway", () =>
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

/** Tools of MCP servers: the official SDK's server, and hostile ones, over sockets. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { IpNetwork } from "effect/net"
import { TestClock } from "effect/testing"
import { type Calculation, startCalculator } from "../../../examples/calculator.ts"
import type { ListedTool } from "../../../src/domain/jobs/tool.ts"
import { ToolNetwork } from "../../../src/services/tools/ToolNetwork.ts"
import { layerTools, Tools } from "../../../src/services/tools/Tools.ts"
import { type Behaviour, toolServer } from "../../support/toolServer.ts"
import { countingTurns } from "../../support/turns.ts"

const withTools = <A, E>(use: (tools: Tools) => Effect.Effect<A, E>, allowed = ["127.0.0.1/32"]) =>
  Effect.flatMap(Tools, use).pipe(
    Effect.provide(
      Layer.provide(
        layerTools,
        ToolNetwork.layer({ allowed: allowed.map((text) => IpNetwork.fromStringUnsafe(text)) }),
      ),
    ),
  )

const calculator = Effect.gen(function* () {
  const calls: Array<Calculation> = []
  const { url } = yield* Effect.acquireRelease(
    Effect.promise(() => startCalculator(0, (calculation) => calls.push(calculation))),
    ({ stop }) => Effect.sync(stop),
  )
  return { server: { name: "calc", url }, calls }
})

const tool: ListedTool = {
  name: "calc__add",
  remote: "add",
  description: "Adds.",
  input_schema: { type: "object" },
  read_only: false,
  idempotent: false,
}

/** Speaks the protocol up to the answer of a method, which `results` gives. */
const speaking =
  (results: Readonly<Record<string, unknown>>, protocolVersion = "2025-11-25"): Behaviour =>
  ({ body }, response) => {
    const message: { readonly id?: number; readonly method?: string } = body === "" ? {} : JSON.parse(body)
    if (message.id === undefined) return void response.writeHead(202).end()
    const initialized = {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "x", version: "1" },
    }
    const result = message.method === "initialize" ? initialized : results[message.method ?? ""]
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }))
  }

describe("an MCP server of the official SDK", () => {
  it.effect("lists its tools under the server's name, with their hints", () =>
    Effect.gen(function* () {
      const { server } = yield* calculator
      const { leftOut, tools } = yield* withTools(({ list }) => list(server))
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["calc__add", "calc__subtract", "calc__multiply", "calc__divide"],
      )
      assert.deepInclude(tools[0], {
        remote: "add",
        description: "Returns a add b.",
        read_only: true,
        idempotent: false,
      })
      assert.deepStrictEqual(leftOut, [])
    }),
  )

  it.effect("is called with the idempotency key in a header and in _meta", () =>
    Effect.gen(function* () {
      const { calls, server } = yield* calculator
      const output = yield* withTools(({ callListed }) => callListed(server, tool, { a: 40, b: 2 }, "job/tool-1-1"))
      assert.deepStrictEqual(output, { text: "42", is_error: false })
      assert.deepStrictEqual(calls, [{ key: "job/tool-1-1", header: "job/tool-1-1" }])
    }),
  )

  it.effect("tells the model about an error that the tool reports", () =>
    Effect.gen(function* () {
      const { server } = yield* calculator
      const output = yield* withTools(({ callListed }) => callListed(server, tool, { a: "x" }, "key"))
      assert.deepStrictEqual(output, { text: "Give two numbers, a and b.", is_error: true })
    }),
  )
})

describe("the content of a result", () => {
  const outputOf = (content: ReadonlyArray<object>, bearer?: Redacted.Redacted) =>
    Effect.flatMap(toolServer(speaking({ "tools/call": { content } })), ({ url }) =>
      withTools(({ callListed }) => callListed({ name: "calc", url }, tool, {}, "key", bearer)),
    )
  const uri = "repo://acme/app/contents/a.ts"

  it.effect("reaches the model with the texts of resources, and the names of what it cannot read", () =>
    Effect.gen(function* () {
      const output = yield* outputOf([
        { type: "text", text: "Downloaded." },
        { type: "resource", resource: { uri, mimeType: "text/plain", text: "export const a = 1\n" } },
        { type: "resource_link", uri: "repo://acme/app", name: "app", title: "The app", description: "All files." },
        { type: "resource_link", uri: "repo://acme/lib", name: "lib" },
        { type: "resource", resource: { uri: "repo://acme/logo", mimeType: "image/png", blob: "AAAA" } },
        { type: "resource", resource: { uri: "repo://acme/data", blob: "AAAA" } },
        { type: "image", data: "AAAA", mimeType: "image/jpeg" },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ])
      const lines = [
        "Downloaded.",
        uri,
        "export const a = 1\n",
        "The app: repo://acme/app",
        "All files.",
        "lib: repo://acme/lib",
        "(resource repo://acme/logo, image/png, not shown)",
        "(resource repo://acme/data, not shown)",
        "(image, image/jpeg, not shown)",
        "(audio, audio/wav, not shown)",
      ]
      assert.deepStrictEqual(output, { text: lines.join("\n"), is_error: false })
    }),
  )

  it.effect("has no secret in the text or URI of a resource, and is cut at 64 KiB", () =>
    Effect.gen(function* () {
      const secret = "user-token-0123456789"
      const resource = { uri: `${uri}?token=${secret}`, text: `token = ${secret}` }
      const output = yield* outputOf([{ type: "resource", resource }], Redacted.make(secret))
      assert.strictEqual(output.text, `${uri}?token=[secret]\ntoken = [secret]`)
      const long = yield* outputOf([{ type: "resource", resource: { uri, text: "x".repeat(100_000) } }])
      assert.match(long.text, /^repo:.*\nx+\n\(cut: the output is longer than 65536 bytes\)$/)
    }),
  )
})

describe("a session with an MCP server", () => {
  it.effect("has the idempotency key with the call alone, and names the gateway in each request", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* toolServer((request, response, index) => {
        response.setHeader("mcp-session-id", "s")
        if (!request.body.includes("tools/call")) return speaking({})(request, response, index)
        const { id }: { readonly id: number } = JSON.parse(request.body)
        const result = { content: [{ type: "text", text: "42" }] }
        const messages = [
          { id: "p", method: "ping" },
          { id, result },
        ]
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.end(messages.map((each) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...each })}\n\n`).join(""))
      })
      const server = { name: "calc", url }
      const output = yield* withTools(({ callListed }) => callListed(server, tool, {}, "job/tool-1-1"))
      assert.deepStrictEqual(output, { text: "42", is_error: false })
      const keyOf = ({ body, headers, method }: (typeof requests)[number]) => {
        const said: { readonly id?: unknown; readonly method?: string } = body === "" ? {} : JSON.parse(body)
        return [said.method ?? said.id ?? method, headers["idempotency-key"]]
      }
      assert.deepStrictEqual(requests.map(keyOf), [
        ["initialize", undefined],
        ["notifications/initialized", undefined],
        ["tools/call", "job/tool-1-1"],
        ["p", undefined],
        ["DELETE", undefined],
      ])
      for (const { headers, method } of requests) assert.strictEqual(headers["user-agent"], "sealgate", method)
    }),
  )

  it.effect("has the revision that the server answered, and names it after initialize only", () =>
    Effect.gen(function* () {
      const results = {
        "tools/list": { tools: [{ name: "add", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text: "42" }] },
      }
      for (const revision of ["2025-11-25", "2025-06-18", "2025-03-26"]) {
        const { requests, url } = yield* toolServer((request, response, index) => {
          const expected = request.body.includes('"initialize"') ? undefined : revision
          if (request.headers["mcp-protocol-version"] !== expected) return void response.writeHead(400).end()
          response.setHeader("mcp-session-id", "s")
          speaking(results, revision)(request, response, index)
        })
        const server = { name: "calc", url }
        const { tools } = yield* withTools(({ list }) => list(server))
        assert.deepStrictEqual(
          tools.map(({ remote }) => remote),
          ["add"],
        )
        const output = yield* withTools(({ callListed }) => callListed(server, tool, {}, "key"))
        assert.deepStrictEqual(output, { text: "42", is_error: false })
        const session = [
          ["POST", undefined],
          ["POST", revision],
          ["POST", revision],
          ["DELETE", revision],
        ]
        assert.deepStrictEqual(
          requests.map(({ headers, method }) => [method, headers["mcp-protocol-version"]]),
          [...session, ...session],
        )
      }
    }),
  )

  it.effect("is refused in words if the server answers a revision that is not spoken", () =>
    Effect.gen(function* () {
      const why =
        "The MCP server speaks none of the revisions 2025-11-25, 2025-06-18, 2025-03-26 of the protocol, or offers no tools."
      for (const revision of ["2024-10-07", "2024-11-05", "2099-01-01"]) {
        const { url } = yield* toolServer(speaking({}, revision))
        const server = { name: "calc", url }
        const error = yield* Effect.flip(withTools(({ list }) => list(server)))
        assert.deepStrictEqual(error, { why, retryable: false })
        const output = yield* withTools(({ callListed }) => callListed(server, tool, {}, "key"))
        assert.deepStrictEqual(output, { text: why, is_error: true })
      }
    }),
  )
})

describe("a list of tools under a secret", () => {
  it.effect("keeps names and schemas that end in the beginning of the secret", () =>
    Effect.gen(function* () {
      const inputSchema = { type: "object", properties: { user: { type: "string", description: "the user" } } }
      const { url } = yield* toolServer(
        speaking({ "tools/list": { tools: [{ name: "get_user", description: "Gets a user", inputSchema }] } }),
      )
      const server = { name: "crm", url }
      const { tools } = yield* withTools(({ list }) => list(server, Redacted.make("user-token-0123456789")))
      assert.deepInclude(tools[0], { name: "crm__get_user", remote: "get_user", description: "Gets a user" })
      assert.deepStrictEqual(tools[0]?.input_schema, inputSchema)
    }),
  )

  it.effect("has no part of the secret where a description or the name of a refused tool was cut", () =>
    Effect.gen(function* () {
      const secret = "user-token-0123456789"
      const inputSchema = { type: "object" }
      const { url } = yield* toolServer(
        speaking({
          "tools/list": {
            tools: [
              { name: "a", description: `${".".repeat(1990)}${secret}`, inputSchema },
              { name: `${"a".repeat(85)}${secret}`, inputSchema },
            ],
          },
        }),
      )
      const listing = yield* withTools(({ list }) => list({ name: "crm", url }, Redacted.make(secret)))
      assert.notInclude(JSON.stringify(listing), "user-")
    }),
  )

  it.effect("has no part of the secret in a schema, and leaves out alone a tool whose schema is too deep", () =>
    Effect.gen(function* () {
      const secret = "user-token-0123456789"
      const deep = Array.from({ length: 900 }).reduce<object>((items) => ({ items }), {})
      const { url } = yield* toolServer(
        speaking({
          "tools/list": {
            tools: [
              { name: "deep", inputSchema: { type: "object", ...deep } },
              { name: "named", inputSchema: { type: "object", properties: { a: { description: secret } } } },
              { name: "keyed", inputSchema: { type: "object", properties: { [secret]: {} } } },
            ],
          },
        }),
      )
      const { leftOut, tools } = yield* withTools(({ list }) => list({ name: "crm", url }, Redacted.make(secret)))
      const properties = { a: { description: "[secret]" } }
      assert.deepStrictEqual(
        tools.map(({ input_schema, name }) => ({ name, input_schema })),
        [{ name: "crm__named", input_schema: { type: "object", properties } }],
      )
      assert.deepStrictEqual(
        leftOut.map((why) => why.split(":")[0]),
        ["crm__deep", "crm__keyed"],
      )
      assert.notInclude(leftOut.join(), secret)
    }),
  )
})

describe("a list of tools for models", () => {
  it.effect("has names that providers take, and calls go to the server's own", () =>
    Effect.gen(function* () {
      const long = "x".repeat(70)
      const names = ["a.b", "a/b", "größe 1", long, `${long}y`, "a_b"]
      const { requests, url } = yield* toolServer(
        speaking({
          "tools/list": { tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) },
          "tools/call": { content: [] },
        }),
      )
      const server = { name: "calc", url }
      const { leftOut, tools } = yield* withTools(({ list }) => list(server))
      assert.deepStrictEqual(leftOut, [])
      const [dotted, slashed, spaced, cut, other, own] = tools.map(({ name }) => name)
      assert.strictEqual(own, "calc__a_b")
      for (const name of [dotted, slashed]) assert.match(name ?? "", /^calc__a_b_[0-9a-f]{8}$/)
      assert.match(spaced ?? "", /^calc__gr__e_1_[0-9a-f]{8}$/)
      for (const name of [cut, other]) assert.match(name ?? "", /^calc__x{49}_[0-9a-f]{8}$/)
      yield* Effect.forEach(tools, (each) => withTools(({ callListed }) => callListed(server, each, {}, "key")))
      const called = requests.flatMap(({ body }) => (body.includes("tools/call") ? [JSON.parse(body).params.name] : []))
      assert.deepStrictEqual(called, names)
    }),
  )

  it.effect("has no tool whose name has the secret", () =>
    Effect.gen(function* () {
      const secret = "user-token-0123456789"
      const { url } = yield* toolServer(
        speaking({ "tools/list": { tools: [{ name: `get-${secret}`, inputSchema: { type: "object" } }] } }),
      )
      const listing = yield* withTools(({ list }) => list({ name: "crm", url }, Redacted.make(secret)))
      assert.deepStrictEqual(listing, { tools: [], leftOut: ["crm__get-[secret]: name it without the secret"] })
    }),
  )

  it.effect("has their own schemas, without tools whose property names providers refuse", () =>
    Effect.gen(function* () {
      const alternatives = { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] }
      const filtered = { type: "object", properties: { "filter[id]": { type: "string" } } }
      const { url } = yield* toolServer(
        speaking({
          "tools/list": {
            tools: [
              { name: "either", inputSchema: alternatives },
              { name: "filter", inputSchema: filtered },
              { name: "hidden", inputSchema: { type: "object", oneOf: [filtered] } },
              { name: "below", inputSchema: { type: "object", properties: { by: filtered } } },
            ],
          },
        }),
      )
      const { leftOut, tools } = yield* withTools(({ list }) => list({ name: "crm", url }))
      assert.deepStrictEqual<unknown>(
        tools.map(({ input_schema, name }) => [name, input_schema]),
        [
          ["crm__either", alternatives],
          ["crm__below", { type: "object", properties: { by: filtered } }],
        ],
      )
      const why =
        'name each property with 1 to 64 letters, digits, underscores, dots or hyphens, unlike "filter[id]"; Anthropic refuses others'
      assert.deepStrictEqual(leftOut, [`crm__filter: ${why}`, `crm__hidden: ${why}`])
    }),
  )
})

describe("an MCP server that strays from the protocol", () => {
  const MAY = "The call may have been carried out."
  const outputOf = (behave: Behaviour, called = tool) =>
    Effect.flatMap(toolServer(behave), ({ url }) =>
      withTools(({ callListed }) => callListed({ name: "calc", url }, called, {}, "key")),
    )
  /** Answers calls with this body. */
  const answering =
    (body: string): Behaviour =>
    (request, response, index) =>
      request.body.includes("tools/call")
        ? void response.writeHead(200, { "content-type": "application/json" }).end(body)
        : speaking({})(request, response, index)

  it.effect("loses only its malformed tools, of which the output schema and icons are not read", () =>
    Effect.gen(function* () {
      const secret = "user-token-0123456789"
      const inputSchema = { type: "object" }
      const { url } = yield* toolServer(
        speaking({
          "tools/list": {
            tools: [
              { name: "good", inputSchema },
              { name: "unschemed" },
              { name: "typed", inputSchema: { type: "string" } },
              { name: "odd", inputSchema, outputSchema: { type: "array" }, icons: [{ src: 1 }] },
              { name: secret, description: null, inputSchema },
              { inputSchema },
              "text",
            ],
          },
        }),
      )
      const { leftOut, tools } = yield* withTools(({ list }) => list({ name: "calc", url }, Redacted.make(secret)))
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["calc__good", "calc__odd"],
      )
      assert.deepStrictEqual(leftOut, [
        "calc__unschemed: correct its inputSchema",
        "calc__typed: correct its inputSchema.type",
        "calc__[secret]: correct its description",
        "calc__(no name): correct its name",
        "calc__(no name): list each tool as an object",
      ])
    }),
  )

  it.effect("fails to list its tools if they are no list, for good", () =>
    Effect.gen(function* () {
      const { url } = yield* toolServer(speaking({ "tools/list": { tools: {} } }))
      const error = yield* Effect.flip(withTools(({ list }) => list({ name: "calc", url })))
      assert.deepStrictEqual(error, { why: "The MCP server's answer does not follow the protocol.", retryable: false })
    }),
  )

  it.effect("may leave out the content of a result, of which models then read the structured one", () =>
    Effect.gen(function* () {
      const structured = yield* outputOf(speaking({ "tools/call": { structuredContent: { sum: 42 } } }))
      assert.deepStrictEqual(structured, { text: '{"sum":42}', is_error: false })
      const failed = yield* outputOf(speaking({ "tools/call": { isError: true, structuredContent: { no: 1 } } }))
      assert.deepStrictEqual(failed, { text: '{"no":1}', is_error: true })
    }),
  )

  it.effect("has its structured content read by models unless its texts repeat it", () =>
    Effect.gen(function* () {
      const read = (texts: ReadonlyArray<string>, structuredContent: object) =>
        Effect.map(
          outputOf(
            speaking({ "tools/call": { content: texts.map((text) => ({ type: "text", text })), structuredContent } }),
          ),
          ({ text }) => text,
        )
      const found = { rows: [{ name: "a b" }] }
      assert.strictEqual(yield* read(["1 row found."], found), `1 row found.\n${JSON.stringify(found)}`)
      assert.strictEqual(yield* read([JSON.stringify(found, null, 2)], found), JSON.stringify(found, null, 2))
      // Python's library wraps results that are no objects.
      assert.strictEqual(yield* read(["a b"], { result: "a b" }), "a b")
      assert.strictEqual(yield* read(["42"], { result: 42 }), "42")
      assert.strictEqual(yield* read(['{"a": 1}', '{"a": 2}'], { result: [{ a: 1 }, { a: 2 }] }), '{"a": 1}\n{"a": 2}')
      assert.strictEqual(yield* read(["a", "b c"], { result: ["a", "b c"] }), "a\nb c")
    }),
  )

  it.effect("reports a call that was sent as possibly carried out, unless the server refuses it", () =>
    Effect.gen(function* () {
      const error = JSON.stringify({ jsonrpc: "2.0", id: 2, error: { code: -32602, message: "Unknown tool: add" } })
      const empty: Behaviour = (request, response, index) =>
        request.body.includes("tools/call")
          ? void response.writeHead(202).end()
          : speaking({})(request, response, index)
      const unopened: Behaviour = (_, response) =>
        void response.writeHead(200, { "content-type": "application/json" }).end("no JSON")
      const STRAY = [{ content: "42" }, {}, { task: { taskId: "1" } }, { toolResult: 42 }, { structuredContent: null }]
      const UNREAD = `The MCP server's answer does not follow the protocol. ${MAY}`
      for (const [behave, text] of [
        ...STRAY.map((result) => [speaking({ "tools/call": result }), UNREAD] as const),
        [answering("no JSON"), `The MCP server answered: Invalid MCP JSON. ${MAY}`],
        [empty, `The MCP server answered: MCP request received no response. ${MAY}`],
        [
          answering("x".repeat(2 * 1024 * 1024)),
          `The MCP server sent more than 1048576 bytes, or a list of tools without end. ${MAY}`,
        ],
        [answering(error), "The MCP server answered: Unknown tool: add."],
        [unopened, "The MCP server answered: Invalid MCP JSON."],
      ] as const) {
        assert.deepStrictEqual(yield* outputOf(behave), { text, is_error: true })
        const reading = yield* outputOf(behave, { ...tool, read_only: true })
        assert.deepStrictEqual(reading, { text: text.replace(` ${MAY}`, ""), is_error: true })
      }
    }),
  )
})

describe("the list of an MCP server", () => {
  it.effect.each([[null], [""]])("ends with %j as the next cursor", ([nextCursor]) =>
    Effect.gen(function* () {
      const page = { tools: [{ name: "add", inputSchema: { type: "object" } }], nextCursor }
      const { requests, url } = yield* toolServer(speaking({ "tools/list": page }))
      const { leftOut, tools } = yield* withTools(({ list }) => list({ name: "calc", url }))
      assert.deepStrictEqual([tools.map(({ name }) => name), leftOut], [["calc__add"], []])
      assert.lengthOf(
        requests.filter(({ body }) => body.includes("tools/list")),
        1,
      )
    }),
  )
})

describe("a hostile MCP server", () => {
  const listed = (tools: ReadonlyArray<unknown>) =>
    Effect.flatMap(toolServer(speaking({ "tools/list": { tools } })), ({ url }) =>
      withTools(({ list }) => list({ name: "evil", url })),
    )
  const TOO_MUCH = "The MCP server sent more than 1048576 bytes, or a list of tools without end."
  const inputSchema = { type: "object" }
  const nested = (levels: number): object => (levels === 1 ? {} : { properties: { a: nested(levels - 1) } })

  it.effect("cannot offer schema bombs, colliding or unusable names, or too many tools", () =>
    Effect.gen(function* () {
      const { leftOut, tools } = yield* listed([
        { name: "good", inputSchema },
        { name: "good", inputSchema },
        { name: "deep", inputSchema: { type: "object", ...nested(40) } },
        { name: "long", inputSchema: { type: "object", title: "x".repeat(20_000) } },
        { name: "far", inputSchema: { type: "object", properties: { a: { $ref: "https://example.com/bomb" } } } },
        { name: "n".repeat(129), inputSchema },
        { name: "", inputSchema },
      ])
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["evil__good"],
      )
      assert.deepStrictEqual(
        leftOut.map((why) => why.split(":")[0]),
        ["evil__good", "evil__deep", "evil__long", "evil__far", `evil__${"n".repeat(94)}`, "evil__"],
      )
      const many = yield* listed(Array.from({ length: 70 }, (_, i) => ({ name: `t${i}`, inputSchema })))
      assert.strictEqual(many.tools.length, 64)
      assert.strictEqual(many.leftOut.length, 6)
    }),
  )

  it.effect("cannot hold up others with a list, of which each tool is a step", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 1500 }, (_, i) => `t${i}`)
      const { turns, value } = yield* countingTurns(listed(names.map((name) => ({ name, inputSchema }))))
      assert.strictEqual(value.leftOut.length, names.length - 64)
      assert.isAtLeast(turns, names.length)
    }),
  )

  it.effect("cannot have the schemas of surplus tools examined", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 64 }, (_, i) => `t${i}`)
      const wrong = { name: "t0", inputSchema: { type: "object", ...nested(40) } }
      const { leftOut } = yield* listed([
        ...names.map((name) => ({ name, inputSchema })),
        wrong,
        { ...wrong, name: "surplus" },
      ])
      assert.deepStrictEqual(leftOut, [
        "evil__t0: give each tool a name of its own",
        "evil__surplus: list at most 64 tools",
      ])
    }),
  )

  it.effect("cannot send a message of more than 1 MiB", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(listed([{ name: "big", description: "x".repeat(2 * 1024 * 1024), inputSchema }]))
      assert.deepStrictEqual(error, { why: TOO_MUCH, retryable: false })
    }),
  )

  it.effect("cannot send a message that takes long to decode, as a body or an event, well-formed or not", () =>
    Effect.gen(function* () {
      const deep = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)
      const results = [
        { content: Array.from({ length: 10_000 }, () => ({ type: "text", text: "" })) },
        { content: [{ type: "text", text: "\ud800" }], structuredContent: { deep } },
        { content: [{ type: "text", text: "fine" }], structuredContent: { deep } },
      ]
      const hint = "The MCP server answered: a message that is not read."
      const whys = [
        "At most 1024 levels and 8192 values",
        "A string contains an unpaired surrogate.",
        "At most 1024 levels",
      ]
      for (const [index, result] of results.entries()) {
        const body = speaking({ "tools/call": result })
        const event: Behaviour = (request, response, at) => {
          if (!request.body.includes("tools/call")) return body(request, response, at)
          const { id }: { readonly id: number } = JSON.parse(request.body)
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`)
        }
        for (const behaviour of [body, event]) {
          const { url } = yield* toolServer(behaviour)
          const output = yield* withTools(({ callListed }) => callListed({ name: "evil", url }, tool, {}, "key"))
          assert.isTrue(output.is_error)
          assert.include(output.text, `${hint} ${whys[index]}`)
        }
      }
      const error = yield* Effect.flip(listed(Array.from({ length: 5000 }, (_, i) => ({ name: `t${i}`, inputSchema }))))
      assert.include(error.why, `${hint} ${whys[0]}`)
      assert.isFalse(error.retryable)
    }),
  )

  it.effect("cannot list tools without end", () =>
    Effect.gen(function* () {
      const page = { tools: [{ name: "more", inputSchema }], nextCursor: "again" }
      const { requests, url } = yield* toolServer(speaking({ "tools/list": page }))
      const error = yield* Effect.flip(withTools(({ list }) => list({ name: "evil", url })))
      assert.deepStrictEqual(error, { why: TOO_MUCH, retryable: false })
      assert.strictEqual(requests.filter(({ body }) => body.includes("tools/list")).length, 2)
    }),
  )

  it.effect("cannot list malformed tools without end, and has the first 64 reported", () =>
    Effect.gen(function* () {
      const numbers = Array.from({ length: 5001 }, () => 1)
      const few = yield* listed(numbers)
      assert.deepStrictEqual(
        few.leftOut,
        Array.from({ length: 64 }, () => "evil__(no name): list each tool as an object"),
      )
      let page = 0
      const { requests, url } = yield* toolServer((...args) =>
        speaking({ "tools/list": { tools: numbers, nextCursor: `${page++}` } })(...args),
      )
      const error = yield* Effect.flip(withTools(({ list }) => list({ name: "evil", url })))
      assert.deepStrictEqual(error, { why: TOO_MUCH, retryable: false })
      assert.strictEqual(requests.filter(({ body }) => body.includes("tools/list")).length, 2)
    }),
  )

  it.effect("cannot send events without end", () =>
    Effect.gen(function* () {
      const comment = `: ${"x".repeat(64 * 1024)}\n\n`
      const server = yield* toolServer((request, response, at) => {
        if (!request.body.includes("tools/call")) return speaking({})(request, response, at)
        response.writeHead(200, { "content-type": "text/event-stream" })
        const send = () => {
          while (response.write(comment)) continue
          response.once("drain", send)
        }
        send()
      })
      const output = yield* withTools(({ callListed }) =>
        callListed({ name: "evil", url: server.url }, tool, {}, "key"),
      )
      assert.deepStrictEqual(output, {
        text: "The MCP server answered: more than 16777216 bytes of events. The call may have been carried out.",
        is_error: true,
      })
      yield* Effect.promise(() => server.hungUp)
    }),
  )

  it.effect("cannot hold a job with events that never end", () =>
    Effect.gen(function* () {
      const server = yield* toolServer((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n')
      })
      const calling = yield* Effect.forkChild(
        withTools(({ callListed }) => callListed({ name: "evil", url: server.url }, tool, {}, "key")),
      )
      yield* Effect.promise(() => server.called)
      yield* TestClock.adjust("31 seconds")
      const output = yield* Fiber.join(calling)
      assert.isTrue(output.is_error)
      yield* Effect.promise(() => server.hungUp)
    }),
  )

  it.effect("cannot redirect, and is not reached in a network that the operator has not allowed", () =>
    Effect.gen(function* () {
      const secret = yield* toolServer(speaking({}))
      const server = yield* toolServer((_, response) => void response.writeHead(307, { location: secret.url }).end())
      const output = yield* withTools(({ callListed }) =>
        callListed({ name: "evil", url: server.url }, tool, {}, "key"),
      )
      assert.deepStrictEqual(output, { text: "The MCP server answered with HTTP 307.", is_error: true })
      const error = yield* Effect.flip(withTools(({ list }) => list({ name: "evil", url: secret.url }), []))
      assert.match(error.why, /^It was not asked: its address is in a private network/)
      assert.isFalse(error.retryable)
      assert.deepStrictEqual(secret.requests, [])
    }),
  )
})

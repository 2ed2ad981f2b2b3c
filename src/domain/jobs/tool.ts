/** The tools of an agent, and the trail of their calls. */
import { Schema } from "effect"
import { isDeeper } from "../json/json.ts"
import { jsonSchemaMistake } from "../json/jsonSchema.ts"
import { SecretName } from "../access/secrets.ts"
import { propertyNameMistake } from "./modelSchema.ts"
import { hasUser } from "../url.ts"

/** Model providers accept names of this form only. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/

export const MAX_NAME = 64
const A_NAME = "1 to 64 letters, digits, underscores or hyphens"

const ToolName = Schema.String.check(Schema.isMaxLength(MAX_NAME), Schema.isPattern(NAME, { expected: A_NAME }))

const MAX_DESCRIPTION = 2000
const MAX_URL = 2000
const MAX_TOOLS = 32
/** The schema is sent with every call of a model. */
const MAX_SCHEMA_CHARS = 16_384
const MAX_SCHEMA_DEPTH = 16
const MAX_SCHEMA_MEMBERS = 64
const MAX_TIMEOUT_SECONDS = 300
export const DEFAULT_TOOL_TIMEOUT_SECONDS = 30

/** Whether a schema refers to another document, which is never fetched. */
const refersElsewhere = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).some(
    ([name, member]) =>
      (name === "$ref" && typeof member === "string" && !member.startsWith("#")) || refersElsewhere(member),
  )

/** Returns what is wrong with the JSON Schema of a tool's input; `undefined` if it can be used. */
export const schemaMistake = (schema: Readonly<Record<string, unknown>>): string | undefined => {
  if (isDeeper(schema, MAX_SCHEMA_DEPTH)) return `nest at most ${MAX_SCHEMA_DEPTH} levels`
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) return `use at most ${MAX_SCHEMA_CHARS} characters of JSON`
  if (schema["type"] !== "object") return 'set "type" to "object"'
  return refersElsewhere(schema) ? "let every $ref begin with #" : undefined
}

/** A JSON Schema of an object, which is sent to models. */
const InputSchema = Schema.Record(Schema.String, Schema.Unknown)
  .annotate({ description: "JSON Schema of the input, an object." })
  .check(Schema.isMaxProperties(MAX_SCHEMA_MEMBERS), Schema.makeFilter(schemaMistake))

/** A JSON Schema of an object that values are checked against. */
export const CheckedSchema = InputSchema.check(Schema.makeFilter(jsonSchemaMistake))

/** URLs drop some of them; Postgres stores no U+0000. */
const CONTROL = /[\p{Cc}\p{Cs}]/u

const urlMistake = (text: string): string | undefined => {
  if (CONTROL.test(text)) return "give the URL without control characters"
  if (!URL.canParse(text)) return "give an absolute URL"
  const url = new URL(text)
  const { hash, protocol } = url
  if (protocol !== "https:" && protocol !== "http:") return "give an https URL"
  if (hasUser(url)) return "give the URL without user and password"
  return hash === "" ? undefined : "give the URL without a fragment"
}

export const ToolUrl = Schema.String.annotate({
  description: "https, or http in a network that the operator allows (TOOL_PRIVATE_NETWORKS).",
}).check(Schema.isMaxLength(MAX_URL), Schema.makeFilter(urlMistake))

const Secret = Schema.optionalKey(
  SecretName.annotate({ description: "A secret of the tenant, which is sent as `Authorization: Bearer …`." }),
)

const TimeoutSeconds = Schema.optionalKey(
  Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_TIMEOUT_SECONDS })).annotate({
    description: `Seconds for one call. Default ${DEFAULT_TOOL_TIMEOUT_SECONDS}.`,
  }),
)

export const HttpTool = Schema.Struct({
  name: ToolName,
  description: Schema.String.check(Schema.isBetweenLength(1, MAX_DESCRIPTION)).annotate({
    description: "Tells models what the tool does and when to call it.",
  }),
  input_schema: InputSchema,
  url: ToolUrl,
  method: Schema.optionalKey(
    Schema.Literals(["GET", "POST", "PUT", "PATCH", "DELETE"]).annotate({
      description: "Default POST. GET and DELETE send the input as query parameters, the others as JSON.",
    }),
  ),
  read_only: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "The tool changes nothing, so a failed call is repeated." }),
  ),
  idempotent: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Repeating a call has no further effect, so a failed call is repeated." }),
  ),
  secret: Secret,
  timeout_seconds: TimeoutSeconds,
}).annotate({ identifier: "HttpTool" })
export type HttpTool = typeof HttpTool.Type

const distinctNames = (tools: ReadonlyArray<{ readonly name: string }>): string | undefined => {
  const names = tools.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined ? undefined : `give each tool a name of its own; ${twice} occurs twice`
}

export const HttpTools = Schema.Array(HttpTool)
  .annotate({
    description: `HTTP endpoints that models may call, outside the direct mode read-only ones: at most ${MAX_TOOLS}.`,
  })
  .check(Schema.isMaxLength(MAX_TOOLS), Schema.makeFilter(distinctNames))

const propertiesMistake = (tools: ReadonlyArray<HttpTool>): string | undefined => {
  for (const { input_schema, name } of tools) {
    const mistake = propertyNameMistake(input_schema)
    if (mistake !== undefined) return `${name}: ${mistake}`
  }
  return undefined
}

/** Tools of a new or changed agent. Stored ones may be older than the check of their property names. */
export const NewHttpTools = HttpTools.check(Schema.makeFilter(propertiesMistake))

const MAX_SERVER_NAME = 24
/** A short name, so that it and a tool's name together are a {@link ToolName}. */
export const ServerName = Schema.String.check(
  Schema.isMaxLength(MAX_SERVER_NAME),
  Schema.isPattern(/^[a-zA-Z0-9-]{1,24}$/, { expected: "1 to 24 letters, digits or hyphens" }),
)
const MAX_SERVERS = 8

const server = {
  name: ServerName.annotate({ description: "Begins the names of its tools: `name__tool`." }),
  timeout_seconds: TimeoutSeconds,
}

/** A server over HTTP, or one that the gateway starts for every session. */
export const McpServer = Schema.Union(
  [
    Schema.Struct({ ...server, url: ToolUrl, secret: Secret }),
    Schema.Struct({
      ...server,
      command: ServerName.annotate({
        description: "In place of `url`: a command that the operator lists (MCP_COMMANDS_FILE).",
      }),
    }),
  ],
  { mode: "oneOf" },
).annotate({ identifier: "McpServer" })
export type McpServer = typeof McpServer.Type

export const McpServers = Schema.Array(McpServer)
  .annotate({
    description: `MCP servers whose tools models may call, outside the direct mode read-only ones: at most ${MAX_SERVERS}.`,
  })
  .check(Schema.isMaxLength(MAX_SERVERS), Schema.makeFilter(distinctNames))

/** A tool as an MCP server lists it, with the name that models see. */
export const ListedTool = Schema.Struct({
  name: ToolName,
  /** Its name at the server. */
  remote: Schema.String,
  description: Schema.String,
  input_schema: InputSchema,
  read_only: Schema.Boolean,
  idempotent: Schema.Boolean,
})
export type ListedTool = typeof ListedTool.Type

/** A finished call in the trail of a job. Long texts are cut. */
export const ToolUse = Schema.Struct({
  name: Schema.String,
  input: Schema.String.annotate({ description: "The arguments as JSON text, as the model wrote them." }),
  output: Schema.String.annotate({ description: "What the tool returned, or why the call failed." }),
  is_error: Schema.Boolean.annotate({ description: "Whether the call failed. The model sees the reason." }),
})
export type ToolUse = typeof ToolUse.Type

/** Most characters of an input or output in the trail. */
const MAX_SHOWN = 4000

/** Cuts a text for the trail. */
export const shownText = (text: string, most = MAX_SHOWN): string =>
  text.length > most ? `${text.slice(0, most)}…`.toWellFormed() : text

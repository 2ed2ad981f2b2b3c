/** The members of a request that escape a budget, or the models of a key. */
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import type { ProblemIssue } from "../../domain/problems/problem.ts"
import type { ApiRequest } from "../../domain/upstream/upstream.ts"
import { countIn } from "./apiSize.ts"
import { CLEARING_EDIT, CLIENT_TOOL, INPUT_ITEMS, MEMBERS, USUAL_TIERS } from "./boundedMembers.ts"

/** Maximum number of issues, and longest path of one; a body may have thousands. */
const MAX_ISSUES = 64
const MAX_PATH = 128

/** The members whose cost cannot be bounded beforehand, so that no budget can be kept. */
export const unboundedMembers = ({ api, body }: ApiRequest): ReadonlyArray<ProblemIssue> => {
  const value = parseJson(body.text)
  if (!isObject(value)) return []
  const paths = [
    ...Object.keys(value).filter(
      (name) => value[name] != null && !(MEMBERS[api].has(name) && (VALUES[name]?.(value[name]) ?? true)),
    ),
    ...toolsIn(value["tools"], "tools"),
    ...itemsIn(value["input"]),
    ...["messages", "input", "system"].flatMap((name) => filesIn(value[name], name)),
  ]
  return paths.slice(0, MAX_ISSUES).map((path) => ({
    path: path.slice(0, MAX_PATH).toWellFormed(),
    message: "its cost is unknown beforehand, and a budget applies; leave it out",
  }))
}

const isEach = (value: unknown, test: (item: unknown) => boolean): boolean =>
  value == null || (Array.isArray(value) && value.every(test))

/** Members that are bounded only with some values. */
const VALUES: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => countIn(value) !== undefined,
  service_tier: (value) => USUAL_TIERS.has(value),
  modalities: (value) => isEach(value, (modality) => modality === "text"),
  // Modes other than `standard` sample several answers.
  reasoning: (value) => !isObject(value) || value["mode"] == null || value["mode"] === "standard",
  // Edits that write a summary produce another answer.
  context_management: (value) =>
    isObject(value) && isEach(value["edits"], (edit) => isObject(edit) && CLEARING_EDIT.test(String(edit["type"]))),
}

/** Paths of the tools that the client does not run. */
const toolsIn = (tools: unknown, path: string): ReadonlyArray<string> =>
  Array.isArray(tools)
    ? tools.flatMap((tool: unknown, i) => (isClientTool(tool) ? [] : [`${path}.${i}`]))
    : tools == null
      ? []
      : [path]

const isClientTool = (tool: unknown): boolean => {
  if (!isObject(tool)) return false
  const { environment, execution, name, tools, type } = tool
  // Anthropic's custom tools may leave out the type.
  if (type == null) return typeof name === "string"
  if (type === "shell") return isObject(environment) && environment["type"] === "local"
  if (type === "tool_search") return execution === "client"
  if (type === "namespace") return toolsIn(tools, "").length === 0
  return typeof type === "string" && CLIENT_TOOL.test(type)
}

/** Paths of items that refer to something outside the request, or that have such tools. */
const itemsIn = (input: unknown): ReadonlyArray<string> =>
  Array.isArray(input)
    ? input.flatMap((item: unknown, i) => {
        if (!isObject(item)) return []
        const isKnown = item["type"] == null ? typeof item["role"] === "string" : INPUT_ITEMS.has(item["type"])
        return isKnown ? toolsIn(item["tools"], `input.${i}.tools`) : [`input.${i}`]
      })
    : []

/** Members that name a stored or remote file, or a recording of any length, at any depth. */
const FILE_MEMBERS: ReadonlySet<string> = new Set(["file_id", "file_url", "video_url", "audio_url"])

/** Whether an object is a document that the provider fetches. */
const isRemoteDocument = ({ source, type }: JsonObject): boolean =>
  type === "document" && isObject(source) && source["type"] !== "base64" && source["type"] !== "text"

const filesIn = (value: unknown, path: string): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((item: unknown, i) => filesIn(item, `${path}.${i}`))
  if (!isObject(value)) return []
  if (isRemoteDocument(value)) return [`${path}.source`]
  return Object.entries(value).flatMap(([name, member]) =>
    FILE_MEMBERS.has(name) ? [`${path}.${name}`] : filesIn(member, `${path}.${name}`),
  )
}

/** Members that name models which a provider may ask beside or instead of the request's. */
const MODEL_MEMBERS = ["models", "fallbacks", "preset"]

/** The members that name models which a key limited to some could not permit. */
export const otherModels = ({ body }: ApiRequest): ReadonlyArray<ProblemIssue> => {
  const tools = body.value("tools")
  const asking = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, i) =>
    isObject(tool) && tool["model"] != null ? [`tools.${i}.model`] : [],
  )
  return [...MODEL_MEMBERS.filter((name) => body.value(name) != null), ...asking]
    .slice(0, MAX_ISSUES)
    .map((path) => ({ path, message: "it names a model, and the key is limited to some; leave it out" }))
}

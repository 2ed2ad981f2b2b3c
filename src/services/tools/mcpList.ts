/** Cleans lists of MCP servers before the library decodes them, because it would refuse all tools for one malformed tool. */
import { Result, type Schema } from "effect"
import { isObject } from "../../domain/json/json.ts"
import { schemaIssues } from "../../domain/json/schemaIssues.ts"

/** A tool that does not follow the protocol. */
export interface Malformed {
  readonly name: string
  readonly mistake: string
}

/** Splits a list, and drops unused members of tools. */
export const splitTools = (
  tools: ReadonlyArray<unknown>,
  decode: (tool: unknown) => Result.Result<unknown, Schema.SchemaError>,
) => {
  const wellFormed: Array<unknown> = []
  const malformed: Array<Malformed> = []
  for (const tool of tools) {
    const { icons: _, outputSchema: __, ...read } = isObject(tool) ? tool : {}
    const decoded = decode(isObject(tool) ? read : tool)
    if (Result.isSuccess(decoded)) wellFormed.push(read)
    else malformed.push({ name: nameOf(read), mistake: mistakeIn(decoded.failure) })
  }
  return { wellFormed, malformed }
}

const nameOf = ({ name }: { readonly name?: unknown }): string => (typeof name === "string" ? name : "(no name)")

const mistakeIn = ({ issue }: Schema.SchemaError): string => {
  const [{ path } = { path: "" }] = schemaIssues(issue)
  return path === "" ? "list each tool as an object" : `correct its ${path}`
}

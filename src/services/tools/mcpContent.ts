/** Renders results of MCP tools as text for models. */
import { Predicate } from "effect"
import type { McpSchema } from "effect/ai"
import { isObject } from "../../domain/json/json.ts"
import { boundedText, type ToolOutput } from "./ToolOutput.ts"

/** The texts of a result, and its structured content unless the texts repeat it. Other content is only named. */
export const outputOf = ({ content, isError, structuredContent }: McpSchema.CallToolResult): ToolOutput => {
  const texts = content.flatMap((block) => (block.type === "text" ? block.text : []))
  const shown = content.map(textOf)
  // Some servers have only a summary in their texts.
  if (Predicate.isNotNullish(structuredContent) && !repeats(texts, structuredContent)) {
    shown.push(JSON.stringify(structuredContent))
  }
  return { text: boundedText(shown.join("\n")), is_error: isError === true }
}

/**
 * Whether the texts equal the structured content except for white space. Python's library wraps values that are not
 * objects as `result`.
 */
const repeats = (texts: ReadonlyArray<string>, structured: unknown): boolean => {
  const said = withoutSpace(texts.join(""))
  const values = isObject(structured) && "result" in structured ? [structured, structured["result"]] : [structured]
  return values
    .flatMap((value) => [JSON.stringify(value), Array.isArray(value) ? value.map(written).join("") : written(value)])
    .some((form) => withoutSpace(form) === said)
}

const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

const withoutSpace = (text: string): string => text.replaceAll(/\s+/g, "")

const textOf = (block: McpSchema.ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "resource": {
      const { resource } = block
      return "text" in resource
        ? `${resource.uri}\n${resource.text}`
        : notShown(`resource ${resource.uri}`, resource.mimeType)
    }
    case "resource_link": {
      const { description, name, title = name, uri } = block
      return `${title}: ${uri}${description === undefined ? "" : `\n${description}`}`
    }
    case "image":
    case "audio":
      return notShown(block.type, block.mimeType)
  }
}

const notShown = (what: string, mimeType: string | undefined): string =>
  `(${what}, ${mimeType === undefined ? "" : `${mimeType}, `}not shown)`

/** Renders results of MCP tools as text for models. */
import type { McpSchema } from "effect/ai"
import { boundedText, type ToolOutput } from "./ToolOutput.ts"

/** The texts of a result; other content is named only. */
export const outputOf = ({ content, isError, structuredContent }: McpSchema.CallToolResult): ToolOutput => {
  const text =
    content.length === 0 && structuredContent !== undefined
      ? JSON.stringify(structuredContent)
      : content.map(textOf).join("\n")
  return { text: boundedText(text), is_error: isError === true }
}

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

/** Content of messages as content blocks. */
import { Option, Schema } from "effect"
import type { ContentPart } from "../../../../domain/chat/chat.ts"
import { type Piece, toPieces } from "../shared/Parts.ts"
import type { Unsupported } from "../shared/Unsupported.ts"
import type { CacheControl, ImageBlock, TextBlock } from "./Request.ts"

type Content = string | ReadonlyArray<ContentPart>

/** Leaves out texts of nothing but whitespace, which the API refuses. */
export const toBlocks = (
  content: Content,
  path: string,
  unsupported: Unsupported,
): ReadonlyArray<TextBlock | ImageBlock> =>
  toPieces(content, path, unsupported)
    .filter((piece) => piece._tag === "Image" || piece.text.trim() !== "")
    .map((piece) => ({
      ...(piece._tag === "Text" ? textBlock(piece.text) : imageBlock(piece)),
      ...cacheControl(piece.members, piece.path, unsupported),
    }))

/** The same for messages that take only text. */
export const toTextBlocks = (content: Content, path: string, unsupported: Unsupported): ReadonlyArray<TextBlock> =>
  toBlocks(content, path, unsupported).filter((block): block is TextBlock => {
    if (block.type === "image") unsupported.add(path, "this provider takes images from users and tools only")
    return block.type === "text"
  })

const textBlock = (text: string): TextBlock => ({ type: "text", text })

const imageBlock = ({ image }: Extract<Piece, { readonly _tag: "Image" }>): ImageBlock => ({
  type: "image",
  source:
    image._tag === "Url"
      ? { type: "url", url: image.url }
      : { type: "base64", media_type: image.mediaType, data: image.base64 },
})

const decodeCacheControl = Schema.decodeUnknownOption(
  Schema.Struct({ type: Schema.Literal("ephemeral"), ttl: Schema.optionalKey(Schema.Literals(["5m", "1h"])) }),
)

/** The `cache_control` of `holder`, a member of this API that OpenAI-compatible gateways take as well. */
export const cacheControl = (
  holder: Readonly<Record<string, unknown>>,
  path: string,
  unsupported: Unsupported,
): { readonly cache_control?: CacheControl } => {
  const given = holder["cache_control"]
  if (given == null) return {}
  const control = Option.getOrUndefined(decodeCacheControl(given))
  if (control !== undefined) return { cache_control: control }
  unsupported.add(path === "" ? "cache_control" : `${path}.cache_control`, "not a cache control of this provider")
  return {}
}

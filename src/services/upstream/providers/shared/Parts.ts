/** Splits content into texts and images, the only ones that formats other than Chat Completions take here. */
import type { ContentPart, ImagePart, RefusalPart, TextPart } from "../../../../domain/chat/chat.ts"
import { PART } from "./MemberRules.ts"
import type { Unsupported } from "./Unsupported.ts"

/** An image of a user message or tool result: a URL, or the bytes themselves. */
type Image =
  | { readonly _tag: "Data"; readonly mediaType: string; readonly base64: string }
  | { readonly _tag: "Url"; readonly url: string }

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[^;,]*)*;base64,/i

/** Parses an image URL. Returns `undefined` for a `data:` URL without base64, or a scheme that no provider fetches. */
const parseImage = (url: string): Image | undefined => {
  if (/^https?:\/\//i.test(url)) return { _tag: "Url", url }
  const head = DATA_URL.exec(url)
  const mediaType = head?.[1]
  return head === null || mediaType === undefined
    ? undefined
    : { _tag: "Data", mediaType: registered(mediaType.toLowerCase()), base64: url.slice(head[0].length) }
}

/** Browsers and clients also call JPEG `image/jpg`, which providers refuse. */
const registered = (mediaType: string): string => (mediaType === "image/jpg" ? "image/jpeg" : mediaType)

export type Piece = {
  /** Its path in the request. */
  readonly path: string
  /** The part itself, for members that only some providers know; empty for a plain string. */
  readonly members: Readonly<Record<string, unknown>>
} & ({ readonly _tag: "Text"; readonly text: string } | { readonly _tag: "Image"; readonly image: Image })

/** Returns the texts and images of `content`. Leaves out empty texts, which providers refuse. */
export const toPieces = (
  content: string | ReadonlyArray<ContentPart>,
  path: string,
  unsupported: Unsupported,
): ReadonlyArray<Piece> =>
  typeof content === "string"
    ? text(content, path, {})
    : content.flatMap((part, index) => toPiece(part, `${path}[${index}]`, unsupported))

const toPiece = (part: ContentPart, path: string, unsupported: Unsupported): ReadonlyArray<Piece> => {
  if (!isKnown(part)) {
    unsupported.add(path, `this provider takes no content of type "${part.type}"`)
    return []
  }
  unsupported.check(part, PART, path)
  if (part.type === "text") return text(part.text, path, part)
  if (part.type === "refusal") return text(part.refusal, path, part)
  const image = parseImage(part.image_url.url)
  if (image !== undefined) return [{ _tag: "Image", image, path, members: part }]
  unsupported.add(`${path}.image_url.url`, "neither an http(s) URL nor a data URL with base64")
  return []
}

const text = (value: string, path: string, members: Piece["members"]): ReadonlyArray<Piece> =>
  value === "" ? [] : [{ _tag: "Text", text: value, path, members }]

const isKnown = (part: ContentPart): part is TextPart | ImagePart | RefusalPart =>
  part.type === "text" || part.type === "image_url" || part.type === "refusal"

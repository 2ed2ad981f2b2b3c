/** Content of messages as texts and images, which is all that formats other than Chat Completions take here. */
import type { ContentPart, ImagePart, RefusalPart, TextPart } from "../../../../domain/chat.ts"
import { type Image, parseImage } from "./Images.ts"
import { PART } from "./MemberRules.ts"
import type { Unsupported } from "./Unsupported.ts"

export type Piece = {
  /** Where it stands in the request. */
  readonly path: string
  /** Where it comes from, for members that some provider knows; empty for a plain string. */
  readonly members: Readonly<Record<string, unknown>>
} & ({ readonly _tag: "Text"; readonly text: string } | { readonly _tag: "Image"; readonly image: Image })

/** The texts and images of `content`. Empty texts say nothing, and providers refuse them, so they are left out. */
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

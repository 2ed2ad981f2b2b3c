/** The length of a client's request, from its bytes. */
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { apiOf } from "../../domain/upstream/apis.ts"
import type { ApiRequest } from "../../domain/upstream/upstream.ts"
import { type RequestSize, TOKENS_PER_IMAGE, tokensOfBytes } from "./TokenEstimate.ts"

/** An embedding's input may be token ids, of which `[1,2]` has one in two bytes; other input has three bytes a token. */
const ID_TOKENS_PER_TEXT_TOKEN = 3 / 2

/** A whole number of at least 1. Anything else counts as absent: what a provider makes of it is unknown. */
export const countIn = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1 ? value : undefined

export const apiSize = ({ api, body }: ApiRequest): RequestSize => {
  const { limits } = apiOf(api)
  const own = limits.flatMap((name) => countIn(body.value(name)) ?? [])
  const text = body.bytes.length
  const images = mayHoldImages(body.bytes) ? imagesIn(body) : NO_IMAGES
  const input = tokensOfBytes(text - images.bytes) + images.count * TOKENS_PER_IMAGE
  return {
    input: api === "embeddings" ? Math.ceil(input * ID_TOKENS_PER_TEXT_TOKEN) : input,
    limit: limits.length === 0 ? 0 : own.length === 0 ? undefined : Math.max(...own),
    choices: countIn(body.value("n")) ?? 1,
  }
}

interface Images {
  readonly count: number
  /** Length in the request of those that it contains. */
  readonly bytes: number
}

const NO_IMAGES: Images = { count: 0, bytes: 0 }

/** Types of parts that are pictures, in the requests of all APIs. */
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image", "computer_screenshot"])

/** Whether the name of such a type occurs, or an escape that could be part of it. */
const mayHoldImages = (bytes: Uint8Array): boolean => {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return json.includes("image") || json.includes("\\u00")
}

const imagesIn = (body: ApiRequest["body"]): Images => imagesOf([body.value("messages"), body.value("input")])

/** Looks only where parts stand: in the input of a tool, say, an object of the same form is text to a model. */
const imagesOf = (value: unknown): Images => {
  // An embedding's input may be hundreds of thousands of numbers.
  if (typeof value !== "object" || value === null) return NO_IMAGES
  const isImage = isObject(value) && IMAGE_TYPES.has(value["type"])
  const own = isImage ? { count: 1, bytes: inlineBytes(value) } : NO_IMAGES
  const parts = Array.isArray(value) ? value : isObject(value) ? [value["content"], value["output"]] : []
  return parts.reduce<Images>((sum, part: unknown) => {
    const { bytes, count } = imagesOf(part)
    return { count: sum.count + count, bytes: sum.bytes + bytes }
  }, own)
}

/** Length of a picture within the request: a `data:` URL, or base64 beside its media type. */
const inlineBytes = ({ image_url: image, source }: JsonObject): number => {
  const url = isObject(image) ? image["url"] : image
  if (typeof url === "string") return url.startsWith("data:image/") ? url.length : 0
  return isObject(source) && source["type"] === "base64" && typeof source["data"] === "string"
    ? source["data"].length
    : 0
}

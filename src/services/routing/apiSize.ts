/** The length of a client's request, from its bytes. */
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { type ApiName, apiOf } from "../../domain/upstream/apis.ts"
import type { ApiRequest } from "../../domain/upstream/upstream.ts"
import { type RequestSize, TOKENS_PER_IMAGE, tokensOfBytes } from "./TokenEstimate.ts"

/** An embedding's input may be token ids, of which `[1,2]` has one in two bytes; other input has three bytes a token. */
const ID_TOKENS_PER_TEXT_TOKEN = 3 / 2

/** A whole number of at least 1. Anything else counts as absent, because its meaning to a provider is unknown. */
export const countIn = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1 ? value : undefined

const COUNT: RequestSize = { input: 0, limit: 0, choices: 1 }

/** Returns the length of a request for charging. A count of tokens is free, so its length does not matter. */
export const apiSize = ({ api, body }: ApiRequest): RequestSize => {
  if (api === "messages.count_tokens") return COUNT
  const { limits } = apiOf(api)
  const own = limits.flatMap((name) => countIn(body.value(name)) ?? [])
  const text = body.bytes.length
  const { files, images } = mayHoldMedia(api, body.bytes) ? mediaIn(body) : NO_MEDIA
  const withImages = tokensOfBytes(text - images.bytes) + images.count * TOKENS_PER_IMAGE
  const withMedia = tokensOfBytes(text - images.bytes - files.bytes) + (images.count + files.count) * TOKENS_PER_IMAGE
  return {
    input: api === "embeddings" ? Math.ceil(withImages * ID_TOKENS_PER_TEXT_TOKEN) : withImages,
    prompt: Math.min(withImages, withMedia),
    limit: limits.length === 0 ? 0 : own.length === 0 ? undefined : Math.max(...own),
    choices: countIn(body.value("n")) ?? 1,
  }
}

interface Media {
  readonly count: number
  /** Length of the pictures and documents within the request. */
  readonly bytes: number
}

const NO_MEDIA = { images: { count: 0, bytes: 0 }, files: { count: 0, bytes: 0 } }

/** Types of parts that are pictures, in the requests of all APIs. */
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image", "computer_screenshot"])

/** Types of parts that are documents or sounds, whose tokens depend on pages and seconds. */
const FILE_TYPES: ReadonlySet<unknown> = new Set(["document", "file", "input_file", "input_audio"])

/** Words of which each picture contains one, or an escape that could be part of one. */
const IMAGE_WORDS = ["image", "\\u00"]
const MEDIA_WORDS = [...IMAGE_WORDS, "base64", "input_audio", "file_data"]

/** Clients write "base64" into every embeddings request, as the encoding of the answer. */
const mayHoldMedia = (api: ApiName, bytes: Uint8Array): boolean => {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return (api === "embeddings" ? IMAGE_WORDS : MEDIA_WORDS).some((text) => json.includes(text))
}

const mediaIn = (body: ApiRequest["body"]): Readonly<Record<"files" | "images", Media>> => {
  const parts = [...partsIn([body.value("messages"), body.value("input")])]
  const sumOf = (types: ReadonlySet<unknown>, bytesOf: (part: JsonObject) => number): Media => {
    const found = parts.filter(({ type }) => types.has(type))
    return { count: found.length, bytes: found.reduce((sum, part) => sum + bytesOf(part), 0) }
  }
  return { images: sumOf(IMAGE_TYPES, imageBytes), files: sumOf(FILE_TYPES, fileBytes) }
}

/** The objects that hold parts. Elsewhere, such as in the input of a tool, an object of the same form is text to a model. */
function* partsIn(value: object): Generator<JsonObject> {
  if (isObject(value)) yield value
  const inner: ReadonlyArray<unknown> = Array.isArray(value)
    ? value
    : isObject(value)
      ? [value["content"], value["output"]]
      : []
  // An embedding's input may be hundreds of thousands of numbers.
  for (const part of inner) if (typeof part === "object" && part !== null) yield* partsIn(part)
}

/** Length of a picture within the request: a `data:` URL, or base64 beside its media type. */
const imageBytes = ({ image_url: image, source }: JsonObject): number => {
  const url = isObject(image) ? image["url"] : image
  if (typeof url === "string") return url.startsWith("data:image/") ? url.length : 0
  return sourceBytes(source)
}

/** Length of a document or sound within the request, which is base64 in every API. */
const fileBytes = ({ file, file_data: data, input_audio: audio, source }: JsonObject): number =>
  lengthOf(data) +
  lengthOf(isObject(file) ? file["file_data"] : undefined) +
  lengthOf(isObject(audio) ? audio["data"] : undefined) +
  sourceBytes(source)

const sourceBytes = (source: unknown): number =>
  isObject(source) && source["type"] === "base64" ? lengthOf(source["data"]) : 0

const lengthOf = (value: unknown): number => (typeof value === "string" ? value.length : 0)

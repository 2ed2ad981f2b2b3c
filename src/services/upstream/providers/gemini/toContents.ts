/** Converts messages to contents, one for each message; the results of parallel calls, and the model's, share one. */
import { Option, Schema } from "effect"
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../../../../domain/chat/chat.ts"
import { objectIn } from "../../../../domain/json/objectIn.ts"
import { stateOf } from "../shared/ExtraContent.ts"
import { messageRules, TOOL_CALL } from "../shared/MemberRules.ts"
import { type Piece, toPieces } from "../shared/Parts.ts"
import type { Unsupported } from "../shared/Unsupported.ts"
import type { Content, FunctionCallPart, FunctionResponsePart, MediaPart, Part, TextPart } from "./Request.ts"
import { GoogleState } from "./Wire.ts"
import { isOwnId } from "./callIds.ts"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"

/** `messages` as contents. System and developer messages are the system instruction, wherever they stand. */
export const toContents = (
  messages: ReadonlyArray<Message>,
  model: string,
  unsupported: Unsupported,
): { readonly system: ReadonlyArray<TextPart>; readonly contents: ReadonlyArray<Content> } => {
  const system: Array<TextPart> = []
  const contents: Array<{ readonly role: Content["role"]; readonly parts: Array<Part> }> = []
  let calls: ReadonlyArray<ToolCall> = []
  const results = new Map<string, FunctionResponsePart>()
  const say = (role: Content["role"], parts: ReadonlyArray<Part>) => {
    const last = contents.at(-1)
    // The API takes a call only right after the user's turn.
    if (role === "model" && last?.role === role) for (const part of parts) last.parts.push(part)
    else if (parts.length > 0) contents.push({ role, parts: [...parts] })
  }
  // The API matches results without ids to calls by their order.
  const sayResults = () => {
    say(
      "user",
      calls.flatMap((call) => results.get(call.id) ?? []),
    )
    results.clear()
  }
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    unsupported.check(message, messageRules(message), path)
    if (message.role !== "tool") sayResults()
    switch (message.role) {
      case "system":
      case "developer":
        for (const text of toTexts(message.content, `${path}.content`, unsupported)) system.push(text)
        break
      case "user":
        say("user", toParts(toPieces(message.content, `${path}.content`, unsupported), unsupported))
        break
      case "assistant":
        calls = message.tool_calls ?? []
        say("model", toModelParts(message, path, model, unsupported))
        break
      case "tool": {
        const call = calls.find(({ id }) => id === message.tool_call_id && !results.has(id))
        if (call === undefined) unsupported.add(`${path}.tool_call_id`, "no unanswered call before it has this id")
        else results.set(call.id, toResult(message, call, path, unsupported))
        break
      }
    }
  }
  sayResults()
  if (contents.length === 0) unsupported.add("messages", "this provider needs a message that is not a system message")
  return { system, contents }
}

const toParts = (pieces: ReadonlyArray<Piece>, unsupported: Unsupported): ReadonlyArray<TextPart | MediaPart> =>
  pieces.flatMap((piece): ReadonlyArray<TextPart | MediaPart> =>
    piece._tag === "Text" ? [{ text: piece.text }] : toMedia(piece, unsupported),
  )

type ImagePiece = Extract<Piece, { readonly _tag: "Image" }>
type ImageOf<Tag> = Extract<ImagePiece["image"], { readonly _tag: Tag }>

const toMedia = ({ image, path }: ImagePiece, unsupported: Unsupported): ReadonlyArray<MediaPart> => {
  const media = image._tag === "Data" ? toInline(image) : toLink(image)
  if (media === undefined) unsupported.add(`${path}.image_url.url`, "neither a picture nor an https link to one")
  return media === undefined ? [] : [media]
}

/** The API takes videos and documents, too, which have many times the tokens of a picture. */
const toInline = ({ base64, mediaType }: ImageOf<"Data">): MediaPart | undefined =>
  mediaType.startsWith("image/") ? { inlineData: { mimeType: mediaType, data: base64 } } : undefined

const toLink = ({ url }: ImageOf<"Url">): MediaPart | undefined => {
  const parsed = URL.parse(url)
  if (parsed?.protocol !== "https:" || MEDIA_HOST.test(parsed.hostname)) return undefined
  const ending = /\.([^./]+)$/.exec(parsed.pathname)?.[1]?.toLowerCase()
  if (ending === undefined) return { fileData: { fileUri: url } }
  const mimeType = MEDIA_TYPES.get(ending)
  return mimeType === undefined ? undefined : { fileData: { mimeType, fileUri: url } }
}

/** Hosts whose links the API takes as videos, or as files of its own. */
const MEDIA_HOST = /(^|\.)(youtube\.com|youtube-nocookie\.com|youtu\.be|generativelanguage\.googleapis\.com)\.?$/

/** The image types of the API by the ending of a URL. */
const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["webp", "image/webp"],
  ["gif", "image/gif"],
  ["heic", "image/heic"],
  ["heif", "image/heif"],
])

/** Converts content that can only be text. */
const toTexts = (
  content: Parameters<typeof toPieces>[0],
  path: string,
  unsupported: Unsupported,
): ReadonlyArray<TextPart> =>
  toPieces(content, path, unsupported).flatMap((piece) => {
    if (piece._tag === "Text") return [{ text: piece.text }]
    unsupported.add(piece.path, "this provider takes images from users and tools only")
    return []
  })

const toModelParts = (
  message: AssistantMessage,
  path: string,
  model: string,
  unsupported: Unsupported,
): ReadonlyArray<Part> => [
  ...signed(
    [
      ...(message.content == null ? [] : toTexts(message.content, `${path}.content`, unsupported)),
      ...(message.refusal ? [{ text: message.refusal }] : []),
    ],
    signatureOf(message),
  ),
  ...(message.tool_calls ?? []).map((call, index): FunctionCallPart => {
    const at = `${path}.tool_calls[${index}]`
    unsupported.check(call, TOOL_CALL, at)
    const args = objectIn(call.function.arguments.trim() || "{}")
    if (args === undefined) unsupported.add(`${at}.function.arguments`, "this provider takes only a JSON object")
    const signature = signatureOf(call) ?? (index === 0 && wantsSignatures(model) ? FOREIGN_SIGNATURE : undefined)
    return {
      functionCall: { ...idOf(call), name: call.function.name, args: args ?? {} },
      ...withoutUndefined({ thoughtSignature: signature }),
    }
  }),
]

/** Puts a signature of text on the last part, or on an empty part if there is no text. */
const signed = (texts: ReadonlyArray<TextPart>, signature: string | undefined): ReadonlyArray<TextPart> =>
  signature === undefined
    ? texts
    : [...texts.slice(0, -1), { text: texts.at(-1)?.text ?? "", thoughtSignature: signature }]

const decodeState = Schema.decodeUnknownOption(GoogleState)

const signatureOf = (holder: Readonly<Record<string, unknown>>): string | undefined =>
  Option.getOrUndefined(decodeState(stateOf(holder, "google")))?.thought_signature

/** Replaces another model's signature, which models from Gemini 3 on demand; earlier ones do not know this value. */
const FOREIGN_SIGNATURE = "skip_thought_signature_validator"
const wantsSignatures = (model: string): boolean => !/^(models\/)?gemini-[12]\b/.test(model)

const idOf = (call: ToolCall): { readonly id?: string } => (isOwnId(call.id) ? {} : { id: call.id })

const toResult = (
  message: ToolMessage,
  call: ToolCall,
  path: string,
  unsupported: Unsupported,
): FunctionResponsePart => {
  const pieces = toPieces(message.content, `${path}.content`, unsupported)
  const media = pieces.flatMap((piece) => (piece._tag === "Image" ? toMedia(piece, unsupported) : []))
  const text = pieces.flatMap((piece) => (piece._tag === "Text" ? [piece.text] : [])).join("")
  return {
    functionResponse: {
      ...idOf(call),
      name: call.function.name,
      response: toResponse(text),
      ...(media.length > 0 ? { parts: media } : {}),
    },
  }
}

/** A JSON object is the response itself, unless it has a member `output` or `error`; other text becomes the `output`. */
const toResponse = (text: string): Readonly<Record<string, unknown>> => {
  const object = objectIn(text)
  return object === undefined ? { output: text } : "output" in object || "error" in object ? { output: object } : object
}

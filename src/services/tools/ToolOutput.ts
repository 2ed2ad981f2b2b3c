/** The outcome of a tool call, and its text from an HTTP response. */
import { Effect, Schema } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import { readBody } from "../readBody.ts"

/** `text` is for the model; after a failed call it gives the reason. */
export const ToolOutput = Schema.Struct({ text: Schema.String, is_error: Schema.Boolean })
export type ToolOutput = typeof ToolOutput.Type

export type ToolInput = Readonly<Record<string, unknown>>

/** The longest output; the rest of a longer one is not read. */
const MAX_OUTPUT_BYTES = 64 * 1024

export const failedOutput = (text: string): ToolOutput => ({ text, is_error: true })

/** Appended to an output that was cut. */
export const CUT = `(cut: the output is longer than ${MAX_OUTPUT_BYTES} bytes)`

const CHARSET = /;\s*charset="?([\w.:-]+)/i

/** The text of a body in the charset of its content type, or in UTF-8 if that is unknown. */
const decoded = (bytes: Buffer, type: string): string => {
  const label = CHARSET.exec(type)?.[1]
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return bytes.toString("utf8")
  }
}

const bounded = (bytes: Buffer, type = ""): string =>
  bytes.length > MAX_OUTPUT_BYTES
    ? `${decoded(bytes.subarray(0, MAX_OUTPUT_BYTES), type)}\n${CUT}`
    : decoded(bytes, type)

/** Cuts a text of a tool to the longest output. Replaces lone surrogates, which no JSON may contain. */
export const boundedText = (text: string): string => bounded(Buffer.from(text))

const TEXTUAL =
  /^(text\/|application\/([\w.-]+\+)?(json|xml|yaml)\b|application\/(javascript|x-www-form-urlencoded)\b)/i

/** The output in a response. Redirects, encoded bodies and bodies without text are errors. */
export const outputOf = Effect.fnUntraced(function* (
  response: HttpClientResponse.HttpClientResponse,
): Effect.fn.Return<ToolOutput, HttpClientError.HttpClientError> {
  const { headers, status } = response
  if (status >= 300 && status < 400) {
    return failedOutput(`The tool answered with a redirect (HTTP ${status}), which is not followed.`)
  }
  const coding = headers["content-encoding"] ?? "identity"
  if (coding !== "identity") return failedOutput("The tool answered with an encoded body, which was not asked for.")
  const type = headers["content-type"] ?? "text/plain"
  if (!TEXTUAL.test(type)) return failedOutput("The tool's answer is not text.")
  const text = bounded(yield* readBody(response, MAX_OUTPUT_BYTES), type)
  return status < 300 ? { text, is_error: false } : failedOutput(`HTTP ${status}\n${text}`)
})

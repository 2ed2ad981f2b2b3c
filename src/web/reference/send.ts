/** Sends a request to this page's own server and follows what comes back, also while it is still coming. */
import { parseJson } from "../../domain/json.ts"
import type { Request } from "./request.ts"
import { defined } from "../../domain/defined.ts"

export interface Received {
  readonly status: number
  readonly statusText: string
  /** Until the head of the answer was there, in milliseconds. */
  readonly ms: number
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly text: string
  /** Whether there is no more to come. */
  readonly complete: boolean
  /** Whether there was more than is kept. */
  readonly cut: boolean
}

/** How much of an answer is shown, in characters: browsers are slow with more. */
const MOST_SHOWN = 200_000

interface SendOptions {
  readonly token: string
  readonly signal: AbortSignal
  readonly heard: (received: Received) => void
}

/** A body as it comes in. Not every browser can iterate over streams. */
async function* textOf({ body }: Response): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) return
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
  } finally {
    await reader.cancel()
  }
}

export const send = async (request: Request, { heard, signal, token }: SendOptions): Promise<void> => {
  const { body, headers, method, needsToken, url } = request
  const started = performance.now()
  const response = await fetch(url, {
    method,
    headers: [
      ...headers.map(([name, value]): [string, string] => [name, value]),
      ...(needsToken && token !== "" ? [["authorization", `Bearer ${token}`] satisfies [string, string]] : []),
    ],
    ...defined({ body }),
    // Whoever is signed in somewhere is so by the token in the field and by nothing else.
    credentials: "omit",
    redirect: "error",
    signal,
  })
  const head = {
    status: response.status,
    statusText: response.statusText,
    ms: performance.now() - started,
    headers: [...response.headers],
  }
  let text = ""
  heard({ ...head, text, complete: false, cut: false })
  for await (const part of textOf(response)) {
    text += part
    if (text.length > MOST_SHOWN) break
    heard({ ...head, text, complete: false, cut: false })
  }
  heard({ ...head, text: text.slice(0, MOST_SHOWN), complete: true, cut: text.length > MOST_SHOWN })
}

/** JSON with a line for each member; anything else, and JSON that is not whole yet, as it is. */
export const legible = ({ complete, cut, headers, text }: Received): string => {
  const type = headers.find(([name]) => name === "content-type")?.[1] ?? ""
  if (!complete || cut || !/^application\/(\w+\+)?json\b/.test(type)) return text
  const value = parseJson(text)
  return value === undefined ? text : JSON.stringify(value, undefined, 2)
}

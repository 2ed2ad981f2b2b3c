/** Somebody on the path between client and proxy who can change, cut, keep and repeat what passes, but not read it. */
import type { Fetch } from "sealgate-client"

/** Replaces one base64url character of the first frame that passes. */
const flip = (text: string): string =>
  text.replace(
    /("ciphertext":"|"frames":\[")(.)/,
    (_, before: string, character: string) => before + (character === "A" ? "B" : "A"),
  )

/** Changes one byte of every sealed answer. */
export const flippingFetch: Fetch = async (url, init) => {
  const response = await fetch(url, init)
  if (!url.endsWith("/v1/completions")) return response
  return new Response(flip(await response.text()), { status: response.status, headers: response.headers })
}

/** Lets the first `events` events of a stream pass and then ends it, politely. */
export const cuttingFetch =
  (events: number): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init)
    if (!url.endsWith("/v1/completions")) return response
    const passed = (await response.text()).split("\n\n").slice(0, events).join("\n\n")
    return new Response(`${passed}\n\n`, { status: response.status, headers: response.headers })
  }

/** Lets everything pass and keeps the last sealed request, to send it again later. */
export const recordingFetch = () => {
  let last: { readonly url: string; readonly init: RequestInit } | undefined
  const record: Fetch = (url, init) => {
    if (url.endsWith("/v1/completions")) last = { url, init }
    return fetch(url, init)
  }
  const replay = async (): Promise<Response> => {
    if (last === undefined) throw new Error("nothing was recorded")
    return fetch(last.url, last.init)
  }
  return { record, replay }
}

/** An attacker between client and proxy who can change, cut, keep and repeat messages, but not read them. */
import type { Fetch } from "sealgate-client"

/** Replaces one base64url character of the first frame. */
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

/** Ends a stream cleanly after `events` events. */
export const cuttingFetch =
  (events: number): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init)
    if (!url.endsWith("/v1/completions")) return response
    const passed = (await response.text()).split("\n\n").slice(0, events).join("\n\n")
    return new Response(`${passed}\n\n`, { status: response.status, headers: response.headers })
  }

/** Passes everything on and keeps the last sealed request, to replay it later. */
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

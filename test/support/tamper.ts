/** Attackers on the path: change, hold, cut or swap answers before the client sees them. */
import type { Fetch } from "../../src/client/sealed/SealedClient.ts"
import { failureOf } from "./promises.ts"

export interface SentEvent {
  readonly event: string
  readonly data: string
}

interface Requested {
  readonly path: string
  readonly body: string
}

/** The events of a recorded stream. */
export const eventsOf = (text: string): ReadonlyArray<SentEvent> =>
  text
    .split("\n\n")
    .filter((block) => block !== "" && !block.startsWith(":"))
    .map((block) => {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
      if (event === undefined || data === undefined) throw new Error(`not an event: ${block.slice(0, 80)}`)
      return { event, data }
    })

const textOf = (events: ReadonlyArray<SentEvent>): string =>
  events.map(({ data, event }) => `event: ${event}\ndata: ${data}\n\n`).join("")

/** Forwards everything, with answers to completions changed by `change`. */
export const changing =
  (change: (body: string, response: Response) => string | Response | Promise<string | Response>): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init)
    if (!url.endsWith("/v1/completions")) return response
    const changed = await change(await response.clone().text(), response)
    return typeof changed === "string" ? new Response(changed, response) : changed
  }

/** Forwards everything, with events of streams changed by `change`. */
export const changingEvents = (change: (events: ReadonlyArray<SentEvent>) => ReadonlyArray<SentEvent>): Fetch =>
  changing((body) => textOf(change(eventsOf(body))))

/** Forwards everything, and reports requests and answers. */
export const recording = () => {
  const requests: Array<Requested> = []
  const answers: Array<string> = []
  const record: Fetch = async (url, init) => {
    requests.push({ path: new URL(url).pathname, body: typeof init.body === "string" ? init.body : "" })
    const response = await fetch(url, init)
    answers.push(await response.clone().text())
    return response
  }
  return { record, requests, answers }
}

/** Returns the events of a stream and its final error; it must not succeed. */
export const brokenOff = async <Event>(stream: Promise<AsyncIterable<Event>>) => {
  const seen: Array<Event> = []
  const read = async () => {
    for await (const event of await stream) seen.push(event)
  }
  return { thrown: await failureOf(read()), seen }
}

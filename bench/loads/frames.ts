/** Keeps one stream open per lane. One unit is a frame; its latency is the time since the previous frame beyond the pace. */
import { Agent, request } from "node:http"
import type { Work } from "../harness/Load.ts"
import { makeAsk } from "./http.ts"
import { type Payload, sealingTo } from "./sealing.ts"

export interface FramesLoad {
  readonly url: string
  readonly payload: Payload
  readonly streams: number
  readonly pace: number
}

const FRAME = Buffer.from("event: frame")
const MAX_OPENING = 50

/** Yields the frames of one stream as they arrive. */
class Frames {
  private readonly late: Array<number> = []
  private waiting: ((late: number) => void) | undefined
  private last: number | undefined
  private readonly pace: number

  constructor(pace: number) {
    this.pace = pace
  }

  take(data: Buffer): void {
    for (let at = data.indexOf(FRAME); at >= 0; at = data.indexOf(FRAME, at + 1)) {
      const now = performance.now()
      const late = now - (this.last ?? now - this.pace) - this.pace
      this.last = now
      const { waiting } = this
      this.waiting = undefined
      if (waiting === undefined) this.late.push(late)
      else waiting(late)
    }
  }

  next(): Promise<number> {
    const late = this.late.shift()
    if (late !== undefined) return Promise.resolve(late)
    return new Promise((resolve) => {
      this.waiting = resolve
    })
  }

  /** Frames that arrived between rounds. */
  forget(): void {
    this.late.length = 0
  }
}

export const make = async ({ pace, payload, streams, url }: FramesLoad): Promise<Work> => {
  const agent = new Agent({ keepAlive: true })
  const seal = await sealingTo(makeAsk(), url)
  const open = async (): Promise<Frames> => {
    const frames = new Frames(pace)
    const body = await seal(payload)
    const headers = { "content-type": "application/json", "content-length": body.length }
    await new Promise<void>((resolve, reject) => {
      const sent = request(`${url}/v1/completions`, { method: "POST", agent, headers }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`a stream was answered with ${response.statusCode}`))
        response.on("data", (data: Buffer) => frames.take(data))
        response.once("close", () => {
          throw new Error("a stream has ended")
        })
        resolve()
      })
      sent.once("error", reject)
      sent.end(body)
    })
    return frames
  }
  const all: Array<Frames> = []
  while (all.length < streams) {
    all.push(...(await Promise.all(Array.from({ length: Math.min(MAX_OPENING, streams - all.length) }, open))))
  }
  return {
    prepare: async () => {
      for (const frames of all) frames.forget()
    },
    unit: (lane) => all[lane]?.next() ?? Promise.reject(new Error(`there is no stream ${lane}`)),
  }
}

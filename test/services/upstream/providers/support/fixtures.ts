/** Recorded examples: the shapes that the vendors' public documentation shows, the texts shortened. */
import { readFileSync } from "node:fs"
import type { Vendor } from "./Canned.ts"

const read = (name: string): string => readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8")

export const jsonFixture = (name: string): unknown => JSON.parse(read(`${name}.json`))

/** The events of a recorded stream, each with the blank line that ends it. */
export const eventFixture = (name: string): ReadonlyArray<string> =>
  read(`${name}.sse`).match(/[^]*?(?:\r\n\r\n|\n\n)/g) ?? []

/** Every recorded stream; after so many of its events the answer is finished. */
export const STREAMS: ReadonlyArray<{
  readonly vendor: Vendor
  readonly name: string
  readonly finishedAfter: number
}> = [
  { vendor: "openai", name: "openai-stream", finishedAfter: 4 },
  { vendor: "openai", name: "openai-stream-tools", finishedAfter: 7 },
  { vendor: "openai", name: "openai-stream-compatible", finishedAfter: 7 },
  { vendor: "anthropic", name: "anthropic-stream", finishedAfter: 7 },
  { vendor: "anthropic", name: "anthropic-stream-tools", finishedAfter: 21 },
  { vendor: "gemini", name: "gemini-stream", finishedAfter: 4 },
  { vendor: "gemini", name: "gemini-stream-tools", finishedAfter: 3 },
]

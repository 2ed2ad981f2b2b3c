/** Prints the demo: numbered chapters with actions and results. */
import { styleText } from "node:util"

const style = (format: Parameters<typeof styleText>[0], text: string): string =>
  styleText(format, text, { stream: process.stdout })

let chapters = 0

export const title = (text: string): void => console.log(`\n${style(["bold", "cyan"], text)}`)

export const chapter = (text: string): void => console.log(`\n${style("bold", `${++chapters}. ${text}`)}`)

export const line = (text: string): void => console.log(`   ${text}`)

export const fact = (name: string, value: string): void => console.log(`   ${style("dim", name.padEnd(14))} ${value}`)

export const good = (text: string): void => console.log(`   ${style("green", "✓")} ${text}`)

/** Prints that an attack failed, with the client's message. */
export const caught = (attack: string, error: unknown): void => {
  const [name, message] = error instanceof Error ? [error.name, error.message] : ["?", String(error)]
  console.log(`   ${style("green", "✓")} ${attack}: ${style("yellow", name)}`)
  console.log(`     ${style("dim", message)}`)
}

/** Returns the error of `promise`; throws if it succeeds. */
export const failureOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error("this should have failed, and did not")
}

/** A chat at a terminal. Ctrl-C stops the answer; a second Ctrl-C, Ctrl-D or /exit leaves. */
import { createInterface } from "node:readline"
import { SealgateError } from "../../client/errors.ts"
import { printable } from "../printable.ts"
import { dim, red } from "../terminal.ts"
import type { Conversation } from "./Conversation.ts"
import { explained, STARTS_OVER, summary } from "./answerText.ts"

interface Streams {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
}

const PROMPT = "> "
const HELP = "/exit, Ctrl-D: leave. Ctrl-C: stop the answer. Anything else is sent to the model."

/** Printed before the first question. */
export const greeting = (proxy: URL): string => `Chatting through ${proxy.origin}, sealed. /help lists the commands.`

/** Runs until the user leaves or `signal` aborts. */
export const interactive = async (conversation: Conversation, streams: Streams, signal: AbortSignal): Promise<void> => {
  const { input, output } = streams
  const terminal = createInterface({ input, output, terminal: true, prompt: PROMPT })
  const say = (text: string) => void output.write(text)
  let answering: AbortController | undefined
  let leaving = false
  let closed = false

  const ask = async (question: string) => {
    const controller = new AbortController()
    answering = controller
    const show = {
      text: (piece: string) => say(printable(piece)),
      startOver: () => say(dim(STARTS_OVER)),
    }
    try {
      const { end } = await conversation.ask(question, show, controller.signal)
      say(`\n${dim(summary(end))}\n`)
    } catch (error) {
      if (controller.signal.aborted) say(dim("\n(stopped; this exchange is forgotten)\n"))
      else if (error instanceof SealgateError) say(`\n${red(`✗ ${explained(error)}`)}\n`)
      else throw error
    } finally {
      answering = undefined
    }
  }

  terminal.on("SIGINT", () => {
    if (leaving) return void terminal.close()
    leaving = true
    if (answering !== undefined) return void answering.abort()
    say(dim("\n(Ctrl-C again leaves)\n"))
    terminal.prompt()
  })
  terminal.on("close", () => {
    closed = true
  })
  const close = () => terminal.close()
  signal.addEventListener("abort", close, { once: true })

  terminal.prompt()
  try {
    for await (const line of terminal) {
      leaving = false
      const question = line.trim()
      if (question === "/exit") break
      if (question === "/help") say(`${dim(HELP)}\n`)
      else if (question !== "") await ask(question)
      if (!closed) terminal.prompt()
    }
  } finally {
    answering?.abort()
    signal.removeEventListener("abort", close)
    terminal.close()
  }
}

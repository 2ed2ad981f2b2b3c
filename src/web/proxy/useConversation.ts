/** Asks the proxy through the sealed client, one question at a time, and tracks each exchange. */
import { useMemo, useReducer, useRef } from "preact/hooks"
import { PinMismatch, SealedProblem, SealgateError, Tampered, Unreachable } from "../../client/errors.ts"
import { SealedClient } from "../../client/sealed/SealedClient.ts"
import { baseUrl } from "../shared/render.tsx"
import { type Exchange, type ExchangeFailure, follow, type Happening, historyOf } from "./exchanges.ts"
import { type Intrusion, isAtBeginning } from "./intruder.ts"
import { type Tap, tapped } from "./wiretap.ts"

const failureOf = (error: unknown): ExchangeFailure => {
  if (error instanceof PinMismatch) {
    return {
      kind: "identity",
      title: "This is not the proxy that you pinned. Nothing was sealed.",
      detail: error.message,
    }
  }
  if (error instanceof Tampered) {
    return { kind: "tampered", title: "Somebody interfered. This is not an answer.", detail: error.message }
  }
  if (error instanceof SealedProblem) {
    const { detail, title } = error.problem
    return error.sealed
      ? { kind: "refusal", title, detail: `${detail ?? ""} The pinned proxy said so under seal.`.trim() }
      : { kind: "other", title, detail: `${detail ?? ""} This came without a seal: anybody could say it.`.trim() }
  }
  if (error instanceof Unreachable) {
    return {
      kind: "other",
      title: "The proxy does not answer.",
      detail: "Check that it is running and reachable from this machine, then ask again.",
    }
  }
  if (error instanceof SealgateError) return { kind: "other", title: "There is no answer.", detail: error.message }
  return { kind: "other", title: "Something went wrong in this page.", detail: String(error) }
}

/** Asks the proxy that serves this page, trusting `pins`. */
export const useConversation = (pins: ReadonlyArray<string>) => {
  const [exchanges, happen] = useReducer<ReadonlyArray<Exchange>, Happening>(follow, [])
  const tap = useRef<Tap>({ intrusion: "none", record: () => undefined })
  const asked = useRef(0)
  const asking = useRef<AbortController | undefined>(undefined)
  const newClient = () => new SealedClient({ baseUrl: baseUrl(), pins, fetch: tapped(() => tap.current) })
  const client = useMemo(newClient, [pins])

  const ask = async (question: string, intrusion: Intrusion): Promise<void> => {
    const id = asked.current++
    const controller = new AbortController()
    const { signal } = controller
    asking.current = controller
    tap.current = { intrusion, record: (crossing) => happen({ type: "crossed", id, crossing }) }
    happen({ type: "asked", id, question, pins })
    const used = isAtBeginning(intrusion) ? newClient() : client
    try {
      const messages = [...historyOf(exchanges, pins), { role: "user" as const, content: question }]
      const stream = await used.stream(
        { messages },
        { signal, onFrame: (frame) => happen({ type: "opened", id, frame }) },
      )
      for await (const part of stream) happen({ type: "said", id, part })
      happen({ type: "verified", id, end: await stream.end, keys: used.keySet.keys })
    } catch (error) {
      happen(signal.aborted ? { type: "stopped", id } : { type: "failed", id, failure: failureOf(error) })
    } finally {
      // The next question may have been asked before this one has stopped.
      if (asking.current === controller) asking.current = undefined
    }
  }

  return {
    exchanges,
    ask,
    stop: () => asking.current?.abort(),
    clear: () => {
      asking.current?.abort()
      happen({ type: "cleared" })
    },
  }
}

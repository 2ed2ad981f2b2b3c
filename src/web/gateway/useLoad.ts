/** Reads from the gateway; the last value stays until a newer one arrives. */
import { useEffect, useState } from "preact/hooks"
import { explain, type Failure, renewed } from "./failure.ts"
import { inTime } from "../shared/inTime.ts"
import { keepFresh } from "./keepFresh.ts"

export interface Loaded<A> {
  readonly value: A | undefined
  /** Why the last attempt failed; `value` is then older. */
  readonly failure: Failure | undefined
  /** Whether a request is running; `value` and `failure` then come from the previous one. */
  readonly busy: boolean
  readonly reload: () => void
}

export interface LoadOptions {
  /** Milliseconds after an answer until the next read, while the page is visible and no changes are announced. */
  readonly every?: number
  /** Opens a stream that announces changes. */
  readonly changes?: (signal: AbortSignal) => AsyncIterable<void>
}

interface Answered<A> extends Pick<Loaded<A>, "value" | "failure"> {
  /** The inputs of the last answer or failure; empty before the first. */
  readonly answered: ReadonlyArray<unknown>
}

/** Reads whenever `inputs` change, and again as the options say. */
export const useLoad = <A>(
  load: (signal: AbortSignal) => Promise<A>,
  inputs: ReadonlyArray<unknown>,
  { changes, every }: LoadOptions = {},
): Loaded<A> => {
  const [turn, setTurn] = useState(0)
  const asked = [...inputs, turn]
  const [{ answered, failure, value }, setState] = useState<Answered<A>>({
    value: undefined,
    failure: undefined,
    answered: [],
  })

  useEffect(() => {
    const controller = new AbortController()
    let known: Failure | undefined
    const read = async () => {
      try {
        const value = await inTime(load, controller.signal)
        known = undefined
        if (!controller.signal.aborted) setState({ value, failure: undefined, answered: asked })
      } catch (error) {
        known = renewed(known, explain(error))
        if (!controller.signal.aborted) setState(({ value }) => ({ value, failure: known, answered: asked }))
      }
      return known === undefined
    }
    const stop = every === undefined ? undefined : keepFresh({ read, every, changes })
    if (stop === undefined) void read()
    return () => {
      controller.abort()
      stop?.()
    }
    // `load` and `changes` are new at every render; `inputs` lists their dependencies.
  }, [...asked, every])

  // True as soon as the inputs change, before the effect starts reading.
  const busy = asked.length !== answered.length || asked.some((input, i) => input !== answered[i])
  return { value, failure, busy, reload: () => setTurn((turn) => turn + 1) }
}

/** Reads from the gateway; the last value stays until a newer one arrives. */
import { useEffect, useState } from "preact/hooks"
import { explain, type Failure, renewed } from "./failure.ts"

interface Loaded<A> {
  readonly value: A | undefined
  /** Why the last attempt failed; `value` is then an earlier one. */
  readonly failure: Failure | undefined
  /** Whether a request is running; `value` and `failure` are then from the one before. */
  readonly busy: boolean
  readonly reload: () => void
}

interface LoadOptions {
  /** Milliseconds after an answer until the next read, while the page is visible. */
  readonly every?: number
}

interface Answered<A> extends Pick<Loaded<A>, "value" | "failure"> {
  /** The inputs of the last answer or failure; empty before the first. */
  readonly answered: ReadonlyArray<unknown>
}

/** Reads whenever `inputs` change, and again every `every` milliseconds. */
export const useLoad = <A>(
  load: (signal: AbortSignal) => Promise<A>,
  inputs: ReadonlyArray<unknown>,
  { every }: LoadOptions = {},
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
    let timer: ReturnType<typeof setTimeout> | undefined
    let reading = false
    let known: Failure | undefined

    const read = async () => {
      reading = true
      try {
        const value = await load(controller.signal)
        known = undefined
        if (!controller.signal.aborted) setState({ value, failure: undefined, answered: asked })
      } catch (error) {
        known = renewed(known, explain(error))
        if (!controller.signal.aborted) setState(({ value }) => ({ value, failure: known, answered: asked }))
      }
      reading = false
      if (every !== undefined && !controller.signal.aborted && !document.hidden) timer = setTimeout(again, every)
    }
    const again = () => void read()
    const seen = () => {
      clearTimeout(timer)
      if (every !== undefined && !document.hidden && !reading) again()
    }

    again()
    document.addEventListener("visibilitychange", seen)
    return () => {
      controller.abort()
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", seen)
    }
    // `load` is new at every render; `inputs` lists its dependencies.
  }, [...asked, every])

  // True as soon as the inputs change, before the effect starts reading.
  const busy = asked.length !== answered.length || asked.some((input, i) => input !== answered[i])
  return { value, failure, busy, reload: () => setTurn((turn) => turn + 1) }
}

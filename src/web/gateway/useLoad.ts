/** Reading from the gateway: what was read stays on the page until there is something newer. */
import { useEffect, useState } from "preact/hooks"
import { explain, type Failure, renewed } from "./failure.ts"

interface Loaded<A> {
  readonly value: A | undefined
  /** Why the last attempt failed; `value` is then from before. */
  readonly failure: Failure | undefined
  /** Whether the latest request is still under way: `value` and `failure` are then those of the one before. */
  readonly busy: boolean
  readonly reload: () => void
}

interface LoadOptions {
  /** Reads again so many milliseconds after the last answer, while the page is seen. */
  readonly every?: number
}

interface Answered<A> extends Pick<Loaded<A>, "value" | "failure"> {
  /** What it was an answer to, good or bad; empty before the first one. */
  readonly answered: ReadonlyArray<unknown>
}

/** Reads whenever `inputs` change, and again as `options` say. */
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
    // `load` is new at every render; what it depends on is named by `inputs`.
  }, [...asked, every])

  // Set as soon as the inputs change, not only when reading begins.
  const busy = asked.length !== answered.length || asked.some((input, i) => input !== answered[i])
  return { value, failure, busy, reload: () => setTurn((turn) => turn + 1) }
}

/** Reading from the gateway: what was read stays on the page until there is something newer. */
import { useEffect, useState } from "preact/hooks"
import { explain, type Failure } from "./failure.ts"

export interface Loaded<A> {
  readonly value: A | undefined
  /** Why the last attempt failed; `value` is then from before. */
  readonly failure: Failure | undefined
  /** Whether what is shown is not yet what was asked for last. */
  readonly busy: boolean
  readonly reload: () => void
}

export interface LoadOptions {
  /** Reads again so many milliseconds after the last answer, while the page is seen. */
  readonly every?: number
}

/** Reads whenever `inputs` change, and again as `options` say. */
export const useLoad = <A>(
  load: (signal: AbortSignal) => Promise<A>,
  inputs: ReadonlyArray<unknown>,
  { every }: LoadOptions = {},
): Loaded<A> => {
  const [state, setState] = useState<Omit<Loaded<A>, "reload">>({ value: undefined, failure: undefined, busy: true })
  const [turn, setTurn] = useState(0)

  useEffect(() => {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let reading = false

    const read = async () => {
      reading = true
      try {
        const value = await load(controller.signal)
        if (!controller.signal.aborted) setState({ value, failure: undefined, busy: false })
      } catch (error) {
        if (!controller.signal.aborted) setState(({ value }) => ({ value, failure: explain(error), busy: false }))
      }
      reading = false
      if (every !== undefined && !controller.signal.aborted && !document.hidden) timer = setTimeout(again, every)
    }
    const again = () => void read()
    const seen = () => {
      clearTimeout(timer)
      if (every !== undefined && !document.hidden && !reading) again()
    }

    setState((state) => ({ ...state, busy: true }))
    again()
    document.addEventListener("visibilitychange", seen)
    return () => {
      controller.abort()
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", seen)
    }
    // `load` is new at every render; what it depends on is named by `inputs`.
  }, [...inputs, every, turn])

  return { ...state, reload: () => setTurn((turn) => turn + 1) }
}

/** Runs one user action at a time and keeps its failure. */
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { explain, type Failure } from "./failure.ts"
import { inTime } from "../shared/inTime.ts"

export interface Action {
  readonly busy: boolean
  readonly failure: Failure | undefined
  /** Runs `act`, then `done` with its result if the view is still shown. */
  readonly run: <A>(act: () => Promise<A>, done: (value: A) => void) => void
}

export const useAction = (): Action => {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  // A ref, because a second click can come before the next render.
  const running = useRef(false)
  const shown = useRef(true)
  useLayoutEffect(
    () => () => {
      shown.current = false
    },
    [],
  )
  const run = <A>(act: () => Promise<A>, done: (value: A) => void) => {
    if (running.current) return
    running.current = true
    setBusy(true)
    setFailure(undefined)
    void inTime(act)
      .then((value) => {
        if (shown.current) done(value)
      })
      .catch((error: unknown) => setFailure(explain(error)))
      .finally(() => {
        running.current = false
        setBusy(false)
      })
  }
  return { busy, failure, run }
}

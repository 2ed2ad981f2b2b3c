/** Something that a person asks for and the gateway does: once at a time, with what went wrong. */
import { useRef, useState } from "preact/hooks"
import { explain, type Failure } from "./failure.ts"

export interface Action {
  readonly busy: boolean
  readonly failure: Failure | undefined
  readonly run: (act: () => Promise<void>) => void
}

export const useAction = (): Action => {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  // A second click can come before the page has been drawn anew.
  const running = useRef(false)
  const run = (act: () => Promise<void>) => {
    if (running.current) return
    running.current = true
    setBusy(true)
    setFailure(undefined)
    void act()
      .catch((error: unknown) => setFailure(explain(error)))
      .finally(() => {
        running.current = false
        setBusy(false)
      })
  }
  return { busy, failure, run }
}
